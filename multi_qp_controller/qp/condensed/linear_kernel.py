"""Compiled dense linear algebra for small matrices, as loops that the compiler vectorises."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled_part


@compiled_part
def householder(A: Array, tau: Array, dependent: float) -> bool:
    """Factorise A (n, k) = Q R in place: R above, reflectors below; return whether its columns are independent.

    Q = H_1 … H_k, H_j = 1 − τ_j v vᵀ with v_j = 1 and the rest of v below the diagonal.
    """
    n, k = A.shape
    w = np.empty(k)
    longest, shortest = 0.0, np.inf
    if k > n:
        return False
    for j in range(k):
        square = 0.0
        for i in range(j, n):
            square += A[i, j] * A[i, j]
        alpha = -math.copysign(math.sqrt(square), A[j, j])
        longest, shortest = max(longest, abs(alpha)), min(shortest, abs(alpha))
        if not shortest > dependent * longest:  # also rejects NaN
            return False
        head = A[j, j] - alpha
        tau[j] = -head / alpha
        A[j, j] = alpha
        for c in range(j + 1, k):
            w[c] = A[j, c]
        for i in range(j + 1, n):
            A[i, j] /= head
            s = A[i, j]
            if s != 0.0:
                for c in range(j + 1, k):
                    w[c] += s * A[i, c]
        for c in range(j + 1, k):
            w[c] *= tau[j]
            A[j, c] -= w[c]
        for i in range(j + 1, n):
            s = A[i, j]
            if s != 0.0:
                for c in range(j + 1, k):
                    A[i, c] -= s * w[c]
    return True


@compiled_part
def apply_reflectors(A: Array, tau: Array, X: Array) -> None:
    """Multiply X by Q of `householder` in place."""
    n, k = A.shape
    columns = X.shape[1]
    w = np.empty(columns)
    for j in range(k - 1, -1, -1):
        for c in range(columns):
            w[c] = X[j, c]
        for i in range(j + 1, n):
            s = A[i, j]
            if s != 0.0:
                for c in range(columns):
                    w[c] += s * X[i, c]
        for c in range(columns):
            w[c] *= tau[j]
            X[j, c] -= w[c]
        for i in range(j + 1, n):
            s = A[i, j]
            if s != 0.0:
                for c in range(columns):
                    X[i, c] -= s * w[c]


@compiled_part
def solve_transposed(R: Array, k: int, X: Array, columns: int) -> None:
    """Solve Rᵀ Y = X in place, in the first k rows of X and its first columns."""
    for i in range(k):
        for j in range(i):
            s = R[j, i]
            if s != 0.0:
                for c in range(columns):
                    X[i, c] -= s * X[j, c]
        s = 1.0 / R[i, i]
        for c in range(columns):
            X[i, c] *= s


@compiled_part
def cholesky(L: Array, n: int) -> bool:
    """Factorise the lower triangle of L in place, right-looking; return whether it is positive definite."""
    column = np.empty(n)
    for j in range(n):
        if not L[j, j] > 0.0:
            return False
        d = math.sqrt(L[j, j])
        L[j, j] = d
        for i in range(j + 1, n):
            L[i, j] /= d
            column[i] = L[i, j]
        for i in range(j + 1, n):
            s = column[i]
            if s != 0.0:
                for c in range(j + 1, i + 1):
                    L[i, c] -= s * column[c]
    return True


@compiled_part
def factorise_band(S: Array, last: Indices, border: int) -> bool:
    """Factorise the upper part of S = Lᵀ' D L' in place: row j holds D_j and D_j L'_j; False if a pivot vanishes.

    S is quasi-definite, so no pivoting is needed [Vanderbei1995]_. Row j is zero from column `last[j]` on, except for
    the columns from `border` on.
    """
    size = len(last)
    greatest = np.empty(size)
    for j in range(size):
        greatest[j] = abs(S[j, j])
    for j in range(size):
        d = S[j, j]
        if not abs(d) > 1e-13 * greatest[j]:
            return False
        stop = last[j]
        for i in range(j + 1, stop):
            s = S[j, i] / d
            if s != 0.0:
                for c in range(i, stop):
                    S[i, c] -= s * S[j, c]
                for c in range(max(border, stop), size):
                    S[i, c] -= s * S[j, c]
        for i in range(max(border, stop, j + 1), size):
            s = S[j, i] / d
            if s != 0.0:
                for c in range(i, size):
                    S[i, c] -= s * S[j, c]
    return True


@compiled_part
def forward_band(S: Array, last: Indices, border: int, x: Array) -> None:
    """Solve with the lower factor of `factorise_band`, in place; blocks of four rows with the same end at a time."""
    size, j = len(last), 0
    while j < size:
        stop = last[j]
        if j + 4 <= stop and last[j + 3] == stop:
            s = x[j] / S[j, j]
            x[j + 1] -= s * S[j, j + 1]
            t = x[j + 1] / S[j + 1, j + 1]
            x[j + 2] -= s * S[j, j + 2] + t * S[j + 1, j + 2]
            u = x[j + 2] / S[j + 2, j + 2]
            x[j + 3] -= s * S[j, j + 3] + t * S[j + 1, j + 3] + u * S[j + 2, j + 3]
            v = x[j + 3] / S[j + 3, j + 3]
            if s != 0.0 or t != 0.0 or u != 0.0 or v != 0.0:
                for i in range(j + 4, stop):
                    x[i] -= s * S[j, i] + t * S[j + 1, i] + u * S[j + 2, i] + v * S[j + 3, i]
                for i in range(max(border, stop), size):
                    x[i] -= s * S[j, i] + t * S[j + 1, i] + u * S[j + 2, i] + v * S[j + 3, i]
            j += 4
            continue
        s = x[j] / S[j, j]
        if s != 0.0:
            for i in range(j + 1, stop):
                x[i] -= s * S[j, i]
            for i in range(max(border, stop, j + 1), size):
                x[i] -= s * S[j, i]
        j += 1


@compiled_part
def forward_band_together(S: Array, last: Indices, border: int, X: Array) -> None:
    """Solve as `forward_band`, in place, for all columns of X."""
    size, columns = len(last), X.shape[1]
    for j in range(size):
        d, stop = 1.0 / S[j, j], last[j]
        for i in range(j + 1, stop):
            s = d * S[j, i]
            for c in range(columns):
                X[i, c] -= s * X[j, c]
        for i in range(max(border, stop, j + 1), size):
            s = d * S[j, i]
            for c in range(columns):
                X[i, c] -= s * X[j, c]


@compiled_part
def backward_band(S: Array, last: Indices, border: int, x: Array) -> None:
    """Solve with D and the upper factor of `factorise_band`, in place."""
    size = len(last)
    for j in range(size - 1, -1, -1):
        total = x[j]
        for i in range(j + 1, last[j]):
            total -= S[j, i] * x[i]
        for i in range(max(border, last[j], j + 1), size):
            total -= S[j, i] * x[i]
        x[j] = total / S[j, j]
