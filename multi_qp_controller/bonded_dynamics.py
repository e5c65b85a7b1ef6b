"""What a scene does under torques while its contacts are bonds: forward dynamics with constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.bond_kernel import accelerate, factorise, shift
from multi_qp_controller.kinematics import Kinematics

Array = NDArray[np.float64]

#: Rows of a closed chain may say the same thing twice: directions weaker than this, relatively, are left out.
RANK_TOLERANCE = 1e-10
#: Rows that nearly contradict each other: directions weaker than this, relatively, are given up.
LEAST_SQUARES_TOLERANCE = 1e-9


class Bonds:
    """Rows J q̈ that forces hold, at one state of a scene.

    With M = Lᵀ L and W = J L⁻¹ the forces follow from A = J M⁻¹ Jᵀ = W Wᵀ. Where rows depend on each other A is
    singular: A + μ 1 has an inverse, whose forces are the smallest ones but for a relative error of μ over the
    eigenvalues of A. One step of refinement squares that error.
    """

    def __init__(self, kinematics: Kinematics, J: Array) -> None:
        """Factorise.

        Args:
            kinematics: of the scene at the present state.
            J: rows of the bonds, (m, nv).

        Raises:
            numpy.linalg.LinAlgError: when the state has exploded.
        """
        self._kinematics, self._J, (m, nv) = kinematics, J, J.shape
        self._branches = kinematics.scene.branches
        self._L, self._W = np.empty((nv, nv)), np.empty((m, nv))
        self._A, self._factor = np.empty((m, m)), np.empty((m, m))
        written = self._L, self._W, self._A, self._factor
        if not factorise(kinematics.M, J, *self._branches, RANK_TOLERANCE, *written):
            raise np.linalg.LinAlgError("the inertia is not positive definite, or the bonds are not finite")

    def acceleration(self, torque: Array, rhs: Array) -> tuple[Array, Array]:
        """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs for q̈, (nv,), and f, (m,), from τ, (na,) [N m], and rhs, (m,)."""
        scene, a, force = self._kinematics.scene, np.empty(len(self._L)), np.empty(len(rhs))
        known = self._L, self._W, self._A, self._factor, self._kinematics.N
        accelerate(*self._branches, *known, torque, scene.actuated_v, rhs, a, force)
        return a, force

    def smallest_forces(self, torque: Array, rhs: Array) -> Array:
        """Return the smallest f, (m,), beside τ, (na,) [N m], with which J q̈ comes nearest to rhs, (m,).

        Of rows that contradict each other, be it by rounding, `acceleration` makes forces without bounds.
        """
        free = Bonds(self._kinematics, np.zeros((0, len(self._L)))).acceleration(torque, np.zeros(0))[0]
        forces = np.linalg.lstsq(self._A, rhs - self._J @ free, rcond=LEAST_SQUARES_TOLERANCE)[0]
        return np.asarray(forces, dtype=np.float64)

    def shift(self, wanted: Array) -> Array:
        """Return the smallest change δ, (nv,), by the scene's inertia, with J δ = wanted, (m,)."""
        change = np.empty(len(self._L))
        shift(*self._branches, self._L, self._W, self._factor, wanted, change)
        return change


def bonded_acceleration(kinematics: Kinematics, torque: Array, J: Array, rhs: Array) -> tuple[Array, Array]:
    """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs; see `Bonds`.

    Raises:
        numpy.linalg.LinAlgError: when the state has exploded.
    """
    return Bonds(kinematics, J).acceleration(torque, rhs)
