"""Signed distances of many pairs of convex pieces, with a broad phase on bounding boxes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.geometry_data import geometry_data
from multi_qp_scene.kinematic_trees import placement_data
from multi_qp_scene.pinocchio_views import POSE, pose_views


def convex_geometry(collision_model: pin.GeometryModel, pairs: Iterable[tuple[int, int]]) -> pin.GeometryModel:
    """Return a copy of a geometry with exactly these pairs of pieces; their meshes become convex hulls."""
    geometry = collision_model.copy()
    geometry.removeAllCollisionPairs()
    for pair in pairs:
        for index in pair:
            item = geometry.geometryObjects[index]
            if isinstance(item.geometry, coal.BVHModelBase):
                item.geometry.buildConvexHull(True, "Qt")
                item.geometry = item.geometry.convex
        geometry.addCollisionPair(pin.CollisionPair(*pair))
    return geometry


class OverlapSearch:
    """Close and overlapping pairs of a geometry at any configuration.

    Attributes:
        pairs: indices of both pieces of each pair, (p, 2).
    """

    def __init__(
        self,
        model: pin.Model,
        collision_model: pin.GeometryModel,
        pairs: Iterable[tuple[int, int]],
        *,
        margin: float = 0.0,
    ) -> None:
        """Prepare for pairs of pieces.

        Args:
            model: model of the geometry.
            collision_model: pieces.
            pairs: indices of both pieces of each pair.
            margin: distance below which pairs are found [m].
        """
        listed, self._margin = list(pairs), margin
        self.pairs: Indices = np.array(listed, dtype=np.intp).reshape(-1, 2)
        self._model, self._data = model, placement_data(model)
        self._geometry = convex_geometry(collision_model, listed)
        self._found = geometry_data(self._geometry)
        for request in self._found.distanceRequests:
            request.enable_signed_distance = True
        self._pieces = np.unique(self.pairs)
        place = {int(piece): k for k, piece in enumerate(self._pieces)}
        self._first = np.array([place[a] for a, _ in listed], dtype=np.intp)
        self._second = np.array([place[b] for _, b in listed], dtype=np.intp)
        boxes = [_local_box(self._geometry.geometryObjects[int(k)].geometry) for k in self._pieces]
        self._centres = np.array([centre for centre, _ in boxes]).reshape(-1, 3)
        self._halves = np.array([half for _, half in boxes]).reshape(-1, 3)
        self._views = pose_views(self._found.oMg) if listed else None

    def _near(self, q: Array, placed: Mapping[int, pin.SE3]) -> list[int]:
        """Return the indices of the pairs whose bounding boxes are closer than the margin at q, (nq,)."""
        if not len(self.pairs):
            return []
        pin.updateGeometryPlacements(self._model, self._data, self._geometry, self._found, q)
        for piece, X in placed.items():
            self._found.oMg[piece] = X
        poses = self._poses()[self._pieces]
        R = poses[:, :9].reshape(-1, 3, 3)  # transposed: pinocchio stores columns
        centres = poses[:, 9:] + np.einsum("kji,kj->ki", R, self._centres)
        halves = np.einsum("kji,kj->ki", np.abs(R), self._halves)
        low, high = centres - halves, centres + halves + self._margin
        a, b = self._first, self._second
        meet = (low[a] <= high[b]).all(axis=1) & (low[b] <= high[a]).all(axis=1)
        return list(np.flatnonzero(meet).tolist())

    def distances(self, q: Array, placed: Mapping[int, pin.SE3] = MappingProxyType({})) -> dict[int, float]:
        """Return the signed distance [m] of each pair closer than the margin at q, (nq,), by its index.

        Args:
            q: configuration.
            placed: poses in the world of pieces that something else moves, by index.
        """
        near = self._near(q, placed)
        measured = ((k, float(pin.computeDistance(self._geometry, self._found, k).min_distance)) for k in near)
        return {k: distance for k, distance in measured if distance < self._margin}

    def _poses(self) -> Array:
        if self._views is not None:
            return self._views
        poses = np.zeros((len(self._geometry.geometryObjects), POSE))
        for k, pose in enumerate(self._found.oMg):
            poses[k, :9], poses[k, 9:] = pose.rotation.ravel("F"), pose.translation
        return poses


def _local_box(shape: coal.CollisionGeometry) -> tuple[Array, Array]:
    """Return centre and half extents of a shape's bounding box, in its frame, (3,) each [m]."""
    shape.computeLocalAABB()
    low, high = np.array(shape.aabb_local.min_), np.array(shape.aabb_local.max_)
    return 0.5 * (low + high), 0.5 * (high - low)
