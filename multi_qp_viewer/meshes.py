"""Triangle meshes of all geometry types of coal.

Each geometry is one or more `Piece`s: a shape shared by many geometries, scaled along the geometry's axes and
translated in its frame, so that viewers store and send each shape once.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import trimesh
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.mesh_files import CONFUSED, UNUSED

_log = logging.getLogger(__name__)

SECTIONS = 40  # segments of a full turn
UNBOUNDED_SIZE = 20.0  # side of the patch that represents a plane [m]
CREASE_ANGLE = np.deg2rad(32.0)  # edges with a larger angle are shaded as sharp


_SHAPES_BY_FILE: dict[tuple[object, ...], TriangleShape] = {}


@dataclass(frozen=True)
class TriangleShape:
    """Triangles with shading normals; vertices are split along sharp edges.

    Attributes:
        key: equal for equal shapes.
        vertices: (n, 3) [m].
        normals: unit outward normals at the vertices, (n, 3).
        faces: vertex indices, counter-clockwise seen from outside, (m, 3).
    """

    key: str
    vertices: Array
    normals: Array
    faces: NDArray[np.int32]


@dataclass(frozen=True)
class Piece:
    """A shape inside a geometry: p_geometry = scale * p_shape + offset."""

    shape: TriangleShape
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)


class MeshError(ValueError):
    """Geometry without triangles."""


def rgba(geometry: pin.GeometryObject) -> Array:
    """Return the geometry's colour, (4,), each in [0, 1]."""
    return np.clip(np.asarray(geometry.meshColor, dtype=float).reshape(4), 0.0, 1.0)


def is_unbounded(geometry: pin.GeometryObject) -> bool:
    """Whether the geometry is a plane or a half-space."""
    return isinstance(geometry.geometry, coal.Halfspace | coal.Plane)


def pieces(geometry: pin.GeometryObject) -> list[Piece]:
    """Return the drawable pieces of a geometry, in its own frame.

    Raises:
        MeshError: if the geometry has no triangles or is of an unknown kind.
    """
    shape = geometry.geometry
    if isinstance(shape, coal.Box):
        return [Piece(unit_shape("box"), scale=_triple(2.0 * shape.halfSide))]
    if isinstance(shape, coal.Sphere):
        return [Piece(unit_shape("sphere"), scale=_triple(np.full(3, shape.radius)))]
    if isinstance(shape, coal.Ellipsoid):
        return [Piece(unit_shape("sphere"), scale=_triple(shape.radii))]
    if isinstance(shape, coal.Capsule):
        return _capsule_pieces(shape.radius, shape.halfLength)
    if isinstance(shape, coal.Cylinder | coal.Cone):
        unit = unit_shape("cylinder" if isinstance(shape, coal.Cylinder) else "cone")
        return [Piece(unit, scale=(shape.radius, shape.radius, 2.0 * shape.halfLength))]
    return [Piece(_mesh_shape(geometry))]


def to_trimesh(geometry: pin.GeometryObject) -> trimesh.Trimesh:
    """Return one closed mesh in the geometry's own frame [m], with its colour.

    Pinocchio has read and scaled mesh files, so the triangles of coal are used, as in the controller. The file is
    read only where coal has none.

    Raises:
        MeshError: if the geometry has no triangles or is of an unknown kind.
    """
    mesh = _mesh_of(geometry)
    if len(mesh.faces) == 0:
        raise MeshError(f"geometry {geometry.name!r} has no triangles (mesh file: {geometry.meshPath!r})")
    mesh.visual = trimesh.visual.ColorVisuals(mesh, face_colors=_color_bytes(geometry))
    return mesh


def local_bounds(geometry: pin.GeometryObject) -> tuple[Array, Array]:
    """Return the box around the geometry in its own frame: lower and upper corner, (3,) each [m]."""
    shape = geometry.geometry
    shape.computeLocalAABB()
    return np.array(shape.aabb_local.min_), np.array(shape.aabb_local.max_)


