"""Several contacts between the same two bodies in MuJoCo: each gets the forces at its own surfaces."""

from __future__ import annotations

import pytest

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import run_scenario

BRICK = """\
<robot name="brick"><link name="brick">
  <inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.1 0.2"/></geometry></collision>
</link></robot>
"""
MODEL = """\
urdf: brick.urdf
surfaces:
  left: {type: planar, link: brick, size: [0.05, 0.1], xyz: [-0.075, 0, -0.1], rpy: [3.14159265359, 0, 0]}
  right: {type: planar, link: brick, size: [0.05, 0.1], xyz: [0.075, 0, -0.1], rpy: [3.14159265359, 0, 0]}
  whole: {type: planar, link: brick, size: [0.2, 0.1], xyz: [0, 0, -0.1], rpy: [3.14159265359, 0, 0]}
  top: {type: planar, link: brick, size: [0.2, 0.1], xyz: [0, 0, 0.1]}
  top_right: {type: planar, link: brick, size: [0.05, 0.1], xyz: [0.075, 0, 0.1]}
"""
SCENE = """\
description: two bricks on a table
subsystems:
  lower: {model: brick.yaml, place: {surfaces: [whole], onto: table/top}}
  brick: {model: brick.yaml, pose: {xyz: [0, 0, 0.4]}}
environment:
  table: {box: [1, 1, 0.2]}
contacts:
  stands: {surfaces: [lower/whole, table/top]}
  left: {surfaces: [brick/left, lower/top]}
  right: {surfaces: [RIGHT]}
  whole: {surfaces: [brick/whole, lower/top]}
initial_state: lie
states:
  lie: {contacts: [stands, MADE], hold: 0.5}
"""


@pytest.fixture
def load(tmp_path):
    def make(made, right="brick/right, lower/top", scene=SCENE):
        (tmp_path / "brick.urdf").write_text(BRICK)
        (tmp_path / "brick.yaml").write_text(MODEL)
        (tmp_path / "scene.yaml").write_text(scene.replace("RIGHT", right).replace("MADE", made))
        return load_scenario(tmp_path / "scene.yaml")

    return make


def forces(scenario):
    """Return the mean normal force on the first surface of each contact [N], after 0.5 s."""
    log = run_scenario(scenario, backend="mujoco").log
    return dict(zip(log.contact_names.tolist(), -log.contact_wrench[-1, :, 2], strict=True))


@pytest.mark.parametrize("right", ["brick/right, lower/top", "lower/top_right, brick/whole"])
def test_halves_of_a_brick_carry_half_of_it_each(load, right):
    found = forces(load("left, right", right))
    assert found["left"] == pytest.approx(9.81, rel=0.01)
    assert found["right"] == pytest.approx(9.81, rel=0.01)


def test_the_whole_surface_carries_all_forces_if_it_is_made(load):
    assert forces(load("whole"))["whole"] == pytest.approx(2 * 9.81, rel=0.01)


def touched(scenario):
    """Return the touches of a run of 0.5 s."""
    return run_scenario(scenario, backend="mujoco").report["touches"]


def touches(scenario):
    """Return the pairs of bodies of the report's touches."""
    return [tuple(touch["bodies"]) for touch in run_scenario(scenario, backend="mujoco").report["touches"]]


def test_a_force_far_from_the_surfaces_of_its_contact_is_listed_as_a_touch(load):
    scene = SCENE.replace("brick/left", "brick/top").replace("brick/whole", "brick/top")  # 20 cm above the place
    assert touches(load("", "brick/top, lower/top", scene)) == [("brick/brick", "lower/brick")]
    assert touches(load("whole")) == []
