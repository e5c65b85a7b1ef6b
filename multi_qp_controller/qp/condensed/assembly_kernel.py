"""Compiled assembly of the unconstrained optimum over all subsystems."""

from __future__ import annotations

from typing import Any

import numpy as np

from multi_qp_controller.qp.condensed.cost_kernel import couple, views, weigh
from multi_qp_controller.qp.condensed.data import CondensedData
from multi_qp_controller.qp.condensed.linear_kernel import factorise_band, forward_band
from multi_qp_controller.qp.condensed.node_kernel import eliminate
from multi_qp_controller.qp.condensed.plan import (
    CROSS,
    CROSS_0,
    INTERFACE_0,
    INTERNAL_0,
    LINKS,
    LINKS_0,
    MOTORS,
    SIZE,
    TASKS,
    TASKS_0,
    UNKNOWN_0,
    V_0,
    V_SIZE,
)
from multi_qp_controller.qp.condensed.row_kernel import dot, expand
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.kernel_data import unpack

#: Status of a solve.
SOLVED, INFEASIBLE, LIMIT, DEPENDENT, NUMERICAL, NOT_FINITE = 0, 1, 2, 3, 4, 5

#: Largest share of the unconstrained optimum, squared in the metric of the cost, that refinement may correct.
_CORRECTION = 1e-6


@compiled
def assemble(M: Array, N: Array, table: Any) -> int:
    """Eliminate the unknowns of each subsystem and factorise the coupling system; return the status.

    SOLVED, NUMERICAL, or DEPENDENT + 16 × the index of a subsystem whose rows are dependent.

    Args:
        M: (nv, nv).
        N: (nv,).
        table: of `CondensedData`.
    """
    data = unpack(table, CondensedData)
    size = len(data.last)
    for j in range(size):
        for i in range(j, data.last[j]):
            data.S[j, i] = 0.0
        for i in range(max(data.border, data.last[j]), size):
            data.S[j, i] = 0.0
    k = data.phi[len(data.phi) - size :]
    k[:] = 0.0
    for i in range(data.links.shape[1]):
        root = data.force_root[data.links[0, i]]
        data.S[data.links[1, i], data.links[1, i]] += root * root
        data.S[data.links[2, i], data.links[2, i]] -= data.costs[3]
        k[data.links[2, i]] += data.rhs[data.links[0, i]]
    for i in range(data.crossing.shape[1]):
        data.S[data.crossing[1, i], data.crossing[1, i]] -= 1.0
        k[data.crossing[1, i]] += data.scale[data.crossing[0, i]] * data.task_b[data.crossing[0, i]]
    data.E_all[:] = 0.0
    row = 0
    for i in range(len(data.nodes)):
        t = data.nodes[i]
        E, L, U = views(table, t)
        e = data.e_all[row : row + len(E)]
        row += len(E)
        if not eliminate(table, t, M, N, E, e):
            return DEPENDENT + 16 * i
        H, g = np.zeros((E.shape[1], E.shape[1])), np.empty(E.shape[1])
        weigh(table, t, E, e, H, g)
        f = data.phi[t[UNKNOWN_0] : t[UNKNOWN_0] + t[SIZE]]
        if not couple(table, t, E, e, H, g, L, U, f, k):
            return NUMERICAL
    if not factorise_band(data.S, data.last, data.border):
        return NUMERICAL
    forward_band(data.S, data.last, data.border, k)
    s, rest, physical = np.empty(size), np.zeros(size), np.empty(len(data.e_all))
    expand(table, data.phi, s, physical)
    for i in range(data.links.shape[1]):
        root = data.force_root[data.links[0, i]]
        rest[data.links[1, i]] = -root * root * s[data.links[1, i]]
        rest[data.links[2, i]] = data.rhs[data.links[0, i]]
    for i in range(data.crossing.shape[1]):
        rest[data.crossing[1, i]] = (
            data.scale[data.crossing[0, i]] * data.task_b[data.crossing[0, i]] + s[data.crossing[1, i]]
        )
    row, correction = 0, 0.0
    for i in range(len(data.nodes)):
        E, L, U = views(table, data.nodes[i])
        found = physical[row : row + len(E)]
        row += len(E)
        correction += refine(table, data.nodes[i], E, L, U, found, s, rest, data.phi)
    forward_band(data.S, data.last, data.border, rest)
    own = data.phi[: len(data.phi) - size]
    total = dot(own, own)
    for i in range(size):
        correction += rest[i] * rest[i] / abs(data.S[i, i])
        total += k[i] * k[i] / abs(data.S[i, i])
        k[i] += rest[i]
    # the next correction would be smaller by the same ratio; NaN fails this comparison
    return SOLVED if correction <= _CORRECTION * total else NUMERICAL


@compiled_part
def refine(
    table: Any, t: Indices, E: Array, L: Array, U: Array, physical: Array, s: Array, k: Array, phi: Array
) -> float:
    """Correct `phi` by the stationarity residual of one subsystem, add its share to `k`; return its squared norm.

    The gradient is computed from the physical quantities, where large and small weights are not summed yet.
    """
    data = unpack(table, CondensedData)
    v0, nv, na, n, pw = t[V_0], t[V_SIZE], t[MOTORS], t[SIZE], t[LINKS]
    own, rows, where = data.lists[t[INTERNAL_0] :], data.lists[t[LINKS_0] :], data.lists[t[INTERFACE_0] :]
    tasks, crossing = data.lists[t[TASKS_0] :], data.lists[t[CROSS_0] :]
    G = np.empty(len(E))
    for i in range(nv):
        G[i] = data.costs[1] * physical[i]
    for i in range(nv, len(E)):
        root = data.costs[0] if i < nv + na else data.force_root[own[i - nv - na]]
        G[i] = root * root * physical[i]
    for r in range(t[TASKS] + t[CROSS]):
        alone = r < t[TASKS]
        row = tasks[r] if alone else crossing[r - t[TASKS]]
        w, entry = data.scale[row], data.selects[row]
        error = -data.task_b[row] if alone else 0.0
        for i in range(nv):
            if entry < 0:
                error += data.task_J[row, v0 + i] * physical[i]
            elif entry == v0 + i:
                error += physical[i]
        if not alone:  # other subsystems contribute the rest of the row
            a = where[2 * pw + r - t[TASKS]]
            k[a] -= w * error
            error = s[a] / w if w > 0.0 else 0.0
        for i in range(nv):
            if entry < 0:
                G[i] += w * w * error * data.task_J[row, v0 + i]
            elif entry == v0 + i:
                G[i] += w * w * error
    for c in range(pw):
        mu = s[where[pw + c]]
        for i in range(nv):
            G[i] += mu * data.J[rows[c], v0 + i]
            k[where[pw + c]] -= data.J[rows[c], v0 + i] * physical[i]
    r_x = np.zeros(n + pw)
    for i in range(len(E)):
        for j in range(n + pw):
            r_x[j] -= G[i] * E[i, j]
    for c in range(pw):
        k[where[c]] += r_x[n + c]
    square = 0.0
    for j in range(n):
        for i in range(j):
            r_x[j] -= L[j, i] * r_x[i]
        r_x[j] /= L[j, j]
        square += r_x[j] * r_x[j]
        phi[t[UNKNOWN_0] + j] += r_x[j]
        for c in range(U.shape[1]):
            k[where[c]] -= r_x[j] * U[j, c]
    return square