def split_creases(mesh: trimesh.Trimesh, *, angle: float = CREASE_ANGLE, key: str | None = None) -> TriangleShape:
    """Return the mesh with shading normals, with creases at edges over `angle` [rad].

    The normal of a corner is the area-weighted mean over the faces around its vertex whose normals differ by less
    than `angle` from that of its own face.
    """
    mesh = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    mesh.merge_vertices(merge_norm=True, merge_tex=True)
    mesh.update_faces(mesh.nondegenerate_faces())
    mesh.update_faces(np.linalg.norm(mesh.face_normals, axis=1) > 0.5)  # trimesh gives narrow faces a zero normal
    faces = np.asarray(mesh.faces, dtype=np.int64)
    corner_normals = _corner_normals(faces, mesh.face_normals, mesh.area_faces, np.cos(angle))
    flat = corner_normals.reshape(-1, 3)
    rows = np.column_stack([faces.reshape(-1), np.round(flat * 500).astype(np.int64)])
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    vertices = np.asarray(mesh.vertices)[faces.reshape(-1)[first]]
    return TriangleShape(
        key=key or "mesh:" + hashlib.sha1(vertices.tobytes() + inverse.tobytes()).hexdigest(),
        vertices=vertices,
        normals=flat[first],
        faces=inverse.reshape(-1, 3).astype(np.int32),
    )


