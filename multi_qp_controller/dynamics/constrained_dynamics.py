"""Forward dynamics of a scene with contacts as bilateral constraints."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.dynamics.constrained_dynamics_kernel import accelerate, factorise, shift
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array

#: Regularisation μ of A, relative to its largest diagonal entry: rows of closed chains may be linearly dependent.
RANK_TOLERANCE = 1e-10
#: Relative singular value below which directions of nearly inconsistent rows are ignored.
LEAST_SQUARES_TOLERANCE = 1e-9


class ConstrainedDynamics:
    """Factorised constraint rows J q̈ = rhs at one state of a scene.

    With M = Lᵀ L and W = J L⁻¹ the forces follow from A = J M⁻¹ Jᵀ = W Wᵀ. With linearly dependent rows A is
    singular: A + μ 1 is inverted instead, which gives the smallest forces up to a relative error of μ over the
    eigenvalues of A. One step of iterative refinement squares that error.
    """

    def __init__(self, kinematics: Kinematics, J: Array) -> None:
        """Factorise.

        Args:
            kinematics: kinematics of the scene at the present state.
            J: constraint rows, (m, nv).

        Raises:
            numpy.linalg.LinAlgError: if the inertia is not positive definite or J is not finite (diverged state).
        """
        self._kinematics, self._J, (m, nv) = kinematics, J, J.shape
        self._branches = kinematics.scene.branches
        self._L, self._W = np.empty((nv, nv)), np.empty((m, nv))
        self._A, self._factor = np.empty((m, m)), np.empty((m, m))
        outputs = self._L, self._W, self._A, self._factor
        if not factorise(kinematics.M, J, *self._branches, RANK_TOLERANCE, *outputs):
            raise np.linalg.LinAlgError("the inertia is not positive definite, or the constraint rows are not finite")

    def acceleration(self, torque: Array, rhs: Array) -> tuple[Array, Array]:
        """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs for q̈, (nv,), and f, (m,), from τ, (na,) [N m], and rhs, (m,)."""
        scene, a, force = self._kinematics.scene, np.empty(len(self._L)), np.empty(len(rhs))
        factors = self._L, self._W, self._A, self._factor, self._kinematics.N
        accelerate(*self._branches, *factors, torque, scene.actuated_v, rhs, a, force)
        return a, force

    def smallest_forces(self, torque: Array, rhs: Array) -> Array:
        """Return the smallest f, (m,), for which J q̈ is nearest to rhs, (m,), under τ, (na,) [N m].

        For inconsistent rows, be it by rounding, the forces of `acceleration` are unbounded.
        """
        free = ConstrainedDynamics(self._kinematics, np.zeros((0, len(self._L)))).acceleration(torque, np.zeros(0))[0]
        forces = np.linalg.lstsq(self._A, rhs - self._J @ free, rcond=LEAST_SQUARES_TOLERANCE)[0]
        return np.asarray(forces, dtype=np.float64)

    def shift(self, target: Array) -> Array:
        """Return the δ, (nv,), of least δᵀM δ with J δ = target, (m,)."""
        change = np.empty(len(self._L))
        shift(*self._branches, self._L, self._W, self._factor, target, change)
        return change


def bonded_acceleration(kinematics: Kinematics, torque: Array, J: Array, rhs: Array) -> tuple[Array, Array]:
    """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs; see `ConstrainedDynamics`.

    Raises:
        numpy.linalg.LinAlgError: if the inertia is not positive definite or J is not finite (diverged state).
    """
    return ConstrainedDynamics(kinematics, J).acceleration(torque, rhs)
