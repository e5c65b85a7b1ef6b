"""Refinement with the full model, its derivatives, and the audit of its result."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.audit import Bounds, Finding
from contact_invariant.character_builder import character_of
from contact_invariant.clearance_residual import ClearanceResidual
from contact_invariant.contact_schedule import (
    OVERLAP,
    START,
    TRUNK_OVERLAP,
    Span,
    edges_of,
    node_times,
    overlaps_of,
    spans_of,
    touched_at_nodes,
    touched_at_start,
    without_redundant,
    without_short_gaps,
)
from contact_invariant.limit_residual import LimitSpeedResidual
from contact_invariant.motion import Motion
from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.refined_audit import RefinedAudit, RefinedAuditor
from contact_invariant.refined_start import ROOM, Refining, _cramped
from contact_invariant.refinement import Refinement, Refiner
from contact_invariant.refinement_costs import (
    CLOSE,
    OUTSIDE_MARGIN,
    POINT_MARGIN,
    SWING_MARGIN,
    CostFactory,
    Guess,
    _Pairs,
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
    assert found.ended == "converged" and found.gap == 0.0
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


def test_contacts_overlap_where_the_load_moves():
    knots = np.array([0.0, 0.5, 1.0, 1.5])
    touched = np.array([["", "floor"], ["floor", ""], ["floor", "floor"]])
    times = node_times(knots)
    overlap, edge = np.full(2, OVERLAP), [(), ()]
    found = touched_at_nodes(knots, touched, times, np.array(["floor", "floor"]), overlap, edge) != ""
    middle = 0.5 * (times[1:] + times[:-1])
    assert found[:, 0].tolist() == ((middle < START) | (middle > 0.5)).tolist()
    assert found[:, 1].tolist() == ((middle < 0.62) | (middle > 1.0)).tolist()


def test_a_link_rolls_from_a_patch_over_its_edge():
    """Of a patch and a point of the trunk that end when a foot lands, the point is held for longer."""
    knots = np.array([0.0, 0.5, 1.0])
    touched = np.array([["", "floor", "floor"], ["floor", "", ""]])
    times, edge = node_times(knots), [(), (2,), ()]
    overlap = np.array([OVERLAP, TRUNK_OVERLAP, TRUNK_OVERLAP])
    held = touched_at_nodes(knots, touched, times, np.array(["", "floor", "floor"]), overlap, edge)
    found = without_redundant(held, edge) != ""
    middle = 0.5 * (times[1:] + times[:-1])
    assert found[:, 1].tolist() == (middle < 0.5).tolist()
    assert found[:, 2].tolist() == ((middle > 0.5) & (middle < 0.74)).tolist()


def test_a_link_stays_on_its_edge_until_the_next_contact():
    """A hand lands, a foot one phase later: what rolled onto its edge keeps it until the foot has its load."""
    knots = np.array([0.0, 0.5, 1.0, 1.5])
    touched = np.array([["", "", "floor", "floor"], ["", "floor", "", ""], ["floor", "", "", ""]])
    times, edge = node_times(knots), [(), (), (3,), ()]
    overlap = np.array([OVERLAP, 0.0, TRUNK_OVERLAP, TRUNK_OVERLAP])
    held = touched_at_nodes(knots, touched, times, np.array(["", "", "floor", "floor"]), overlap, edge)
    middle = 0.5 * (times[1:] + times[:-1])
    assert (held[:, 1] != "").tolist() == ((middle > 0.5) & (middle < 1.0)).tolist()
    assert (held[:, 3] != "").tolist() == (middle < 1.24).tolist()


def test_a_link_leaves_its_edge_when_feet_take_its_load():
    """They land as it leaves, and one of them steps later: the edge is not held until then."""
    knots = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    touched = np.array([["", "", "floor"], ["floor", "", ""], ["", "", ""], ["floor", "", ""]])
    times, overlap = node_times(knots), np.array([OVERLAP, TRUNK_OVERLAP, TRUNK_OVERLAP])
    held = touched_at_nodes(knots, touched, times, np.array(["", "floor", "floor"]), overlap, [(), (2,), ()])
    middle = 0.5 * (times[1:] + times[:-1])
    assert (held[:, 2] != "").tolist() == (middle < 0.74).tolist()


def test_a_contact_of_the_start_that_is_made_again_at_its_place_is_held(behaviour):
    """Not if it is made elsewhere, as by a foot that steps in the first phase."""
    scenario = behaviour()
    scene, character = scenario.scene, character_of(scenario)
    times = np.linspace(0.0, 0.8, 41)
    made = np.where((times[:-1] < 0.4) | (times[:-1] > 0.45), FLOOR, "")
    touched = np.tile(made[:, None], len(character.effectors))
    q = np.tile(scene.q0, (len(times), 1))
    assert (without_short_gaps(scene, character, times, touched, q) == FLOOR).all()
    assert (without_short_gaps(scene, character, 2.0 * times, touched, q) == touched).all()  # time to lift and to land
    q[1:, 0] += 0.02
    assert (without_short_gaps(scene, character, times, touched, q) == touched).all()


def test_a_patch_that_touches_a_face_is_moved_onto_it_without_overhang(behaviour):
    scenario = behaviour(block=0.8)  # 0.4 m x 0.6 m, 0.2 m high: up to x = 1
    scene, character = scenario.scene, character_of(scenario)
    touched = np.array([["", "", "", "", ""], ["block/top", FLOOR, "", "", ""]])
    data, frame = scene.model.createData(), scene.surfaces["humanoid/left_sole"].frame_id
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    start, q = data.oMf[frame].copy(), np.tile(scene.q0, (3, 1))
    half, R = character.effectors[0].half, start.rotation
    extent = float(np.abs(R[0, :2]) @ half)

    def placed(x):
        q[:, 0] = scene.q0[0] + x - start.translation[0]
        q[:, 2] = scene.q0[2] + 0.203 - start.translation[2]
        left, right = spans_of(scene, character, surroundings_of(scene, "humanoid"), touched, q)
        assert right.pose.translation[0] == pytest.approx(x, abs=0.01)  # the ground has room
        return left.pose.translation

    inside = 0.99 - extent
    np.testing.assert_allclose(placed(inside), [inside, start.translation[1], 0.2], atol=1e-9)
    np.testing.assert_allclose(placed(inside + 0.03), [1.0 - extent, start.translation[1], 0.2], atol=1e-9)


def test_only_feet_and_trunk_hold_contacts_for_longer(behaviour):
    scenario = behaviour(effectors=EFFECTORS.replace("}}", "}, seat: {surface: seat}}"))
    character = character_of(scenario)
    found = dict(
        zip([e.name for e in character.effectors], overlaps_of(character, scenario.spec.behaviour), strict=True)
    )
    assert found == {"left_foot": OVERLAP, "right_foot": OVERLAP, "left_hand": 0.0, "seat": TRUNK_OVERLAP}
    props = behaviour(effectors=EFFECTORS.replace("left_palm}", "left_palm, supports: false}"))
    assert overlaps_of(character_of(props), props.spec.behaviour).tolist() == [OVERLAP, OVERLAP, TRUNK_OVERLAP]


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


def test_forces_end_before_their_contact_does(behaviour):
    """Within its last nodes, a normal force above the largest one costs: accelerations have no jump when it ends."""
    scenario = behaviour(effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene, character = scenario.scene, character_of(scenario)
    times, q = np.linspace(0.0, 1.0, 51), np.tile(scene.q0, (51, 1))
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    spans = [
        Span(i, 0, end, FLOOR, data.oMf[scene.surfaces[effector.surface].frame_id].copy(), np.eye(3)[2])
        for i, (effector, end) in enumerate(zip(character.effectors, (50, 25), strict=True))
    ]
    guess = Guess(times, q, np.zeros((51, scene.nv)), spans, np.ones((50, 2), bool), set())
    factory = CostFactory(scenario, character, scene.nv - 6, guess, 1.0)
    model = pin.Model(scene.model)
    model.names[1] = "root_joint"
    state = crocoddyl.StateMultibody(model)

    def largest(k):
        costs = factory.at(k, state, spans).costs.todict()
        cones = [costs[f"cone {name} 0"].cost.residual.reference for name in ("left_foot", "right_foot")]
        return np.array([cone.max_nforce for cone in cones]) / (9.81 * character.mass)

    np.testing.assert_allclose(largest(24), [3.0, 0.2], rtol=1e-3)
    np.testing.assert_allclose(largest(20), [3.0, 1.0], rtol=1e-3)
    assert largest(5).tolist() == pytest.approx([3.0, 3.0], rel=1e-3)


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


def test_a_link_that_touches_with_a_point_may_enter_the_surface_a_little_when_it_tilts():
    """A link with a patch in contact is left out; one with a point is not, and keeps less before and afterwards too."""
    scenario = load_scenario("get_up_from_back")
    scene, character = scenario.scene, character_of(scenario)
    q = scene.q0  # it lies
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    ground = names.index("ground/ground_link_0")
    spans = {e.name: Span(i, 0, 10, FLOOR, pin.SE3.Identity(), np.eye(3)[2]) for i, e in enumerate(character.effectors)}
    pairs = _Pairs(scenario, character)

    def margins(active, soon):
        near = pairs.near({0: q}, {}, active, soon, None, OUTSIDE_MARGIN)
        found = {names[a]: m for (a, b), m, _ in near if b == ground}
        return found.get("humanoid/l_wrist_roll_link_0"), found.get("humanoid/l_ankle_roll_link_0")

    assert margins([], []) == (OUTSIDE_MARGIN, OUTSIDE_MARGIN)
    assert margins([spans["left_hand"]], [spans["left_hand"]]) == (POINT_MARGIN, OUTSIDE_MARGIN)
    assert margins([], [spans["left_hand"], spans["left_foot"]]) == (POINT_MARGIN, OUTSIDE_MARGIN)
    assert margins([spans["left_foot"]], [spans["left_foot"]]) == (OUTSIDE_MARGIN, None)
    for high, weight in ((OUTSIDE_MARGIN, 1.0), (SWING_MARGIN, CLOSE)):  # firm barriers have the larger margin
        near = pairs.near({0: q}, {}, [], [spans["left_hand"]], None, high)
        found = {names[a]: w for (a, b), _, w in near if b == ground}
        assert found["humanoid/l_wrist_roll_link_0"] == weight and found["humanoid/l_ankle_roll_link_0"] == 1.0


@pytest.fixture
def bent(behaviour):
    """Return a function that makes an audit of a posture with the left knee at a distance from its upper limit."""
    scene = behaviour().scene
    knee = [scene.velocity_names[k] for k in scene.limits.v_index].index("humanoid/L_KNEE_P")

    def make(room, *, passed=True):
        q = scene.q0.copy()
        q[scene.limits.q_index[knee]] = scene.limits.upper[knee] - room
        return SimpleNamespace(postures=SimpleNamespace(q=q[None]), passed=passed, missed=int(not passed), findings=())

    return scene, make


def test_a_motion_is_cramped_if_a_joint_is_close_to_its_limit_unless_it_starts_there(bent):
    scene, make = bent
    assert [_cramped(scene, make(room)) for room in (ROOM + 0.001, ROOM - 0.001, -0.1)] == [False, True, True]
    scene.q0[:] = make(0.01).postures.q[0]
    assert [_cramped(scene, make(room)) for room in (0.01, 0.009 - ROOM)] == [False, True]


@pytest.mark.parametrize(
    ("audits", "solved", "kept"),
    [
        ([(0.1, True)], [False], 0),
        ([(0.01, True), (0.1, True)], [False, True], 1),  # it passes, but the QP cannot follow
        ([(0.01, True), (0.1, False)], [False, True], 0),
        ([(0.1, False), (0.1, True)], [False, True], 1),
    ],
)
def test_a_motion_that_breaks_bounds_or_is_cramped_is_refined_again_with_firm_barriers(
    bent, monkeypatch, audits, solved, kept
):
    scene, make = bent
    monkeypatch.setattr("contact_invariant.refined_start.refined_plan", lambda *given: None)
    refining, seen = Refining.__new__(Refining), []
    refining._scene, refining._character, refining._surroundings = scene, None, None
    results = [make(room, passed=passed) for room, passed in audits]
    part = Refinement(*[None] * 2, [], [], 1, 0.0, 1.0, "converged")

    def solve(motion, touched, progress, last=None, *, firm=False):
        seen.append(firm)
        return replace(part, before=-1, motion=len(seen) - 1)

    monkeypatch.setattr(refining, "_solved", solve)
    monkeypatch.setattr(refining, "_audited", lambda motion, number: None if number < 0 else results[number])
    found = refining.refine(None, SimpleNamespace(touched=np.zeros(1)), None)
    assert seen == solved and found.refinement.motion == kept and found.audit is results[kept]
    assert found.refinement.iterations == len(solved)


def test_links_keep_the_distance_from_surroundings_of_all_postures_that_they_follow():
    scenario = load_scenario("get_up_from_back")
    names = [piece.name for piece in scenario.scene.collision_model.geometryObjects]
    wrist, pairs = names.index("humanoid/l_wrist_roll_link_0"), _Pairs(scenario, character_of(scenario))

    def margin(*heights):
        postures = {k: scenario.scene.q0 + h * np.eye(scenario.scene.nq)[2] for k, h in enumerate(heights)}
        near = pairs.near(postures, {}, [], [], None, 0.03)
        found = {a: m for (a, b), m, _ in near if names[b].startswith("ground")}
        return found.get(wrist)

    lying = margin(0.0)
    assert lying == OUTSIDE_MARGIN  # it touches
    assert margin(0.025) - margin(0.018) == pytest.approx(0.007, abs=1e-4) and margin(0.05) == 0.03
    assert margin(1.0) is None and margin(1.0, 0.05) == 0.03 and margin(0.05, 0.0) == lying


def test_own_links_that_meet_in_a_refinement_are_kept_apart_when_it_continues():
    """A foot beside an arm where the simplified motion has them far apart; so are surroundings."""
    scenario = load_scenario("handstand")
    scene, pairs = scenario.scene, _Pairs(scenario, character_of(scenario))
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    q, refined = scene.q0.copy(), scene.q0.copy()
    q[2] += 1.0
    tucked = {"CHEST_P": 1.0, "L_HIP_P": -2.1, "L_HIP_R": 0.2, "L_KNEE_P": 0.4, "L_SHOULDER_P": -1.9}
    for joint, angle in tucked.items():
        refined[scene.model.joints[scene.model.getJointId(f"humanoid/{joint}")].idx_q] = angle

    def found(last):
        listed = pairs.near({0: q}, {}, [], [], None, OUTSIDE_MARGIN, last)
        return {tuple(sorted((names[a], names[b]))): (margin, weight) for (a, b), margin, weight in listed}

    foot_and_arm = ("humanoid/l_ankle_roll_link_0", "humanoid/l_shoulder_yaw_link_0")
    before, after = found(None), found(refined)
    assert foot_and_arm not in before and after[foot_and_arm] == (OUTSIDE_MARGIN, CLOSE)
    grounded = [found for pair, found in after.items() if any("ground" in name for name in pair)]
    assert grounded and set(grounded) == {(OUTSIDE_MARGIN, 1.0)}
    unlisted = ("humanoid/l_shoulder_yaw_link_0", "humanoid/l_wrist_yaw_link_0")  # bent elbow: near from the start
    assert unlisted not in before and found(q)[unlisted] == (OUTSIDE_MARGIN, CLOSE)
    assert before.items() < found(q).items()


def test_a_swinging_foot_keeps_the_distance_that_it_has_where_it_is_followed(behaviour):
    """In the simplified motion it may land already; a pair that only the present solution brings close is kept too."""
    scenario = behaviour(phases=2, effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene = scenario.scene
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    foot, ground = names.index("humanoid/l_ankle_roll_link_0"), names.index("ground/ground_link_0")
    pairs, up = _Pairs(scenario, character_of(scenario)), np.eye(scene.nq)[2]
    postures = {10: scene.q0 + 0.001 * up, 7.5: scene.q0 + 0.025 * up}

    def margin(swings, before=None, postures=postures):
        found = {pair: m for pair, m, _ in pairs.near(postures, swings, [], [], None, 0.03, before)}
        return found.get((foot, ground))

    assert margin({0: 7.5}) == pytest.approx(0.025, abs=2e-3)
    assert margin({}) == OUTSIDE_MARGIN
    high = {10: scene.q0 + up}
    assert margin({0: 10}, postures=high) is None
    assert margin({0: 10}, scene.q0, postures=high) == OUTSIDE_MARGIN


def test_a_lifted_foot_keeps_no_more_than_its_path_gives(behaviour):
    """One that has to keep 1 cm as soon as it swings is thrown off the ground, and back."""
    scenario = behaviour(phases=2, effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene = scenario.scene
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    foot, ground = names.index("humanoid/l_ankle_roll_link_0"), names.index("ground/ground_link_0")
    pairs, postures = _Pairs(scenario, character_of(scenario)), {7.5: scene.q0 + 0.001 * np.eye(scene.nq)[2]}

    def margin(lifts):
        found = {pair: m for pair, m, _ in pairs.near(postures, {0: 7.5}, [], [], None, 0.03, None, lifts)}
        return found[foot, ground]

    assert margin({}) == OUTSIDE_MARGIN
    assert margin({0: 0.004}) == pytest.approx(0.005, abs=5e-4)
    assert margin({0: 0.05}) == 0.03


@pytest.mark.parametrize(
    ("missed", "firmness"),
    [
        ([[]], [False]),
        ([["slip"], []], [False, True]),
        ([["own links"], ["slip"], []], [False, False, True]),
        ([["penetration"], ["penetration"], []], [False, True, True]),  # not with soft barriers again
        ([["slip"], ["own links"], []], [False, True, True]),
        ([["slip"], ["slip"]], [False, True]),
    ],
)
def test_a_refinement_continues_while_it_breaks_bounds(monkeypatch, missed, firmness):
    """Firm barriers once, and again with the pairs that are near then, if links overlap or enter the surroundings."""
    solved, audits = [], [[], *missed]  # the first is that of the simplified motion

    def solve(motion, touched, progress, last=None, *, firm=False):
        assert (last is None) == (not solved)
        solved.append(firm)
        return Refinement(None, None, [0.0], [0.0], 1, 0.0, 1.0, "converged")

    def audit(motion, refined):
        findings = [Finding(name, 1.0, 0.0, "", "", False) for name in audits.pop(0)]
        return RefinedAudit(tuple(findings), 0.0, None, None, None)

    refining = object.__new__(Refining)
    refining._scene = refining._character = refining._surroundings = None
    monkeypatch.setattr(refining, "_solved", solve)
    monkeypatch.setattr(refining, "_audited", audit)
    monkeypatch.setattr("contact_invariant.refined_start.refined_plan", lambda *_: None)
    monkeypatch.setattr("contact_invariant.refined_start._cramped", lambda *_: False)
    found = refining.refine(None, SimpleNamespace(touched=np.zeros((2, 1))), None)
    assert solved == firmness and not audits
    assert found.refinement.iterations == len(firmness) and found.audit.missed == len(missed[-1])
