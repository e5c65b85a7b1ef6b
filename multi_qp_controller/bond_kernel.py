"""Bonds of a scene by its branches, compiled: most entries of M, and of what is made of it, are zero."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def factorise(
    M: Array, J: Array, starts: Indices, above: Indices, tolerance: float, L: Array, W: Array, A: Array, factor: Array
) -> bool:
    """Write M = Lᵀ L, W = J L⁻¹, A = W Wᵀ, and the Cholesky factor of A + μ 1; return whether all of it exists.

    Lᵀ L, from the last joint to the first, has no entries where M has none [Featherstone2008, ch. 6].

    Args:
        M: joint-space inertia, (nv, nv).
        J: rows of the bonds, (m, nv).
        starts: where the columns above each column begin, (nv + 1,).
        above: those columns; see `Scene.branches`.
        tolerance: μ by the largest entry of A's diagonal.
        L: to fill, where it has entries, (nv, nv).
        W: to fill, (m, nv).
        A: to fill, (m, m).
        factor: to fill below and on its diagonal, (m, m).
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
        _divide_from_the_tips(L, starts, above, W[r])
    strongest = 0.0
    for r in range(m):
        for s in range(r + 1):
            total = 0.0
            for k in range(n):
                total += W[r, k] * W[s, k]
            A[r, s] = A[s, r] = factor[r, s] = total
        strongest = max(strongest, A[r, r])
    for r in range(m):
        factor[r, r] += tolerance * max(strongest, 2.3e-308)
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
    """Solve M q̈ + N = S τ + Jᵀ f, J q̈ = rhs, by what `factorise` wrote, for q̈, (nv,), and f, (m,)."""
    n, m = len(a), len(rhs)
    for k in range(n):
        a[k] = -N[k]
    for k in range(len(actuated_v)):
        a[actuated_v[k]] += torque[k]
    _divide_from_the_tips(L, starts, above, a)
    wanted, missing = np.empty(m), np.empty(m)
    for r in range(m):
        total = rhs[r]
        for k in range(n):
            total -= W[r, k] * a[k]
        wanted[r] = force[r] = total
    _solve(factor, force)
    for r in range(m):  # a step of refinement
        total = wanted[r]
        for s in range(m):
            total -= A[r, s] * force[s]
        missing[r] = total
    _solve(factor, missing)
    for r in range(m):
        force[r] += missing[r]
        for k in range(n):
            a[k] += force[r] * W[r, k]
    _divide_from_the_root(L, starts, above, a)


@compiled
def shift(starts: Indices, above: Indices, L: Array, W: Array, factor: Array, wanted: Array, change: Array) -> None:
    """Write the smallest change δ, by the scene's inertia, with J δ = wanted, (m,), into `change`, (nv,)."""
    force = wanted.copy()
    _solve(factor, force)
    for k in range(len(change)):
        change[k] = 0.0
    for r in range(len(force)):
        for k in range(len(change)):
            change[k] += force[r] * W[r, k]
    _divide_from_the_root(L, starts, above, change)


@compiled_part
def _divide_from_the_tips(L: Array, starts: Indices, above: Indices, x: Array) -> None:
    """Make L⁻ᵀ x of x, (nv,)."""
    for k in range(len(x) - 1, -1, -1):
        if x[k] != 0.0:
            x[k] /= L[k, k]
            for i in above[starts[k] : starts[k + 1]]:
                if i < k:
                    x[i] -= L[k, i] * x[k]


@compiled_part
def _divide_from_the_root(L: Array, starts: Indices, above: Indices, x: Array) -> None:
    """Make L⁻¹ x of x, (nv,)."""
    for k in range(len(x)):
        for i in above[starts[k] : starts[k + 1]]:
            if i < k:
                x[k] -= L[k, i] * x[i]
        x[k] /= L[k, k]


@compiled_part
def _solve(factor: Array, x: Array) -> None:
    """Make (F Fᵀ)⁻¹ x of x, (m,)."""
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
