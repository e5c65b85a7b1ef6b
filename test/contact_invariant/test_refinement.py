"""Refinement with the full model, its derivatives, and the audit of its motions."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.audit import Bounds
from contact_invariant.character_builder import character_of
from contact_invariant.clearance_residual import ClearanceResidual
from contact_invariant.contact_schedule import (
    Span,
    edges_of,
    touched_at_start,
)
from contact_invariant.limit_residual import LimitSpeedResidual
from contact_invariant.line_contacts import LineContacts
from contact_invariant.motion import Motion
from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.refined_audit import RefinedAuditor
from contact_invariant.refinement import Refiner
from contact_invariant.refinement_costs import (
    ACCELERATION,
    SMOOTH,
    CostFactory,
    Guess,
)
from contact_invariant.surroundings import surroundings_of
from contact_invariant.whole_body import WholeBodyMotion, continuous
from multi_qp_scene import load_scenario
from multi_qp_scene.geometry_data import geometry_data
from multi_qp_scene.overlaps import convex_geometry
from multi_qp_scene.pairs import WatchedPair
from multi_qp_scene.scene import MAX_DAMPING, MAX_INFLUENCE

EFFECTORS = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}, left_hand: {surface: left_palm}}"
FLOOR = "ground/floor"
SWAY = 0.04


@pytest.fixture(scope="module")
def refined(behaviour):
    """Return scenario, auditor, simplified motion and refinement of a stance that moves its centre of mass aside."""
    scenario = behaviour(phases=2, effectors=EFFECTORS)
    scene, character = scenario.scene, character_of(scenario)
    surroundings = surroundings_of(scene, "humanoid")
    auditor = RefinedAuditor(scene, character, surroundings, friction=0.7, bounds=Bounds())
    x = np.tile(character.features_at(scene, scene.q0), (3, 1))
    x[1:, 1] += [SWAY / 2, SWAY]
    angles = np.tile(scene.q0[character.joints.q_index], (2, 1))
    names = tuple(effector.name for effector in character.effectors)
    c, times = np.tile([1.0, 1.0, 0.0], (2, 1)), np.array([0.05, 0.55])
    motion = Motion(names, np.array([0.0, 0.3, 0.6]), x, np.zeros_like(x), c, times, np.zeros((2, 3, 6)), angles)
    touched = np.array([[FLOOR, FLOOR, ""]] * 2)
    seen = []
    found = Refiner(scenario, character, surroundings).refine(
        motion, touched, {1}, time_limit=60.0, progress=lambda *state: seen.append(state)
    )
    assert seen and seen[-1][:2] == ("full dynamics", found.iterations)
    return scenario, auditor, motion, found


def audit(refined, motion):
    return refined[1].audit_refined(motion, refined[2].knots, lambda ends: [])


def test_a_refined_motion_passes_an_independent_audit(refined):
    scenario, _, motion, found = refined
    assert found.ended == "converged" and found.gap < 1e-6
    after = audit(refined, found.motion)
    assert after.passed, after.findings
    assert after.effort < audit(refined, found.before).effort
    com = pin.centerOfMass(scenario.scene.model, scenario.scene.model.createData(), found.motion.q[-1])
    assert com[1] == pytest.approx(motion.x[-1, 1], abs=0.01)
    np.testing.assert_allclose(found.motion.q[0], scenario.scene.q0)


def test_forces_of_the_audit_carry_the_weight(refined):
    after = audit(refined, refined[3].motion)
    mass = character_of(refined[0]).mass
    assert after.dynamics.forces[..., 2].sum(axis=1).mean() == pytest.approx(9.81 * mass, rel=0.02)
    assert after.dynamics.forces[:, 2].max() == 0.0  # the hand touches nothing


def test_the_audit_finds_what_the_full_model_cannot_do(refined):
    motion = refined[3].motion
    fast = replace(motion, times=0.1 * motion.times)
    names = {
        f.name for f in refined[1].audit_refined(fast, 0.1 * refined[2].knots, lambda ends: []).findings if not f.met
    }
    assert {"root force", "torque"} <= names
    lifted = replace(motion, q=motion.q + np.pad([0.03], (2, motion.q.shape[1] - 3)))
    assert {"contact gap", "root force"} <= {f.name for f in audit(refined, lifted).findings if not f.met}
    bent = motion.q.copy()
    knee = refined[0].scene.limits.q_index[21]
    bent[10:15, knee] = 3.0
    assert "joint limits" in {f.name for f in audit(refined, replace(motion, q=bent)).findings if not f.met}


def test_contacts_that_bear_nothing_do_not_end_a_flight(refined):
    motion = refined[3].motion
    q = np.tile(motion.q[0], (len(motion.times), 1))
    flight = {f.name: f.value for f in audit(refined, replace(motion, q=q)).findings}["flight"]
    assert flight == 0.0
    q[:, 2] -= 0.5 * 9.81 * motion.times**2  # a free fall, feet in contact by name
    flight = {f.name: f.value for f in audit(refined, replace(motion, q=q)).findings}["flight"]
    assert flight > 0.8 * motion.times[-1]


def test_velocities_and_accelerations_are_derivatives(refined):
    model, motion = refined[0].scene.model, refined[3].motion
    rng = np.random.default_rng(0)
    q = np.array([pin.integrate(model, motion.q[0], 0.3 * rng.normal(size=model.nv)) for _ in range(6)])
    wild = WholeBodyMotion(np.linspace(0.0, 1.0, 6), q, motion.touched[:5])
    h = 1e-4
    q, v, a = wild.at(np.array([0.43 - h, 0.43, 0.43 + h]))
    np.testing.assert_allclose(pin.difference(model, q[0], q[2]) / (2 * h), v[1], atol=1e-4)
    np.testing.assert_allclose((v[2] - v[0]) / (2 * h), a[1], atol=1e-3)


def test_derivative_of_the_clearance(refined):
    scene = refined[0].scene
    pieces = [piece.name for piece in scene.collision_model.geometryObjects]
    pairs = [
        (pieces.index("humanoid/base_link_0"), pieces.index("humanoid/l_wrist_yaw_link_0")),
        (pieces.index("ground/ground_link_0"), pieces.index("humanoid/l_knee_pitch_link_0")),
    ]
    state = crocoddyl.StateMultibody(scene.model)
    geometry = convex_geometry(scene.collision_model, pairs)
    shared = geometry, geometry_data(geometry)
    residual = ClearanceResidual(state, scene.nv - 6, scene, pairs, [0.5, 0.5], shared)
    kinematics = scene.model.createData()
    collector = crocoddyl.DataCollectorMultibody(kinematics)  # the data of the residual has no reference to it
    data = residual.createData(collector)

    def value(q):
        pin.computeJointJacobians(scene.model, kinematics, q)
        x = np.concatenate([q, np.zeros(scene.nv)])
        residual.calc(data, x, None)
        return np.array(data.r).copy(), x

    r, x = value(scene.q0)
    assert (r > 0.0).all()
    residual.calcDiff(data, x, None)
    J, h = np.array(data.Rx)[:, : scene.nv].copy(), 1e-6
    for k in range(scene.nv):
        step = h * np.eye(scene.nv)[k]
        ahead, behind = (value(pin.integrate(scene.model, scene.q0, s))[0] for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), J[:, k], atol=1e-4)


def test_approaches_beyond_the_damper_cost(refined):
    """Their rows are the rate of the distance beyond what the QP allows, and their slope that by the velocity."""
    scene = refined[0].scene
    pieces = [piece.name for piece in scene.collision_model.geometryObjects]
    names = "humanoid/base_link_0", "humanoid/l_wrist_yaw_link_0"
    pair = (pieces.index(names[0]), pieces.index(names[1]))
    state = crocoddyl.StateMultibody(scene.model)
    geometry = convex_geometry(scene.collision_model, [pair])
    shared, kinematics = (geometry, geometry_data(geometry)), scene.model.createData()
    damper = WatchedPair(("", ""), *pair, influence=0.6, security=0.01, damping=0.4)
    residual = ClearanceResidual(state, scene.nv - 6, scene, [pair], [0.0], shared, [damper])
    collector = crocoddyl.DataCollectorMultibody(kinematics)  # the data of the residual has no reference to it
    data = residual.createData(collector)

    def value(q, v):
        pin.computeAllTerms(scene.model, kinematics, q, v)
        x = np.concatenate([q, v])
        residual.calc(data, x, None)
        return np.array(data.r).copy(), x

    def distance(q):
        pin.updateGeometryPlacements(scene.model, kinematics, *shared, q)
        return pin.computeDistance(*shared, 0).min_distance

    rng, h = np.random.default_rng(0), 1e-6
    v = 3.0 * rng.normal(size=scene.nv)
    ahead, behind = (distance(pin.integrate(scene.model, scene.q0, s * v)) for s in (h, -h))
    rate = (ahead - behind) / (2 * h)
    v *= -np.sign(rate)
    allowed = 0.4 * (distance(scene.q0) - 0.01) / 0.59
    r, x = value(scene.q0, v)
    assert r[1] == pytest.approx(abs(rate) - allowed, abs=1e-5)
    assert r[1] > 0.1
    residual.calcDiff(data, x, None)
    slope = np.array(data.Rx)[1].copy()
    assert slope[scene.nv :] @ v == pytest.approx(abs(rate), abs=1e-5)
    np.testing.assert_allclose(value(scene.q0, -v)[0], 0.0)


def test_speeds_towards_joint_limits_beyond_the_damper_cost(refined):
    """A knee near its limit may approach it at ξ (d - δ_s)/(δ_i - δ_s), of the scenario's `joint_limits`."""
    scene, dampers = refined[0].scene, refined[0].spec.joint_limits
    state, limits, joint = crocoddyl.StateMultibody(scene.model), scene.limits, 21
    residual = LimitSpeedResidual(state, scene.nv - 6, scene, dampers)
    data = residual.createData(crocoddyl.DataCollectorAbstract())

    def value(x):
        residual.calc(data, x, None)
        return np.array(data.r).copy()

    x = np.concatenate([scene.q0, np.zeros(scene.nv)])
    span = limits.upper[joint] - limits.lower[joint]
    influence = min(dampers.influence * span, MAX_INFLUENCE)
    x[limits.q_index[joint]] = limits.upper[joint] - 0.5 * influence
    x[scene.nq + limits.v_index[joint]] = 20.0
    share = dampers.security / dampers.influence
    allowed = min(dampers.damping * limits.velocity[joint], MAX_DAMPING) * (0.5 - share) / (1.0 - share)
    assert value(x)[joint] == pytest.approx(20.0 - allowed)
    residual.calcDiff(data, x, None)
    J, h = np.array(data.Rx).copy(), 1e-6
    for k in range(2 * scene.nv):
        step = h * np.eye(2 * scene.nv)[k]
        ahead, behind = (value(np.asarray(state.integrate(x, s))) for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), J[:, k], atol=1e-6)
    x[scene.nq + limits.v_index[joint]] = -1.0
    assert value(x)[joint] == 0.0


