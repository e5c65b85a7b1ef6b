"""Simplified character, surroundings and residuals against the full model and finite differences."""

from pathlib import Path

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.capsules import touching_joints
from contact_invariant.character_builder import character_of
from contact_invariant.least_squares import cost_of
from contact_invariant.motion import Motion
from contact_invariant.postures import postures_of
from contact_invariant.problem import SAMPLES, SynthesisProblem
from contact_invariant.residuals import LimbFrames, _cone, _point_cone, segment_distance
from contact_invariant.surroundings import RAMP, SolidBox, Surroundings, surroundings_of
from contact_invariant.symbols import angular_acceleration, angular_velocity, exponential_map
from contact_invariant.task_terms import state_at
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario

EFFECTORS_WITH_CHEST = """{left_foot: {surface: left_sole}, right_foot: {surface: right_sole},
    left_hand: {surface: left_palm}, right_hand: {surface: right_palm}, back: {surface: back}}"""


@pytest.fixture(scope="module")
def scenario(behaviour):
    return behaviour(block=0.8)


@pytest.fixture(scope="module")
def surroundings(scenario):
    return surroundings_of(scenario.scene, "humanoid")


@pytest.fixture(scope="module")
def problem(character, surroundings, scenario):
    return SynthesisProblem(character, surroundings, scenario.spec.behaviour)


def test_the_cost_of_a_posture_at_rest_does_not_depend_on_the_number_of_samples(behaviour, character, surroundings):
    costs = []
    for samples in (8, 16):
        scenario = behaviour(options=f"samples: {samples}")
        problem = SynthesisProblem(character, surroundings, scenario.spec.behaviour)
        x = character.features_at(scenario.scene, scenario.scene.q0)
        z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
        times = problem.times(z)
        assert len(times) == 2 * samples and (np.diff(times) < 1.0 / samples).all()
        costs.append(problem.normal_equations(z)[0])
    assert costs[0] > 0.0 and costs[1] == pytest.approx(costs[0], rel=1e-9)


def test_the_rigid_body_is_that_of_the_full_model(scenario, character):
    scene, data = scenario.scene, scenario.scene.model.createData()
    pin.ccrba(scene.model, data, scene.q0, np.zeros(scene.nv))
    assert character.mass == pytest.approx(39.0)
    np.testing.assert_allclose(character.features_at(scene, scene.q0)[:3], data.com[0], atol=1e-9)
    np.testing.assert_allclose(character.inertia * character.mass, data.Ig.inertia, atol=1e-9)


def test_a_chest_without_a_patch_is_held(character):
    names = [effector.name for effector in character.effectors]
    assert names == ["left_foot", "right_foot", "left_hand", "right_hand", "seat"]
    assert [len(effector.joints) for effector in character.effectors] == [6, 6, 7, 7, 0]


ALL_OVER = """{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}, left_hand: {surface: left_palm},
    right_hand: {surface: right_palm}, left_knee: {surface: left_knee}, right_elbow: {surface: right_elbow},
    back: {surface: back}, tailbone: {surface: tailbone}}"""


@pytest.fixture(scope="module")
def all_over(behaviour):
    return behaviour(effectors=ALL_OVER, options="limb_weights: true")


def test_limbs_have_several_patches_and_a_chest_with_a_patch_moves(all_over):
    character = character_of(all_over)
    joints = {effector.name: effector.joints for effector in character.effectors}
    assert joints["left_knee"] == joints["left_foot"][:4] and joints["right_elbow"] == joints["right_hand"][:5]
    assert joints["back"] == joints["left_hand"][:2] == joints["right_hand"][:2] and joints["tailbone"] == ()
    assert len(character.joints.indices) == 6 + 6 + 2 + 7 + 7 and character.features == 6 * 8


def moved(scenario, character):
    q = scenario.scene.q0.copy()
    q[character.joints.q_index] += 0.2 * np.random.default_rng(3).normal(size=len(character.joints.q_index))
    return q


