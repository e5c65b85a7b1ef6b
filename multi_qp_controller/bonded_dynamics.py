"""What a scene does under torques while its contacts are bonds: forward dynamics with constraints."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from multi_qp_controller.kinematics import Kinematics

Array = NDArray[np.float64]

#: Rows of a closed chain may say the same thing twice: directions weaker than this, relatively, are left out.
RANK_TOLERANCE = 1e-10


class Bonds:
    """Rows J q̈ that forces hold, at one state of a scene.

    With M = L Lᵀ, tree by tree, and W = L⁻¹ Jᵀ the forces follow from A = J M⁻¹ Jᵀ = Wᵀ W. Where rows depend on each
    other A is singular: A + μ 1 has an inverse, whose forces are the smallest ones but for a relative error of μ over
    the eigenvalues of A. One step of refinement squares that error.
    """

    def __init__(self, kinematics: Kinematics, J: Array) -> None:
        """Factorise.

        Args:
            kinematics: of the scene at the present state.
            J: rows of the bonds, (m, nv).

        Raises:
            numpy.linalg.LinAlgError: when the state has exploded.
        """
        self._kinematics, m = kinematics, len(J)
        self._factors: list[tuple[slice, Array]] = []
        self._W = np.empty((J.shape[1], m))
        for tree in kinematics.scene.trees:
            L, failed = lapack.dpotrf(kinematics.M[tree, tree], lower=1, clean=0)
            if failed:
                raise np.linalg.LinAlgError("the joint-space inertia is not positive definite")
            self._factors.append((tree, L))
            if m:
                self._W[tree] = lapack.dtrtrs(L, J[:, tree].T, lower=1)[0]
        self._A = self._W.T @ self._W
        if m:
            proximal = self._A.copy()
            strongest = float(proximal.diagonal().max())
            proximal.flat[:: m + 1] += RANK_TOLERANCE * max(strongest, np.finfo(float).tiny)
            self._A_factor, failed = lapack.dpotrf(proximal, lower=1, clean=0, overwrite_a=1)
            if failed:
                raise np.linalg.LinAlgError("the bonds are not finite")

    def acceleration(self, torque: Array, rhs: Array) -> tuple[Array, Array]:
        """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs for q̈, (nv,), and f, (m,), from τ, (na,) [N m], and rhs, (m,)."""
        half = -self._kinematics.N
        half[self._kinematics.scene.actuated_v] += torque
        for tree, L in self._factors:
            half[tree] = lapack.dtrtrs(L, half[tree], lower=1)[0]
        force = rhs
        if len(rhs):
            wanted = rhs - half @ self._W
            force = lapack.dpotrs(self._A_factor, wanted, lower=1)[0]
            force += lapack.dpotrs(self._A_factor, wanted - self._A @ force, lower=1)[0]
            half += self._W @ force
        return self._whole(half), force

    @cached_property
    def shift(self) -> Array:
        """The smallest change, by the scene's inertia, with J δ = rhs is this matrix times rhs, (nv, m)."""
        if not len(self._A):
            return np.zeros(self._W.shape)
        return self._whole(lapack.dpotrs(self._A_factor, self._W.T, lower=1)[0].T)

    def _whole(self, half: Array) -> Array:
        """Return L⁻ᵀ of a vector or of columns, (nv, …), in place."""
        for tree, L in self._factors:
            half[tree] = lapack.dtrtrs(L, half[tree], lower=1, trans=1)[0]
        return half


def bonded_acceleration(kinematics: Kinematics, torque: Array, J: Array, rhs: Array) -> tuple[Array, Array]:
    """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs; see `Bonds`.

    Raises:
        numpy.linalg.LinAlgError: when the state has exploded.
    """
    return Bonds(kinematics, J).acceleration(torque, rhs)
