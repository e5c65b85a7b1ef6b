"""What a scene does under torques while its contacts are bonds: forward dynamics with constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from multi_qp_controller.kinematics import Kinematics

Array = NDArray[np.float64]

#: Rows of a closed chain may say the same thing twice: directions weaker than this, relatively, are left out.
RANK_TOLERANCE = 1e-10


class Bonds:
    """Rows J q̈ that forces hold, at one state of a scene."""

    def __init__(self, kinematics: Kinematics, J: Array) -> None:
        """Factorise.

        Args:
            kinematics: of the scene at the present state.
            J: rows of the bonds, (m, nv).

        Raises:
            numpy.linalg.LinAlgError: when the state has exploded.
        """
        self._kinematics, self._J = kinematics, J
        try:
            self._factor = cho_factor(kinematics.M, check_finite=False)
        except ValueError as error:
            raise np.linalg.LinAlgError(str(error)) from None
        self._M_inv_Jt = cho_solve(self._factor, J.T, check_finite=False)
        # where rows depend on each other, the smallest forces
        self._mass = np.linalg.pinv(J @ self._M_inv_Jt, rcond=RANK_TOLERANCE, hermitian=True)

    def acceleration(self, torque: Array, rhs: Array) -> tuple[Array, Array]:
        """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs for q̈, (nv,), and f, (m,), from τ, (na,) [N m], and rhs, (m,)."""
        force = -self._kinematics.N
        force[self._kinematics.scene.actuated_v] += torque
        free = cho_solve(self._factor, force, check_finite=False)
        if not len(rhs):
            return free, rhs
        bonds = self._mass @ (rhs - self._J @ free)
        return free + self._M_inv_Jt @ bonds, bonds

    def shift(self, rhs: Array) -> Array:
        """Return the smallest change, by the scene's inertia, with J δ = rhs: from (m,) to (nv,)."""
        return self._M_inv_Jt @ (self._mass @ rhs)


def bonded_acceleration(kinematics: Kinematics, torque: Array, J: Array, rhs: Array) -> tuple[Array, Array]:
    """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs; see `Bonds`.

    Raises:
        numpy.linalg.LinAlgError: when the state has exploded.
    """
    return Bonds(kinematics, J).acceleration(torque, rhs)
