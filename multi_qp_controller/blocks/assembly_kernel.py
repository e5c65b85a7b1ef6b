"""The free optimum of all subsystems together, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.cost_kernel import couple, views, weigh
from multi_qp_controller.blocks.linear_kernel import factorise_band, forward_band
from multi_qp_controller.blocks.node_kernel import eliminate
from multi_qp_controller.blocks.plan import (
    CROSS,
    CROSS_0,
    INTERFACE_0,
    LINKS,
    LINKS_0,
    MOTORS,
    OWN_0,
    SIZE,
    TASKS,
    TASKS_0,
    UNKNOWN_0,
    V_0,
    V_SIZE,
)
from multi_qp_controller.blocks.row_kernel import expand
from multi_qp_scene.bundles import unbundled
from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: How a tick ended.
SOLVED, INFEASIBLE, LIMIT, DEPENDENT, NUMERICAL, NOT_FINITE = 0, 1, 2, 3, 4, 5


#: What `assemble` is given as a bundle.
ASSEMBLE_KINDS = "tittinmvmvvivvvvvvmv"


@compiled
def assemble(M: Array, N: Array, bundle: Any) -> int:
    """Eliminate every subsystem's own unknowns and factorise what they share; return SOLVED, DEPENDENT or NUMERICAL.

    Args:
        M: (nv, nv).
        N: (nv,).
        bundle: of `ASSEMBLE_KINDS`: all that follows.
        nodes: of the plan.
        lists: of the plan.
        links: row of J, place of its force and of its multiplier in s, of each link, (3, l).
        crossing: task row and place of its multiplier in s, (2, c).
        last: of the plan.
        border: of the plan.
        J: (m, nv).
        rhs: (m,).
        task_J: (k, nv).
        task_b: (k,).
        scale: √w of each task row, (k,).
        selects: entry of q̈ that each task row is, or -1, (k,).
        force_root: square root of the cost of the force along each row of J, (m,).
        costs: square root of the cost of torques, cost of accelerations, least independent part of a row.
        E_all: to fill.
        e_all: to fill.
        L_all: to fill.
        U_all: to fill.
        S: to fill.
        phi: to fill: −L⁻¹ g of each subsystem, then the forward solution of what they share.
    """
    (
        nodes, lists, links, crossing, last, border, J, rhs, task_J, task_b, scale, selects, force_root, costs,
        E_all, e_all, L_all, U_all, S, phi,
    ) = unbundled(bundle, ASSEMBLE_KINDS)  # fmt: skip
    size = len(last)
    for j in range(size):
        for i in range(j, last[j]):
            S[j, i] = 0.0
        for i in range(max(border, last[j]), size):
            S[j, i] = 0.0
    k = phi[len(phi) - size :]
    k[:] = 0.0
    for i in range(links.shape[1]):
        root = force_root[links[0, i]]
        S[links[1, i], links[1, i]] += root * root
        k[links[2, i]] += rhs[links[0, i]]
    for i in range(crossing.shape[1]):
        S[crossing[1, i], crossing[1, i]] -= 1.0
        k[crossing[1, i]] += scale[crossing[0, i]] * task_b[crossing[0, i]]
    E_all[:] = 0.0
    row = 0
    for i in range(len(nodes)):
        t = nodes[i]
        E, L, U = views(t, E_all, L_all, U_all)
        e = e_all[row : row + len(E)]
        row += len(E)
        if not eliminate(t, lists, M, N, J, rhs, costs[2], E, e):
            return DEPENDENT + 16 * i
        H, g = np.zeros((E.shape[1], E.shape[1])), np.empty(E.shape[1])
        weigh(t, lists, costs[0], force_root, costs[1], task_J, task_b, scale, selects, E, e, H, g)
        f = phi[t[UNKNOWN_0] : t[UNKNOWN_0] + t[SIZE]]
        if not couple(t, lists, J, task_J, scale, selects, E, e, H, g, L, U, f, S, k):
            return NUMERICAL
    if not factorise_band(S, last, border):
        return NUMERICAL
    forward_band(S, last, border, k)
    s, left, physical = np.empty(size), np.zeros(size), np.empty(len(e_all))
    expand(nodes, lists, last, border, E_all, e_all, L_all, U_all, S, phi, s, physical)
    for i in range(links.shape[1]):
        root = force_root[links[0, i]]
        left[links[1, i]] = -root * root * s[links[1, i]]
        left[links[2, i]] = rhs[links[0, i]]
    for i in range(crossing.shape[1]):
        left[crossing[1, i]] = scale[crossing[0, i]] * task_b[crossing[0, i]] + s[crossing[1, i]]
    row = 0
    for i in range(len(nodes)):
        E, L, U = views(nodes[i], E_all, L_all, U_all)
        found = physical[row : row + len(E)]
        row += len(E)
        mend(nodes[i], lists, links, J, task_J, task_b, scale, selects, force_root, costs, E, L, U, found, s, left, phi)
    forward_band(S, last, border, left)
    for i in range(size):
        k[i] += left[i]
    return SOLVED


@compiled_part
def mend(
    t: Indices,
    lists: Indices,
    links: Indices,
    J: Array,
    task_J: Array,
    task_b: Array,
    scale: Array,
    selects: Indices,
    force_root: Array,
    costs: Array,
    E: Array,
    L: Array,
    U: Array,
    physical: Array,
    s: Array,
    k: Array,
    phi: Array,
) -> None:
    """Take what rounding left of one subsystem's stationarity, and its share of `k`, out of `phi`.

    The gradient is that of the physical quantities, where the weights of tasks and of forces are still apart.
    """
    v0, nv, na, n, pw = t[V_0], t[V_SIZE], t[MOTORS], t[SIZE], t[LINKS]
    own, rows, where = lists[t[OWN_0] :], lists[t[LINKS_0] :], lists[t[INTERFACE_0] :]
    tasks, crossing = lists[t[TASKS_0] :], lists[t[CROSS_0] :]
    G = np.empty(len(E))
    for i in range(nv):
        G[i] = costs[1] * physical[i]
    for i in range(nv, len(E)):
        root = costs[0] if i < nv + na else force_root[own[i - nv - na]]
        G[i] = root * root * physical[i]
    for r in range(t[TASKS] + t[CROSS]):
        alone = r < t[TASKS]
        row = tasks[r] if alone else crossing[r - t[TASKS]]
        w, entry = scale[row], selects[row]
        missed = -task_b[row] if alone else 0.0
        for i in range(nv):
            if entry < 0:
                missed += task_J[row, v0 + i] * physical[i]
            elif entry == v0 + i:
                missed += physical[i]
        if not alone:  # the rest of the row is the others'
            a = where[2 * pw + r - t[TASKS]]
            k[a] -= w * missed
            missed = s[a] / w if w > 0.0 else 0.0
        for i in range(nv):
            if entry < 0:
                G[i] += w * w * missed * task_J[row, v0 + i]
            elif entry == v0 + i:
                G[i] += w * w * missed
    for c in range(pw):
        mu = s[where[pw + c]]
        for i in range(nv):
            G[i] += mu * J[rows[c], v0 + i]
            k[where[pw + c]] -= J[rows[c], v0 + i] * physical[i]
    r_x = np.zeros(n + pw)
    for i in range(len(E)):
        for j in range(n + pw):
            r_x[j] -= G[i] * E[i, j]
    for c in range(pw):
        k[where[c]] += r_x[n + c]
    for j in range(n):
        for i in range(j):
            r_x[j] -= L[j, i] * r_x[i]
        r_x[j] /= L[j, j]
        phi[t[UNKNOWN_0] + j] += r_x[j]
        for c in range(U.shape[1]):
            k[where[c]] -= r_x[j] * U[j, c]
