"""Figures for bent knees, arms held out, sitting down, and tilted trunks."""

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.posture_figures import posture_figures
from multi_qp_scene import load_scenario

FEET = {"left_foot", "right_foot"}


def height_above_soles(scene, q):
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, q)
    soles = [data.oMf[scene.surfaces[f"humanoid/{side}_sole"].frame_id].translation[2] for side in ("left", "right")]
    return data.oMi[scene.model.getJointId("humanoid/root_joint")].translation[2] - min(soles)


def test_knees_arms_and_height_are_those_of_the_joints(behaviour):
    scenario = behaviour()
    scene, character = scenario.scene, character_of(scenario)

    def index(joint):
        return [scene.model.joints[scene.model.getJointId(f"humanoid/{side}_{joint}")].idx_q for side in ("L", "R")]

    q = np.tile(scene.q0, (2, 1))
    q[:, index("KNEE_P")] = 0.5
    q[:, index("SHOULDER_R")] = 0.0
    q[:, index("SHOULDER_P")] = -np.pi / 2  # arms ahead
    q[1, index("KNEE_P")[0]] = 1.5  # of the leg that is not in contact then
    contact = np.array([[True, True, False, False, False], [False, True, False, False, False]])
    found = posture_figures(scene, character, q, contact, FEET)
    assert found.knee == pytest.approx(0.5, abs=0.01) and found.arm == pytest.approx(np.pi / 2, abs=0.1)
    nominal = posture_figures(scene, character, character.nominal[None], contact[:1], FEET)
    assert nominal.height == pytest.approx(1.0, abs=1e-9) and nominal.tilt == pytest.approx(0.0, abs=1e-9)
    least = min(height_above_soles(scene, posture) for posture in q)
    assert found.height == pytest.approx(least / height_above_soles(scene, character.nominal), abs=1e-9)
    q[1, 2] -= 0.3
    q[1, index("HIP_P")] = -1.0
    q[1, index("KNEE_P")] = 2.0
    assert posture_figures(scene, character, q, contact, FEET).height < 0.7


def test_tilt_is_the_largest_angle_of_a_trunk_of_any_character():
    scenario = load_scenario("on_back")
    scene, character = scenario.scene, character_of(scenario)
    contact = np.zeros((3, len(character.effectors)), dtype=bool)
    q = np.tile(character.nominal, (3, 1))
    assert posture_figures(scene, character, q, contact, FEET).tilt == pytest.approx(0.0, abs=1e-6)
    for k, angle in ((0, 0.4), (1, 0.7)):  # about a horizontal axis, after a turn about the vertical one
        first = scene.model.joints[character.bodies[k].root].idx_q
        R = pin.utils.rotate("x", angle) @ pin.utils.rotate("z", 1.0)
        q[k, first + 3 : first + 7] = pin.Quaternion(R).coeffs()
        assert posture_figures(scene, character, q, contact, FEET).tilt == pytest.approx(angle, abs=1e-9)


def test_a_patch_behind_a_chain_that_bends_nowhere_has_no_figures(behaviour):
    feet = "left_foot: {surface: left_sole}, right_foot: {surface: right_sole}"
    scenario = behaviour(effectors=f"{{{feet}, back: {{surface: back}}}}")
    character, contact = character_of(scenario), np.array([[True, True, False]])
    assert [limb.name for limb in character.limbs] == ["left_foot", "right_foot", "back"]
    found = posture_figures(scenario.scene, character, scenario.scene.q0[None], contact, FEET)
    assert np.isnan(found.arm) and found.height == pytest.approx(1.0)


def test_one_that_lies_has_its_legs_all_the_same(behaviour):
    """No patch of a limb is in contact at the start, or at all."""
    scenario = behaviour()
    none = np.zeros((1, 5), dtype=bool)
    found = posture_figures(scenario.scene, character_of(scenario), scenario.scene.q0[None], none, FEET)
    assert np.isnan(found.knee) and found.arm < 0.5 and found.height == pytest.approx(1.0)


def test_knees_and_toes_are_no_arms():
    scenario = load_scenario("wide_get_up")
    character = character_of(scenario)
    contact = np.ones((1, len(character.effectors)), dtype=bool)
    assert np.isnan(posture_figures(scenario.scene, character, scenario.scene.q0[None], contact, FEET).arm)