def test_the_weight_of_limbs_acts_where_they_are(all_over):
    character, scene = character_of(all_over), all_over.scene
    q = moved(all_over, character)
    x = character.features_at(scene, q)
    state = state_at(character, ca.SX(ca.DM(x)), ca.SX.zeros(len(x)))
    shift = LimbFrames(character, state, ca.SX(ca.DM(q[character.joints.q_index]))).shift(0)
    com = pin.centerOfMass(scene.model, scene.model.createData(), q)
    np.testing.assert_allclose(x[:3] + np.array(ca.DM(ca.evalf(shift))).ravel(), com, atol=1e-9)


def test_static_torques_of_all_joints_are_those_of_the_full_model(all_over):
    character, scene = character_of(all_over), all_over.scene
    problem = SynthesisProblem(character, surroundings_of(scene, "humanoid"), all_over.spec.behaviour)
    q = moved(all_over, character)
    z = problem.initial(character.features_at(scene, q), q[character.joints.q_index])
    data, weight = scene.model.createData(), character.mass * 9.81
    torques = np.asarray(pin.computeGeneralizedGravity(scene.model, data, q)).copy()
    pin.computeJointJacobians(scene.model, data, q)
    pin.updateFramePlacements(scene.model, data)
    for effector in character.effectors:
        frame = scene.surfaces[effector.surface].frame_id
        R = effector.nominal.rotation if effector.point and effector.is_limb else data.oMf[frame].rotation
        push = -R[:, 2] * weight / len(character.effectors)
        torques -= pin.getFrameJacobian(scene.model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:3].T @ push
    ratio = torques[[scene.model.joints[j].idx_v for j in character.joints.indices]] / character.joints.torque
    expected = 0.5 * len(problem.times(z)) * (ratio**2).sum()
    assert problem.breakdown(z)["torques"] == pytest.approx(expected, rel=1e-6)


def test_postures_reach_all_patches_of_a_limb_that_make_contact(all_over):
    character, scene = character_of(all_over), all_over.scene
    q = moved(all_over, character)
    q[character.joints.q_index] = np.clip(q[character.joints.q_index], character.joints.lower, character.joints.upper)
    x, angles = character.features_at(scene, q), q[character.joints.q_index]
    motion = Motion(
        effectors=tuple(effector.name for effector in character.effectors),
        knots=np.array([0.0, 0.5]),
        x=np.tile(x, (2, 1)),
        rates=np.zeros((2, len(x))),
        c=np.ones((1, len(character.effectors))),
        times=np.array([0.0, 0.5]),
        forces=np.zeros((2, len(character.effectors), 6)),
        angles=np.tile(angles + 0.1, (2, 1)),
    )
    found = postures_of(scene, character, motion, np.array([0.2]))
    assert found.position_errors.max() < 1e-4 and found.rotation_errors.max() < 1e-3


def test_postures_leave_out_a_single_instant_at_which_angles_of_an_arm_jump(scenario, character):
    scene = scenario.scene
    x, angles = character.features_at(scene, scene.q0), np.tile(scene.q0[character.joints.q_index], (5, 1))
    hand = next(limb for limb in character.limbs if "hand" in limb.name)
    rolls = [k for k, j in enumerate(character.joints.indices) if j in hand.joints and "_Y" in scene.model.names[j]]
    angles[2, rolls] += np.resize([1.0, -1.0], len(rolls))
    motion = Motion(
        effectors=tuple(effector.name for effector in character.effectors),
        knots=np.array([0.0, 0.4]),
        x=np.tile(x, (2, 1)),
        rates=np.zeros((2, len(x))),
        c=np.ones((1, len(character.effectors))),
        times=np.linspace(0.0, 0.4, 5),
        forces=np.zeros((5, len(character.effectors), 6)),
        angles=angles,
    )
    found = postures_of(scene, character, motion, np.array([0.1, 0.2, 0.3]))
    assert len(rolls) >= 2
    assert np.ptp(found.q, axis=0).max() < 1e-3 and found.position_errors.max() < 1e-4


