import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.facets import WIDTH, solids_of

#: Profile of three steps, anticlockwise seen from -y, and triangles that fill it.
STEPS = np.array([[0.9, -0.1], [0.9, 0.3], [0.6, 0.3], [0.6, 0.2], [0.3, 0.2], [0.3, 0.1], [0, 0.1], [0, -0.1]])
TABLE = trimesh.util.concatenate(
    [
        trimesh.creation.box(bounds=[[-0.5, -0.4, 0.7], [0.5, 0.4, 0.75]]),
        trimesh.creation.box(bounds=[[-0.05, -0.05, 0.0], [0.05, 0.05, 0.7]]),
    ]
)


def flight(half=0.5):
    """Return three steps as one closed shell."""
    count = len(STEPS)
    k = np.arange(count)
    after = (k + 1) % count
    vertices = np.vstack([np.column_stack([STEPS[:, 0], np.full(count, y), STEPS[:, 1]]) for y in (-half, half)])
    walls = np.vstack([np.column_stack([k, k + count, after + count]), np.column_stack([k, after + count, after])])
    side = np.array([(0, corner, corner + 1) for corner in range(1, count - 1)])
    return vertices, np.vstack([walls, side, side[:, ::-1] + count])


def facets(vertices, triangles):
    return [facet for solid in solids_of(np.asarray(vertices), np.asarray(triangles)) for facet in solid.facets]


def hull(points):
    corners = coal.StdVec_Vec3s()
    corners.extend(list(points))
    return coal.Convex.convexHull(corners, True, "Qt")


def bvh(vertices, triangles):
    shape = coal.BVHModelOBBRSS()
    shape.beginModel(len(triangles), len(vertices))
    for triangle in triangles:
        shape.addTriangle(*(np.asarray(vertices[k], dtype=float) for k in triangle))
    shape.endModel()
    return shape


def distance(first, place, second):
    at, there = coal.Transform3s(np.eye(3), place), coal.Transform3s()
    return coal.distance(first, at, second, there, coal.DistanceRequest(), coal.DistanceResult())


def test_a_box_is_one_solid_with_six_facets():
    box = trimesh.creation.box(extents=[0.4, 0.3, 0.2])
    (solid,) = solids_of(np.array(box.vertices), np.array(box.faces))
    assert len(solid.points) == 8
    assert sorted(round(facet.area, 9) for facet in solid.facets) == [0.06, 0.06, 0.08, 0.08, 0.12, 0.12]
    for facet in solid.facets:
        assert facet.pose.rotation[:, 2] @ facet.pose.translation > 0.0  # outward normals
        np.testing.assert_allclose(np.linalg.det(facet.pose.rotation), 1.0)
        lower, upper = facet.outline.min(axis=0), facet.outline.max(axis=0)
        np.testing.assert_allclose(lower, -upper, atol=1e-12)


def test_unmerged_vertices_and_inverted_meshes_give_the_same_solids():
    vertices, triangles = flight()
    soup = vertices[triangles].reshape(-1, 3)
    expected = sorted((round(f.area, 6), *np.round(f.pose.translation, 6) + 0.0) for f in facets(vertices, triangles))
    for points, corners in [(soup, np.arange(len(soup)).reshape(-1, 3)), (vertices, triangles[:, ::-1])]:
        found = sorted((round(f.area, 6), *np.round(f.pose.translation, 6) + 0.0) for f in facets(points, corners))
        assert found == expected


def test_steps_of_one_shell_are_columns_whose_treads_are_whole():
    vertices, triangles = flight()
    solids = solids_of(vertices, triangles)
    treads = [facet for solid in solids for facet in solid.facets if facet.pose.rotation[2, 2] > 0.99]
    assert sorted(round(float(tread.pose.translation[2]), 6) for tread in treads) == [0.1, 0.2, 0.3]
    np.testing.assert_allclose([tread.area for tread in treads], 0.3)
    assert len(solids) == 3
    risers = [f for solid in solids for f in solid.facets if f.pose.rotation[0, 2] < -0.99]
    assert len(risers) == 3  # each belongs to a column
    over_the_first, ball = np.array([0.25, 0.0, 0.14]), coal.Sphere(0.02)
    assert distance(ball, over_the_first, hull(vertices)) < 0.0  # a hull would fill the corner
    assert min(distance(ball, over_the_first, hull(solid.points)) for solid in solids) == pytest.approx(0.02, abs=1e-6)


