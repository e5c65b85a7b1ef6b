"""Compiled kernel of Lemke's method for linear complementarity problems."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled


@compiled
def lemke(C: Array, h: Array, steps: int) -> tuple[Array, bool]:
    """Return z ≥ 0 with w = C z + h ≥ 0 and wᵀz = 0, and whether it was found.

    Args:
        C: (k, k).
        h: (k,).
        steps: largest number of pivots; the method also ends without a solution on a secondary ray.
    """
    k = len(h)
    z = np.zeros(k)
    worst = 0
    for i in range(k):
        if h[i] < h[worst]:
            worst = i
    if k == 0 or h[worst] >= 0.0:
        return z, True
    # tableau of w − C z − e z₀ = h; columns: w, z, z₀, right-hand side
    T = np.zeros((k, 2 * k + 2))
    for i in range(k):
        T[i, i] = 1.0
        for j in range(k):
            T[i, k + j] = -C[i, j]
        T[i, 2 * k] = -1.0
        T[i, 2 * k + 1] = h[i]
    basis = np.arange(k)
    row, entering = worst, 2 * k
    for _ in range(steps):
        pivot = T[row, entering]
        for j in range(2 * k + 2):
            T[row, j] /= pivot
        for i in range(k):
            share = T[i, entering]
            if i != row and share != 0.0:
                for j in range(2 * k + 2):
                    T[i, j] -= share * T[row, j]
        leaving = basis[row]
        basis[row] = entering
        if leaving == 2 * k:
            for i in range(k):
                if basis[i] >= k:
                    z[basis[i] - k] = max(T[i, 2 * k + 1], 0.0)
            return z, True
        entering = leaving + k if leaving < k else leaving - k
        row, least = -1, np.inf
        for i in range(k):
            if T[i, entering] > 1e-11:
                ratio = T[i, 2 * k + 1] / T[i, entering]
                if ratio < least - 1e-12 or (ratio < least + 1e-12 and basis[i] == 2 * k):
                    least, row = ratio, i
        if row < 0:
            return z, False
    return z, False
