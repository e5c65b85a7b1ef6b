"""Distance gradients of overlapping collision pairs, for their separation by inverse kinematics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.geometry_data import geometry_data


class Separation:
    """Collision pairs of a geometry, with the distance gradients of those that are too close."""

    def __init__(self, model: pin.Model, geometry: pin.GeometryModel, *, clearance: float) -> None:
        """Prepare for a geometry's collision pairs.

        Args:
            model: model of the geometry.
            geometry: pieces and pairs.
            clearance: minimum distance of pairs [m].
        """
        self._model, self._data = model, model.createData()
        self._geometry, self._geometry_data = geometry, geometry_data(geometry)
        self._clearance = clearance
        for request in self._geometry_data.collisionRequests:
            request.security_margin = clearance
        for request in self._geometry_data.distanceRequests:
            request.enable_signed_distance = True

    def rows(self, q: Array) -> tuple[Array, Array]:
        """Return the distance gradients, (k, nv), and missing distances, (k,) [m], of pairs too close at q, (nq,)."""
        model, data, geometry, found = self._model, self._data, self._geometry, self._geometry_data
        if not pin.computeCollisions(model, data, geometry, found, q, False):
            return np.zeros((0, model.nv)), np.zeros(0)
        close = [k for k, result in enumerate(found.collisionResults) if result.isCollision()]
        pin.computeJointJacobians(model, data, q)
        rows, lacks = np.zeros((len(close), model.nv)), np.zeros(len(close))
        for i, k in enumerate(close):
            pin.computeDistance(geometry, found, k)
            result, pair = found.distanceResults[k], geometry.collisionPairs[k]
            normal = np.asarray(result.normal)  # from the first piece to the second
            first, second = (np.asarray(point) for point in (result.getNearestPoint1(), result.getNearestPoint2()))
            rows[i] = self._along(pair.second, second, normal) - self._along(pair.first, first, normal)
            lacks[i] = self._clearance - result.min_distance
        return rows, lacks

    def overlapping(self, q: Array) -> list[tuple[str, str]]:
        """Return the names of the pieces that are too close at q, (nq,)."""
        pin.computeCollisions(self._model, self._data, self._geometry, self._geometry_data, q, False)
        names = [piece.name for piece in self._geometry.geometryObjects]
        results = zip(self._geometry.collisionPairs, self._geometry_data.collisionResults, strict=True)
        return [(names[pair.first], names[pair.second]) for pair, result in results if result.isCollision()]

    def _along(self, piece: int, point: Array, normal: Array) -> Array:
        """Return the gradient of the displacement of a point of a piece, (3,) [m], along a normal, (nv,)."""
        joint = self._geometry.geometryObjects[piece].parentJoint
        if joint == 0:
            return np.zeros(self._model.nv)
        J = pin.getJointJacobian(self._model, self._data, joint, pin.LOCAL_WORLD_ALIGNED)
        arm = point - self._data.oMi[joint].translation
        return np.asarray(normal @ J[:3] + (pin.skew(arm) @ normal) @ J[3:])
