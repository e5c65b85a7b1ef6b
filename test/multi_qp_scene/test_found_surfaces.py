import fnmatch

import numpy as np
import pinocchio as pin
import pytest
import trimesh

from multi_qp_scene import ConfigError, load_scenario
from multi_qp_scene.description import robot_descriptions
from multi_qp_scene.kinematic_trees import place_frames

SCENARIO = """\
description: surroundings whose surfaces are found
subsystems:
  humanoid: {model: humanoid, posture: half_sitting}
environment:
  rock: PIECE
contacts:
  foot: {surfaces: [humanoid/left_sole, rock/SURFACE]}
initial_state: stand
states: {stand: {contacts: [foot]}}
"""
URDF = """\
<robot name="room">
  <link name="floor">
    <collision><origin xyz="0 0 -0.05"/><geometry><box size="4 3 0.1"/></geometry></collision>
    <collision><origin xyz="1 0 0.1" rpy="0 0 0.3"/><geometry><box size="0.5 0.6 0.2"/></geometry></collision>
    <collision><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
  <link name="stone">
    <collision><geometry><mesh filename="stone.stl" scale="0.001 0.001 0.001"/></geometry></collision>
  </link>
  <joint name="lies" type="fixed"><parent link="floor"/><child link="stone"/><origin xyz="2 0 0.2" rpy="0 0 1"/></joint>
</robot>
"""


@pytest.fixture
def file(tmp_path):
    stone = trimesh.creation.box(extents=[400.0, 300.0, 200.0])
    stone.export(tmp_path / "stone.stl")
    (tmp_path / "room.urdf").write_text(URDF, encoding="utf-8")
    (tmp_path / "broken.stl").write_text("this is no mesh", encoding="utf-8")
    (tmp_path / "line.obj").write_text("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", encoding="utf-8")

    def write(piece, surface="facet_1"):
        path = tmp_path / "found.yaml"
        path.write_text(SCENARIO.replace("PIECE", piece).replace("SURFACE", surface), encoding="utf-8")
        return path

    return write


def place(scene, name):
    return place_frames(scene.model, scene.q0).oMf[scene.surfaces[name].frame_id]


def test_a_mesh_has_a_surface_on_each_facet_at_the_pose_of_the_scenario(file):
    piece = "{mesh: stone.stl, scale: [0.001, 0.001, 0.002], pose: {xyz: [1, 2, 3], rpy: [0, 0, 0.5]}}"
    scenario = load_scenario(file(piece))
    scene = scenario.scene
    assert len(fnmatch.filter(scene.surfaces, "rock/facet_*")) == 6
    top = next(n for n in scene.surfaces if n.startswith("rock/") and place(scene, n).rotation[2, 2] > 0.99)
    np.testing.assert_allclose(place(scene, top).translation, [1.0, 2.0, 3.2], atol=1e-6)
    corners = scene.surfaces[top].points @ place(scene, top).rotation.T
    np.testing.assert_allclose(
        np.abs(corners @ pin.rpy.rpyToMatrix(0, 0, 0.5))[:, :2], np.tile([0.2, 0.15], (4, 1)), atol=1e-6
    )
    assert any(path.name == "stone.stl" for path in scenario.files)


def test_the_largest_facet_is_the_first(file):
    scene = load_scenario(file("{mesh: stone.stl, scale: [0.001, 0.001, 0.001]}")).scene
    areas = [np.prod(2 * scene.surfaces[f"rock/facet_{k}"].points[0, :2]) for k in range(1, 7)]
    np.testing.assert_allclose(np.abs(areas), [0.12, 0.12, 0.08, 0.08, 0.06, 0.06], atol=1e-6)


def test_a_urdf_has_surfaces_on_its_boxes_and_meshes(file):
    scene = load_scenario(file("{urdf: room.urdf, pose: {xyz: [0, 0, 1]}}", "floor_1_top")).scene
    own = {name.removeprefix("rock/") for name in scene.surfaces if name.startswith("rock/")}
    assert {"floor_1_top", "floor_2_front", "stone_facet_1", "stone_facet_6"} <= own
    assert len(own) == 18  # none on the ball
    np.testing.assert_allclose(place(scene, "rock/floor_1_top").translation, [0, 0, 1.0], atol=1e-9)
    np.testing.assert_allclose(place(scene, "rock/floor_2_top").translation, [1, 0, 1.2], atol=1e-9)
    heights = [place(scene, f"rock/stone_facet_{k}").translation[2] for k in (1, 2)]
    np.testing.assert_allclose(heights, [1.1, 1.3], atol=1e-6)


def test_the_exported_urdf_has_the_mesh_itself(file, tmp_path):
    scenario = load_scenario(file("{mesh: stone.stl, scale: [0.001, 0.001, 0.001], color: [1, 0, 0]}"))
    text = robot_descriptions(scenario)["rock"]
    assert (tmp_path / "stone.stl").as_uri() in text
    assert 'scale="0.001 0.001 0.001"' in text and 'rgba="1 0 0 1"' in text


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ("{mesh: nowhere.stl}", "environment.rock.mesh: 'nowhere.stl' does not exist"),
        ("{mesh: broken.stl}", "broken.stl: cannot be read as a mesh"),
        (
            "{mesh: line.obj}",
            "line.obj is not usable as a contact or collision mesh: none of its triangles has an area",
        ),
        ("{urdf: nowhere.urdf}", "environment.rock.urdf: 'nowhere.urdf' does not exist"),
        ("{mesh: stone.stl, box: [1, 1, 1]}", "give one of `model`, `box`, `mesh` and `urdf`"),
        ("{urdf: 'package://multi_qp_controller/urdf/door.urdf'}", "has moving joints"),
    ],
)
def test_errors_are_reported_with_their_location(file, piece, said):
    with pytest.raises(ConfigError) as caught:
        load_scenario(file(piece))
    (problem,) = caught.value.problems
    assert said in str(problem)
    assert "found.yaml:5" in str(problem)


def test_a_mesh_without_a_facet_is_an_obstacle_with_a_warning(file, caplog, tmp_path):
    ball = trimesh.creation.icosphere(2, radius=0.05)
    ball.export(tmp_path / "ball.stl")
    with pytest.raises(ConfigError, match="unknown surface 'rock/facet_1'"):
        load_scenario(file("{mesh: ball.stl}"))
    assert "no planar facet is 30 mm wide" in caplog.text
