"""Compiled row-by-row updates of the Cholesky factor of C K⁻¹ Cᵀ over the active rows."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.qp.condensed.row_kernel import dot, dual
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled_part


@compiled_part
def append(T: Array, R: Array, k: int) -> float:
    """Write row k of the factor R of T without its diagonal entry; return the square of that entry."""
    rest = T[k, k]
    for i in range(k):
        total = T[k, i]
        for j in range(i):
            total -= R[i, j] * R[k, j]
        R[k, i] = total / R[i, i]
        rest -= R[k, i] * R[k, i]
    return rest


@compiled_part
def refine_coefficients(
    k: int,
    active: Indices,
    slot: Indices,
    Phi: Array,
    S: Array,
    size: int,
    R: Array,
    softness: Array,
    coefficients: Array,
    rest: Array,
    gaps: Array,
    scratch: Array,
) -> float:
    """Refine the coefficients of active rows in a new one, `coefficients`; return the squared norm of the remainder.

    T limits the accuracy of both to its condition number, the square of that of the rows. The remainder itself, written
    into `rest`, gives the accuracy of a QR factorisation: the corrected seminormal equations [Bjorck1987]_.
    """
    new = Phi[slot[k]]
    square = 0.0
    for attempt in range(2):
        for j in range(len(new)):
            rest[j] = new[j]
        square = softness[abs(active[k]) - 1]
        for i in range(k):
            line, share = Phi[slot[i]], coefficients[i]
            square += softness[abs(active[i]) - 1] * share * share
            for j in range(len(new)):
                rest[j] -= share * line[j]
        dual(rest, S, size, scratch)
        if attempt == 0:
            for i in range(k):
                gaps[i] = dot(scratch, Phi[slot[i]]) - softness[abs(active[i]) - 1] * coefficients[i]
            solve(R, k, gaps, gaps)
            for i in range(k):
                coefficients[i] += gaps[i]
    return square + dot(rest, scratch)


@compiled_part
def shrink(removed: int, k: int, R: Array) -> None:
    """Remove row and column `removed` of k from the factor, with one Givens rotation per row below."""
    for i in range(removed, k - 1):
        for j in range(i + 2):
            R[i, j] = R[i + 1, j]
        a, b = R[i, i], R[i, i + 1]
        length = np.hypot(a, b)
        cos, sin = a / length, b / length
        R[i, i] = length
        for r in range(i + 2, k):
            a, b = R[r, i], R[r, i + 1]
            R[r, i], R[r, i + 1] = cos * a + sin * b, cos * b - sin * a


@compiled_part
def solve(R: Array, k: int, d: Array, x: Array) -> None:
    """Solve R Rᵀ x = d."""
    for i in range(k):
        total = d[i]
        for j in range(i):
            total -= R[i, j] * x[j]
        x[i] = total / R[i, i]
    backward(R, k, x)


@compiled_part
def backward(R: Array, k: int, x: Array) -> None:
    """Solve Rᵀ x = x."""
    for i in range(k - 1, -1, -1):
        x[i] /= R[i, i]
        for j in range(i):
            x[j] -= R[i, j] * x[i]


@compiled_part
def drop(i: int, k: int, active: Indices, slot: Indices, T: Array, d: Array, multipliers: Array) -> int:
    """Remove row i of k from the lists; the order of the others is unchanged."""
    free = slot[i]
    for j in range(i, k - 1):
        active[j], slot[j], d[j], multipliers[j] = active[j + 1], slot[j + 1], d[j + 1], multipliers[j + 1]
    slot[k - 1] = free
    for a in range(i + 1, k):
        for b in range(i):
            T[a - 1, b] = T[a, b]
        for b in range(i + 1, a + 1):
            T[a - 1, b - 1] = T[a, b]
    return k - 1
