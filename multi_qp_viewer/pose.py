"""World placements of all drawn geometry by forward kinematics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import placement_data


class ScenePose:
    """Forward kinematics with data of its own, separate from the controller's.

    Not thread-safe.
    """

    def __init__(self, model: pin.Model, geometries: Sequence[pin.GeometryObject]) -> None:
        """Store joint and placement of each geometry.

        Args:
            model: model of the scene.
            geometries: the n drawn geometries.
        """
        self._model, self._data = model, placement_data(model)
        self._joints = np.array([geometry.parentJoint for geometry in geometries], dtype=int)
        placements = [geometry.placement for geometry in geometries]
        self._rotations = np.array([p.rotation for p in placements]).reshape(-1, 3, 3)  # joint <- geometry
        self._positions = np.array([p.translation for p in placements]).reshape(-1, 3)

    def placements(self, q: Array) -> tuple[Array, Array]:
        """Return world rotations (n, 3, 3) and positions (n, 3) [m] of the geometries at q, (nq,)."""
        pin.forwardKinematics(self._model, self._data, np.asarray(q, dtype=float))
        poses = self._data.oMi
        joint_rotations = np.array([placement.rotation for placement in poses])
        joint_positions = np.array([placement.translation for placement in poses])
        parents = joint_rotations[self._joints]
        rotations = parents @ self._rotations
        positions = np.einsum("nij,nj->ni", parents, self._positions) + joint_positions[self._joints]
        return rotations, positions
