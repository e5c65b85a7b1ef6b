"""What a scene does under torques while its contacts are bonds: forward dynamics with constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from multi_qp_controller.kinematics import Kinematics

Array = NDArray[np.float64]

#: Rows of a closed chain may say the same thing twice: directions weaker than this, relatively, are left out.
RANK_TOLERANCE = 1e-10


def bonded_acceleration(kinematics: Kinematics, torque: Array, J: Array, rhs: Array) -> tuple[Array, Array]:
    """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs.

    Args:
        kinematics: of the scene at the present state.
        torque: of the motors, (na,) [N m].
        J: rows of the bonds, (m, nv).
        rhs: their accelerations, (m,).

    Returns:
        q̈, (nv,), and the forces of the bonds, (m,); where rows depend on each other, the smallest ones.

    Raises:
        numpy.linalg.LinAlgError: when the state has exploded.
    """
    force = -kinematics.N
    force[kinematics.scene.actuated_v] += torque
    try:
        factor = cho_factor(kinematics.M, check_finite=False)
    except ValueError as error:
        raise np.linalg.LinAlgError(str(error)) from None
    free = cho_solve(factor, force, check_finite=False)
    if not len(rhs):
        return free, rhs
    M_inv_Jt = cho_solve(factor, J.T, check_finite=False)
    bonds = np.linalg.lstsq(J @ M_inv_Jt, rhs - J @ free, rcond=RANK_TOLERANCE)[0]
    return free + M_inv_Jt @ bonds, bonds