def test_redundant_contacts_of_a_lying_character_have_bounded_forces():
    scenario = load_scenario("get_up_from_back")
    scene, character = scenario.scene, character_of(scenario)
    surroundings = surroundings_of(scene, "humanoid")
    names, start = tuple(e.name for e in character.effectors), touched_at_start(scene, character, surroundings)
    edge = ("left_tailbone", "right_tailbone")
    touching = {"back", "sacrum", "left_hand", "right_hand", *edge}
    assert {n for n, face in zip(names, start, strict=True) if face} == touching
    assert edges_of(scene, character)[names.index("sacrum")] == tuple(names.index(point) for point in edge)
    x = np.tile(character.features_at(scene, scene.q0), (3, 1))
    x[1:, 0] += [0.01, 0.02]  # the guess moves what is held
    angles = np.tile(scene.q0[character.joints.q_index], (2, 1))
    c, times, forces = np.ones((2, len(names))), np.array([0.05, 0.25]), np.zeros((2, len(names), 6))
    motion = Motion(names, np.array([0.0, 0.2, 0.4]), x, np.zeros_like(x), c, times, forces, angles)
    refiner = Refiner(scenario, character, surroundings)
    found = refiner.refine(motion, np.tile(start, (2, 1)), set(), time_limit=60.0, progress=None)
    firm = refiner.refine(motion, np.tile(start, (2, 1)), set(), time_limit=60.0, progress=None, before=found)
    for one in (found, firm):
        assert one.costs[-1] < 20.0 and np.abs(np.array(one.candidate[1])).max() < scene.torque_limits.max()
        assert np.abs(one.motion.q - scene.q0)[:, :7].max() < 0.005  # the pelvis stays


