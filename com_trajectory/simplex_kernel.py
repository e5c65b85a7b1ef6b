"""The revised simplex method with an explicit inverse, which suits six rows; compiled.

Kernels are given all arrays that they write to, and use nothing but numbers and indices: what else numba can do it
would have to compile too, and the first call on a machine waits for that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

OPTIMAL, UNBOUNDED, GIVEN_UP = 0, 1, 2

ZERO = 1e-11  # gains below it are none
PIVOT = 1e-9  # steps below it would make the basis singular
MOST_PIVOTS = 2_000
_GREEDY_PIVOTS = 100  # after so many the rule of Bland takes over, which cannot cycle
PIVOTS_TO_REFACTOR = 25  # products of elementary matrices lose digits


def workspace(rows: int) -> Array:
    """Return room for the kernels' numbers, (rows + 2, rows)."""
    return np.empty((rows + 2, rows))


@compiled_part
def refactor(M: Array, e: Array, basis: Indices, inverse: Array, x: Array, work: Array) -> bool:
    """Invert the basis anew, by Gauss and Jordan with row pivots; return whether it could be inverted.

    Args:
        M: columns as rows, (n, rows).
        e: right-hand side, (rows,).
        basis: numbers of the columns of the basis, (rows,).
        inverse: to be filled, (rows, rows).
        x: values of the basis, to be filled, (rows,).
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
            held = work[pivot + 2, j]
            work[pivot + 2, j] = work[k + 2, j]
            work[k + 2, j] = held * scale
            held = inverse[pivot, j]
            inverse[pivot, j] = inverse[k, j]
            inverse[k, j] = held * scale
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
def climb(M: Array, e: Array, basis: Indices, inverse: Array, x: Array, cost: Array, columns: int, work: Array) -> int:
    """Go from corner to corner of {x ≥ 0 : Mᵀ x = e} upwards; basis, inverse and x follow.

    Args:
        M: columns as rows, (n, rows).
        e: right-hand side, (rows,).
        basis: numbers of the columns of the basis at a corner, (rows,).
        inverse: of the basis, (rows, rows).
        x: values of the basis, (rows,).
        cost: to be made as large as can be, (n,).
        columns: columns from this one on stay out.
        work: see `workspace`.

    Returns:
        `OPTIMAL`, `UNBOUNDED` or `GIVEN_UP`.
    """
    rows = len(e)
    since, stale = 0, False
    for pivot in range(MOST_PIVOTS):
        if stale:
            if not refactor(M, e, basis, inverse, x, work):
                return GIVEN_UP
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
            stale = True  # with all its digits it is the best corner still, or nearly so
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
                elif own <= ratio + 1e-14:  # among equals: the best conditioned, or Bland's
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
    return GIVEN_UP
