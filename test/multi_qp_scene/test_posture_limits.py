"""Postures outside joint limits are valid with a warning."""

from __future__ import annotations

import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_names
from multi_qp_simulator.runner import run_scenario

ARM = """\
<robot name="arm">
  <link name="base"/>
  <joint name="elbow" type="revolute">
    <parent link="base"/> <child link="lower"/> <axis xyz="0 1 0"/>
    <limit lower="0.2" upper="2" velocity="3" effort="20"/>
  </joint>
  <link name="lower">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="wheel" type="continuous">
    <parent link="lower"/> <child link="hand"/> <axis xyz="0 1 0"/> <limit velocity="3" effort="20"/>
  </joint>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""
SCENE = """\
description: an arm
subsystems:
  arm: {{model: arm.yaml{posture}}}
tasks:
  bend: {{type: posture, subsystem: arm, posture: {{elbow: {elbow}}}}}
initial_state: only
states:
  only: {{}}
"""


@pytest.fixture
def warned(tmp_path, monkeypatch, caplog):
    """Return a function that loads a scene with given postures and returns the warnings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "arm.yaml").write_text("{urdf: arm.urdf, root: fixed, postures: {bent: {elbow: 1}, wrong: {elbow: 3}}}")

    def load(posture: str, elbow: float = 1.0) -> list[str]:
        (tmp_path / "scene.yaml").write_text(SCENE.format(posture=posture, elbow=elbow))
        load_scenario("scene.yaml")
        return caplog.messages

    return load


@pytest.mark.parametrize("posture", [", posture: bent", ", posture: {elbow: 0.2, wheel: 400}"])
def test_there_is_no_warning_for_postures_inside(posture, warned):
    assert warned(posture) == []


@pytest.mark.parametrize(
    "posture, said",
    [
        ("", "arm/elbow at 0 is outside its limits [0.2, 2] (no angle is given)"),
        (", posture: {wheel: 1}", "arm/elbow at 0 is outside its limits [0.2, 2] (no angle is given)"),
        (", posture: wrong", "arm/elbow at 3 is outside its limits [0.2, 2]"),
        (", posture: {elbow: 90}", "arm/elbow at 90 is outside its limits [0.2, 2]; angles are in radians"),
    ],
)
def test_there_is_a_warning_for_an_initial_posture_outside(posture, said, warned):
    place = "scene.yaml:3: subsystems.arm.posture"
    assert warned(posture) == [f"{place}: {said}"]


def test_there_is_a_warning_for_ranges_of_more_than_two_turns(warned, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM.replace('lower="0.2" upper="2"', 'lower="-9.42" upper="9.42"'))
    said = "joint ranges of more than two turns: elbow (18.84 rad); give limits in the URDF"
    assert warned("") == [f"scene.yaml:3: subsystems.arm: {said}"]
    (tmp_path / "arm.urdf").write_text(ARM.replace('lower="0.2" upper="2"', 'lower="-6.283" upper="6.283"'))
    assert len(warned("")) == 1


@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_a_start_farther_outside_than_recovers_is_refused(warned, backend):
    warned(", posture: {elbow: 2.5}")
    with pytest.raises(MultiQpError, match=r"arm/elbow is at 2.5, outside \[0.2, 2\]") as refused:
        run_scenario(load_scenario("scene.yaml"), backend=backend)
    assert "more than 0.25 (`joint_limits.start`)" in str(refused.value)
    warned(", posture: {elbow: 2.2}")
    report = run_scenario(load_scenario("scene.yaml"), backend=backend, duration=0.1).report
    assert report["qp_failures"] == 0 and report["worst"]["joint_limit_violation_rad"] >= 0.2 - 1e-9
    assert report["health"]["healthy"], report["health"]


def test_there_is_a_warning_for_a_posture_task_outside(warned):
    place = "scene.yaml:5: tasks.bend.posture.elbow"
    said = "arm/elbow at -45 is outside its limits [0.2, 2]; angles are in radians"
    assert warned(", posture: bent", elbow=-45) == [f"{place}: {said}"]


@pytest.mark.parametrize("name", ["box", "king", "chair", "valve"])
def test_there_is_no_warning_for_shipped_scenarios(name, caplog):
    assert name in scenario_names()
    load_scenario(name)
    assert caplog.messages == []
