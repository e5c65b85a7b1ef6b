"""Decomposition of a triangle mesh into planar facets for contacts and convex solids for collisions.

Coplanar neighbours are merged into polygons, and polygons that are not convex are divided into convex ones. A closed
convex shell is one solid. A shell without overhang, such as terrain and stairs, becomes the columns under its polygons,
and any other a plate behind each of them, so that steps and hollows are preserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import trimesh
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import excess
from multi_qp_scene.surfaces import half_planes, tangents

#: Smallest width of a polygon that becomes a contact surface [m].
WIDTH = 0.03
_FLAT = np.deg2rad(0.5)  # largest angle between coplanar neighbours
_PLANE = 5e-4  # [m] largest distance of a facet's corners from its plane
_ALIKE = 1e-4  # relative difference of equal areas or volumes
_PLATE = 0.02  # [m] thickness of a plate
_STEEP = 0.02  # largest vertical component of the normals of walls
_UNDER = 0.05  # [m] from the lowest point of an open sheet to the bottom of its columns
_BEHIND = 0.005  # [m] behind a wall
_NO_AREA = 1e-12  # [m²]
_SLIVER = 1e-6  # [m]: triangles of less height are degenerate


@dataclass(frozen=True, eq=False)
class Facet:
    """A convex planar polygon.

    Attributes:
        pose: placement of its frame in the mesh frame; the origin is the centre of its bounding rectangle, +z the
            outward normal, +x the projection of the mesh's x axis.
        outline: corners in that frame, anticlockwise, (k, 2) [m].
    """

    pose: pin.SE3
    outline: Array

    @property
    def area(self) -> float:
        """Its area [m²]."""
        return _area(self.outline)

    @property
    def width(self) -> float:
        """Smallest distance between two parallel supporting lines [m]."""
        normals, offsets = half_planes(self.outline)
        return float((offsets - (self.outline @ normals.T).min(axis=0)).min())


@dataclass(frozen=True, eq=False)
class Solid:
    """A convex body.

    Attributes:
        points: its corners in the mesh's frame, (k, 3) [m].
        facets: its polygons that are contact surfaces.
    """

    points: Array
    facets: tuple[Facet, ...]


def solids_of(vertices: Array, triangles: NDArray[np.int64]) -> list[Solid]:
    """Return the solids of a mesh, in the order of its triangles.

    Args:
        vertices: (n, 3) [m].
        triangles: vertex indices, anticlockwise seen from outside, (m, 3).

    Raises:
        MultiQpError: a vertex is not finite, no triangle has an area, neighbours have opposite winding, or there are
            too many solids.
    """
    mesh = _cleaned(vertices, triangles)
    labels = trimesh.graph.connected_component_labels(mesh.face_adjacency, node_count=len(mesh.faces))
    found: list[Solid] = []
    for label in range(int(labels.max()) + 1):
        shell = trimesh.Trimesh(mesh.vertices, mesh.faces[labels == label], process=False)
        shell.remove_unreferenced_vertices()
        if not shell.is_winding_consistent:
            raise MultiQpError("neighbouring triangles have opposite winding, so that the outer side is undefined")
        if shell.is_watertight and shell.volume < 0.0:
            shell = trimesh.Trimesh(shell.vertices, shell.faces[:, ::-1], process=False)
        found += _solids_of_shell(shell)
        if (message := excess("convex_solids", len(found), counting=True)) is not None:
            raise MultiQpError(f"convex solids: {message}; or make it coarser, or of closed convex shells")
    return found


def _cleaned(vertices: Array, triangles: NDArray[np.int64]) -> trimesh.Trimesh:
    if not np.isfinite(vertices).all():
        raise MultiQpError("a vertex is not a number")
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    mesh.merge_vertices(merge_norm=True, merge_tex=True, digits_vertex=7)
    corners = mesh.triangles
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    mesh.update_faces((2.0 * mesh.area_faces > _SLIVER * longest) & mesh.unique_faces())
    if len(mesh.faces) == 0:
        raise MultiQpError("none of its triangles has an area")
    return mesh


def _solids_of_shell(shell: trimesh.Trimesh) -> list[Solid]:
    facets: list[Facet] = []
    others: list[Facet] = []  # for collisions only
    for group in _coplanar(shell):
        normal = shell.area_faces[group] @ shell.face_normals[group]
        normal = normal / np.linalg.norm(normal)
        corners = shell.vertices[np.unique(shell.faces[group])]
        flat = np.ptp(corners @ normal) <= _PLANE
        for part in _convex_parts(shell, group, normal) if flat else group[:, None]:
            own = normal if flat else shell.face_normals[part[0]]
            facet = _facet(shell.vertices[np.unique(shell.faces[part])], own)
            (facets if flat and facet.width >= WIDTH else others).append(facet)
    hull = _hull_size(shell.vertices)
    if shell.is_watertight and hull > 0.0 and abs(hull - shell.volume) <= 10 * _ALIKE * hull:
        return [Solid(np.array(shell.vertices), tuple(facets))]
    if not _overhangs(shell):
        return _columns(shell, facets, others)
    plates = [Solid(_plate(shell, facet), (facet,)) for facet in facets]
    return plates + [Solid(_plate(shell, facet), ()) for facet in others]


def _overhangs(shell: trimesh.Trimesh) -> bool:
    """Whether any face other than the bottom faces down."""
    down = shell.face_normals[:, 2] < -_STEEP
    return bool((shell.triangles[down][:, :, 2] > shell.vertices[:, 2].min() + _PLANE).any())


def _columns(shell: trimesh.Trimesh, facets: Sequence[Facet], others: Sequence[Facet]) -> list[Solid]:
    """Return the columns under the upward polygons of a shell; walls belong to the columns behind them."""
    bottom = shell.vertices[:, 2].min() - (0.0 if shell.is_watertight else _UNDER)
    tops = [facet for facet in (*facets, *others) if facet.pose.rotation[2, 2] > _STEEP]
    touched: list[list[Facet]] = [[] for _ in tops]
    for facet in facets:
        inside = facet.pose.translation - _BEHIND * facet.pose.rotation[:, 2]
        owner = next((k for k, top in enumerate(tops) if facet is top or _is_above(top, inside)), None)
        if owner is not None and inside[2] > bottom:
            touched[owner].append(facet)
    return [Solid(_column(top, bottom), tuple(own)) for top, own in zip(tops, touched, strict=True)]


def _is_above(top: Facet, point: Array) -> bool:
    """Whether a polygon that faces up is vertically above a point, (3,)."""
    normals, offsets = half_planes(_corners(top)[:, :2])
    under = (top.pose.translation - point) @ top.pose.rotation[:, 2] > 0.0
    return bool(under and (normals @ point[:2] <= offsets).all())


def _column(top: Facet, bottom: float) -> Array:
    corners = _corners(top)
    return np.vstack([corners, np.column_stack([corners[:, :2], np.full(len(corners), bottom)])])


def _corners(facet: Facet) -> Array:
    """Return the corners of a facet in the mesh's frame, (k, 3)."""
    local = np.column_stack([facet.outline, np.zeros(len(facet.outline))])
    return np.asarray(local @ facet.pose.rotation.T + facet.pose.translation)