@pytest.fixture(scope="module")
def cones(behaviour):
    """Return scene, weight, and the cones of both soles at a node, by kind; the right one ends at the 25th of 51."""
    scenario = behaviour(effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene, character = scenario.scene, character_of(scenario)
    times, q = np.linspace(0.0, 1.0, 51), np.tile(scene.q0, (51, 1))
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    spans = [
        Span(i, 0, end, FLOOR, data.oMf[scene.surfaces[effector.surface].frame_id].copy(), np.eye(3)[2])
        for i, (effector, end) in enumerate(zip(character.effectors, (50, 25), strict=True))
    ]
    guess = Guess(times, q, np.zeros((51, scene.nv)), spans, np.ones((50, 2), bool), set(), set())
    model = pin.Model(scene.model)
    model.names[1] = "root_joint"
    factory = CostFactory(scenario, character, scene.nv - 6, guess, 1.0, LineContacts(scene, character, model, 1.0))
    state = crocoddyl.StateMultibody(model)

    def at(k, kind):
        costs = factory.at(k, state, spans).costs.todict()
        return [costs[f"{kind} of {name} 0"].cost.residual.reference for name in ("left_foot", "right_foot")]

    return scenario, 9.81 * character.mass, at


def test_forces_end_before_their_contact_does(cones):
    """Within its last nodes, a normal force above the largest one costs: accelerations have no jump when it ends."""
    _, weight, at = cones

    def largest(k):
        return np.array([cone.max_nforce for cone in at(k, "wrench")]) / weight

    np.testing.assert_allclose(largest(24), [3.0, 0.2], rtol=1e-3)
    np.testing.assert_allclose(largest(20), [3.0, 1.0], rtol=1e-3)
    assert largest(5).tolist() == pytest.approx([3.0, 3.0], rel=1e-3)


def test_the_pyramid_of_forces_is_that_of_the_qp(cones):
    scenario, _, at = cones
    surface = scenario.scene.surfaces["humanoid/left_sole"]
    friction = scenario.spec.closed_loop.friction * scenario.spec.behaviour.friction
    rays = surface.rays(friction)[:3, :4]  # of one corner
    outside = at(5, "force")[0].A[:4] @ rays
    np.testing.assert_allclose(np.sort(outside, axis=0)[2:], 0.0, atol=1e-9)  # each is an edge, on two faces
    assert outside.max() < 1e-9


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, 0.6, 0.8)])
def test_fingertips_grip_along_the_normal_of_what_they_touch(normal):
    assert_grips(load_scenario("climb_high"), "left_hand", np.array(normal))


