"""The dual active-set method [Goldfarb1983]_ over rows that are formed only when they are violated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.assembly_kernel import INFEASIBLE, LIMIT, NOT_FINITE, NUMERICAL, SOLVED
from multi_qp_controller.blocks.choice_kernel import (
    KEPT,
    ROUNDING,
    VIOLATION,
    farthest_rows,
    measure_rows,
    scale,
    worst_row,
)
from multi_qp_controller.blocks.factor_kernel import append, backward, drop, sharpened, shrink, solve
from multi_qp_controller.blocks.row_kernel import dot, dual, expand, row_values, sort_out, write_row
from multi_qp_controller.blocks.warm_kernel import best_start, keep_multipliers, mark, taken_over
from multi_qp_scene.bundles import unbundled
from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

#: An answer whose active rows are farther from their sides than this, relative to 1 + |value of the side|, is refined.
_GAP = 1e-9
#: Of a new row, what is independent of the active ones must be more than this share of it.
_INDEPENDENT = 1e-10
#: Where this or less of a new row is independent, rounding in T may be a good part of it.
_NEARLY = 1e-3
#: At most so many rows join the active set before the others are looked at again.
_AT_ONCE = 4


#: What `search` is given as a bundle.
SEARCH_KINDS = "titintivvvvmvmmmimtvvmvvvvi"


@compiled
def search(
    bundle: Any,
    count: int,
    softness: Array,
    max_iterations: int,
    early: int,
    start: Array,
    z: Array,
    acceleration: Array,
    torque: Array,
    reactions: Array,
) -> int:
    """Find the optimum from the active rows of an earlier one; return how it ended.

    Args:
        bundle: of `SEARCH_KINDS`: all that follows up to `count`.
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
        T: storage, a row and a column each.
        R: as T.
        limited: see `row_values`.
        facets: see `row_values`.
        facet_rows: see `row_values`.
        least: lower bounds of q̈, (nv,).
        most: upper bounds of q̈, (nv,).
        D_all: see `row_values`; of its rows the first `count`.
        d_all: least values of these.
        low_all: least value of each row; those of q̈ and D are filled in.
        high_all: largest value of each row; those of q̈ are filled in.
        length: of each row in the metric of the cost, 0 where nobody needed it in this tick.
        counts: to fill: number of active rows, and of iterations, (2,).
        count: how many rows of D there are.
        softness: by how much a multiplier of 1 lets a row give way, (rows,).
        max_iterations: changes of the active set.
        early: after so many of them, rows are chosen by their distance in the metric of the cost.
        start: multipliers of an earlier tick, negative at a lower side, 0 where a row was not active, (rows,).
        z: to fill with this tick's, also where the changes are used up, zero on entry, (rows,).
        acceleration: to fill, (nv,).
        torque: to fill, (na,).
        reactions: to fill, (m,).
    """
    (
        nodes, lists, links, last, border, places, motor_order, E_all, e_all, L_all, U_all, S, phi_0, Phi, T, R,
        limited, facets, facet_rows, least, most, D_all, d_all, low_all, high_all, length, counts,
    ) = unbundled(bundle, SEARCH_KINDS)  # fmt: skip
    first_d = len(limited) + len(torque) + len(facets)
    D, low, high = D_all[:count], low_all[: first_d + count], high_all[: first_d + count]
    for i in range(len(limited)):
        low[i], high[i] = least[limited[i]], most[limited[i]]
    for i in range(count):
        low[first_d + i] = d_all[i]
    active, multipliers = np.empty(len(Phi), dtype=np.intp), np.empty(len(Phi))
    room, size = len(Phi) - 1, len(last)
    values, values_0 = np.empty(len(low)), np.empty(len(low))
    taken = np.empty(len(low), dtype=np.bool_)
    phi, s, physical = phi_0.copy(), np.empty(size), np.empty(len(e_all))
    slot, d, pull, gaps = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0), np.empty(0)
    line, scratch = np.empty(len(phi_0)), np.empty(len(phi_0))
    joining = np.zeros(_AT_ONCE, dtype=np.intp)
    warm, k = taken_over(start, low, high, active), 0
    counts[0] = counts[1] = 0
    first, refined = True, 0
    while True:
        expand(nodes, lists, last, border, E_all, e_all, L_all, U_all, S, phi, s, physical)
        sort_out(nodes, lists, links, motor_order, s, physical, acceleration, torque, reactions)
        row_values(acceleration, torque, reactions, limited, facets, facet_rows, D, values)
        mark(active, k, taken)
        joining[:] = 0
        if counts[1] < early:
            joining[0] = worst = worst_row(values, low, high, taken, length)
        else:
            measure_rows(values, low, high, taken, length, line, nodes, lists, last, border, places, limited, facets,
                     facet_rows, D, len(torque), E_all, L_all, U_all, S, size)  # fmt: skip
            worst = farthest_rows(values, low, high, taken, length, joining)
        counts[0] = k
        if worst == -len(low) - 1:
            return NOT_FINITE
        gap = _gaps(values, low, high, softness, active, multipliers, k, pull) if worst == 0 else 0.0
        if refined < 2 and gap > _GAP:  # T has the condition of C K⁻¹ Cᵀ, and not of its root
            refined += 1
            solve(R, k, pull, gaps)  # of which there may be more than unknowns, where rows give way
            for i in range(k):
                multipliers[i] = max(0.0, multipliers[i] + gaps[i])
            _combine(phi, phi_0, Phi, slot, multipliers, k)
            continue
        if worst == 0:
            keep_multipliers(z, active, multipliers, k)
            return SOLVED if gap <= 1e-7 else NUMERICAL
        if first:
            first = False
            for i in range(len(values)):
                values_0[i] = values[i]
            slot, d = np.arange(room + 1), np.empty(room + 1)
            pull, gaps = np.empty(room + 1), np.empty(room + 1)
            for k in range(warm):
                _take_up(k, active, slot, nodes, lists, last, border, places, limited, facets, facet_rows, D,
                         len(torque), E_all, L_all, U_all, S, Phi, T, size, softness, low, high,
                         values_0, d,
                         scratch)  # fmt: skip
            k = best_start(warm, active, slot, T, R, d, multipliers, counts)
            _combine(phi, phi_0, Phi, slot, multipliers, k)
            if k:
                continue
        if counts[1] >= max_iterations or k > room:
            keep_multipliers(z, active, multipliers, k)
            return LIMIT
        for c in range(len(joining)):
            if joining[c] == 0 or k > room:
                break
            active[k], row = joining[c], abs(joining[c]) - 1
            _take_up(k, active, slot, nodes, lists, last, border, places, limited, facets, facet_rows, D,
                     len(torque), E_all, L_all, U_all, S, Phi, T, size, softness, low, high, values_0, d,
                     scratch)  # fmt: skip
            multipliers[k] = 0.0
            if c and not _short(k, T, d, multipliers) > VIOLATION * scale(row, low, high):
                continue  # those before it have mended it
            while True:
                counts[1] += 1
                short, rise = _short(k, T, d, multipliers), append(T, R, k)
                for i in range(k):
                    pull[i] = R[k, i]
                backward(R, k, pull)
                if k and rise < _NEARLY * T[k, k]:
                    rise = sharpened(k, active, slot, Phi, S, size, R, softness, pull, line, gaps, scratch)
                longest, blocking = np.inf, -1
                for i in range(k):
                    if pull[i] > 1e-14 and multipliers[i] / pull[i] < longest:
                        longest, blocking = multipliers[i] / pull[i], i
                if (
                    multipliers[k] == 0.0
                    and rise <= _INDEPENDENT * T[k, k]
                    and short <= ROUNDING * scale(row, low, high)
                ):
                    length[row] = KEPT
                    break
                full = short / rise if rise > _INDEPENDENT * T[k, k] else np.inf
                step = min(full, longest)
                if step == np.inf:  # but what rounding may have made is for others to judge
                    return INFEASIBLE if short > ROUNDING * (1.0 + abs(d[k])) else NUMERICAL
                for i in range(k):
                    multipliers[i] = max(0.0, multipliers[i] - step * pull[i])
                multipliers[k] += step
                if full <= longest:
                    R[k, k] = np.sqrt(rise)
                    k += 1
                    solve(R, k, d, multipliers)
                    for i in range(k):
                        multipliers[i] = max(0.0, multipliers[i])
                    break
                if counts[1] >= max_iterations:
                    keep_multipliers(z, active, multipliers, k + 1)
                    return LIMIT
                shrink(blocking, k, R)
                k = drop(blocking, k + 1, active, slot, T, d, multipliers) - 1
        _combine(phi, phi_0, Phi, slot, multipliers, k)


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
def _short(k: int, T: Array, d: Array, multipliers: Array) -> float:
    """Return how far row k is from its side, positive where it is beyond."""
    short = d[k]
    for i in range(k + 1):
        short -= multipliers[i] * T[k, i]
    return short


@compiled_part
def _gaps(
    values: Array, low: Array, high: Array, softness: Array, active: Indices, multipliers: Array, k: int, gaps: Array
) -> float:
    """Write how far active rows are from their sides, but for what the soft ones give way; return the most, relative.

    A NaN counts as nothing here: `worst_row` finds it.
    """
    most = 0.0
    for i in range(k):
        row = abs(active[i]) - 1
        side = low[row] if active[i] > 0 else high[row]
        gaps[i] = (side - values[row]) * (1.0 if active[i] > 0 else -1.0) - softness[row] * multipliers[i]
        most = max(most, abs(gaps[i]) / (1.0 + min(abs(side), 1e6)))
    return most


@compiled_part
def _take_up(
    i: int, active: Indices, slot: Indices, nodes: Indices, lists: Indices, last: Indices, border: int,
    places: Indices, limited: Indices, facets: Array, facet_rows: Indices, D: Array, motors: int, E_all: Array,
    L_all: Array, U_all: Array, S: Array, Phi: Array, T: Array, size: int, softness: Array, low: Array, high: Array,
    values_0: Array, d: Array, scratch: Array,
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
    dual(line, S, size, scratch)
    for j in range(i + 1):
        T[i, j] = dot(scratch, Phi[slot[j]])
    T[i, i] += softness[row]
    d[i] = sign * ((low[row] if sign > 0 else high[row]) - values_0[row])