def test_initial_kinematics_match_and_only_forces_cost(scenario, character, problem):
    x = character.features_at(scenario.scene, scenario.scene.q0)
    angles = scenario.scene.q0[character.joints.q_index]
    costs = problem.breakdown(problem.initial(x, angles))
    for name in ("limb kinematics", "joint limits", "penetration", "slip", "drag", "acceleration", "posture"):
        assert costs[name] == pytest.approx(0.0, abs=1e-6), name
    assert costs["root force"] > 0.0


@pytest.mark.parametrize("factor", [1.0, 1.02, 3.0])  # durations are fixed; out of, and within their limits
def test_normal_equations_match_finite_differences(behaviour, character, surroundings, factor):
    scenario = behaviour(options=f"duration_factor: {factor}")
    problem = SynthesisProblem(character, surroundings, scenario.spec.behaviour)
    rng = np.random.default_rng(1)
    x = character.features_at(scenario.scene, scenario.scene.q0)
    angles = scenario.scene.q0[character.joints.q_index]
    z = problem.initial(x, angles)
    z[problem.fixed :] += 0.05 * rng.normal(size=len(z) - problem.fixed)
    along = np.zeros(len(z))
    along[problem.fixed :] = rng.normal(size=len(z) - problem.fixed)
    cost, blocks = problem.normal_equations(z)
    assert cost == pytest.approx(cost_of(problem.residuals(z)))
    slope = curvature = 0.0
    for part in blocks:
        knots, (A, b) = along[part.knots.windows], part.knots.squares(part.H, part.b)
        slope, curvature = slope + (b * knots).sum(), curvature + np.einsum("wg,wgh,wh->", knots, A, knots)
        np.testing.assert_allclose(part.knots.diagonal(part.H), np.einsum("wgg->wg", A), rtol=1e-9, atol=1e-12)
        if part.local is not None:
            motion = part.knots.moved(knots)[:, part.local.columns]
            local = along[part.local.first[:, None] + np.arange(part.local.c.shape[1])]
            slope += (part.local.c * local).sum()
            curvature += np.einsum("sl,slm,sm->", local, part.local.D, local)
            curvature += 2.0 * np.einsum("se,sel,sl->", motion, part.local.cross, local)
    if (shared := problem.shared(z)) is not None:
        rate = shared[1] @ along[: problem.knots]
        slope, curvature = slope + shared[0] * rate, curvature + rate**2
    step = 1e-6
    ahead, behind = (problem.residuals(z + sign * step * along) for sign in (1.0, -1.0))
    assert slope == pytest.approx((cost_of(ahead) - cost_of(behind)) / (2.0 * step), rel=1e-6)
    rates = [(a - b) / (2.0 * step) for a, b in zip(ahead, behind, strict=True)]
    assert curvature == pytest.approx(2.0 * cost_of(rates), rel=1e-5)  # |J v|²
    assert sum(problem.breakdown(z).values()) == pytest.approx(cost)


def test_times_follow_free_durations_and_a_posture_at_rest_costs_the_same(behaviour, character, surroundings):
    scenario = behaviour(options="duration_factor: 2")
    problem = SynthesisProblem(character, surroundings, scenario.spec.behaviour)
    q = scenario.scene.q0
    z = problem.initial(character.features_at(scenario.scene, q), q[character.joints.q_index])
    np.testing.assert_allclose(problem.durations(z), 0.5)
    before = problem.breakdown(z)
    first, stride = 2 * character.features + len(character.effectors), (problem.knots - 2 * character.features) // 2
    z[first], z[first + stride] = np.log(1.5), np.log(0.5)
    np.testing.assert_allclose(problem.durations(z), [0.75, 0.25])
    assert problem.shared(z)[0] == pytest.approx(0.0, abs=1e-12)  # the sum is that of the behaviour
    times = problem.times(z)
    np.testing.assert_allclose(np.diff(times[:8]), 3.0 * np.diff(times[8:]))
    assert times[7] < 0.75 < times[8] and times[-1] < 1.0
    after = problem.breakdown(z)
    assert after.pop("durations") > before.pop("durations") == 0.0
    assert sum(after.values()) == pytest.approx(sum(before.values()))


