"""Distances between links, and of links from solids, as a residual of crocoddyl."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene.scene import Scene


class ClearanceResidual(crocoddyl.ResidualModelAbstract):
    """max(0, margin - distance) of pairs of collision pieces, (p,) [m], with its derivative.

    Unlike crocoddyl's own residual of pairs, distances are signed, and both pieces may move.
    """

    def __init__(
        self,
        state: Any,
        nu: int,
        scene: Scene,
        pairs: list[tuple[int, int]],
        margins: list[float],
        geometry: tuple[pin.GeometryModel, pin.GeometryData],
    ) -> None:
        """Prepare for pairs of indices of pieces, and the margin of each [m].

        Args:
            state: of crocoddyl.
            nu: number of controls.
            scene: the scene.
            pairs: indices of both pieces of each pair.
            margins: of each pair [m].
            geometry: with these pairs among its own, and data that several residuals share.
        """
        super().__init__(state, len(pairs), nu, True, False, False)
        self._model, self._margins = scene.model, np.array(margins)
        self._geometry, self._found = geometry
        self._index = [self._geometry.findCollisionPair(pin.CollisionPair(*pair)) for pair in pairs]
        for request in self._found.distanceRequests:
            request.enable_signed_distance = True
        pieces = self._geometry.geometryObjects
        self._pieces = sorted({k for pair in pairs for k in pair})
        self._joints = [(pieces[a].parentJoint, pieces[b].parentJoint) for a, b in pairs]

    def calc(self, data: Any, x: Any, u: Any = None) -> None:
        """Compute the residual."""
        kinematics = data.shared.pinocchio
        pin.updateGeometryPlacements(self._model, kinematics, self._geometry, self._found)
        r = np.zeros(len(self._margins))
        for k, (index, margin) in enumerate(zip(self._index, self._margins, strict=True)):
            r[k] = max(0.0, margin - pin.computeDistance(self._geometry, self._found, index).min_distance)
        data.r = r

    def calcDiff(self, data: Any, x: Any, u: Any = None) -> None:
        """Compute its derivative at the state of `calc`; distances again, as others share their data."""
        kinematics, nv = data.shared.pinocchio, self._model.nv
        if (data.r > 0.0).any():
            pin.updateGeometryPlacements(self._model, kinematics, self._geometry, self._found)
        Rx = np.zeros((len(self._margins), 2 * nv))
        for k, (a, b) in enumerate(self._joints):
            if data.r[k] <= 0.0:
                continue
            result = pin.computeDistance(self._geometry, self._found, self._index[k])
            normal = np.asarray(result.normal)  # from the first piece to the second
            for joint, point, sign in ((a, result.getNearestPoint1(), 1.0), (b, result.getNearestPoint2(), -1.0)):
                if joint:
                    J = pin.getJointJacobian(self._model, kinematics, joint, pin.LOCAL_WORLD_ALIGNED)
                    arm = np.asarray(point) - kinematics.oMi[joint].translation
                    Rx[k, :nv] += sign * (normal @ J[:3] + pin.skew(arm) @ normal @ J[3:])
        data.Rx = Rx
