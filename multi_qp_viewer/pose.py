"""From a configuration to the world placements of all drawn geometry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.forest import Forest

Array = NDArray[np.float64]


class ScenePose:
    """Forward kinematics with its own data, so that it never disturbs the controller's.

    Not safe for use from two threads at once.
    """

    def __init__(self, model: pin.Model, geometries: Sequence[pin.GeometryObject]) -> None:
        """Remember where each geometry hangs.

        Args:
            model: the scene's model.
            geometries: the n geometries whose placements are wanted.
        """
        self._forest = Forest(model)
        self._joints = np.array([geometry.parentJoint for geometry in geometries], dtype=int)
        placements = [geometry.placement for geometry in geometries]
        self._rotations = np.array([p.rotation for p in placements]).reshape(-1, 3, 3)  # joint <- geometry
        self._positions = np.array([p.translation for p in placements]).reshape(-1, 3)

    def placements(self, q: Array) -> tuple[Array, Array]:
        """Return world rotations (n, 3, 3) and positions (n, 3) [m] of the geometries at q, (nq,)."""
        poses = self._forest.place(np.asarray(q, dtype=float)).oMi
        joint_rotations = np.array([placement.rotation for placement in poses])
        joint_positions = np.array([placement.translation for placement in poses])
        parents = joint_rotations[self._joints]
        rotations = parents @ self._rotations
        positions = np.einsum("nij,nj->ni", parents, self._positions) + joint_positions[self._joints]
        return rotations, positions
