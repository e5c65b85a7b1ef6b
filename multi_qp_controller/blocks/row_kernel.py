"""From solved systems to physical quantities, and from rows on these to systems to solve, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.cost_kernel import views
from multi_qp_controller.blocks.linear_kernel import backward_band, forward_band
from multi_qp_controller.blocks.plan import (
    GROUNDED,
    INTERFACE_0,
    LINKS,
    MOTORS,
    OWN,
    OWN_0,
    SIZE,
    UNKNOWN_0,
    V_0,
    V_SIZE,
)
from multi_qp_scene.jit import compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled_part
def expand(
    nodes: Indices,
    lists: Indices,
    last: Indices,
    border: int,
    E_all: Array,
    e_all: Array,
    L_all: Array,
    U_all: Array,
    S: Array,
    phi: Array,
    s: Array,
    physical: Array,
) -> None:
    """Write what `phi` means: s, then q̈, τ and own reactions of one subsystem after the other."""
    size = len(last)
    for i in range(size):
        s[i] = phi[len(phi) - size + i]
    backward_band(S, last, border, s)
    row = 0
    for i in range(len(nodes)):
        t = nodes[i]
        E, L, U = views(t, E_all, L_all, U_all)
        n, pw = t[SIZE], t[LINKS]
        where = lists[t[INTERFACE_0] :]
        xi, shared = np.empty(n + pw), np.empty(U.shape[1])
        for c in range(len(shared)):  # one beside the other, for the vector instructions below
            shared[c] = s[where[c]]
        for c in range(pw):
            xi[n + c] = shared[c]
        for j in range(n):
            total = phi[t[UNKNOWN_0] + j]
            for c in range(len(shared)):
                total -= U[j, c] * shared[c]
            xi[j] = total
        for j in range(n - 1, -1, -1):
            xi[j] /= L[j, j]
            for c in range(j):
                xi[c] -= L[j, c] * xi[j]
        for r in range(len(E)):
            total = e_all[row + r]
            for j in range(n + pw):
                total += E[r, j] * xi[j]
            physical[row + r] = total
        row += len(E)


@compiled_part
def sort_out(
    nodes: Indices,
    lists: Indices,
    links: Indices,
    motor_order: Indices,
    s: Array,
    physical: Array,
    acceleration: Array,
    torque: Array,
    reactions: Array,
) -> None:
    """Write q̈, τ and reactions of all from those of each subsystem."""
    row, motor = 0, 0
    for i in range(len(nodes)):
        t = nodes[i]
        for r in range(t[V_SIZE]):
            acceleration[t[V_0] + r] = physical[row]
            row += 1
        for _ in range(t[MOTORS]):
            torque[motor_order[motor]] = physical[row]
            row, motor = row + 1, motor + 1
        if t[GROUNDED]:
            for r in range(t[OWN]):
                reactions[lists[t[OWN_0] + r]] = physical[row]
                row += 1
    for i in range(links.shape[1]):
        reactions[links[0, i]] = s[links[1, i]]


@compiled_part
def row_values(
    acceleration: Array,
    torque: Array,
    reactions: Array,
    limited: Indices,
    facets: Array,
    facet_rows: Indices,
    D: Array,
    values: Array,
) -> None:
    """Write the value of every inequality row: limits of q̈, of τ, facets of the cones, rows of D.

    Args:
        acceleration: (nv,).
        torque: (na,).
        reactions: (m,).
        limited: entries of q̈ with bounds.
        facets: of all contacts, one under the other, (f, 6).
        facet_rows: first row of J, and number of rows, of the contact of each facet, (f, 2).
        D: (p, nv).
        values: to fill, (rows,).
    """
    row = 0
    for i in limited:
        values[row] = acceleration[i]
        row += 1
    for i in range(len(torque)):
        values[row] = torque[i]
        row += 1
    for f in range(len(facets)):
        total = 0.0
        for i in range(facet_rows[f, 1]):
            total += facets[f, i] * reactions[facet_rows[f, 0] + i]
        values[row] = total
        row += 1
    for p in range(len(D)):
        total = 0.0
        for i in range(len(acceleration)):
            total += D[p, i] * acceleration[i]
        values[row] = total
        row += 1


@compiled_part
def add_quantity(
    nodes: Indices,
    lists: Indices,
    E_all: Array,
    L_all: Array,
    U_all: Array,
    node: int,
    row: int,
    share: float,
    size: int,
    touched: Indices,
    c: Array,
) -> None:
    """Add `share` times one physical quantity to a row over (x, s)."""
    t = nodes[node]
    E, _, _ = views(t, E_all, L_all, U_all)
    n, pw = t[SIZE], t[LINKS]
    touched[node] = 1
    for j in range(n):
        c[t[UNKNOWN_0] + j] += share * E[row, j]
    for j in range(pw):
        c[len(c) - size + lists[t[INTERFACE_0] + j]] += share * E[row, n + j]


@compiled_part
def write_row(
    row: int,
    sign: float,
    nodes: Indices,
    lists: Indices,
    last: Indices,
    border: int,
    places: Indices,
    limited: Indices,
    facets: Array,
    facet_rows: Indices,
    D: Array,
    motors: int,
    E_all: Array,
    L_all: Array,
    U_all: Array,
    S: Array,
    c: Array,
) -> None:
    """Write ± one inequality row over (x, s), solved forward: then cᵀ K⁻¹ c' is a product of two such."""
    size = len(last)
    write_own(row, sign, nodes, lists, size, places, limited, facets, facet_rows, D, motors, E_all, L_all, U_all, c)
    forward_band(S, last, border, c[len(c) - size :])


