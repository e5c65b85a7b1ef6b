"""Distances between links, and of links from solids, as a residual of crocoddyl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene.arrays import Array
from multi_qp_scene.pairs import WatchedPair
from multi_qp_scene.scene import Scene


class ClearanceResidual(crocoddyl.ResidualModelAbstract):
    """max(0, margin - distance) of pairs of collision pieces, (p,) [m], and too fast approaches, with derivatives.

    Unlike crocoddyl's own residual of pairs, distances are signed, and both pieces may move. The approaches are
    max(0, -ḋ - ξ (d - δ_s)/(δ_i - δ_s)), (dampers,) [m/s], [Vaillant2015] (22), of those pairs that have a damper. In
    their derivatives with respect to the configuration, normals and Jacobians are constant.
    """

    def __init__(
        self,
        state: Any,
        nu: int,
        scene: Scene,
        pairs: list[tuple[int, int]],
        margins: list[float],
        geometry: tuple[pin.GeometryModel, pin.GeometryData],
        dampers: Sequence[WatchedPair | None] = (),
        placed: Mapping[int, tuple[pin.SE3, pin.Motion]] = MappingProxyType({}),
    ) -> None:
        """Prepare for pairs of indices of pieces, and the margin of each [m].

        Args:
            state: of crocoddyl.
            nu: number of controls.
            scene: the scene.
            pairs: indices of both pieces of each pair.
            margins: of each pair [m].
            geometry: with these pairs among its own, and data that several residuals share.
            dampers: velocity damper of each pair, None if it has none.
            placed: pose and twist in the world of pieces that something else moves, by index.
        """
        damped = [(k, one) for k, one in enumerate(dampers) if one is not None]
        super().__init__(state, len(pairs) + len(damped), nu, True, bool(damped), False)
        self._damped = [k for k, _ in damped]
        self._security = np.array([one.security for _, one in damped])
        self._rate = np.array([one.damping / (one.influence - one.security) for _, one in damped])
        self._model, self._margins = scene.model, np.array(margins)
        self._geometry, self._found = geometry
        self._index = [self._geometry.findCollisionPair(pin.CollisionPair(*pair)) for pair in pairs]
        for request in self._found.distanceRequests:
            request.enable_signed_distance = True
        pieces = self._geometry.geometryObjects
        self._joints = [(pieces[a].parentJoint, pieces[b].parentJoint) for a, b in pairs]
        self._moving, self._ends = np.unique([self._joints[k] for k in self._damped], return_inverse=True)
        self._placed = {piece: placed[piece][0] for pair in pairs for piece in pair if piece in placed}
        self._given = np.zeros((len(damped), 2, 6))
        for row, k in enumerate(self._damped):
            for end, piece in enumerate(pairs[k]):
                if piece in placed:
                    self._given[row, end] = placed[piece][1].vector

    def calc(self, data: Any, x: Any, u: Any = None) -> None:
        """Compute the residual."""
        kinematics = data.shared.pinocchio
        self._place(kinematics)
        found = [pin.computeDistance(self._geometry, self._found, index) for index in self._index]
        distances = np.array([result.min_distance for result in found])
        r = self._margins - distances
        if self._damped:
            allowed = self._rate * (distances[self._damped] - self._security)
            r = np.append(r, self._approaches(kinematics, [found[k] for k in self._damped]) - allowed)
        data.r = np.maximum(0.0, r)

    def _place(self, kinematics: pin.Data) -> None:
        pin.updateGeometryPlacements(self._model, kinematics, self._geometry, self._found)
        for piece, X in self._placed.items():
            self._found.oMg[piece] = X

    def _approaches(self, kinematics: pin.Data, found: list[coal.DistanceResult]) -> Array:
        """Return how fast the pieces of each pair with a damper approach each other, (dampers,) [m/s]."""
        moving = [pin.getVelocity(self._model, kinematics, j, pin.WORLD).vector for j in self._moving.tolist()]
        twists = np.array(moving)[self._ends.reshape(-1, 2)] + self._given
        n = np.array([result.normal for result in found])  # from the first piece to the second
        speeds = np.zeros(len(found))
        for end, sign in ((0, 1.0), (1, -1.0)):
            p = np.array([result.getNearestPoint1() if end == 0 else result.getNearestPoint2() for result in found])
            moments = p[:, [1, 2, 0]] * n[:, [2, 0, 1]] - p[:, [2, 0, 1]] * n[:, [1, 2, 0]]  # numpy.cross is slow
            speeds += sign * (np.hstack([n, moments]) * twists[:, end]).sum(axis=1)
        return speeds

    def calcDiff(self, data: Any, x: Any, u: Any = None) -> None:
        """Compute its derivative at the state of `calc`; distances again, as others share their data."""
        kinematics, nv, count = data.shared.pinocchio, self._model.nv, len(self._margins)
        Rx = np.zeros((count + len(self._damped), 2 * nv))
        if (data.r > 0.0).any():
            self._place(kinematics)
        for k in np.flatnonzero(data.r[:count] > 0.0):
            Rx[k, :nv] = self._slope(kinematics, int(k))
        for j in np.flatnonzero(data.r[count:] > 0.0):
            slope = self._slope(kinematics, self._damped[j])
            Rx[count + j, :nv], Rx[count + j, nv:] = self._rate[j] * slope, slope
        data.Rx = Rx

    def _slope(self, kinematics: pin.Data, k: int) -> Array:
        """Return minus the derivative of the distance of a pair, (nv,)."""
        result, (a, b) = pin.computeDistance(self._geometry, self._found, self._index[k]), self._joints[k]
        normal, found = np.asarray(result.normal), np.zeros(self._model.nv)
        for joint, point, sign in ((a, result.getNearestPoint1(), 1.0), (b, result.getNearestPoint2(), -1.0)):
            if joint:
                J = pin.getJointJacobian(self._model, kinematics, joint, pin.LOCAL_WORLD_ALIGNED)
                arm = np.asarray(point) - kinematics.oMi[joint].translation
                found += sign * (normal @ J[:3] + pin.skew(arm) @ normal @ J[3:])
        return found
