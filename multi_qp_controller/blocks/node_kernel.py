"""One subsystem once its own equalities are eliminated, compiled; Python runs the same code else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.linear_kernel import apply_reflectors, householder, solve_transposed
from multi_qp_controller.blocks.plan import (
    ACTIVE,
    COLUMNS_0,
    GROUNDED,
    HELD,
    HELD_0,
    LINKS,
    LINKS_0,
    LOOSE,
    LOOSE_0,
    MOTORS,
    MOTORS_0,
    OWN,
    OWN_0,
    SIZE,
    V_0,
    V_SIZE,
)
from multi_qp_scene.jit import compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled_part
def eliminate(
    t: Indices, lists: Indices, M: Array, N: Array, J: Array, rhs: Array, dependent: float, E: Array, e: Array
) -> bool:
    """Write accelerations, torques and own reactions of one subsystem as E ξ + e, with ξ = (x, w).

    x = (a, b) is the subsystem's own, w the forces along the rows that it shares with others. Own rows J q̈ = rhs leave
    q̈ = q₀ + Z a; the dynamics of joints without motor give own reactions, or where there are not enough of those,
    further rows M_u q̈ = J_uᵀ w − N_u. Both by Householder reflections over the columns that the rows reach.

    Args:
        t: the subsystem's line in the plan.
        lists: the plan's lists.
        M: (nv, nv).
        N: (nv,).
        J: no-slip rows and couplings, (m, nv).
        rhs: (m,).
        dependent: least independent part of a row, relative to the largest.
        E: to fill, (rows, ξ), zero on entry.
        e: to fill, (rows,).

    Returns:
        whether the rows are independent.
    """
    v0, nv, na, m, h, l = t[V_0], t[V_SIZE], t[MOTORS], t[OWN], t[HELD], t[LOOSE]  # noqa: E741
    act, n, pw, grounded = t[ACTIVE], t[SIZE], t[LINKS], t[GROUNDED]
    cols, motors, own = lists[t[COLUMNS_0] :], lists[t[MOTORS_0] :], lists[t[OWN_0] :]
    held, loose, links = lists[t[HELD_0] :], lists[t[LOOSE_0] :], lists[t[LINKS_0] :]
    first = m if grounded else h
    k = first + l
    dense, shared = act - k, 0 if grounded else pw
    A = np.zeros((act, k))
    X = np.zeros((act, 1 + shared + dense))
    for r in range(first):
        if grounded:
            for a in range(act):
                A[a, r] = J[own[r], v0 + cols[a]]
            X[r, 0] = rhs[own[r]]
        else:
            for a in range(act):
                A[a, r] = M[v0 + held[r], v0 + cols[a]]
            X[r, 0] = -N[v0 + held[r]]
            for c in range(pw):
                X[r, 1 + c] = J[links[c], v0 + held[r]]
    for r in range(l):
        for a in range(act):
            A[a, first + r] = M[v0 + loose[r], v0 + cols[a]]
        X[first + r, 0] = -N[v0 + loose[r]]
    tau = np.empty(k)
    if not householder(A, tau, dependent):
        return False
    solve_transposed(A, k, X, 1 + shared)
    for j in range(dense):
        X[k + j, 1 + shared + j] = 1.0
    apply_reflectors(A, tau, X)
    nz = nv - k
    for a in range(act):
        row = cols[a]
        e[row] = X[a, 0]
        for c in range(shared):
            E[row, n + c] = X[a, 1 + c]
        for j in range(dense):
            E[row, j] = X[a, 1 + shared + j]
    for j in range(nv - act):
        row = cols[act + j]
        e[row] = 0.0
        E[row, dense + j] = 1.0
    # generalised forces M q̈ + N
    F = np.zeros((nv, n + pw))
    force = np.empty(nv)
    for i in range(nv):
        total = N[v0 + i]
        for a in range(act):
            s = M[v0 + i, v0 + cols[a]]
            if s != 0.0:
                row = cols[a]
                total += s * e[row]
                for j in range(dense):
                    F[i, j] += s * E[row, j]
                for j in range(n, n + shared):
                    F[i, j] += s * E[row, j]
        for j in range(nv - act):
            F[i, dense + j] = M[v0 + i, v0 + cols[act + j]]
        force[i] = total
    if grounded and not _own_reactions(
        m, h, nz, n, pw, v0, own, held, links, J, F, force, dependent, E[nv + na :], e[nv + na :]
    ):
        return False
    for a in range(na):
        row = motors[a]
        for j in range(n + pw):
            E[nv + a, j] = F[row, j]
        total = force[row]
        if grounded:
            for r in range(m):
                s = J[own[r], v0 + row]
                if s != 0.0:
                    total -= s * e[nv + na + r]
                    for j in range(n + pw):
                        E[nv + a, j] -= s * E[nv + na + r, j]
        for c in range(pw):
            E[nv + a, n + c] -= J[links[c], v0 + row]
        e[nv + a] = total
    return True


@compiled_part
def _own_reactions(
    m: int,
    h: int,
    nz: int,
    n: int,
    pw: int,
    v0: int,
    own: Indices,
    held: Indices,
    links: Indices,
    J: Array,
    F: Array,
    force: Array,
    dependent: float,
    E: Array,
    e: Array,
) -> bool:
    """Write own reactions: J_uᵀ of them is M_u q̈ + N_u less what shared forces do; b moves them in what is left."""
    X = np.zeros((m, 1 + n + pw))
    A = np.zeros((m, h))
    for r in range(h):
        row = held[r]
        for i in range(m):
            A[i, r] = J[own[i], v0 + row]
        X[r, 0] = force[row]
        for j in range(n + pw):
            X[r, 1 + j] = F[row, j]
        for c in range(pw):
            X[r, 1 + n + c] -= J[links[c], v0 + row]
    if h:
        tau = np.empty(h)
        if not householder(A, tau, dependent):
            return False
        solve_transposed(A, h, X, 1 + n + pw)
        for r in range(m - h):
            X[h + r, 1 + nz + r] = 1.0
        apply_reflectors(A, tau, X)
    else:
        for r in range(m):
            X[r, 1 + nz + r] = 1.0
    for r in range(m):
        e[r] = X[r, 0]
        for j in range(n + pw):
            E[r, j] = X[r, 1 + j]
    return True