def test_rotating_vectors():
    r, rate, second = np.array([0.4, -1.1, 0.3]), np.array([0.5, 0.2, -0.7]), np.array([0.1, -0.4, 0.2])
    h = 1e-5

    def R(t):
        return np.array(ca.DM(ca.evalf(exponential_map(ca.SX(ca.DM(r + t * rate + t**2 / 2 * second))))))

    def omega(t):
        return np.array(
            ca.DM(ca.evalf(angular_velocity(ca.SX(ca.DM(r + t * rate + t**2 / 2 * second)), ca.DM(rate + t * second))))
        ).ravel()

    turning = (R(h) - R(-h)) / (2 * h) @ R(0).T
    np.testing.assert_allclose(omega(0.0), [turning[2, 1], turning[0, 2], turning[1, 0]], atol=1e-7)
    np.testing.assert_allclose(R(0), pin.exp3(r), atol=1e-7)
    found = ca.DM(ca.evalf(angular_acceleration(ca.SX(ca.DM(r)), ca.SX(ca.DM(rate)), ca.SX(ca.DM(second)))))
    np.testing.assert_allclose(np.array(found).ravel(), (omega(h) - omega(-h)) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("point", [(0.7, 0.1, 0.25), (0.8, 0.0, 0.15), (0.3, 0.0, 0.1), (0.0, 0.0, -0.03)])
def test_symbolic_and_numeric_surroundings_agree(surroundings, point):
    p = ca.SX(ca.DM(point))
    numeric = surroundings.distances(np.array([point]))[0]
    assert float(ca.evalf(surroundings.distance(p))) == pytest.approx(numeric, abs=1e-5)


def test_the_virtual_nearest_point_is_the_nearest_one_close_to_a_surface(surroundings):
    point, normal = surroundings.nearest(ca.SX(ca.DM([0.8, 0.1, 0.201])), 0.1)
    np.testing.assert_allclose(np.array(ca.evalf(point)).ravel(), [0.8, 0.1, 0.2], atol=0.02)
    assert np.array(ca.evalf(normal)).ravel()[2] > 0.9
    near, normals = surroundings.touched(np.array([[0.8, 0.1, 0.21], [2.0, 0.0, 0.3]]))
    np.testing.assert_allclose(near, [[0.8, 0.1, 0.2], [2.0, 0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(normals, [[0, 0, 1], [0, 0, 1]])


def test_the_virtual_nearest_point_is_where_the_whole_patch_fits(surroundings):
    found, _ = surroundings.nearest(ca.SX(ca.DM([0.95, 0.1, 0.201])), 0.1)  # the block ends at 1.0
    assert np.array(ca.evalf(found)).ravel()[0] < 0.92
    found, _ = surroundings.nearest(ca.SX(ca.DM([0.8, 0.1, 0.201])), 0.25)  # more than the half of the block
    assert abs(np.array(ca.evalf(found)).ravel()[2]) < 1e-6
    with pytest.raises(MultiQpError, match="no surface of the surroundings has 200"):
        surroundings.nearest(ca.SX(ca.DM([0.8, 0.1, 0.2])), 100.0)


def test_a_point_may_turn_about_the_surface():
    scenario = load_scenario(str(Path(__file__).with_name("quadruped.yaml")))
    character = character_of(scenario)
    foot = character.limbs[0]
    assert foot.point and foot.margin == 0.0 and len(character.limbs) == 4 and not foot.turns
    x = character.features_at(scenario.scene, scenario.scene.q0)
    np.testing.assert_allclose(x[9:12], 0.0)
    q = scenario.scene.q0.copy()
    q[foot.q_index] += 0.1
    np.testing.assert_allclose(character.features_at(scenario.scene, q)[9:12], 0.0)
    stretched = sum(np.linalg.norm(X.translation) for X in (*foot.placements[1:], foot.end))
    assert foot.length == pytest.approx(stretched)


def test_the_rotation_of_a_point_on_a_redundant_limb_is_a_feature():
    """Of a hand that touches with its fingertips, so that its joint angles do not jump; not of the back."""
    scenario = load_scenario("get_up_from_back")
    character, q = character_of(scenario), scenario.scene.q0.copy()
    assert {e.name for e in character.limbs if e.point and e.oriented} == {"left_hand", "right_hand"}
    assert {e.name for e in character.effectors if e.turns} == {
        *("left_hand", "right_hand", "back"),
        *("left_tailbone", "right_tailbone"),
    }
    i = character.index("left_hand")
    before = character.features_at(scenario.scene, q)[9 + 6 * i : 12 + 6 * i]
    q[character.limbs[i].q_index[-1]] += 0.3  # the wrist alone
    after = character.features_at(scenario.scene, q)[9 + 6 * i : 12 + 6 * i]
    assert np.linalg.norm(pin.log3(pin.exp3(after) @ pin.exp3(before).T)) == pytest.approx(0.3)
    assert not character.features_at(scenario.scene, q)[9 + 6 * character.index("back") :][:3].any()


@pytest.mark.parametrize(("share", "violation"), [(1.0, 0.0), (0.5, 10 * (0.08 - 0.5 * 0.105))])
def test_the_origin_of_force_stays_in_a_share_of_the_patch(behaviour, share, violation):
    sole = character_of(behaviour()).effectors[0]
    assert sole.half[0] == pytest.approx(0.105)
    wrench = ca.SX(ca.DM([0.0, 0.0, 1.0, 0.0, 0.08, 0.0]))  # 8 cm from the middle
    found = ca.Function("f", [], [ca.vertcat(*_cone(wrench, sole, 0.7, share))])()["o0"]
    np.testing.assert_allclose(np.array(found).ravel(), [0.0, 0.0, 0.0, violation, 0.0], atol=1e-9)


@pytest.mark.parametrize(
    ("push", "moment", "violation"),
    [
        ([0.0, 0.0, 1.0], 0.0, [0.0, 0.0, 0.0]),
        ([0.0, 0.0, -0.3], 0.0, [0.3, 0.21, 0.0]),  # it pulls
        ([0.6, 0.8, 1.0], 0.0, [0.0, 0.3, 0.0]),  # it slides
        ([0.0, 0.0, 1.0], 0.02, [0.0, 0.0, 0.2]),  # a point has no moment
    ],
)
def test_the_friction_cone_of_a_point_is_about_the_normal_of_the_surface(push, moment, violation):
    """Without the frame of its link, which may turn: the tailbone of one that lies would else pull at the ground."""
    rows = _point_cone(ca.SX(ca.DM(push)), ca.SX(ca.DM([0.0, moment, 0.0])), ca.SX(ca.DM([0.0, 0.0, 1.0])), 0.7)
    found = np.array(ca.evalf(ca.vertcat(*rows))).ravel()
    assert [found[0], found[1], np.abs(found[2:]).max()] == pytest.approx(violation, abs=1e-3)


def test_the_tailbone_faces_the_ground_of_one_that_sits_and_of_one_that_lies():
    scene = load_scenario("walk_to").scene
    normal = scene.surfaces["humanoid/tailbone"].X_link_surface.rotation[:, 2]
    np.testing.assert_allclose(normal, [-np.sqrt(0.5), 0.0, -np.sqrt(0.5)], atol=1e-9)


JOINED = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole, joined: left_foot}}"


def test_joined_effectors_have_one_contact_variable_and_together_cost_as_much_as_one(behaviour):
    costs = {}
    for effectors in (JOINED, JOINED.replace(", joined: left_foot", "")):
        scenario = behaviour(effectors=effectors)
        character = character_of(scenario)
        problem = SynthesisProblem(character, surroundings_of(scenario.scene, "humanoid"), scenario.spec.behaviour)
        x = character.features_at(scenario.scene, scenario.scene.q0)
        z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
        z[2 * len(x) : problem.knots] += 0.01 * np.random.default_rng(0).normal(size=problem.knots - 2 * len(x))
        problem.logits(z)[:] = [1.0, -3.0]
        joined, before = character.variables == [0, 0], problem.breakdown(z)
        problem.logits(z)[:, 1] = -2.0
        after = problem.breakdown(z)
        changed = {name for name, cost in after.items() if abs(cost - before[name]) > 1e-9}
        assert changed == ({"contact variables"} if joined else changed) and "contact variables" in changed
        problem.logits(z)[:] = 1.0
        costs[joined] = problem.breakdown(z)
    for name, factor in (("contact", 0.5), ("slip", 0.5), ("forces without contact", 2.0), ("effort", 2.0)):
        assert costs[True][name] == pytest.approx(factor * costs[False][name], rel=1e-6) and costs[True][name] > 0.0


def costs_at_start(scenario, *, rate=0.0):
    """Return the costs of a start pose with the left foot alone in contact, and features that change at a rate."""
    character = character_of(scenario)
    problem = SynthesisProblem(character, surroundings_of(scenario.scene, "humanoid"), scenario.spec.behaviour)
    x = character.features_at(scenario.scene, scenario.scene.q0)
    z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
    problem.knot_values(z)[1][:] = rate
    problem.logits(z)[:] = [2.0, -4.0]
    return problem.breakdown(z)


def test_a_phase_needs_a_contact_that_supports(behaviour):
    """With the left foot alone in contact: c = 1 / (1 + e⁻²) of what counts, else 0.018."""
    costs = []
    for given in ("", ", supports: 0.34", ", supports: false"):
        effectors = f"{{left_foot: {{surface: left_sole{given}}}, right_foot: {{surface: right_sole}}}}"
        scenario = behaviour(effectors=effectors)
        samples = SAMPLES * scenario.spec.behaviour.phases
        costs.append(costs_at_start(scenario)["support"] / (0.5 * samples))
    left, right = 1.0 / (1.0 + np.exp([-2.0, 4.0]))
    missing = 1.0 - right - left * np.array([1.0, 0.34, 0.0])
    np.testing.assert_allclose(costs, missing**2, rtol=1e-6)


def test_slip_cost_is_a_factor_of_the_velocity_in_contact(behaviour):
    effectors = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}"
    scenarios = [behaviour(effectors=effectors, options=f"slip_cost: {slip}") for slip in (1, 3)]
    first, second = (costs_at_start(scenario, rate=0.1) for scenario in scenarios)
    changed = {name for name, cost in second.items() if cost != first[name]}
    assert changed == {"slip"} and second["slip"] == pytest.approx(9.0 * first["slip"]) and first["slip"] > 0.0


@pytest.mark.parametrize("other", ["right_foot", "left_hand"])
def test_an_effector_is_joined_to_another_one_that_is_not_joined_itself(behaviour, other):
    with pytest.raises(MultiQpError, match=r"right_foot\.joined: .*" + other):
        behaviour(effectors=JOINED.replace("joined: left_foot", f"joined: {other}"))


def test_a_grasp_surface_is_refused(behaviour):
    effectors = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}, left_hand: {surface: left_grip}}"
    with pytest.raises(MultiQpError, match="left_hand: expected a planar surface or a point, got a grasp"):
        character_of(behaviour(effectors=effectors))


