"""Compiled warm start: active rows and multipliers from the previous tick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.condensed.factor_kernel import drop, shrink, solve
from multi_qp_controller.qp.condensed.linear_kernel import cholesky
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled_part

Flags = NDArray[np.bool_]


@compiled_part
def warm_active_set(start: Array, low: Array, high: Array, active: Indices) -> int:
    """Write the rows that were active at an earlier tick, up to the capacity of `active`; return their number.

    `active` holds 1 + row, negative if the upper side is active.
    """
    k = 0
    for i in range(len(low)):
        if start[i] != 0.0 and k + 1 < len(active) and np.isfinite(high[i] if start[i] > 0.0 else low[i]):
            active[k] = -i - 1 if start[i] > 0.0 else i + 1
            k += 1
    return k


@compiled_part
def store_multipliers(z: Array, active: Indices, multipliers: Array, k: int) -> None:
    """Scatter the multipliers of active rows to all rows, negative at a lower side."""
    for i in range(k):
        z[abs(active[i]) - 1] = -multipliers[i] if active[i] > 0 else multipliers[i]


@compiled_part
def mark_active(active: Indices, k: int, is_active: Flags) -> None:
    """Write the flags of active rows."""
    is_active[:] = False
    for i in range(k):
        is_active[abs(active[i]) - 1] = True


@compiled_part
def drop_negative_multipliers(
    k: int, active: Indices, slot: Indices, T: Array, R: Array, d: Array, multipliers: Array, counts: Indices
) -> int:
    """Drop rows of an earlier tick until all multipliers are non-negative; return the number of remaining rows."""
    for i in range(k):
        for j in range(i + 1):
            R[i, j] = T[i, j]
    if not cholesky(R, k):
        return 0
    while k:
        solve(R, k, d, multipliers)
        least = 0
        for i in range(1, k):
            if multipliers[i] < multipliers[least]:
                least = i
        if multipliers[least] >= 0.0:
            return k
        shrink(least, k, R)
        k = drop(least, k, active, slot, T, d, multipliers)
        counts[1] += 1
    return 0
