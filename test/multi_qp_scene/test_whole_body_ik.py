"""Whole-body inverse kinematics: reachable placements, derivatives, joint limits."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

SCENARIO = """
description: stands
subsystems: {robot: {model: NAME, posture: POSTURE, place: {surfaces: [FEET], onto: ground/floor}}}
environment: {ground: {model: ground}}
initial_state: s
states: {s: {}}
"""
ROBOTS = {
    "humanoid": ("half_sitting", ["left_sole", "right_sole"]),
    "quadruped": ("standing", [f"{a}_{b}_foot" for a in ("left", "right") for b in ("front", "hind")]),
}


@pytest.fixture(params=list(ROBOTS))
def standing(request, tmp_path):
    posture, feet = ROBOTS[request.param]
    text = SCENARIO.replace("NAME", request.param).replace("POSTURE", posture).replace("FEET", ", ".join(feet))
    (tmp_path / "stand.yaml").write_text(text)
    scene = load_scenario(tmp_path / "stand.yaml").scene
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    placements = [
        Placement(s.frame_id, data.oMf[s.frame_id].copy(), turns=s.kind == "point")
        for s in (scene.surfaces[f"robot/{foot}"] for foot in feet)
    ]
    com = pin.centerOfMass(scene.model, data, scene.q0).copy()
    return scene, WholeBodyIk(scene, "robot"), placements, com


@pytest.mark.parametrize("way", [(0.03, 0.02, -0.05), (-0.02, -0.04, -0.1), (0.0, 0.05, -0.02)])
def test_the_centre_of_mass_is_reached_and_the_feet_are_fixed(standing, way):
    scene, ik, placements, com = standing
    found = ik.solve(scene.q0, placements, com=com + way)
    assert found.contact_error < 1e-4 and found.com_error < 1e-4
    data = scene.model.createData()
    np.testing.assert_allclose(pin.centerOfMass(scene.model, data, found.q), com + way, atol=2e-4)
    pin.framesForwardKinematics(scene.model, data, found.q)
    for placement in placements:
        np.testing.assert_allclose(data.oMf[placement.frame_id].translation, placement.pose.translation, atol=2e-4)
    low, high = scene.limits.lower, scene.limits.upper
    assert (found.q[scene.limits.q_index] >= low).all() and (found.q[scene.limits.q_index] <= high).all()


def test_unreachable_targets_leave_an_error_within_the_limits(standing):
    scene, ik, placements, com = standing
    found = ik.solve(scene.q0, placements, com=com + [0.0, 0.0, 0.5])
    assert max(found.contact_error, found.com_error) > 0.05
    assert np.isfinite(found.q).all()
    assert (found.q[scene.limits.q_index] <= scene.limits.upper).all()


def test_the_centre_of_mass_is_optional(standing):
    scene, ik, placements, _ = standing
    ahead = pin.SE3(np.eye(3), np.array([0.1, 0.0, 0.0]))
    moved = [Placement(p.frame_id, ahead * p.pose, p.turns) for p in placements]
    found = ik.solve(scene.q0, moved)
    assert found.contact_error < 1e-4 and found.com_error == 0.0


@pytest.mark.parametrize("down", [0.002, 0.01])
def test_steps_near_a_stretched_leg_do_not_end_far_away(tmp_path, down):
    text = SCENARIO.replace("NAME", "humanoid").replace("POSTURE", "half_sitting")
    (tmp_path / "stand.yaml").write_text(text.replace("FEET", "left_sole, right_sole"))
    scene = load_scenario(tmp_path / "stand.yaml").scene
    model, data, q = scene.model, scene.model.createData(), scene.q0.copy()
    for joint in (f"robot/{side}_{name}_P" for side in "LR" for name in ("HIP", "KNEE", "ANKLE")):
        q[model.joints[model.getJointId(joint)].idx_q] = 0.0
    pin.framesForwardKinematics(model, data, q)
    sole, base = scene.surfaces["robot/left_sole"].frame_id, int(model.getFrameId(model.names[1]))
    beyond = pin.SE3(data.oMf[sole].rotation, data.oMf[sole].translation + [0.02, 0.0, -down])
    placements = [Placement(sole, beyond, weight=10.0), Placement(base, data.oMf[base].copy(), weight=0.1)]
    ik = WholeBodyIk(scene, "robot")
    for iterations in range(1, 16):
        assert ik.solve(q, placements, rest=q, iterations=iterations).contact_error < down + 0.002
