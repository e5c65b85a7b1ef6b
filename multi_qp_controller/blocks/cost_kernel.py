"""The cost of one subsystem, and what is left of it for those that it shares something with, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.linear_kernel import cholesky
from multi_qp_controller.blocks.plan import (
    ACTIVE,
    COLUMNS_0,
    CROSS,
    CROSS_0,
    EFFORTS_0,
    FACTOR_0,
    GROUNDED,
    HELD,
    INTERFACE_0,
    LINKS,
    LINKS_0,
    LOOSE,
    MOTORS,
    OWN,
    OWN_0,
    PLACES_0,
    SIZE,
    TASKS,
    TASKS_0,
    V_0,
    V_SIZE,
    WIDE_0,
)
from multi_qp_scene.jit import compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled_part
def weigh(
    t: Indices,
    lists: Indices,
    torque_root: float,
    force_root: Array,
    acceleration_cost: float,
    task_J: Array,
    task_b: Array,
    scale: Array,
    selects: Indices,
    E: Array,
    e: Array,
    H: Array,
    g: Array,
) -> None:
    """Write the cost ½ ξᵀH ξ + gᵀξ of one subsystem's torques, own reactions, accelerations and own tasks.

    Args:
        t: the subsystem's line in the plan.
        lists: the plan's lists.
        torque_root: square root of the cost of torques.
        force_root: of the cost of the force along each row, (m,).
        acceleration_cost: of accelerations.
        task_J: of all tasks, (k, nv).
        task_b: (k,).
        scale: √w of each row, (k,).
        selects: the entry of q̈ that a row is, or -1, (k,).
        E: see `eliminate`.
        e: see `eliminate`.
        H: to fill, lower part, (ξ, ξ), zero on entry.
        g: to fill, (ξ,).
    """
    v0, nv, na, n, pw, act = t[V_0], t[V_SIZE], t[MOTORS], t[SIZE], t[LINKS], t[ACTIVE]
    m = t[OWN] if t[GROUNDED] else 0
    k = (t[OWN] if t[GROUNDED] else t[HELD]) + t[LOOSE]
    own, tasks, place = lists[t[OWN_0] :], lists[t[TASKS_0] :], lists[t[PLACES_0] :]
    nx = n + pw
    rows = np.zeros((na + m + t[TASKS] + 3, nx))
    level = np.zeros(na + m + t[TASKS] + 3)
    count = 0
    for r in range(na + m):
        root = torque_root if r < na else force_root[own[r - na]]
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
        s, entry = scale[row], selects[row]
        if entry >= 0 and place[entry - v0] >= act:  # one of x: no product
            j = act - k + place[entry - v0] - act
            H[j, j] += s * s
            g[j] -= s * s * task_b[row]
            continue
        level[count] = task_row(t, lists, row, s, entry, task_J, E, e, rows[count]) - s * task_b[row]
        count += 1
    for i in range(0, count, 4):  # rows of zeros fill the last four up
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for p in range(nx):
            w, x, y, z = a[p], b[p], c[p], d[p]
            g[p] += w * level[i] + x * level[i + 1] + y * level[i + 2] + z * level[i + 3]
            for q in range(p + 1):
                H[p, q] += w * a[q] + x * b[q] + y * c[q] + z * d[q]
    for j in range(nv - k):
        H[j, j] += acceleration_cost  # Z is orthonormal
    if not t[GROUNDED]:
        for i in range(nv):
            for p in range(n, nx):
                s = acceleration_cost * E[i, p]
                if s != 0.0:
                    g[p] += s * e[i]
                    for q in range(n, p + 1):
                        H[p, q] += s * E[i, q]


@compiled_part
def task_row(
    t: Indices, lists: Indices, row: int, s: float, entry: int, task_J: Array, E: Array, e: Array, out: Array
) -> float:
    """Write s J E of one row over one subsystem into `out`, zero on entry, and return s J e."""
    v0, nv, n, act = t[V_0], t[V_SIZE], t[SIZE], t[ACTIVE]
    k = (t[OWN] if t[GROUNDED] else t[HELD]) + t[LOOSE]
    cols, dense, total = lists[t[COLUMNS_0] :], act - k, 0.0
    for a in range(nv):
        c = cols[a]
        share = s * task_J[row, v0 + c] if entry < 0 else (s if entry == v0 + c else 0.0)
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
    t: Indices,
    lists: Indices,
    J: Array,
    task_J: Array,
    scale: Array,
    selects: Indices,
    E: Array,
    e: Array,
    H: Array,
    g: Array,
    L: Array,
    U: Array,
    f: Array,
    S: Array,
    k: Array,
) -> bool:
    """Eliminate x of one subsystem: its share of the system S s = k of what it shares with others.

    Args:
        t: the subsystem's line in the plan.
        lists: the plan's lists.
        J: no-slip rows and couplings, (m, nv).
        task_J: of all tasks.
        scale: √w of each task row.
        selects: the entry of q̈ that a task row is, or -1.
        E: see `eliminate`.
        e: see `eliminate`.
        H: of `weigh`.
        g: of `weigh`.
        L: to fill: Cholesky factor of H's part in x, (n, n).
        U: to fill: L⁻¹ B, (n, p).
        f: to fill: −L⁻¹ g, (n,).
        S: to add to, upper part, (s, s).
        k: to add to, (s,).

    Returns:
        whether H is positive definite.
    """
    n, pw, cross = t[SIZE], t[LINKS], t[CROSS]
    nx, p = n + pw, 2 * pw + cross
    v0, nv = t[V_0], t[V_SIZE]
    where, links, crossing = lists[t[INTERFACE_0] :], lists[t[LINKS_0] :], lists[t[CROSS_0] :]
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
            S[min(a, b), max(a, b)] += H[n + c, n + d]
    line = np.empty(nx)
    for c in range(pw + cross):  # no slip, then tasks that others share
        line[:] = 0.0
        if c < pw:
            offset = 0.0
            for i in range(nv):
                s = J[links[c], v0 + i]
                if s != 0.0:
                    offset += s * e[i]
                    for j in range(nx):
                        line[j] += s * E[i, j]
        else:
            row = crossing[c - pw]
            offset = task_row(t, lists, row, scale[row], selects[row], task_J, E, e, line)
        a = where[pw + c]
        k[a] -= offset
        for i in range(n):
            U[i, pw + c] = line[i]
        for d in range(pw):
            b = where[d]
            S[min(a, b), max(a, b)] += line[n + d]
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
            S[min(a, b), max(a, b)] -= T[c, d]
    return True


@compiled_part
def views(t: Indices, E_all: Array, L_all: Array, U_all: Array) -> tuple[Array, Array, Array]:
    """Return E, L and U of one subsystem out of the storage of all."""
    n, nx = t[SIZE], t[SIZE] + t[LINKS]
    p = 2 * t[LINKS] + t[CROSS]
    rows = t[V_SIZE] + t[MOTORS] + (t[OWN] if t[GROUNDED] else 0)
    E = E_all[t[EFFORTS_0] : t[EFFORTS_0] + rows * nx].reshape((rows, nx))
    L = L_all[t[FACTOR_0] : t[FACTOR_0] + n * n].reshape((n, n))
    U = U_all[t[WIDE_0] : t[WIDE_0] + n * p].reshape((n, p))
    return E, L, U
