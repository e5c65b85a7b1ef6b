"""The dual active-set method [Goldfarb1983]_ over rows that are formed only when they are violated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.assembly_kernel import INFEASIBLE, LIMIT, NUMERICAL, SOLVED
from multi_qp_controller.blocks.linear_kernel import cholesky
from multi_qp_controller.blocks.row_kernel import dot, expand, row_values, sort_out, write_row
from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: A row violated by more than this joins the active set, relative to 1 + |value of the side|.
VIOLATION = 1e-9
#: Of a new row, what is independent of the active ones must be more than this share of it.
_INDEPENDENT = 1e-12


@compiled
def search(
    nodes: Indices,
    lists: Indices,
    links: Indices,
    last: Indices,
    border: int,
    places: Indices,
    motor_order: Indices,
    E_all: Array,
    e_all: Array,
    L_all: Array,
    U_all: Array,
    S: Array,
    phi_0: Array,
    Phi: Array,
    limited: Indices,
    facets: Array,
    facet_rows: Indices,
    least: Array,
    most: Array,
    D_all: Array,
    d_all: Array,
    low_all: Array,
    high_all: Array,
    counts: Indices,
    count: int,
    softness: Array,
    max_iterations: int,
    start: Array,
    z: Array,
    acceleration: Array,
    torque: Array,
    reactions: Array,
) -> int:
    """Find the optimum from the active rows of an earlier one; return how it ended.

    Args:
        nodes: of the plan, as all up to `motor_order`; what follows up to `phi_0` is of `assemble`.
        lists: of the plan.
        links: of the plan.
        last: of the plan.
        border: of the plan.
        places: where each entry of v, each motor and each row of J is, of the plan.
        motor_order: of the plan.
        E_all: of `assemble`.
        e_all: of `assemble`.
        L_all: of `assemble`.
        U_all: of `assemble`.
        S: of `assemble`.
        phi_0: of `assemble`.
        Phi: storage, one line an active row and one more.
        limited: see `row_values`.
        facets: see `row_values`.
        facet_rows: see `row_values`.
        least: lower bounds of q̈, (nv,).
        most: upper bounds of q̈, (nv,).
        D_all: see `row_values`; of its rows the first `count`.
        d_all: least values of these.
        low_all: least value of each row; those of q̈ and D are filled in.
        high_all: largest value of each row; those of q̈ are filled in.
        counts: to fill: number of active rows, and of iterations, (2,).
        count: how many rows of D there are.
        softness: by how much a multiplier of 1 lets a row give way, (rows,).
        max_iterations: changes of the active set.
        start: multipliers of an earlier tick, negative at a lower side, 0 where a row was not active, (rows,).
        z: to fill with this tick's, zero on entry, (rows,).
        acceleration: to fill, (nv,).
        torque: to fill, (na,).
        reactions: to fill, (m,).
    """
    first_d = len(limited) + len(torque) + len(facets)
    D, low, high = D_all[:count], low_all[: first_d + count], high_all[: first_d + count]
    for i in range(len(limited)):
        low[i], high[i] = least[limited[i]], most[limited[i]]
    for i in range(count):
        low[first_d + i] = d_all[i]
    active, multipliers = np.empty(len(Phi), dtype=np.intp), np.empty(len(Phi))
    room, size = len(Phi) - 1, len(last)
    values, values_0 = np.empty(len(low)), np.empty(len(low))
    phi, s, physical = phi_0.copy(), np.empty(size), np.empty(len(e_all))
    T, R = np.empty((1, 1)), np.empty((1, 1))
    slot, d, pull = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    warm, k = _taken_over(start, low, high, active), 0
    counts[0] = counts[1] = 0
    first = True
    while True:
        expand(nodes, lists, last, border, E_all, e_all, L_all, U_all, S, phi, s, physical)
        sort_out(nodes, lists, links, motor_order, s, physical, acceleration, torque, reactions)
        row_values(acceleration, torque, reactions, limited, facets, facet_rows, D, values)
        worst = _worst(values, low, high, active, k)
        counts[0] = k
        if worst == -len(low) - 1:  # not a number
            return NUMERICAL
        if worst == 0:
            for i in range(k):
                z[abs(active[i]) - 1] = -multipliers[i] if active[i] > 0 else multipliers[i]
            return SOLVED if _kept(values, low, high, softness, active, multipliers, k) else NUMERICAL
        if first:
            first = False
            for i in range(len(values)):
                values_0[i] = values[i]
            T, R = np.empty((room + 1, room + 1)), np.empty((room + 1, room + 1))
            slot, d, pull = np.arange(room + 1), np.empty(room + 1), np.empty(room + 1)
            for k in range(warm):
                _take_up(k, active, slot, nodes, lists, last, border, places, limited, facets, facet_rows, D,
                         len(torque), E_all, L_all, U_all, S, Phi, T, size, softness, low, high,
                         values_0, d)  # fmt: skip
            k = _best_start(warm, active, slot, T, R, d, multipliers, counts)
            _combine(phi, phi_0, Phi, slot, multipliers, k)
            if k:
                continue
        if counts[1] >= max_iterations or k >= room:
            return LIMIT
        active[k] = worst
        _take_up(k, active, slot, nodes, lists, last, border, places, limited, facets, facet_rows, D,
                 len(torque), E_all, L_all, U_all, S, Phi, T, size, softness, low, high, values_0, d)  # fmt: skip
        multipliers[k] = 0.0
        while True:
            counts[1] += 1
            short, rise = d[k] - multipliers[k] * T[k, k], _append(T, R, k)
            for i in range(k):
                short -= multipliers[i] * T[k, i]
                pull[i] = R[k, i]
            _backward(R, k, pull)
            longest, blocking = np.inf, -1
            for i in range(k):
                if pull[i] > 1e-14 and multipliers[i] / pull[i] < longest:
                    longest, blocking = multipliers[i] / pull[i], i
            full = short / rise if rise > _INDEPENDENT * T[k, k] else np.inf
            step = min(full, longest)
            if step == np.inf:  # but what rounding may have made is for others to judge
                return INFEASIBLE if short > 1e-6 * (1.0 + abs(d[k])) else NUMERICAL
            for i in range(k):
                multipliers[i] = max(0.0, multipliers[i] - step * pull[i])
            multipliers[k] += step
            if full <= longest:
                R[k, k] = np.sqrt(rise)
                k += 1
                _solve(R, k, d, multipliers)
                for i in range(k):
                    multipliers[i] = max(0.0, multipliers[i])
                break
            if counts[1] >= max_iterations:
                return LIMIT
            _shrink(blocking, k, R)
            k = _drop(blocking, k + 1, active, slot, T, d, multipliers) - 1
        _combine(phi, phi_0, Phi, slot, multipliers, k)


@compiled_part
def _taken_over(start: Array, low: Array, high: Array, active: Indices) -> int:
    """Write which rows were active at an earlier tick, as far as there is room; return how many.

    `active` has 1 added to each row, and is negative where the upper side is active.
    """
    k = 0
    for i in range(len(low)):
        if start[i] != 0.0 and k + 1 < len(active) and np.isfinite(high[i] if start[i] > 0.0 else low[i]):
            active[k] = -i - 1 if start[i] > 0.0 else i + 1
            k += 1
    return k


@compiled_part
def _best_start(
    k: int, active: Indices, slot: Indices, T: Array, R: Array, d: Array, multipliers: Array, counts: Indices
) -> int:
    """Drop rows of an earlier tick until no multiplier pulls; return how many are left."""
    for i in range(k):
        for j in range(i + 1):
            R[i, j] = T[i, j]
    if not cholesky(R, k):
        return 0
    while k:
        _solve(R, k, d, multipliers)
        least = 0
        for i in range(1, k):
            if multipliers[i] < multipliers[least]:
                least = i
        if multipliers[least] >= 0.0:
            return k
        _shrink(least, k, R)
        k = _drop(least, k, active, slot, T, d, multipliers)
        counts[1] += 1
    return 0


@compiled_part
def _combine(phi: Array, phi_0: Array, Phi: Array, slot: Indices, multipliers: Array, k: int) -> None:
    """Write the optimum with these multipliers."""
    for j in range(len(phi)):
        phi[j] = phi_0[j]
    for i in range(k):
        line = Phi[slot[i]]
        for j in range(len(phi)):
            phi[j] += multipliers[i] * line[j]


@compiled_part
def _worst(values: Array, low: Array, high: Array, active: Indices, k: int) -> int:
    """Return the row that is violated most, plus 1, negative at its upper side; 0: none; -rows - 1: not a number."""
    most, found = VIOLATION, 0
    for i in range(len(values)):
        slack = 1.0 + min(abs(low[i]), abs(high[i]), 1e6)
        below, above = (low[i] - values[i]) / slack, (values[i] - high[i]) / slack
        if below > most or above > most:
            taken = False
            for j in range(k):
                taken = taken or abs(active[j]) == i + 1
            if not taken:
                most, found = max(below, above), i + 1 if below > above else -i - 1
        elif not values[i] * 0.0 == 0.0:
            return -len(values) - 1
    return found


@compiled_part
def _kept(values: Array, low: Array, high: Array, softness: Array, active: Indices, multipliers: Array, k: int) -> bool:
    """Return whether active rows are at their sides, but for what the soft ones give way."""
    for i in range(k):
        row = abs(active[i]) - 1
        side = low[row] if active[i] > 0 else high[row]
        gap = (side - values[row]) * (1.0 if active[i] > 0 else -1.0) - softness[row] * multipliers[i]
        if not abs(gap) <= 1e-7 * (1.0 + min(abs(side), 1e6)):
            return False
    return True


@compiled_part
def _take_up(
    i: int, active: Indices, slot: Indices, nodes: Indices, lists: Indices, last: Indices, border: int,
    places: Indices, limited: Indices, facets: Array, facet_rows: Indices, D: Array, motors: int, E_all: Array,
    L_all: Array, U_all: Array, S: Array, Phi: Array, T: Array, size: int, softness: Array, low: Array, high: Array,
    values_0: Array, d: Array,
) -> None:  # fmt: skip
    """Form active row i, and its products with those before it."""
    row, sign = abs(active[i]) - 1, 1.0 if active[i] > 0 else -1.0
    line = Phi[slot[i]]
    write_row(
        row,
        sign,
        nodes,
        lists,
        last,
        border,
        places,
        limited,
        facets,
        facet_rows,
        D,
        motors,
        E_all,
        L_all,
        U_all,
        S,
        line,
    )
    for j in range(i + 1):
        T[i, j] = dot(line, Phi[slot[j]], S, size)
    T[i, i] += softness[row]
    d[i] = sign * ((low[row] if sign > 0 else high[row]) - values_0[row])


@compiled_part
def _append(T: Array, R: Array, k: int) -> float:
    """Write row k of the factor R of T, but for its diagonal; return the square of that."""
    rest = T[k, k]
    for i in range(k):
        total = T[k, i]
        for j in range(i):
            total -= R[i, j] * R[k, j]
        R[k, i] = total / R[i, i]
        rest -= R[k, i] * R[k, i]
    return rest


@compiled_part
def _shrink(gone: int, k: int, R: Array) -> None:
    """Take row and column `gone` of k out of the factor, with a rotation for each row below."""
    for i in range(gone, k - 1):
        for j in range(i + 2):
            R[i, j] = R[i + 1, j]
        a, b = R[i, i], R[i, i + 1]
        length = np.hypot(a, b)
        cos, sin = a / length, b / length
        R[i, i] = length
        for r in range(i + 2, k):
            a, b = R[r, i], R[r, i + 1]
            R[r, i], R[r, i + 1] = cos * a + sin * b, cos * b - sin * a


@compiled_part
def _solve(R: Array, k: int, d: Array, x: Array) -> None:
    for i in range(k):
        total = d[i]
        for j in range(i):
            total -= R[i, j] * x[j]
        x[i] = total / R[i, i]
    _backward(R, k, x)


@compiled_part
def _backward(R: Array, k: int, x: Array) -> None:
    """Solve Rᵀ x = x."""
    for i in range(k - 1, -1, -1):
        x[i] /= R[i, i]
        for j in range(i):
            x[j] -= R[i, j] * x[i]


@compiled_part
def _drop(i: int, k: int, active: Indices, slot: Indices, T: Array, d: Array, multipliers: Array) -> int:
    """Take row i of k out of the lists, and keep the order of the others."""
    free = slot[i]
    for j in range(i, k - 1):
        active[j], slot[j], d[j], multipliers[j] = active[j + 1], slot[j + 1], d[j + 1], multipliers[j + 1]
    slot[k - 1] = free
    for a in range(i + 1, k):
        for b in range(i):
            T[a - 1, b] = T[a, b]
        for b in range(i + 1, a + 1):
            T[a - 1, b - 1] = T[a, b]
    return k - 1