def _corner_normals(faces: NDArray[np.int64], normals: Array, areas: Array, cosine: float) -> Array:
    """Return the shading normal at every corner of every face, (m, 3, 3)."""
    corners = faces.reshape(-1)  # vertex of corner c; its face is c // 3
    order = np.argsort(corners, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(corners[order]) > 0])
    degrees = np.diff(np.r_[starts, len(order)])
    result = np.empty((len(corners), 3))
    for degree in np.unique(degrees):  # vertices of equal degree make one rectangular batch
        batch = order[starts[degrees == degree][:, None] + np.arange(degree)]  # (k, degree)
        around = normals[batch // 3]  # (k, degree, 3)
        near = np.einsum("kif,kjf->kij", around, around) > cosine
        weights = near * areas[batch // 3][:, None, :]
        result[batch] = weights @ around
    length = np.linalg.norm(result, axis=1, keepdims=True)
    flat = np.repeat(normals, 3, axis=0)
    return np.where(length > 1e-15, result / np.maximum(length, 1e-15), flat).reshape(-1, 3, 3)


def _color_bytes(geometry: pin.GeometryObject) -> NDArray[np.uint8]:
    return (255 * rgba(geometry)).round().astype(np.uint8)


def _mesh_shape(geometry: pin.GeometryObject) -> TriangleShape:
    """Return the shape of a mesh, cached by file."""
    key = (type(geometry.geometry), geometry.meshPath, tuple(np.ravel(geometry.meshScale)))
    if not geometry.meshPath:
        return split_creases(to_trimesh(geometry))
    if key not in _SHAPES_BY_FILE:
        _SHAPES_BY_FILE[key] = split_creases(to_trimesh(geometry))
    return _SHAPES_BY_FILE[key]


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in np.asarray(values).reshape(3))
    return x, y, z


def _capsule_pieces(radius: float, half_length: float) -> list[Piece]:
    """Return a capsule as a cylinder and two spheres, which can be scaled independently."""
    sphere = unit_shape("sphere")
    ball = (radius, radius, radius)
    return [
        Piece(unit_shape("tube"), scale=(radius, radius, 2.0 * half_length)),
        Piece(sphere, scale=ball, offset=(0.0, 0.0, half_length)),
        Piece(sphere, scale=ball, offset=(0.0, 0.0, -half_length)),
    ]


@cache
def unit_shape(kind: str) -> TriangleShape:
    """Return a shape of unit radius, unit height or unit sides, centred at the origin."""
    if kind == "box":
        return split_creases(trimesh.creation.box(), key=kind)
    if kind == "sphere":
        return _unit_sphere()
    profiles = {
        "cylinder": [[0, -0.5], [1, -0.5], [1, 0.5], [0, 0.5]],
        "cone": [[0, -0.5], [1, -0.5], [0, 0.5]],
        "tube": [[1, -0.5], [1, 0.5]],
    }
    mesh = trimesh.creation.revolve(np.array(profiles[kind], dtype=float), sections=SECTIONS)
    return split_creases(mesh, key=kind)


def _unit_sphere() -> TriangleShape:
    mesh = _revolved_arc(radius=1.0, half_length=0.0)
    vertices = np.asarray(mesh.vertices)
    normals = vertices / np.linalg.norm(vertices, axis=1, keepdims=True)
    return TriangleShape("sphere", vertices, normals, np.asarray(mesh.faces, dtype=np.int32))


def _revolved_arc(*, radius: float, half_length: float) -> trimesh.Trimesh:
    """Return a sphere, or a capsule where `half_length` > 0."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, SECTIONS // 2 + 1)
    profile = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    profile[[0, -1], 0] = 0.0
    middle = len(profile) // 2
    lower = profile[: middle + 1] - [0.0, half_length]
    upper = profile[middle if half_length > 0 else middle + 1 :] + [0.0, half_length]
    return trimesh.creation.revolve(np.vstack([lower, upper]), sections=SECTIONS)


def _mesh_of(geometry: pin.GeometryObject) -> trimesh.Trimesh:
    shape = geometry.geometry
    if isinstance(shape, coal.Capsule):
        return _revolved_arc(radius=shape.radius, half_length=shape.halfLength)
    if isinstance(shape, coal.Box | coal.Sphere | coal.Ellipsoid | coal.Cylinder | coal.Cone):
        (piece,) = pieces(geometry)
        mesh = trimesh.Trimesh(piece.shape.vertices * piece.scale, piece.shape.faces, process=False)
        mesh.merge_vertices(merge_norm=True, merge_tex=True)
        return mesh
    if isinstance(shape, coal.Halfspace | coal.Plane):
        return _plane_patch(np.asarray(shape.n), float(shape.d))
    if isinstance(shape, coal.BVHModelBase):
        return _stored_triangles(geometry)
    if isinstance(shape, coal.ConvexBase):
        return trimesh.convex.convex_hull(np.array(shape.points()))
    raise MeshError(f"geometry {geometry.name!r} is a {type(shape).__name__}, which the viewer cannot draw")


def _stored_triangles(geometry: pin.GeometryObject) -> trimesh.Trimesh:
    shape = geometry.geometry
    if shape.num_tris == 0:
        return _read_mesh_file(geometry)
    faces = [(triangle[0], triangle[1], triangle[2]) for triangle in map(shape.tri_indices, range(shape.num_tris))]
    if shape.num_vertices - 1 - np.max(faces) > UNUSED:
        _log.warning("%s: wrong in pictures, but nowhere else: %s", Path(geometry.meshPath).name, CONFUSED)
    return trimesh.Trimesh(np.array(shape.vertices()).reshape(-1, 3), np.array(faces), process=False)


def _read_mesh_file(geometry: pin.GeometryObject) -> trimesh.Trimesh:
    path = Path(geometry.meshPath)
    if not path.is_file():
        raise MeshError(f"geometry {geometry.name!r}: no triangles loaded and no mesh file {str(path)!r}")
    try:
        mesh = trimesh.load_mesh(path)
    except Exception as error:  # trimesh raises many kinds, also ImportError for formats that need a package
        raise MeshError(f"geometry {geometry.name!r}: cannot read {path.name}: {error}") from error
    if not isinstance(mesh, trimesh.Trimesh):
        raise MeshError(f"geometry {geometry.name!r}: {path.name} contains no triangles")
    return trimesh.Trimesh(np.asarray(mesh.vertices) * geometry.meshScale, mesh.faces, process=False)


def _plane_patch(normal: Array, offset: float) -> trimesh.Trimesh:
    """Return a square patch of the plane normal . x = offset."""
    side = np.cross(normal, [1.0, 0.0, 0.0] if abs(normal[0]) < 0.9 else [0.0, 1.0, 0.0])
    side /= np.linalg.norm(side)
    other = np.cross(normal, side)
    half = UNBOUNDED_SIZE / 2
    corners = [normal * offset + half * (a * side + b * other) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    return trimesh.Trimesh(np.array(corners), np.array([[0, 1, 2], [0, 2, 3]]), process=False)