def test_names_and_phases_are_checked_with_their_lines(behaviour):
    terms = "{type: strike, effector: seat, target: [0, 0, 1], phase: 3}, {type: stand, feet: [left_foot, rihgt_foot]}"
    with pytest.raises(MultiQpError) as caught:
        behaviour(posture="half_siting", terms=terms)
    message = str(caught.value)
    assert "rihgt_foot" in message and "half_siting" in message and "there are only 2 phases, got 3" in message


@pytest.mark.parametrize("seed", range(6))
def test_the_distance_of_segments_is_that_of_capsules(seed):
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(size=(4, 3))
    found = float(ca.evalf(segment_distance(*(ca.SX(ca.DM(p)) for p in (a, b, c, d)))))
    s = np.linspace(0.0, 1.0, 400)
    first, second = a + s[:, None] * (b - a), c + s[:, None] * (d - c)
    assert found == pytest.approx(np.linalg.norm(first[:, None] - second[None], axis=2).min(), abs=5e-3)


def test_inside_a_solid_the_way_out_is_up(surroundings):
    p = ca.SX.sym("p", 3)
    up = ca.Function("up", [p], [surroundings.height_above(p), ca.gradient(surroundings.height_above(p), p)])
    height, slope = (np.array(value).ravel() for value in up([0.65, 0.0, 0.05]))
    assert height[0] == pytest.approx(-0.15, abs=1e-4) and slope == pytest.approx([0.0, 0.0, 1.0], abs=1e-3)


