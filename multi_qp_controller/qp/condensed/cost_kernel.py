"""Compiled cost of one subsystem, and its Schur complement in the shared unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from multi_qp_controller.qp.condensed.data import CondensedData
from multi_qp_controller.qp.condensed.linear_kernel import cholesky
from multi_qp_controller.qp.condensed.plan import (
    ACTIVE,
    COLUMNS_0,
    CONSTRAINED,
    CROSS,
    CROSS_0,
    EFFORTS_0,
    FACTOR_0,
    FREE,
    GROUNDED,
    INTERFACE_0,
    INTERNAL,
    INTERNAL_0,
    LINKS,
    LINKS_0,
    MOTORS,
    PLACES_0,
    SIZE,
    TASKS,
    TASKS_0,
    V_0,
    V_SIZE,
    WIDE_0,
)
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled_part
from multi_qp_scene.kernel_data import unpack


@compiled_part
def weigh(table: Any, t: Indices, E: Array, e: Array, H: Array, g: Array) -> None:
    """Write the cost ½ ξᵀH ξ + gᵀξ of one subsystem: torques, internal reactions, accelerations and internal tasks.

    Args:
        table: of `CondensedData`.
        t: row of the subsystem in the plan.
        E: see `eliminate`.
        e: see `eliminate`.
        H: output, lower triangle, (ξ, ξ), zero on entry.
        g: output, (ξ,).
    """
    data = unpack(table, CondensedData)
    v0, nv, na, n, pw, act = t[V_0], t[V_SIZE], t[MOTORS], t[SIZE], t[LINKS], t[ACTIVE]
    m = t[INTERNAL] if t[GROUNDED] else 0
    k = (t[INTERNAL] if t[GROUNDED] else t[CONSTRAINED]) + t[FREE]
    own, tasks, position = data.lists[t[INTERNAL_0] :], data.lists[t[TASKS_0] :], data.lists[t[PLACES_0] :]
    nx = n + pw
    rows = np.zeros((na + m + t[TASKS] + 3, nx))
    level = np.zeros(na + m + t[TASKS] + 3)
    count = 0
    for r in range(na + m):
        root = data.costs[0] if r < na else data.force_root[own[r - na]]
        if root == 0.0:
            continue
        for j in range(nx):
            rows[count, j] = root * E[nv + r, j]
        level[count] = root * e[nv + r]
        count += 1
    for j in range(nx):
        g[j] = 0.0
    for r in range(t[TASKS]):
        row = tasks[r]
        s, entry = data.scale[row], data.selects[row]
        if entry >= 0 and position[entry - v0] >= act:  # an entry of x: no product needed
            j = act - k + position[entry - v0] - act
            H[j, j] += s * s
            g[j] -= s * s * data.task_b[row]
            continue
        level[count] = task_row(table, t, row, s, entry, E, e, rows[count]) - s * data.task_b[row]
        count += 1
    for i in range(0, count, 4):  # padded with rows of zeros
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for p in range(nx):
            w, x, y, z = a[p], b[p], c[p], d[p]
            g[p] += w * level[i] + x * level[i + 1] + y * level[i + 2] + z * level[i + 3]
            for q in range(p + 1):
                H[p, q] += w * a[q] + x * b[q] + y * c[q] + z * d[q]
    for j in range(nv - k):
        H[j, j] += data.costs[1]  # Z is orthonormal
    if not t[GROUNDED]:
        for i in range(nv):
            for p in range(n, nx):
                s = data.costs[1] * E[i, p]
                if s != 0.0:
                    g[p] += s * e[i]
                    for q in range(n, p + 1):
                        H[p, q] += s * E[i, q]


@compiled_part
def task_row(table: Any, t: Indices, row: int, s: float, entry: int, E: Array, e: Array, out: Array) -> float:
    """Write s J E of one task row for one subsystem into `out`, zero on entry; return s J e."""
    data = unpack(table, CondensedData)
    v0, nv, n, act = t[V_0], t[V_SIZE], t[SIZE], t[ACTIVE]
    k = (t[INTERNAL] if t[GROUNDED] else t[CONSTRAINED]) + t[FREE]
    cols, dense, total = data.lists[t[COLUMNS_0] :], act - k, 0.0
    for a in range(nv):
        c = cols[a]
        share = s * data.task_J[row, v0 + c] if entry < 0 else (s if entry == v0 + c else 0.0)
        if share == 0.0:
            continue
        if a >= act:
            out[dense + a - act] += share
            continue
        total += share * e[c]
        for j in range(dense):
            out[j] += share * E[c, j]
        for j in range(n, E.shape[1]):
            out[j] += share * E[c, j]
    return total


@compiled_part
def couple(
    table: Any, t: Indices, E: Array, e: Array, H: Array, g: Array, L: Array, U: Array, f: Array, k: Array
) -> bool:
    """Eliminate x of one subsystem, and add its Schur complement to the coupling system S s = k.

    Args:
        table: of `CondensedData`.
        t: row of the subsystem in the plan.
        E: see `eliminate`.
        e: see `eliminate`.
        H: of `weigh`.
        g: of `weigh`.
        L: output, Cholesky factor of the block of H in x, (n, n).
        U: output, L⁻¹ B, (n, p).
        f: output, −L⁻¹ g, (n,).
        k: right-hand side to add to, (s,).

    Returns:
        Whether H is positive definite.
    """
    data = unpack(table, CondensedData)
    n, pw, cross = t[SIZE], t[LINKS], t[CROSS]
    nx, p = n + pw, 2 * pw + cross
    v0, nv = t[V_0], t[V_SIZE]
    where, links, crossing = data.lists[t[INTERFACE_0] :], data.lists[t[LINKS_0] :], data.lists[t[CROSS_0] :]
    for i in range(n):
        f[i] = -g[i]
        for j in range(i + 1):
            L[i, j] = H[i, j]
    if not cholesky(L, n):
        return False
    for c in range(pw):  # stationarity in w
        k[where[c]] -= g[n + c]
        for i in range(n):
            U[i, c] = H[n + c, i]
        for d in range(c + 1):
            a, b = where[c], where[d]
            data.S[min(a, b), max(a, b)] += H[n + c, n + d]
    line = np.empty(nx)
    for c in range(pw + cross):  # no slip, then tasks that span several subsystems
        line[:] = 0.0
        if c < pw:
            offset = 0.0
            for i in range(nv):
                s = data.J[links[c], v0 + i]
                if s != 0.0:
                    offset += s * e[i]
                    for j in range(nx):
                        line[j] += s * E[i, j]
        else:
            row = crossing[c - pw]
            offset = task_row(table, t, row, data.scale[row], data.selects[row], E, e, line)
        a = where[pw + c]
        k[a] -= offset
        for i in range(n):
            U[i, pw + c] = line[i]
        for d in range(pw):
            b = where[d]
            data.S[min(a, b), max(a, b)] += line[n + d]
    for i in range(n):
        for j in range(i):
            s = L[i, j]
            f[i] -= s * f[j]
            for c in range(p):
                U[i, c] -= s * U[j, c]
        s = 1.0 / L[i, i]
        f[i] *= s
        for c in range(p):
            U[i, c] *= s
    T = np.zeros((p, p))
    for i in range(n):
        for c in range(p):
            s = U[i, c]
            k[where[c]] -= s * f[i]
            for d in range(c + 1):
                T[c, d] += s * U[i, d]
    for c in range(p):
        for d in range(c + 1):
            a, b = where[c], where[d]
            data.S[min(a, b), max(a, b)] -= T[c, d]
    return True


@compiled_part
def views(table: Any, t: Indices) -> tuple[Array, Array, Array]:
    """Return E, L and U of one subsystem as views of the common storage."""
    data = unpack(table, CondensedData)
    n, nx = t[SIZE], t[SIZE] + t[LINKS]
    p = 2 * t[LINKS] + t[CROSS]
    rows = t[V_SIZE] + t[MOTORS] + (t[INTERNAL] if t[GROUNDED] else 0)
    E = data.E_all[t[EFFORTS_0] : t[EFFORTS_0] + rows * nx].reshape((rows, nx))
    L = data.L_all[t[FACTOR_0] : t[FACTOR_0] + n * n].reshape((n, n))
    U = data.U_all[t[WIDE_0] : t[WIDE_0] + n * p].reshape((n, p))
    return E, L, U