@pytest.mark.parametrize("turned", [np.eye(3)[2], -np.eye(3)[2]])
def test_a_palm_grips_along_the_normal_of_what_it_touches(behaviour, turned):
    """Whether z of the patch is the normal of the surface, or points into it."""
    hand = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}, left_hand: {surface: GRIP}}"
    assert_grips(behaviour(effectors=hand.replace("GRIP", "left_palm, grip: 200")), "left_hand", None, turned)


def costs_at(scenario, character, active, guess=None):
    """Return the costs of a node, by name, in the start pose with contacts, or of a guess."""
    scene = scenario.scene
    q, planned = np.tile(scene.q0, (21, 1)), np.ones((20, len(character.effectors)), bool)
    made = Guess(np.linspace(0.0, 1.0, 21), q, np.zeros((21, scene.nv)), active, planned, set(), set())
    model = pin.Model(scene.model)
    model.names[1] = "root_joint"
    lines = LineContacts(scene, character, model, 1.0)
    factory = CostFactory(scenario, character, scene.nv - 6, guess or made, 1.0, lines)
    return factory.at(5, crocoddyl.StateMultibody(model), active).costs.todict()


def assert_grips(scenario, name, normal, turned=None):
    """Assert that pulls up to the grip are in the cones of an effector's forces, and larger ones are not.

    The normal of what it touches is given in the world, or in the frame of its patch, whose forces are in that frame.
    """
    scene, character = scenario.scene, character_of(scenario)
    i, data = character.index(name), scene.model.createData()
    effector = character.effectors[i]
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    pose = data.oMf[scene.surfaces[effector.surface].frame_id].copy()
    n = normal if turned is None else turned
    span = Span(i, 0, 20, "block/front", pose, n if turned is None else pose.rotation @ n)
    costs = costs_at(scenario, character, [span])
    barriers = [item.cost for key, item in costs.items() if key.startswith((f"force of {name}", f"wrench of {name}"))]
    assert len(barriers) == (1 if effector.point else 2)

    def allowed(force):
        for barrier in barriers:
            A, bounds = barrier.residual.reference.A, barrier.activation.bounds
            rows = A @ np.append(force, np.zeros(3))[: A.shape[1]]
            if (rows < bounds.lb - 1e-9).any() or (rows > bounds.ub + 1e-9).any():
                return False
        return True

    grip, across = effector.grip * 9.81 * character.mass, np.cross(n, [0.0, 1.0, 0.0]) / np.hypot(n[0], n[2])
    assert allowed(-0.99 * grip * n) and not allowed(-1.01 * grip * n)
    friction = scenario.spec.closed_loop.friction * scenario.spec.behaviour.friction
    assert allowed(0.6 * friction * grip * across) and not allowed(1.1 * friction * grip * across)