@pytest.mark.parametrize("mesh", [flight(), (np.array(TABLE.vertices), np.array(TABLE.faces))], ids=["steps", "table"])
def test_solids_are_as_far_from_a_ball_as_the_triangles_are(mesh):
    vertices, triangles = mesh
    shapes, whole = [hull(solid.points) for solid in solids_of(vertices, triangles)], bvh(vertices, triangles)
    closed = trimesh.Trimesh(vertices, triangles)
    rng = np.random.default_rng(2)
    lower, upper = vertices.min(axis=0) - 0.3, vertices.max(axis=0) + 0.3
    places = rng.uniform(lower, upper, (300, 3))
    ball, compared = coal.Sphere(0.02), 0
    for place, inside in zip(places, closed.contains(places), strict=True):
        exact = distance(ball, place, whole)
        if inside or exact <= 0.0:
            continue
        compared += 1
        assert min(distance(ball, place, shape) for shape in shapes) == pytest.approx(exact, abs=1e-6)
    assert compared > 100


def test_a_facet_that_is_not_convex_is_cut_into_convex_ones():
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)  # an L
    sheet = np.column_stack([outline, np.zeros(6)])
    found = facets(sheet, [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
    assert sum(facet.area for facet in found) == pytest.approx(3.0)
    assert len(found) == 2


def test_neighbours_in_one_plane_are_merged_and_bent_ones_are_not():
    x, y = np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 4), indexing="ij")
    flat = np.column_stack([x.ravel(), y.ravel(), np.zeros(16)])
    a = (np.arange(3)[:, None] * 4 + np.arange(3)).ravel()
    triangles = np.vstack([np.column_stack([a, a + 4, a + 5]), np.column_stack([a, a + 5, a + 1])])
    (whole,) = facets(flat, triangles)
    assert whole.area == pytest.approx(1.0)
    assert len(whole.outline) == 4
    bent = flat + np.column_stack([np.zeros((16, 2)), 0.1 * np.maximum(flat[:, 0] - 1 / 3, 0.0)])
    areas = sorted(facet.area for facet in facets(bent, triangles))
    np.testing.assert_allclose(areas, [1 / 3, 2 / 3 * np.hypot(1, 0.1)], rtol=1e-9)


def test_triangles_without_area_are_left_out():
    box = trimesh.creation.box(extents=[1, 1, 1])
    faces = np.vstack([box.faces, [[0, 0, 1], [3, 3, 3]]])
    assert len(facets(box.vertices, faces)) == 6


def test_narrow_polygons_are_collision_geometry_only():
    plank = trimesh.creation.box(extents=[1.0, 0.5 * WIDTH, 0.5 * WIDTH])
    (solid,) = solids_of(np.array(plank.vertices), np.array(plank.faces))
    assert solid.facets == ()
    assert len(solid.points) == 8


@pytest.mark.parametrize(
    ("vertices", "triangles", "said"),
    [
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], "none of its triangles has an area"),
        ([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [[0, 1, 2]], "a vertex is not a number"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2], [1, 2, 3]], "opposite winding"),
    ],
)
def test_meshes_that_cannot_be_used_are_refused(vertices, triangles, said):
    with pytest.raises(MultiQpError, match=said):
        solids_of(np.array(vertices, dtype=float), np.array(triangles))


def test_a_mesh_of_too_many_solids_is_refused():
    sheet = trimesh.creation.icosphere(3)
    outside = np.array(sheet.faces)[sheet.triangles_center[:, 2] < 0.9]  # open above: no closed shell
    with pytest.raises(MultiQpError, match="more than the limit 'convex_solids', 300"):
        solids_of(np.array(sheet.vertices), outside)


def test_frames_rotate_with_the_mesh():
    box = trimesh.creation.box(extents=[0.4, 0.3, 0.2])
    turn = pin.rpy.rpyToMatrix(0.3, -0.2, 0.5)
    for facet in facets(np.array(box.vertices) @ turn.T, box.faces):
        corners = np.column_stack([facet.outline, np.zeros(4)]) @ facet.pose.rotation.T + facet.pose.translation
        np.testing.assert_allclose(np.abs(corners @ turn), np.tile([0.2, 0.15, 0.1], (4, 1)), atol=1e-9)