@pytest.mark.parametrize(("height", "factor"), [(0.0, 1.0), (0.2, 1.0), (0.4, 0.25)])
def test_ramps_of_high_solids_are_eased(height, factor):
    solid = SolidBox(pin.SE3(np.eye(3), np.array([0.0, 0.0, height / 2])), np.array([0.2, 0.3, height / 2]))
    p = ca.SX.sym("p", 3)
    found = Surroundings((), (solid,)).height_above(p)
    inside = float(ca.Function("h", [p], [found])([0.0, 0.0, height - 0.1]))
    assert solid.ease == pytest.approx(factor) and inside == pytest.approx(-0.1 * factor, abs=1e-5)


def test_solids_higher_than_a_limb_have_ramps_if_they_are_climbed():
    solid = SolidBox(pin.SE3.Identity(), np.array([0.2, 0.3, 1.0]), owner="wall")
    p = ca.SX.sym("p", 3)
    found = [Surroundings((), (solid,), climbed=frozenset(names)).height_above(p, 0.7) for names in ((), ("wall",))]
    left_out, ramp = (float(ca.Function("h", [p], [height])([0.0, 0.0, 0.5])) for height in found)
    assert left_out == np.inf and ramp == pytest.approx(-0.5 * solid.ease, abs=1e-5)


