"""How well a tick's answer keeps the dynamics, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def residual(
    blocks: Indices, motors: Indices, M: Array, N: Array, J: Array, q_dd: Array, torque: Array, reactions: Array
) -> float:
    """Return the largest entry of M q̈ + N − Jᵀ w − S τ, relative to the largest force in it or 1.

    Args:
        blocks: first entry of v of each subsystem, and the one after its last, (subsystems, 2).
        motors: entries of v of the motors, (na,).
        M: block diagonal, (nv, nv).
        N: (nv,).
        J: no-slip rows and couplings, (m, nv).
        q_dd: q̈, (nv,).
        torque: τ, (na,).
        reactions: w, (m,).
    """
    applied = np.zeros(len(N))
    for r in range(len(reactions)):
        w = reactions[r]
        if w != 0.0:
            for i in range(len(N)):
                applied[i] += w * J[r, i]
    for k in range(len(motors)):
        applied[motors[k]] += torque[k]
    greatest, worst = 1.0, 0.0
    for b in range(len(blocks)):
        for i in range(blocks[b, 0], blocks[b, 1]):
            inertial = N[i]
            for j in range(blocks[b, 0], blocks[b, 1]):
                inertial += M[i, j] * q_dd[j]
            greatest = max(greatest, abs(inertial), abs(applied[i]))
            worst = max(worst, abs(inertial - applied[i]))
    return worst / greatest