@compiled_part
def write_own(
    row: int,
    sign: float,
    nodes: Indices,
    lists: Indices,
    size: int,
    places: Indices,
    limited: Indices,
    facets: Array,
    facet_rows: Indices,
    D: Array,
    motors: int,
    E_all: Array,
    L_all: Array,
    U_all: Array,
    c: Array,
) -> None:
    """Write ± one inequality row over (x, s), solved forward in x, but not yet in s."""
    nv = D.shape[1]
    c[:] = 0.0
    touched = np.zeros(len(nodes), dtype=np.intp)
    if row < len(limited):
        v = limited[row]
        add_quantity(nodes, lists, E_all, L_all, U_all, places[v, 0], places[v, 1], sign, size, touched, c)
    elif row < len(limited) + motors:
        v = nv + row - len(limited)
        add_quantity(nodes, lists, E_all, L_all, U_all, places[v, 0], places[v, 1], sign, size, touched, c)
    elif row < len(limited) + motors + len(facets):
        f = row - len(limited) - motors
        for i in range(facet_rows[f, 1]):
            v = nv + motors + facet_rows[f, 0] + i
            share = sign * facets[f, i]
            if share == 0.0:
                continue
            if places[v, 0] < 0:
                c[len(c) - size + places[v, 1]] += share
            else:
                add_quantity(nodes, lists, E_all, L_all, U_all, places[v, 0], places[v, 1], share, size, touched, c)
    else:
        p = row - len(limited) - motors - len(facets)
        for v in range(nv):
            if D[p, v] != 0.0:
                add_quantity(
                    nodes, lists, E_all, L_all, U_all, places[v, 0], places[v, 1], sign * D[p, v], size, touched, c
                )
    for i in range(len(nodes)):
        if not touched[i]:
            continue
        t = nodes[i]
        _, L, U = views(t, E_all, L_all, U_all)
        n, x = t[SIZE], c[t[UNKNOWN_0] :]
        shared = np.zeros(U.shape[1])
        for j in range(n):
            total = x[j]
            for k in range(j):
                total -= L[j, k] * x[k]
            total /= L[j, j]
            x[j] = total
            if total != 0.0:
                for k in range(len(shared)):
                    shared[k] += total * U[j, k]
        for k in range(len(shared)):
            c[len(c) - size + lists[t[INTERFACE_0] + k]] -= shared[k]


@compiled_part
def dual(a: Array, S: Array, size: int, out: Array) -> None:
    """Write what a row that was solved forward is to be multiplied with: aᵀ K⁻¹ b is `dot` of it and b."""
    n = len(a) - size
    for i in range(n):
        out[i] = a[i]
    for i in range(size):
        out[n + i] = a[n + i] / S[i, i]


@compiled_part
def dot(a: Array, b: Array) -> float:
    """Return aᵀ b."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total