def test_heights_above_a_box_of_a_trunk_that_lies_are_along_its_axis_that_is_up():
    """A trunk on all fours: x of the box points down, so that -x is up."""
    solid = SolidBox(pin.SE3.Identity(), np.array([0.1, 0.2, 0.3]), up=np.array([-1.0, 0.0, 0.0]))
    p = ca.SX.sym("p", 3)
    height = ca.Function("h", [p], [Surroundings((), (solid,)).height_above(p)])
    assert float(height([0.05, 0.0, 0.29])) == pytest.approx(-0.15, abs=1e-5)  # inside: down from its top at x = -0.1
    assert float(height([-0.12, 0.0, 0.0])) == pytest.approx(0.02, abs=1e-5)
    assert float(height([0.05, 0.0, 0.35])) == pytest.approx(-0.15 + RAMP * 0.05, abs=1e-4)


def test_corners_of_a_link_that_touches_with_a_point_do_not_enter_solids():
    """The hand's box, 7.8 cm wide, has its corners as capsules without radius if its fingertips are a contact."""
    character = character_of(load_scenario("get_up_from_back"))
    corners = {
        link: np.array([c.ends[0] for c in character.capsules if c.link == link and c.radius == 0.0])
        for link in ("humanoid/l_wrist_roll_link", "humanoid/l_ankle_roll_link")
    }
    np.testing.assert_allclose(np.ptp(corners["humanoid/l_wrist_roll_link"], axis=0), [0.078, 0.028, 0.135], atol=1e-9)
    assert not len(corners["humanoid/l_ankle_roll_link"])  # its sole is a patch, whose corners are tested


