"""Compiled revised simplex method with an explicit inverse, suited to about six rows.

Kernels receive all their buffers and use only scalars and indices: every further numba feature would lengthen the
compilation at the first call on a machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled_part

Indices = NDArray[np.int64]

OPTIMAL, UNBOUNDED, NOT_CONVERGED = 0, 1, 2

ZERO = 1e-11  # smaller gains count as zero
PIVOT = 1e-9  # smaller pivots would make the basis singular
MOST_PIVOTS = 2_000
_GREEDY_PIVOTS = 100  # then Bland's rule, which cannot cycle
PIVOTS_TO_REFACTOR = 25  # limits rounding errors of the product form


def workspace(rows: int) -> Array:
    """Return the work array of the kernels, (rows + 2, rows)."""
    return np.empty((rows + 2, rows))


@compiled_part
def refactor(M: Array, e: Array, basis: Indices, inverse: Array, x: Array, work: Array) -> bool:
    """Refactorise the basis by Gauss-Jordan elimination with row pivots; return whether it is regular.

    Args:
        M: columns as rows, (n, rows).
        e: right-hand side, (rows,).
        basis: column indices of the basis, (rows,).
        inverse: output, (rows, rows).
        x: output, values of the basis, (rows,).
        work: see `workspace`.
    """
    rows = len(e)
    for k in range(rows):
        for i in range(rows):
            work[i + 2, k] = M[basis[k], i]
            inverse[i, k] = 1.0 if i == k else 0.0
    for k in range(rows):
        pivot = k
        for i in range(k + 1, rows):
            if abs(work[i + 2, k]) > abs(work[pivot + 2, k]):
                pivot = i
        if abs(work[pivot + 2, k]) < 1e-13:
            return False
        scale = 1.0 / work[pivot + 2, k]
        for j in range(rows):
            stored = work[pivot + 2, j]
            work[pivot + 2, j] = work[k + 2, j]
            work[k + 2, j] = stored * scale
            stored = inverse[pivot, j]
            inverse[pivot, j] = inverse[k, j]
            inverse[k, j] = stored * scale
        for i in range(rows):
            share = work[i + 2, k]
            if i != k and share != 0.0:
                for j in range(rows):
                    work[i + 2, j] -= share * work[k + 2, j]
                    inverse[i, j] -= share * inverse[k, j]
    for k in range(rows):
        x[k] = 0.0
        for i in range(rows):
            x[k] += inverse[k, i] * e[i]
    return True


@compiled_part
def maximise(
    M: Array, e: Array, basis: Indices, inverse: Array, x: Array, cost: Array, columns: int, work: Array
) -> int:
    """Maximise a cost over {x ≥ 0 : Mᵀ x = e} by primal pivots; basis, inverse and x are updated.

    Args:
        M: columns as rows, (n, rows).
        e: right-hand side, (rows,).
        basis: column indices of the basis at a vertex, (rows,).
        inverse: of the basis, (rows, rows).
        x: values of the basis, (rows,).
        cost: objective, (n,).
        columns: number of columns that may enter.
        work: see `workspace`.

    Returns:
        `OPTIMAL`, `UNBOUNDED` or `NOT_CONVERGED`.
    """
    rows = len(e)
    since, stale = 0, False
    for pivot in range(MOST_PIVOTS):
        if stale:
            if not refactor(M, e, basis, inverse, x, work):
                return NOT_CONVERGED
            since, stale = 0, False
        greedy = pivot < _GREEDY_PIVOTS
        for i in range(rows):
            work[0, i] = 0.0
            for k in range(rows):
                work[0, i] += cost[basis[k]] * inverse[k, i]
        entering, best = -1, ZERO
        for j in range(columns):
            gain = cost[j]
            for i in range(rows):
                gain -= work[0, i] * M[j, i]
            if gain > best:
                for k in range(rows):
                    if basis[k] == j:  # rounding
                        gain = 0.0
                if gain > best:
                    entering, best = j, gain
                    if not greedy:
                        break
        if entering < 0:
            if since == 0:
                return OPTIMAL
            stale = True  # confirm optimality with a fresh factorisation
            continue
        leaving, ratio = -1, np.inf
        for k in range(rows):
            step = 0.0
            for i in range(rows):
                step += inverse[k, i] * M[entering, i]
            work[1, k] = step
            if step > PIVOT:
                own = max(x[k], 0.0) / step
                if leaving < 0 or own < ratio - 1e-14:
                    leaving, ratio = k, own
                elif own <= ratio + 1e-14:  # ties: largest pivot, or Bland's rule
                    better = step > work[1, leaving] if greedy else basis[k] < basis[leaving]
                    if better:
                        leaving, ratio = k, min(own, ratio)
        if leaving < 0:
            return UNBOUNDED
        basis[leaving] = entering
        since += 1
        stale = since >= PIVOTS_TO_REFACTOR or abs(work[1, leaving]) < 1e-6
        if stale:
            continue
        scale = 1.0 / work[1, leaving]
        x[leaving] *= scale
        for i in range(rows):
            inverse[leaving, i] *= scale
        for k in range(rows):
            if k != leaving:
                x[k] -= work[1, k] * x[leaving]
                for i in range(rows):
                    inverse[k, i] -= work[1, k] * inverse[leaving, i]
    return NOT_CONVERGED
