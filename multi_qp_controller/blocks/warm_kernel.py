"""What is handed on from tick to tick: which rows were active, with what multipliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.factor_kernel import drop, shrink, solve
from multi_qp_controller.blocks.linear_kernel import cholesky
from multi_qp_scene.jit import compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


@compiled_part
def taken_over(start: Array, low: Array, high: Array, active: Indices) -> int:
    """Write which rows were active at an earlier tick, as far as there is room; return how many.

    `active` has 1 added to each row, and is negative where the upper side is active.
    """
    k = 0
    for i in range(len(low)):
        if start[i] != 0.0 and k + 1 < len(active) and np.isfinite(high[i] if start[i] > 0.0 else low[i]):
            active[k] = -i - 1 if start[i] > 0.0 else i + 1
            k += 1
    return k


@compiled_part
def keep_multipliers(z: Array, active: Indices, multipliers: Array, k: int) -> None:
    """Write the multipliers of active rows where their rows are, negative at a lower side."""
    for i in range(k):
        z[abs(active[i]) - 1] = -multipliers[i] if active[i] > 0 else multipliers[i]


@compiled_part
def mark(active: Indices, k: int, taken: Flags) -> None:
    """Write which rows are active."""
    taken[:] = False
    for i in range(k):
        taken[abs(active[i]) - 1] = True


@compiled_part
def best_start(
    k: int, active: Indices, slot: Indices, T: Array, R: Array, d: Array, multipliers: Array, counts: Indices
) -> int:
    """Drop rows of an earlier tick until no multiplier pulls; return how many are left."""
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
