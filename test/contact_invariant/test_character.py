"""Simplified character and its postures against the full model."""

from pathlib import Path

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.motion import Motion
from contact_invariant.postures import postures_of
from contact_invariant.problem import SynthesisProblem
from contact_invariant.residuals import LimbFrames
from contact_invariant.surroundings import surroundings_of
from contact_invariant.symbols import angular_acceleration, angular_velocity, exponential_map
from contact_invariant.task_terms import state_at
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario


@pytest.fixture(scope="module")
def scenario(behaviour):
    return behaviour(block=0.8)


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


def test_the_tailbone_faces_the_ground_of_one_that_sits_and_of_one_that_lies():
    scene = load_scenario("walk_to").scene
    normal = scene.surfaces["humanoid/tailbone"].X_link_surface.rotation[:, 2]
    np.testing.assert_allclose(normal, [-np.sqrt(0.5), 0.0, -np.sqrt(0.5)], atol=1e-9)


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"terms": "{type: position, target: [1, 0]}, {type: position, target: [2, 0]}"}, "[2]: contradicts terms[1]"),
        ({"terms": "{type: handstand, hands: [left_foot], feet: [left_foot]}"}, "'left_foot' is one of the hands"),
        (
            {"effectors": "{left_foot: {surface: left_sole}, right_foot: {surface: left_sole}}"},
            "effectors.right_foot.surface: 'left_sole' is the surface of the effector 'left_foot'",
        ),
        ({"options": "samples: 9"}, "behaviour.samples: expected an even integer from 8 to 40, got 9"),
        ({"options": "phase_duration: 500"}, "expected a positive number of at most 10, got 500"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(behaviour, given, message):
    with pytest.raises(MultiQpError) as caught:
        behaviour(**given)
    assert message in str(caught.value)


def test_two_places_of_which_one_is_a_preference_are_allowed(behaviour):
    behaviour(terms="{type: position, target: [1, 0]}, {type: position, target: [2, 0], weight: 0.5}")


def test_a_character_without_support_and_a_behaviour_of_preferences_are_refused(behaviour, refusal):
    path = behaviour(
        effectors="{left_foot: {surface: left_sole, supports: 1}, right_foot: {surface: right_sole, supports: 0}}"
    ).path
    message = refusal(path, "supports: 1", "supports: 0")
    assert message.endswith("behaviour.effectors: expected an effector that `supports` the character")
    message = refusal(path, "feet: [left_foot, right_foot]", "feet: [left_foot], weight: 0.5")
    assert "behaviour.terms: expected a term with a weight of at least 1" in message


def test_a_section_without_content_is_named(behaviour, refusal):
    path = behaviour().path
    text = path.read_text()
    message = refusal(path, text[text.index("behaviour:") :], "behaviour:\n")
    assert message.endswith("behaviour: expected a mapping, got nothing (null)")
