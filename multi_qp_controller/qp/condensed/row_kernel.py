"""Compiled conversions between solutions of the condensed system and physical quantities, and of inequality rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from multi_qp_controller.qp.condensed.cost_kernel import views
from multi_qp_controller.qp.condensed.data import CondensedData
from multi_qp_controller.qp.condensed.linear_kernel import backward_band, forward_band
from multi_qp_controller.qp.condensed.plan import (
    GROUNDED,
    INTERFACE_0,
    INTERNAL,
    INTERNAL_0,
    LINKS,
    MOTORS,
    SIZE,
    UNKNOWN_0,
    V_0,
    V_SIZE,
)
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled_part
from multi_qp_scene.kernel_data import unpack


@compiled_part
def expand(table: Any, phi: Array, s: Array, physical: Array) -> None:
    """Write s, then q̈, τ and internal reactions subsystem by subsystem, from `phi`."""
    data = unpack(table, CondensedData)
    size = len(data.last)
    for i in range(size):
        s[i] = phi[len(phi) - size + i]
    backward_band(data.S, data.last, data.border, s)
    row = 0
    for i in range(len(data.nodes)):
        t = data.nodes[i]
        E, L, U = views(table, t)
        n, pw = t[SIZE], t[LINKS]
        where = data.lists[t[INTERFACE_0] :]
        xi, shared = np.empty(n + pw), np.empty(U.shape[1])
        for c in range(len(shared)):  # contiguous, so that the loops below are vectorised
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
            total = data.e_all[row + r]
            for j in range(n + pw):
                total += E[r, j] * xi[j]
            physical[row + r] = total
        row += len(E)


@compiled_part
def scatter(table: Any, s: Array, physical: Array, acceleration: Array, torque: Array, reactions: Array) -> None:
    """Scatter q̈, τ and reactions of the subsystems into the arrays of the scene."""
    data = unpack(table, CondensedData)
    row, motor = 0, 0
    for i in range(len(data.nodes)):
        t = data.nodes[i]
        for r in range(t[V_SIZE]):
            acceleration[t[V_0] + r] = physical[row]
            row += 1
        for _ in range(t[MOTORS]):
            torque[data.motor_order[motor]] = physical[row]
            row, motor = row + 1, motor + 1
        if t[GROUNDED]:
            for r in range(t[INTERNAL]):
                reactions[data.lists[t[INTERNAL_0] + r]] = physical[row]
                row += 1
    for i in range(data.links.shape[1]):
        reactions[data.links[0, i]] = s[data.links[1, i]]


@compiled_part
def row_values(table: Any, acceleration: Array, torque: Array, reactions: Array, D: Array, values: Array) -> None:
    """Write the value of every inequality row: limits of q̈, of τ, facets of the cones, rows of D.

    Args:
        table: of `CondensedData`.
        acceleration: (nv,).
        torque: (na,).
        reactions: (m,).
        D: (p, nv).
        values: output, (rows,).
    """
    data = unpack(table, CondensedData)
    row = 0
    for i in data.limited:
        values[row] = acceleration[i]
        row += 1
    for i in range(len(torque)):
        values[row] = torque[i]
        row += 1
    for f in range(len(data.facets)):
        total = 0.0
        for i in range(data.facet_rows[f, 1]):
            total += data.facets[f, i] * reactions[data.facet_rows[f, 0] + i]
        values[row] = total
        row += 1
    for p in range(len(D)):
        total = 0.0
        for i in range(len(acceleration)):
            total += D[p, i] * acceleration[i]
        values[row] = total
        row += 1


@compiled_part
def add_quantity(table: Any, node: int, row: int, share: float, touched: Indices, c: Array) -> None:
    """Add `share` times one physical quantity to a row over (x, s)."""
    data = unpack(table, CondensedData)
    t = data.nodes[node]
    E, _, _ = views(table, t)
    n, pw = t[SIZE], t[LINKS]
    touched[node] = 1
    for j in range(n):
        c[t[UNKNOWN_0] + j] += share * E[row, j]
    for j in range(pw):
        c[len(c) - len(data.last) + data.lists[t[INTERFACE_0] + j]] += share * E[row, n + j]


@compiled_part
def write_row(table: Any, row: int, sign: float, D: Array, c: Array) -> None:
    """Write ± one inequality row over (x, s) after forward substitution: cᵀ K⁻¹ c' is then a product of two such."""
    data = unpack(table, CondensedData)
    size = len(data.last)
    write_internal(table, row, sign, D, c)
    forward_band(data.S, data.last, data.border, c[len(c) - size :])


@compiled_part
def write_internal(table: Any, row: int, sign: float, D: Array, c: Array) -> None:
    """Write ± one inequality row over (x, s) after forward substitution in x, but not yet in s."""
    data = unpack(table, CondensedData)
    nv = D.shape[1]
    c[:] = 0.0
    touched = np.zeros(len(data.nodes), dtype=np.intp)
    if row < len(data.limited):
        v = data.limited[row]
        add_quantity(table, data.places[v, 0], data.places[v, 1], sign, touched, c)
    elif row < len(data.limited) + len(data.motor_order):
        v = nv + row - len(data.limited)
        add_quantity(table, data.places[v, 0], data.places[v, 1], sign, touched, c)
    elif row < len(data.limited) + len(data.motor_order) + len(data.facets):
        f = row - len(data.limited) - len(data.motor_order)
        for i in range(data.facet_rows[f, 1]):
            v = nv + len(data.motor_order) + data.facet_rows[f, 0] + i
            share = sign * data.facets[f, i]
            if share == 0.0:
                continue
            if data.places[v, 0] < 0:
                c[len(c) - len(data.last) + data.places[v, 1]] += share
            else:
                add_quantity(table, data.places[v, 0], data.places[v, 1], share, touched, c)
    else:
        p = row - len(data.limited) - len(data.motor_order) - len(data.facets)
        for v in range(nv):
            if D[p, v] != 0.0:
                add_quantity(table, data.places[v, 0], data.places[v, 1], sign * D[p, v], touched, c)
    for i in range(len(data.nodes)):
        if not touched[i]:
            continue
        t = data.nodes[i]
        _, L, U = views(table, t)
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
            c[len(c) - len(data.last) + data.lists[t[INTERFACE_0] + k]] -= shared[k]


@compiled_part
def dual(a: Array, S: Array, size: int, out: Array) -> None:
    """Scale a forward-substituted row by the inverse pivots: aᵀ K⁻¹ b is `dot` of the result and b."""
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
