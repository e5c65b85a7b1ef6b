"""Compiled elimination of the equalities of one subsystem."""

from __future__ import annotations

from typing import Any

import numpy as np

from multi_qp_controller.qp.condensed.data import CondensedData
from multi_qp_controller.qp.condensed.linear_kernel import apply_reflectors, householder, solve_transposed
from multi_qp_controller.qp.condensed.plan import (
    ACTIVE,
    COLUMNS_0,
    CONSTRAINED,
    CONSTRAINED_0,
    FREE,
    FREE_0,
    GROUNDED,
    INTERNAL,
    INTERNAL_0,
    LINKS,
    LINKS_0,
    MOTORS,
    MOTORS_0,
    SIZE,
    V_0,
    V_SIZE,
)
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled_part
from multi_qp_scene.kernel_data import unpack


@compiled_part
def eliminate(table: Any, t: Indices, M: Array, N: Array, E: Array, e: Array) -> bool:
    """Write accelerations, torques and internal reactions of one subsystem as E ξ + e, with ξ = (x, w).

    x = (a, b) are the internal unknowns, w the forces along the rows shared with other subsystems. Internal rows
    J q̈ = rhs give q̈ = q₀ + Z a; the dynamics of unactuated joints give the internal reactions or, if there are too few
    of these, further rows M_u q̈ = J_uᵀ w − N_u. Both use Householder reflections over the columns that the rows reach.

    Args:
        table: of `CondensedData`.
        t: row of the subsystem in the plan.
        M: (nv, nv).
        N: (nv,).
        E: output, (rows, ξ), zero on entry.
        e: output, (rows,).

    Returns:
        Whether the rows are independent.
    """
    data = unpack(table, CondensedData)
    v0, nv, na, m, h, l = t[V_0], t[V_SIZE], t[MOTORS], t[INTERNAL], t[CONSTRAINED], t[FREE]  # noqa: E741
    act, n, pw, grounded = t[ACTIVE], t[SIZE], t[LINKS], t[GROUNDED]
    cols, motors, internal = data.lists[t[COLUMNS_0] :], data.lists[t[MOTORS_0] :], data.lists[t[INTERNAL_0] :]
    constrained, free, links = data.lists[t[CONSTRAINED_0] :], data.lists[t[FREE_0] :], data.lists[t[LINKS_0] :]
    first = m if grounded else h
    k = first + l
    dense, shared = act - k, 0 if grounded else pw
    A = np.zeros((act, k))
    X = np.zeros((act, 1 + shared + dense))
    for r in range(first):
        if grounded:
            for a in range(act):
                A[a, r] = data.J[internal[r], v0 + cols[a]]
            X[r, 0] = data.rhs[internal[r]]
        else:
            for a in range(act):
                A[a, r] = M[v0 + constrained[r], v0 + cols[a]]
            X[r, 0] = -N[v0 + constrained[r]]
            for c in range(pw):
                X[r, 1 + c] = data.J[links[c], v0 + constrained[r]]
    for r in range(l):
        for a in range(act):
            A[a, first + r] = M[v0 + free[r], v0 + cols[a]]
        X[first + r, 0] = -N[v0 + free[r]]
    tau = np.empty(k)
    if not householder(A, tau, data.costs[2]):
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
    if grounded and not _internal_reactions(
        m, h, nz, n, pw, v0, internal, constrained, links, data.J, F, force, data.costs[2], E[nv + na :], e[nv + na :]
    ):
        return False
    for a in range(na):
        row = motors[a]
        for j in range(n + pw):
            E[nv + a, j] = F[row, j]
        total = force[row]
        if grounded:
            for r in range(m):
                s = data.J[internal[r], v0 + row]
                if s != 0.0:
                    total -= s * e[nv + na + r]
                    for j in range(n + pw):
                        E[nv + a, j] -= s * E[nv + na + r, j]
        for c in range(pw):
            E[nv + a, n + c] -= data.J[links[c], v0 + row]
        e[nv + a] = total
    return True


@compiled_part
def _internal_reactions(
    m: int,
    h: int,
    nz: int,
    n: int,
    pw: int,
    v0: int,
    internal: Indices,
    constrained: Indices,
    links: Indices,
    J: Array,
    F: Array,
    force: Array,
    dependent: float,
    E: Array,
    e: Array,
) -> bool:
    """Write internal reactions w_i from J_uᵀ w_i = M_u q̈ + N_u − J_uᵀ w; b spans the null space of J_uᵀ."""
    X = np.zeros((m, 1 + n + pw))
    A = np.zeros((m, h))
    for r in range(h):
        row = constrained[r]
        for i in range(m):
            A[i, r] = J[internal[i], v0 + row]
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