def test_a_head_that_the_chest_holds_keeps_its_distance_though_the_chest_touches():
    """Links beyond the patch of a limb's end come close to what it touches; a head must not follow the chest down."""
    touches = {c.link: c.touches for c in character_of(load_scenario("get_up_from_back")).capsules if not c.side}
    assert touches["humanoid/torso"] and touches["humanoid/l_wrist_roll_link"] and not touches["humanoid/head"]


def test_capsules_along_the_sides_of_a_foot_cover_its_width():
    """The foot's box is 11.5 cm wide, in which one capsule has a radius of 2.25 cm; the chest has no patch."""
    character = character_of(load_scenario("handstand"))
    sides = [c for c in character.capsules if c.side]
    assert {c.link.removeprefix("humanoid/") for c in sides} == {
        f"{side}_{link}_roll_link" for side in "lr" for link in ("ankle", "wrist")
    }
    foot = [c for c in sides if c.link == "humanoid/l_ankle_roll_link"]
    assert [c.radius for c in foot] == [0.0225] * 2
    across = [edge for c in foot for edge in (c.ends[0, 1] - c.radius, c.ends[0, 1] + c.radius)]
    assert max(across) - min(across) == pytest.approx(0.115, abs=1e-9)


def test_the_cap_of_the_thigh_does_not_enter_the_ground_on_which_the_knee_is():
    """While the shank is inclined by up to 24°; the capsule belongs to a link without a patch of its own."""
    scenario = load_scenario(str(Path(__file__).with_name("kneel_from_belly.yaml")))
    scene = scenario.scene
    model, data = scene.model, scene.model.createData()
    surface = scene.surfaces["humanoid/left_knee"]
    thigh = model.getJointId("humanoid/L_HIP_P")
    assert touching_joints(scene, surface) == {surface.joint_id, thigh}
    assert touching_joints(scene, scene.surfaces["humanoid/left_toes"]) == {model.getJointId("humanoid/L_ANKLE_R")}
    cap = next(c for c in character_of(scenario).capsules if c.joint == thigh)
    assert cap.touches and cap.radius == pytest.approx(0.062)
    for inclined in np.radians([-4.0, 0.0, 10.0, 24.0]):
        q = pin.neutral(model)
        q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.5 * np.pi + inclined, 0.0)).coeffs()
        pin.framesForwardKinematics(model, data, q)
        lowest = data.oMi[surface.joint_id].translation[2] - cap.radius
        assert 0.0 <= lowest - data.oMf[surface.frame_id].translation[2] < 0.003


def test_balance_is_the_displacement_of_the_centre_of_mass_while_it_stands(behaviour):
    scenario = behaviour(options="limb_weights: true\n  balanced: true", effectors=EFFECTORS_WITH_CHEST)
    scene, character = scenario.scene, character_of(scenario)
    problem = SynthesisProblem(character, surroundings_of(scene, "humanoid"), scenario.spec.behaviour)
    problem.weights = {**dict.fromkeys(problem.weights, 0.0), "balance": 2.0}
    q = scene.q0.copy()
    q[scene.model.joints[scene.model.getJointId("humanoid/CHEST_P")].idx_q] += 0.3
    x = character.features_at(scene, scene.q0)
    r = problem.residuals(problem.initial(x, q[character.joints.q_index]))[0]
    shift = pin.centerOfMass(scene.model, scene.model.createData(), q) - x[:3]
    assert abs(shift[0]) > 0.02
    last = len(r) - 1  # it stands at the end
    np.testing.assert_allclose(np.linalg.norm(r[last]), 2.0 * np.linalg.norm(shift[:2]), rtol=1e-6)
    assert not r[:last].any()
