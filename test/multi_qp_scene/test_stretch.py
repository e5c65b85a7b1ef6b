"""Scaling of bodies: shapes, surfaces and inertia, and models that cannot be scaled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.description import robot_descriptions
from multi_qp_scene.errors import ConfigError

BRICK = """\
<robot name="brick"><link name="brick">
  <inertial>
    <origin xyz="0 0 0.1"/><mass value="2"/>
    <inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/>
  </inertial>
  <visual><origin xyz="0 0 0.1"/><geometry><box size="0.4 0.3 0.2"/></geometry></visual>
  <collision><origin xyz="0 0 0.1" rpy="{rpy}"/><geometry>{shape}</geometry></collision>
</link></robot>
"""
BOX = '<box size="0.4 0.3 0.2"/>'
MODEL = """\
urdf: brick.urdf
root: free_flyer
surfaces:
  side: {type: planar, link: brick, xyz: [0, 0.15, 0.1], rpy: [-1.570796326795, 0, 0], size: [0.4, 0.2]}
"""
SCENARIO = """\
description: a brick
subsystems:
  brick: {{model: brick.yaml, scale: {scale}, pose: {{xyz: [0, 0, 1]}}}}
initial_state: only
states: {{only: {{}}}}
"""


def moments(size: tuple[float, float, float], mass: float) -> list[float]:
    """Moments of inertia of a solid box about its middle."""
    x, y, z = np.square(size)
    return [mass / 12 * (y + z), mass / 12 * (x + z), mass / 12 * (x + y)]


@pytest.fixture
def brick(tmp_path: Path):
    """Return a function that loads the scaled brick."""

    def load(scale: str, *, shape: str = BOX, rpy: str = "0 0 0", surfaces: str = ""):
        ixx, iyy, izz = moments((0.4, 0.3, 0.2), 2.0)
        text = BRICK.format(ixx=ixx, iyy=iyy, izz=izz, shape=shape, rpy=rpy)
        (tmp_path / "brick.urdf").write_text(text)
        (tmp_path / "brick.yaml").write_text(MODEL + surfaces)
        (tmp_path / "one.yaml").write_text(SCENARIO.format(scale=scale))
        return load_scenario(tmp_path / "one.yaml")

    return load


def test_a_scaled_box_is_a_solid_box_of_that_size(brick) -> None:
    scene = brick("[0.5, 2, 1.5]").scene
    body = scene.model.inertias[1]
    assert body.mass == pytest.approx(2.0)
    np.testing.assert_allclose(body.lever, [0.0, 0.0, 0.15], atol=1e-12)
    np.testing.assert_allclose(body.inertia, np.diag(moments((0.2, 0.6, 0.3), 2.0)), atol=1e-9)
    for shapes in (scene.collision_model, scene.visual_model):
        (shape,) = shapes.geometryObjects
        np.testing.assert_allclose(shape.geometry.halfSide, [0.1, 0.3, 0.15], atol=1e-9)
        np.testing.assert_allclose(shape.placement.translation, [0.0, 0.0, 0.15], atol=1e-9)


def test_its_surfaces_stay_on_its_faces(brick) -> None:
    side = brick("[0.5, 2, 1.5]").scene.surfaces["brick/side"]
    corners = np.array([side.X_link_surface.act(point) for point in side.points])
    np.testing.assert_allclose(corners.max(axis=0), [0.1, 0.3, 0.3], atol=1e-9)
    np.testing.assert_allclose(corners.min(axis=0), [-0.1, 0.3, 0.0], atol=1e-9)


def test_the_exported_urdf_has_the_same_size(brick) -> None:
    scenario = brick("[0.5, 2, 1.5]")
    model = pin.buildModelFromXML(robot_descriptions(scenario)["brick"], pin.JointModelFreeFlyer())
    np.testing.assert_allclose(model.inertias[1].inertia, scenario.scene.model.inertias[1].inertia, atol=1e-9)


def test_round_shapes_may_be_scaled_uniformly(brick) -> None:
    (shape,) = brick("[2, 2, 2]", shape='<sphere radius="0.1"/>').scene.collision_model.geometryObjects
    assert shape.geometry.radius == pytest.approx(0.2)


ROUND = "a round shape can only be scaled by the same factor along x, y and z"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shape": '<sphere radius="0.1"/>'}, ROUND),
        ({"shape": '<cylinder radius="0.1" length="0.2"/>'}, ROUND),
        ({"surfaces": "  bar: {type: grasp, link: brick, radius: 0.02, length: 0.1}\n"}, ROUND),
        ({"rpy": "0.1 0 0"}, "a rotated shape can only be scaled by the same factor"),
        (
            {"surfaces": "  slope: {type: planar, link: brick, rpy: [0, 0, 0.5], size: [0.1, 0.1]}\n"},
            "surface 'slope' would become oblique",
        ),
    ],
)
def test_scaling_that_changes_the_type_of_a_shape_is_refused(brick, options, said) -> None:
    with pytest.raises(ConfigError, match=rf"one.yaml:3: subsystems.brick.scale: {said}"):
        brick("[1, 2, 1]", **options)


def test_a_model_with_joints_is_not_scaled(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(SCENARIO.format(scale="[1, 2, 1]").replace("brick.yaml", "humanoid"))
    with pytest.raises(ConfigError, match="only a model of one link can be scaled, and this one has joints"):
        load_scenario(tmp_path / "one.yaml")