@pytest.mark.parametrize(("name", "held"), [("left_hand", True), ("left_knee", False)])
def test_points_that_grip_are_held_at_their_place(name, held):
    scenario = load_scenario("climb_high")
    scene, character = scenario.scene, character_of(scenario)
    place = np.array([0.4, 0.1, 1.1])
    span = Span(character.index(name), 0, 20, "platform/top", pin.SE3(np.eye(3), place), np.array([0.0, 0.0, 1.0]))
    costs = costs_at(scenario, character, [span])
    pulls = [c for key, c in costs.items() if key == name]
    assert len(pulls) == held
    for item in pulls:
        np.testing.assert_allclose(item.cost.residual.reference, place)
        assert item.cost.residual.id == scene.surfaces[character.effectors[span.effector].surface].frame_id


def test_motors_beyond_their_limits_get_a_smaller_share_when_a_refinement_is_continued(refined):
    scenario, _, motion, found = refined
    scene, character = scenario.scene, character_of(scenario)
    refiner = Refiner(scenario, character, surroundings_of(scene, "humanoid"))
    name, k = scene.actuated_joint_names[3], scene.actuated_v[3] - 6
    touched = np.array([[FLOOR, FLOOR, ""]] * 2)

    def continued(before, peaks):
        return refiner.refine(motion, touched, {1}, time_limit=0.0, progress=None, before=before, peaks=peaks)

    first = continued(found, {name: 1.2})
    then = continued(first, {})
    last = continued(then, {name: 1.5})
    for one, expected in ((found, 1.0), (first, 2 / 3), (then, 2 / 3), (last, 0.8 / 1.8 * 0.8)):
        shares = np.broadcast_to(one.guess.torque_shares, scene.nv - 6)
        assert shares[k] == pytest.approx(expected)
        assert (np.delete(shares, k) == 1.0).all()
    bounds = costs_at(scenario, character, [], last.guess)["torques 0"].cost.activation.bounds
    assert bounds.ub[k] == pytest.approx(0.8 * last.guess.torque_shares[k] * scene.torque_limits[3])


