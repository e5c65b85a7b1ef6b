"""Antagonistic pairs on a spherical joint, whose position is a rotation and whose velocity is an angular velocity."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array
from upper_body.joints import BEYOND, basis_along
from upper_body.limb_kernel import decompose
from upper_body.limbs import LimbTorques


class SphericalJoint:
    """Three pairs on the swing-twist angles of a spherical joint, [Alvarado2022] Algorithm 1.

    As for three hinges at one point, but the rates of the angles are per angular velocity, in the axes of the child, as
    pinocchio and MuJoCo have them. The angles are unique while the limb is swung by less than 180° from its reference.

    Attributes:
        basis: in the parent's axes, as columns, with x along the limb in the reference rotation, (3, 3).
        rest: reference rotation, child to parent, (3, 3).
        low: θ_L of the twist about the limb and of the two swings, 0.5 rad beyond their limits, (3,) [rad].
        high: θ_H, (3,) [rad].
    """

    def __init__(self, rest: Array, limb: Array, limits: Array) -> None:
        """Create it.

        Args:
            rest: reference rotation, child to parent, (3, 3).
            limb: direction of the limb in the axes of the child, (3,).
            limits: lower and upper limits of the three angles, (2, 3) [rad].
        """
        self.rest, self.basis = rest, basis_along(rest @ limb)
        self.low, self.high = limits[0] - BEYOND, limits[1] + BEYOND

    def angles(self, rotation: Array) -> tuple[Array, Array]:
        """Return the angles of a rotation, (3,) [rad], and their rates per angular velocity in its axes, (3, 3)."""
        rates = np.empty((3, 3))
        placements = np.stack([rotation, np.eye(3), np.eye(3)])  # three hinges at zero along the axes of the child
        return decompose(np.zeros(3), placements, np.eye(3), self.basis, self.rest, rates), rates

    def torques(
        self,
        present: Array,
        target: Array,
        equilibrium: Array,
        stiffness: float,
        inertia: Array,
        *,
        ratio: float,
        sag: float = 0.0,
    ) -> LimbTorques:
        """Return the torques of the pairs whose equilibrium is at the target, in the axes of the child.

        Args:
            present: rotation, child to parent, (3, 3).
            target: rotation of the target, (3, 3).
            equilibrium: τ_eq, torque at the target in the axes of the child there, (3,) [N m].
            stiffness: wanted stiffness of each pair [N m/rad]; raised to the least one with which all gains are
                positive and a load cannot overturn the limb.
            inertia: diagonal of M, (3,) [kg m²].
            ratio: damping ratio.
            sag: largest slope of the torque of the load over a rotation [N m/rad].
        """
        (there, B), (here, rates) = self.angles(target), self.angles(present)
        pairs = np.linalg.solve(B.T, equilibrium)
        # the angles' own change of direction under a load counts as a slope too
        slope = (sag + float(np.abs(pairs).sum())) / float(np.linalg.svd(B, compute_uv=False)[-1] ** 2)
        pair = max(stiffness, slope, *(pairs / (self.high - there)), *(-pairs / (there - self.low)))
        width = self.high - self.low
        gains = np.array([pair * (self.high - there) - pairs, pair * (there - self.low) + pairs]) / width
        torque = rates.T @ (gains[0] * (self.low - here) + gains[1] * (self.high - here))
        K = pair * rates.T @ rates
        return LimbTorques(torque, K, 2.0 * ratio * np.sqrt(K.diagonal() * inertia), gains)
