"""Poses of specifications, and placement of bodies on surfaces."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.placement import align_surfaces, pose_of


@pytest.fixture(scope="module")
def scene():
    return load_scenario("box").scene


def test_pose_of_is_roll_pitch_yaw_about_fixed_axes():
    X = pose_of(SimpleNamespace(xyz=(1.0, 2.0, 3.0), rpy=(0.1, 0.2, 0.3)))
    expected = pin.utils.rotate("z", 0.3) @ pin.utils.rotate("y", 0.2) @ pin.utils.rotate("x", 0.1)
    np.testing.assert_allclose(X.rotation, expected, atol=1e-12)
    np.testing.assert_array_equal(X.translation, [1.0, 2.0, 3.0])


def placed(scene, subsystem, surfaces, onto, **where):
    """Return the frames' poses after placing a subsystem."""
    root = scene.subsystems[subsystem].q_slice.start
    base = align_surfaces(
        KinematicTrees(scene.model),
        scene.q0,
        root,
        [scene.surfaces[name] for name in surfaces],
        scene.surfaces[onto],
        **where,
    )
    q = scene.q0.copy()
    q[root : root + 7] = pin.SE3ToXYZQUAT(base)
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, q)
    return {name: data.oMf[scene.surfaces[name].frame_id] for name in [*surfaces, onto]}, base


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.5, np.pi])
@pytest.mark.parametrize("surface", ["bottom", "top", "left", "front", "back"])
def test_a_box_lies_on_any_of_its_faces(scene, surface, yaw):
    poses, _ = placed(scene, "box", [f"box/{surface}"], "table/top", xy=(0.03, -0.02), yaw=yaw)
    face, table = poses[f"box/{surface}"], poses["table/top"]
    np.testing.assert_allclose(face.rotation[:, 2], -table.rotation[:, 2], atol=1e-9)
    np.testing.assert_allclose(table.actInv(face).translation, [0.03, -0.02, 0.0], atol=1e-9)


@pytest.mark.parametrize("yaw", [0.0, 0.9, -1.8])
def test_yaw_is_the_heading_of_the_base(scene, yaw):
    _, base = placed(scene, "box", ["box/bottom"], "table/top", xy=(0.0, 0.0), yaw=yaw)
    np.testing.assert_allclose(base.rotation[:, 0], [np.cos(yaw), np.sin(yaw), 0.0], atol=1e-9)


@pytest.mark.parametrize("yaw", [0.0, 1.2])
def test_a_humanoid_stands_on_both_soles(scene, yaw):
    soles = ["humanoid/left_sole", "humanoid/right_sole"]
    poses, base = placed(scene, "humanoid", soles, "ground/floor", xy=(1.0, 2.0), yaw=yaw)
    for sole in soles:
        np.testing.assert_allclose(poses[sole].rotation[:, 2], [0, 0, -1], atol=1e-6)
        assert poses[sole].translation[2] == pytest.approx(0.0, abs=1e-6)
    middle = 0.5 * (poses[soles[0]].translation + poses[soles[1]].translation)
    np.testing.assert_allclose(middle, [1.0, 2.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(base.rotation[:, 0], [np.cos(yaw), np.sin(yaw), 0.0], atol=1e-6)


LEGS = """\
<robot name="r">
<link name="base"><inertial><mass value="5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
{legs}</robot>
"""
LEG = """\
<joint name="{name}_hip" type="revolute"><parent link="base"/><child link="{name}_leg"/><origin xyz="{x} {y} 0"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="20" velocity="9"/></joint>
<link name="{name}_leg"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.03"/></geometry></collision></link>
"""


@pytest.mark.parametrize("angle", [0.0, 0.8, -1.2])
def test_legs_that_lean_to_one_side_stand_on_their_balls(tmp_path, angle):
    places = {"fl": (0.2, 0.1), "fr": (0.2, -0.1), "rl": (-0.2, 0.1), "rr": (-0.2, -0.1)}
    legs = "".join(LEG.format(name=name, x=x, y=y) for name, (x, y) in places.items())
    (tmp_path / "r.urdf").write_text(LEGS.format(legs=legs), encoding="utf-8")
    feet = "".join(
        f"  {name}: {{type: point, link: {name}_leg, xyz: [0, 0, -0.33], rpy: [3.14159265, 0, 0]}}\n" for name in places
    )
    (tmp_path / "r.yaml").write_text(f"urdf: r.urdf\nsurfaces:\n{feet}", encoding="utf-8")
    posture = ", ".join(f"{name}_hip: {angle}" for name in places)
    (tmp_path / "s.yaml").write_text(
        "description: x\nsubsystems:\n  r:\n    model: r.yaml\n"
        f"    posture: {{{posture}}}\n    place: {{surfaces: [fl, fr, rl, rr], onto: ground/floor}}\n"
        "environment: {ground: {model: ground}}\ninitial_state: a\nstates: {a: {}}\n",
        encoding="utf-8",
    )
    scene = load_scenario(tmp_path / "s.yaml").scene
    base = pin.XYZQUATToSE3(scene.q0[:7])
    np.testing.assert_allclose(base.rotation, np.eye(3), atol=1e-9)
    assert base.translation[2] == pytest.approx(0.3 * np.cos(angle) + 0.03, abs=1e-9)


def test_the_result_is_independent_of_the_previous_base_pose(scene):
    root = scene.subsystems["box"].q_slice.start
    q = scene.q0.copy()
    q[root : root + 7] = pin.SE3ToXYZQUAT(pin.SE3.Random())
    surfaces = [scene.surfaces["box/bottom"]], scene.surfaces["table/top"]
    one, other = (
        align_surfaces(KinematicTrees(scene.model), at, root, *surfaces, xy=(0.0, 0.0), yaw=0.3) for at in (scene.q0, q)
    )
    np.testing.assert_allclose(one.homogeneous, other.homogeneous, atol=1e-12)