@pytest.mark.parametrize(
    ("share", "end", "factor"), [(1.0, 6, 1.0), (0.9, 6, SMOOTH), (0.9, 4, SMOOTH), (0.9, 10, 1.0), (0.9, 2, 1.0)]
)
def test_accelerations_cost_more_near_a_change_of_contact_if_torques_are_to_decrease(share, end, factor):
    scenario = load_scenario("climb_high")
    scene, character = scenario.scene, character_of(scenario)
    span = Span(0, 0, end, FLOOR, pin.SE3.Identity(), np.array([0.0, 0.0, 1.0]))
    q, planned = np.tile(scene.q0, (21, 1)), np.ones((20, len(character.effectors)), bool)
    shares = np.full(scene.nv - 6, 1.0)
    shares[3] = share
    guess = Guess(np.linspace(0.0, 1.0, 21), q, np.zeros((21, scene.nv)), [span], planned, set(), set())
    costs = costs_at(scenario, character, [], replace(guess, torque_shares=shares))
    assert costs["acceleration"].weight == pytest.approx(factor * ACCELERATION)


def test_forces_at_an_edge_are_those_of_the_face_that_the_contact_names():
    """Hanging on the fingertips of one hand, 1 mm in front of an edge: their grip bears less by friction than below."""
    scenario = load_scenario("climb_high")
    scene, character = scenario.scene, character_of(scenario)
    auditor = RefinedAuditor(scene, character, surroundings_of(scene, "humanoid"), friction=0.8, bounds=Bounds())
    i, data = character.index("left_hand"), scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    q = np.tile(scene.q0, (4, 1))
    q[:, :3] += [0.419, 0.0, 1.1] - data.oMf[scene.surfaces[character.effectors[i].surface].frame_id].translation

    def lift(face):
        touched = np.full((3, len(character.effectors)), "", dtype="<U16")
        touched[:, i] = face
        motion = WholeBodyMotion(np.linspace(0.0, 0.06, 4), q, touched)
        return auditor.audit_refined(motion, np.array([0.0, 0.06]), lambda ends: []).dynamics.forces[:, i, 2].min()

    grip = character.effectors[i].grip * 9.81 * character.mass
    assert lift("platform/back") < 1.4 * grip and lift("platform/top") > 1.5 * grip


def test_rotation_vectors_pass_half_a_turn():
    angles = np.linspace(0.0, 5.0, 30)
    wrapped = np.outer((angles + np.pi) % (2.0 * np.pi) - np.pi, [0.0, 0.6, 0.8])
    np.testing.assert_allclose(continuous(wrapped), np.outer(angles, [0.0, 0.6, 0.8]), atol=1e-12)


def test_a_missing_library_is_named():
    code = """
import sys
sys.modules["crocoddyl"] = None
from multi_qp_scene.errors import MultiQpError
try:
    import contact_invariant.refinement
except MultiQpError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("the refinement of motions needs crocoddyl: pip install")
