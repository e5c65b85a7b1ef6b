from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from multi_qp_viewer.meshes import MeshError, is_unbounded, local_bounds, pieces, rgba, split_creases, to_trimesh

LENGTH = st.floats(0.01, 5.0)


def geometry(shape, *, mesh_path="", mesh_scale=(1.0, 1.0, 1.0)):
    identity = pin.SE3.Identity()
    return pin.GeometryObject(
        "robot/link_0", 0, 0, identity, shape, mesh_path, np.array(mesh_scale), True, np.array([0.2, 0.4, 0.6, 1.0])
    )


def tetrahedron(model=None):
    model = model or coal.BVHModelOBBRSS()
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    model.beginModel(4, 4)
    for a, b, c in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)):
        model.addTriangle(points[a], points[b], points[c])
    model.endModel()
    return model


def assert_solid(shape, *, volume, half, tolerance=0.02):
    """Check that a mesh is closed, oriented outwards, and of the analytic volume and bounds (inscribed if round)."""
    mesh = to_trimesh(geometry(shape))
    assert mesh.is_watertight
    assert volume * (1 - tolerance) <= mesh.volume <= volume * (1 + 1e-9)
    np.testing.assert_allclose(mesh.bounds, [-np.array(half), half], rtol=1e-6)
    lower, upper = local_bounds(geometry(shape))
    np.testing.assert_allclose([lower, upper], mesh.bounds, rtol=1e-6)


@given(LENGTH, LENGTH, LENGTH)
def test_box_is_exact(x, y, z):
    assert_solid(coal.Box(x, y, z), volume=x * y * z, half=[x / 2, y / 2, z / 2], tolerance=1e-9)


@given(LENGTH)
def test_sphere(radius):
    assert_solid(coal.Sphere(radius), volume=4 / 3 * np.pi * radius**3, half=[radius] * 3)


@given(LENGTH, LENGTH, LENGTH)
def test_ellipsoid(a, b, c):
    assert_solid(coal.Ellipsoid(a, b, c), volume=4 / 3 * np.pi * a * b * c, half=[a, b, c])


@given(LENGTH, LENGTH)
def test_cylinder(radius, length):
    assert_solid(coal.Cylinder(radius, length), volume=np.pi * radius**2 * length, half=[radius, radius, length / 2])


@given(LENGTH, LENGTH)
def test_cone(radius, length):
    mesh = to_trimesh(geometry(coal.Cone(radius, length)))
    assert mesh.volume == pytest.approx(np.pi * radius**2 * length / 3, rel=0.02)
    np.testing.assert_allclose(mesh.bounds, [[-radius, -radius, -length / 2], [radius, radius, length / 2]], rtol=1e-6)
    top = mesh.vertices[mesh.vertices[:, 2] > 0.49 * length]
    np.testing.assert_allclose(top[:, :2], 0.0, atol=1e-9)  # coal's apex is at +z


@given(LENGTH, LENGTH)
def test_capsule(radius, length):
    volume = np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3
    assert_solid(coal.Capsule(radius, length), volume=volume, half=[radius, radius, length / 2 + radius])


@pytest.mark.parametrize(
    "shape",
    [coal.Box(1, 2, 3), coal.Sphere(0.5), coal.Ellipsoid(1, 2, 3), coal.Cylinder(0.3, 2), coal.Cone(0.3, 2)]
    + [coal.Capsule(0.3, 2), tetrahedron()],
    ids=lambda shape: type(shape).__name__,
)
def test_pieces_match_the_mesh(shape):
    points = [p.shape.vertices * p.scale + np.array(p.offset) for p in pieces(geometry(shape))]
    bounds = to_trimesh(geometry(shape)).bounds
    np.testing.assert_allclose([np.vstack(points).min(0), np.vstack(points).max(0)], bounds, atol=1e-9)
    for piece in pieces(geometry(shape)):
        corners = piece.shape.vertices[piece.shape.faces]
        flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        shading = piece.shape.normals[piece.shape.faces]
        assert np.all(np.einsum("fi,fci->fc", flat, shading) > 0)  # outward, on the side of their face
        np.testing.assert_allclose(np.linalg.norm(piece.shape.normals, axis=1), 1.0, atol=1e-6)


def test_equal_types_share_a_shape():
    first, second = pieces(geometry(coal.Box(1, 2, 3)))[0], pieces(geometry(coal.Box(4, 5, 6)))[0]
    assert first.shape is second.shape
    assert first.scale == (1.0, 2.0, 3.0)


def test_loaded_mesh_has_the_triangles_of_coal_and_the_colour():
    mesh = to_trimesh(geometry(tetrahedron()))
    assert mesh.volume == pytest.approx(1 / 6)
    np.testing.assert_array_equal(mesh.visual.face_colors[0], [51, 102, 153, 255])
    np.testing.assert_allclose(rgba(geometry(tetrahedron())), [0.2, 0.4, 0.6, 1.0])


def test_convex_points_give_their_hull():
    model = tetrahedron()
    model.buildConvexHull(True, "Qt")
    assert to_trimesh(geometry(model.convex)).volume == pytest.approx(1 / 6)


@pytest.mark.parametrize("suffix", [".stl", ".obj"])
def test_mesh_file_is_read_if_no_triangles_are_loaded(tmp_path, suffix):
    path = tmp_path / f"box{suffix}"
    trimesh.creation.box(extents=[1, 1, 1]).export(path)
    mesh = to_trimesh(geometry(coal.BVHModelOBBRSS(), mesh_path=str(path), mesh_scale=(1.0, 2.0, 3.0)))
    np.testing.assert_allclose(mesh.extents, [1, 2, 3])


CORNERS = (0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1)


def test_triangles_of_several_materials_are_warned_of(tmp_path, caplog):
    one = "f 1 2 3\nf 1 3 4\nf 1 4 2\nf 3 2 4\n"
    other = "f 5 6 7\nf 5 7 8\nf 5 8 6\nf 7 6 8\n"
    corners = "".join(f"v {x} {y} {z + a}\n" for a in (0, 2) for x, y, z in CORNERS)
    path = tmp_path / "two.obj"
    path.write_text(f"{corners}usemtl a\n{one}usemtl b\n{other}", encoding="utf-8")
    to_trimesh(geometry(coal.MeshLoader().load(str(path), np.ones(3)), mesh_path=str(path)))
    assert "two.obj: wrong in pictures" in caplog.text


@pytest.mark.parametrize(("name", "content"), [("missing.stl", None), ("broken.stl", b"not a mesh")])
def test_error_of_unreadable_mesh_names_the_geometry(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshError, match="robot/link_0"):
        to_trimesh(geometry(coal.BVHModelOBBRSS(), mesh_path=str(tmp_path / name)))


def test_plane_is_a_patch_at_its_offset():
    plane = geometry(coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.5))
    assert is_unbounded(plane)
    mesh = to_trimesh(plane)
    np.testing.assert_allclose(mesh.vertices[:, 2], 0.5)
    np.testing.assert_allclose(mesh.face_normals, [[0, 0, 1]] * 2, atol=1e-12)


def test_vertices_are_split_at_creases_only():
    box = split_creases(trimesh.creation.box())
    assert len(box.vertices) == 24  # three normals at each corner
    ball = trimesh.creation.icosphere(subdivisions=3)
    smooth = split_creases(ball)
    assert len(smooth.vertices) == len(ball.vertices)
    np.testing.assert_allclose(smooth.normals, smooth.vertices, atol=0.02)
