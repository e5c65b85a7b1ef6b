"""Compiled residuals of the dynamics and the no-slip rows for the solution of a tick."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled


@compiled
def residual(
    blocks: Indices, motors: Indices, M: Array, N: Array, J: Array, rhs: Array, q_dd: Array, torque: Array,
    reactions: Array,
) -> tuple[float, float]:  # fmt: skip
    """Return the largest entry of M q̈ + N − Jᵀ w − S τ, and the norm of J q̈ − rhs.

    The first is relative to the largest force in it or 1, the second to the largest of |q̈|, |rhs| and 1.

    Args:
        blocks: range of entries of v of each subsystem, (subsystems, 2).
        motors: entries of v of the motors, (na,).
        M: block diagonal, (nv, nv).
        N: (nv,).
        J: no-slip rows and couplings, (m, nv).
        rhs: of these, (m,).
        q_dd: q̈, (nv,).
        torque: τ, (na,).
        reactions: w, (m,).
    """
    applied = np.zeros(len(N))
    fastest, slips = 1.0, 0.0
    for i in range(len(N)):
        fastest = max(fastest, abs(q_dd[i]))
    for r in range(len(reactions)):
        w, slip = reactions[r], -rhs[r]
        for i in range(len(N)):
            applied[i] += w * J[r, i]
            slip += J[r, i] * q_dd[i]
        fastest = max(fastest, abs(rhs[r]))
        slips += slip * slip  # a sum propagates NaN, a maximum may not
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
    return worst / greatest, np.sqrt(slips) / fastest
