import numpy as np
import pytest
import trimesh

from contact_planner.candidates import _project_inside
from motion_generation.planning import make_planner
from multi_qp_scene import load_scenario
from multi_qp_simulator.mujoco_world.world import WorldOptions, build_world

TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
EDGES = np.array([[0.0, -1.0], [np.sqrt(0.5), np.sqrt(0.5)], [-1.0, 0.0]])
OFFSETS = np.array([0.0, np.sqrt(0.5), 0.0])


@pytest.fixture(scope="module")
def causeway():
    scenario = load_scenario("causeway")
    return scenario, make_planner(scenario)


def test_points_are_projected_on_violated_edges():
    points = np.array([[0.2, 0.2], [0.4, -0.3], [0.6, 0.6], [-0.1, -0.1]])
    moved, inside = _project_inside(points, EDGES, OFFSETS)
    assert inside.all()
    np.testing.assert_allclose(moved, [[0.2, 0.2], [0.4, 0.0], [0.5, 0.5], [0.0, 0.0]], atol=1e-8)


def test_no_point_is_inside_an_empty_polygon():
    _, inside = _project_inside(np.array([[0.2, 0.2], [0.9, 0.4]]), EDGES, OFFSETS - 0.35)
    assert not inside.any()


def test_faces_of_a_mesh_contain_exactly_the_points_inside_their_edges(causeway):
    _, planner = causeway
    faces = [face for face in planner.faces if face.name.startswith("causeway/")]
    assert {len(face.edges) for face in faces} >= {4, 5, 6}
    for face in faces:
        assert face.holds(face.pose.translation[None])
        for normal, offset in zip(face.edges, face.offsets, strict=True):
            beyond = (offset + 0.001) * normal
            assert not face.holds((face.pose * np.array([*beyond, 0.0]))[None])


def test_points_of_faces_lie_on_the_mesh(causeway):
    """Points around the centre of each face lie on a triangle of the mesh file, not only on the merged polygon."""
    scenario, planner = causeway
    (visual,) = [g for g in scenario.scene.visual_model.geometryObjects if g.name.startswith("causeway/")]
    mesh = trimesh.load_mesh(visual.meshPath)
    mesh.apply_transform(visual.placement.homogeneous)
    found = 0
    for face in planner.faces:
        if face.name.startswith("causeway/"):
            angles = np.linspace(0.0, 2.0 * np.pi, 12)
            around = 0.04 * np.stack([np.cos(angles), np.sin(angles), np.zeros(12)], axis=1)
            points = around @ face.pose.rotation.T + face.pose.translation
            origins = points + 0.05 * face.normal
            hits, rays, _ = mesh.ray.intersects_location(origins, np.tile(-face.normal, (12, 1)), multiple_hits=False)
            assert len(rays) == 12
            np.testing.assert_allclose(hits, points[rays], atol=2e-4)
            found += 1
    assert found == 13


def test_mujoco_has_the_same_collision_geometries(causeway):
    scenario, _ = causeway
    world = build_world(scenario, WorldOptions())
    names = {world.geom(k).name for k in range(world.ngeom)}
    solids = {g.name for g in scenario.scene.collision_model.geometryObjects if g.name.startswith("causeway/")}
    assert len(solids) == 13
    assert solids <= names
