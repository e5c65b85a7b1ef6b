"""Joints that the posture of the walking generator leaves to others."""

from __future__ import annotations

import pytest

from multi_qp_controller.motion_generator import make_generator
from multi_qp_scene.errors import ConfigError
from multi_qp_scene.scenario import load_scenario

SCENE = """\
description: a humanoid that stands
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment: {ground: {model: ground}}
contacts:
  left_foot: {surfaces: [humanoid/left_sole, ground/floor]}
  right_foot: {surfaces: [humanoid/right_sole, ground/floor]}
initial_state: walk
states:
  walk:
    generators:
      gait:
        type: walking
        subsystem: humanoid
        feet: [left_foot, right_foot]
        excluded_joints: ["*WRIST*", NECK_Y]
        # more
"""
ARM = "arms: {humanoid/L_WRIST_P: {foot: right_foot, gain: 1}}"


def test_they_are_not_in_the_posture(tmp_path):
    (tmp_path / "scene.yaml").write_text(SCENE)
    scenario = load_scenario(tmp_path / "scene.yaml")
    task = make_generator("gait", scenario.spec.states["walk"].generators["gait"], scenario).tasks["posture"]
    names = [joint for joint in scenario.scene.velocity_names if joint.removeprefix("humanoid/") in task.joints]
    assert len(names) == len(task.joints) == 30 - 7
    assert not any("WRIST" in name or "NECK_Y" in name for name in names)


@pytest.mark.parametrize(("old", "new", "message"), [("NECK_Y", "NEK_Y", "NEK_Y"), ("# more", ARM, "excluded_joints")])
def test_errors_name_the_joint(tmp_path, old, new, message):
    (tmp_path / "scene.yaml").write_text(SCENE.replace(old, new))
    with pytest.raises(ConfigError, match=f"scene.yaml.*{message}"):
        load_scenario(tmp_path / "scene.yaml")
