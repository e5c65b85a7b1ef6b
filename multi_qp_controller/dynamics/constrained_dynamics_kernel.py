"""Compiled kernels of constrained forward dynamics that use the branch-induced sparsity of M."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part


@compiled
def factorise(
    M: Array, J: Array, starts: Indices, above: Indices, tolerance: float, L: Array, W: Array, A: Array, factor: Array
) -> bool:
    """Write M = Lᵀ L, W = J L⁻¹, A = W Wᵀ, and the Cholesky factor of A + μ 1; return whether all of it exists.

    L has the sparsity of M if it is computed from the last joint to the first [Featherstone2008, ch. 6].

    Args:
        M: joint-space inertia, (nv, nv).
        J: constraint rows, (m, nv).
        starts: first index in `above` of each column, (nv + 1,).
        above: supporting columns of each column; see `Scene.branches`.
        tolerance: μ over the largest diagonal entry of A.
        L: output, nonzero entries only, (nv, nv).
        W: output, (m, nv).
        A: output, (m, m).
        factor: output, lower triangle, (m, m).
    """
    n, m = len(M), len(J)
    for k in range(n):
        for j in above[starts[k] : starts[k + 1]]:
            L[k, j] = M[k, j]
    for k in range(n - 1, -1, -1):
        if not L[k, k] > 0.0:
            return False
        pivot = math.sqrt(L[k, k])
        L[k, k] = pivot
        for i in above[starts[k] : starts[k + 1]]:
            if i < k:
                L[k, i] /= pivot
        for i in above[starts[k] : starts[k + 1]]:
            if i < k:
                for j in above[starts[i] : starts[i + 1]]:
                    if j <= i:
                        L[i, j] -= L[k, i] * L[k, j]
    for r in range(m):
        for k in range(n):
            W[r, k] = J[r, k]
        _solve_transposed(L, starts, above, W[r])
    largest = 0.0
    for r in range(m):
        for s in range(r + 1):
            total = 0.0
            for k in range(n):
                total += W[r, k] * W[s, k]
            A[r, s] = A[s, r] = factor[r, s] = total
        largest = max(largest, A[r, r])
    for r in range(m):
        factor[r, r] += tolerance * max(largest, 2.3e-308)
    for r in range(m):
        for s in range(r):
            total = factor[r, s]
            for k in range(s):
                total -= factor[r, k] * factor[s, k]
            factor[r, s] = total / factor[s, s]
        total = factor[r, r]
        for k in range(r):
            total -= factor[r, k] * factor[r, k]
        if not total > 0.0:
            return False
        factor[r, r] = math.sqrt(total)
    return True


@compiled
def accelerate(
    starts: Indices,
    above: Indices,
    L: Array,
    W: Array,
    A: Array,
    factor: Array,
    N: Array,
    torque: Array,
    actuated_v: Indices,
    rhs: Array,
    a: Array,
    force: Array,
) -> None:
    """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs for q̈, (nv,), and f, (m,), with the factors of `factorise`."""
    n, m = len(a), len(rhs)
    for k in range(n):
        a[k] = -N[k]
    for k in range(len(actuated_v)):
        a[actuated_v[k]] += torque[k]
    _solve_transposed(L, starts, above, a)
    target, residual = np.empty(m), np.empty(m)
    for r in range(m):
        total = rhs[r]
        for k in range(n):
            total -= W[r, k] * a[k]
        target[r] = force[r] = total
    _solve(factor, force)
    for r in range(m):  # iterative refinement
        total = target[r]
        for s in range(m):
            total -= A[r, s] * force[s]
        residual[r] = total
    _solve(factor, residual)
    for r in range(m):
        force[r] += residual[r]
        for k in range(n):
            a[k] += force[r] * W[r, k]
    _solve_factor(L, starts, above, a)


@compiled
def shift(starts: Indices, above: Indices, L: Array, W: Array, factor: Array, target: Array, change: Array) -> None:
    """Write the δ of least δᵀM δ with J δ = target, (m,), into `change`, (nv,)."""
    force = target.copy()
    _solve(factor, force)
    for k in range(len(change)):
        change[k] = 0.0
    for r in range(len(force)):
        for k in range(len(change)):
            change[k] += force[r] * W[r, k]
    _solve_factor(L, starts, above, change)


@compiled_part
def _solve_transposed(L: Array, starts: Indices, above: Indices, x: Array) -> None:
    """Replace x, (nv,), by L⁻ᵀ x."""
    for k in range(len(x) - 1, -1, -1):
        if x[k] != 0.0:
            x[k] /= L[k, k]
            for i in above[starts[k] : starts[k + 1]]:
                if i < k:
                    x[i] -= L[k, i] * x[k]


@compiled_part
def _solve_factor(L: Array, starts: Indices, above: Indices, x: Array) -> None:
    """Replace x, (nv,), by L⁻¹ x."""
    for k in range(len(x)):
        for i in above[starts[k] : starts[k + 1]]:
            if i < k:
                x[k] -= L[k, i] * x[i]
        x[k] /= L[k, k]


@compiled_part
def _solve(factor: Array, x: Array) -> None:
    """Replace x, (m,), by (F Fᵀ)⁻¹ x."""
    m = len(x)
    for r in range(m):
        total = x[r]
        for s in range(r):
            total -= factor[r, s] * x[s]
        x[r] = total / factor[r, r]
    for r in range(m - 1, -1, -1):
        x[r] /= factor[r, r]
        for s in range(r):
            x[s] -= factor[r, s] * x[r]