def _coplanar(shell: trimesh.Trimesh) -> list[Indices]:
    """Return the triangles of each facet."""
    joined = shell.face_adjacency[shell.face_adjacency_angles < _FLAT]
    labels = trimesh.graph.connected_component_labels(joined, node_count=len(shell.faces))
    return [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]


def _convex_parts(shell: trimesh.Trimesh, group: Indices, normal: Array) -> list[Indices]:
    """Return the triangles of each convex part of a facet: neighbours are joined as long as they stay convex."""
    flat = shell.vertices @ np.stack(tangents(normal), axis=1)
    areas = {int(k): float(shell.area_faces[k]) for k in group}
    parts = {k: [k] for k in areas}

    def joined(members: Sequence[int], area: float) -> bool:
        return _hull_size(flat[np.unique(shell.faces[members])]) <= area * (1.0 + _ALIKE) + _NO_AREA

    if joined([int(k) for k in group], sum(areas.values())):
        return [group]
    owner = {k: k for k in areas}
    inside = [k for k, pair in enumerate(shell.face_adjacency) if int(pair[0]) in areas and int(pair[1]) in areas]
    ends = shell.vertices[shell.face_adjacency_edges[inside]]
    longest_first = np.argsort(-np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1), kind="stable")
    pairs = [shell.face_adjacency[inside[k]] for k in longest_first]
    changed = True
    while changed:
        changed = False
        for first, second in pairs:
            a, b = owner[int(first)], owner[int(second)]
            if a != b and joined(parts[a] + parts[b], areas[a] + areas[b]):
                owner |= dict.fromkeys(parts[b], a)
                parts[a] += parts.pop(b)
                areas[a] += areas[b]
                changed = True
    return [np.array(members) for members in parts.values()]


def _facet(corners: Array, normal: Array) -> Facet:
    """Return the convex polygon of coplanar points, (k, 3)."""
    along = np.eye(3)[0] - normal[0] * normal
    if np.linalg.norm(along) < 0.1:  # it faces along x
        along = np.eye(3)[1] - normal[1] * normal
    along = along / np.linalg.norm(along)
    rotation = np.stack([along, np.cross(normal, along), normal], axis=1)
    local = corners @ rotation
    flat = local[:, :2]
    outline = flat[ConvexHull(flat).vertices]
    middle = 0.5 * (outline.min(axis=0) + outline.max(axis=0))
    origin = rotation @ np.array([*middle, local[:, 2].mean()])
    return Facet(pin.SE3(rotation, origin), _without_straight_corners(outline - middle))


def _without_straight_corners(outline: Array) -> Array:
    before, after = outline - np.roll(outline, 1, axis=0), np.roll(outline, -1, axis=0) - outline
    turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    return outline[turn > 1e-6 * np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)]


def _plate(shell: trimesh.Trimesh, facet: Facet) -> Array:
    """Return the corners of a plate behind a polygon, with slanted rims, so that it does not overlap its neighbours."""
    centre = facet.outline.mean(axis=0)
    normals, offsets = half_planes(facet.outline)
    inner = float((offsets - normals @ centre).min())
    depth = min(_PLATE, 0.9 * inner)
    if shell.is_watertight:  # the plate must not protrude at the back
        heights = (shell.vertices - facet.pose.translation) @ facet.pose.rotation[:, 2]
        depth = min(depth, max(float(-heights.min()), 1e-4))
    back = centre + (1.0 - depth / inner) * (facet.outline - centre)
    behind = np.column_stack([back, np.full(len(back), -depth)])
    return np.vstack([_corners(facet), behind @ facet.pose.rotation.T + facet.pose.translation])


def _area(outline: Array) -> float:
    x, y = outline.T
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def _hull_size(points: Array) -> float:
    """Return the area [m²] or the volume [m³] of the convex hull of points in the plane or in space."""
    try:
        return float(ConvexHull(points).volume)
    except QhullError:  # all on one line, or in one plane
        return 0.0
