"""Dual active-set QP solver [Goldfarb1983]_ over rows that are formed when violated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.condensed.assembly_kernel import INFEASIBLE, LIMIT, NOT_FINITE, NUMERICAL, SOLVED
from multi_qp_controller.qp.condensed.data import CondensedData
from multi_qp_controller.qp.condensed.factor_kernel import append, backward, drop, refine_coefficients, shrink, solve
from multi_qp_controller.qp.condensed.row_kernel import dot, dual, expand, row_values, scatter, write_row
from multi_qp_controller.qp.condensed.row_selection_kernel import (
    ROUNDING,
    ROUNDING_ONLY,
    farthest_rows,
    measure_rows,
    scale,
    worst_row,
)
from multi_qp_controller.qp.condensed.warm_start_kernel import (
    drop_negative_multipliers,
    mark_active,
    store_multipliers,
    warm_active_set,
)
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.kernel_data import unpack

Flags = NDArray[np.bool_]

#: Distance of active rows from their sides, relative to 1 + |side|, above which the solution is refined.
_GAP = 1e-9
#: Least share of a new row that must be linearly independent of the active ones.
_INDEPENDENT = 1e-10
#: Independent share of a new row below which it is refined, as rounding in T may dominate it.
_NEARLY_DEPENDENT = 1e-3
#: Largest number of rows that join the active set between two evaluations of all rows.
_MAX_JOINING = 4


@compiled
def search(
    table: Any,
    count: int,
    softness: Array,
    tolerance: float,
    max_iterations: int,
    early: int,
    start: Array,
    z: Array,
    acceleration: Array,
    torque: Array,
    reactions: Array,
) -> int:
    """Compute the optimum from a warm start; return a status such as SOLVED.

    Args:
        table: of `CondensedData`.
        count: number of rows of D.
        softness: slack of a row per unit of its multiplier, (rows,).
        tolerance: violation of rows that are satisfied, relative to 1 + |side|.
        max_iterations: largest number of changes of the active set.
        early: number of changes after which rows are chosen by their distance in the metric of the cost.
        start: multipliers of an earlier tick, negative at a lower side, 0 for inactive rows, (rows,).
        z: output, multipliers of this tick, also at the iteration limit, zero on entry, (rows,).
        acceleration: output, (nv,).
        torque: output, (na,).
        reactions: output, (m,).
    """
    data = unpack(table, CondensedData)
    first_d = len(data.limited) + len(torque) + len(data.facets)
    D, low, high = data.D_all[:count], data.low_all[: first_d + count], data.high_all[: first_d + count]
    for i in range(len(data.limited)):
        low[i], high[i] = data.least[data.limited[i]], data.most[data.limited[i]]
    for i in range(len(torque)):
        row = len(data.limited) + i
        low[row], high[row] = data.least_torque[i], data.most_torque[i]
    for i in range(count):
        low[first_d + i] = data.d_all[i]
    active, multipliers = np.empty(len(data.Phi), dtype=np.intp), np.empty(len(data.Phi))
    capacity, size = len(data.Phi) - 1, len(data.last)
    values, values_0 = np.empty(len(low)), np.empty(len(low))
    is_active = np.empty(len(low), dtype=np.bool_)
    phi, s, physical = data.phi.copy(), np.empty(size), np.empty(len(data.e_all))
    slot, d, dual_direction, gaps = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0), np.empty(0)
    line, scratch = np.empty(len(data.phi)), np.empty(len(data.phi))
    joining = np.zeros(_MAX_JOINING, dtype=np.intp)
    warm, k = warm_active_set(start, low, high, active), 0
    data.counts[0] = data.counts[1] = 0
    first, refined = True, 0
    while True:
        expand(table, phi, s, physical)
        scatter(table, s, physical, acceleration, torque, reactions)
        row_values(table, acceleration, torque, reactions, D, values)
        mark_active(active, k, is_active)
        joining[:] = 0
        if data.counts[1] < early:
            joining[0] = worst = worst_row(values, low, high, is_active, data.length, tolerance)
        else:
            measure_rows(table, values, low, high, is_active, data.length, tolerance, line, D)
            worst = farthest_rows(values, low, high, is_active, data.length, tolerance, joining)
        data.counts[0] = k
        if worst == -len(low) - 1:
            return NOT_FINITE
        gap = _gaps(values, low, high, softness, active, multipliers, k, dual_direction) if worst == 0 else 0.0
        if refined < 2 and gap > _GAP:  # T has the condition number of C K⁻¹ Cᵀ, not its root
            refined += 1
            solve(data.R, k, dual_direction, gaps)  # k may exceed the number of unknowns if rows have slack
            for i in range(k):
                multipliers[i] = max(0.0, multipliers[i] + gaps[i])
            _combine(phi, data.phi, data.Phi, slot, multipliers, k)
            continue
        if worst == 0:
            store_multipliers(z, active, multipliers, k)
            return SOLVED if gap <= 1e-7 else NUMERICAL
        if first:
            first = False
            for i in range(len(values)):
                values_0[i] = values[i]
            slot, d = np.arange(capacity + 1), np.empty(capacity + 1)
            dual_direction, gaps = np.empty(capacity + 1), np.empty(capacity + 1)
            for k in range(warm):
                _activate(table, k, active, slot, D, data.Phi, data.T, softness, low, high, values_0, d, scratch)
            k = drop_negative_multipliers(warm, active, slot, data.T, data.R, d, multipliers, data.counts)
            _combine(phi, data.phi, data.Phi, slot, multipliers, k)
            if k:
                continue
        data.counts[2] = abs(joining[0]) - 1
        if data.counts[1] >= max_iterations or k > capacity:
            store_multipliers(z, active, multipliers, k)
            return LIMIT
        for c in range(len(joining)):
            if joining[c] == 0 or k > capacity:
                break
            active[k], row = joining[c], abs(joining[c]) - 1
            data.counts[2] = row
            _activate(table, k, active, slot, D, data.Phi, data.T, softness, low, high, values_0, d, scratch)
            multipliers[k] = 0.0
            if c and not _violation(k, data.T, d, multipliers) > tolerance * scale(row, low, high):
                continue  # no longer violated
            while True:
                data.counts[1] += 1
                violation, rise = _violation(k, data.T, d, multipliers), append(data.T, data.R, k)
                for i in range(k):
                    dual_direction[i] = data.R[k, i]
                backward(data.R, k, dual_direction)
                if k and rise < _NEARLY_DEPENDENT * data.T[k, k]:
                    rise = refine_coefficients(
                        k, active, slot, data.Phi, data.S, size, data.R, softness, dual_direction, line, gaps, scratch
                    )
                longest, blocking = np.inf, -1
                for i in range(k):
                    if dual_direction[i] > 1e-14 and multipliers[i] / dual_direction[i] < longest:
                        longest, blocking = multipliers[i] / dual_direction[i], i
                if (
                    multipliers[k] == 0.0
                    and rise <= _INDEPENDENT * data.T[k, k]
                    and violation <= ROUNDING * scale(row, low, high)
                ):
                    data.length[row] = ROUNDING_ONLY
                    break
                full = violation / rise if rise > _INDEPENDENT * data.T[k, k] else np.inf
                step = min(full, longest)
                if step == np.inf:  # within rounding, infeasibility is not certain
                    return INFEASIBLE if violation > ROUNDING * (1.0 + abs(d[k])) else NUMERICAL
                for i in range(k):
                    multipliers[i] = max(0.0, multipliers[i] - step * dual_direction[i])
                multipliers[k] += step
                if full <= longest:
                    data.R[k, k] = np.sqrt(rise)
                    k += 1
                    solve(data.R, k, d, multipliers)
                    for i in range(k):
                        multipliers[i] = max(0.0, multipliers[i])
                    break
                if data.counts[1] >= max_iterations:
                    store_multipliers(z, active, multipliers, k + 1)
                    return LIMIT
                shrink(blocking, k, data.R)
                k = drop(blocking, k + 1, active, slot, data.T, d, multipliers) - 1
        _combine(phi, data.phi, data.Phi, slot, multipliers, k)


@compiled_part
def _combine(phi: Array, phi_0: Array, Phi: Array, slot: Indices, multipliers: Array, k: int) -> None:
    """Write the optimum for these multipliers."""
    for j in range(len(phi)):
        phi[j] = phi_0[j]
    for i in range(k):
        line = Phi[slot[i]]
        for j in range(len(phi)):
            phi[j] += multipliers[i] * line[j]


@compiled_part
def _violation(k: int, T: Array, d: Array, multipliers: Array) -> float:
    """Return the violation of row k, negative if it is satisfied."""
    violation = d[k]
    for i in range(k + 1):
        violation -= multipliers[i] * T[k, i]
    return violation


@compiled_part
def _gaps(
    values: Array, low: Array, high: Array, softness: Array, active: Indices, multipliers: Array, k: int, gaps: Array
) -> float:
    """Write the distances of active rows from their sides, less their slack; return the largest relative one.

    NaN is ignored here; `worst_row` detects it.
    """
    most = 0.0
    for i in range(k):
        row = abs(active[i]) - 1
        side = low[row] if active[i] > 0 else high[row]
        gaps[i] = (side - values[row]) * (1.0 if active[i] > 0 else -1.0) - softness[row] * multipliers[i]
        most = max(most, abs(gaps[i]) / (1.0 + min(abs(side), 1e6)))
    return most


@compiled_part
def _activate(
    table: Any,
    i: int,
    active: Indices,
    slot: Indices,
    D: Array,
    Phi: Array,
    T: Array,
    softness: Array,
    low: Array,
    high: Array,
    values_0: Array,
    d: Array,
    scratch: Array,
) -> None:
    """Form active row i and its products with the previous ones."""
    data = unpack(table, CondensedData)
    row, sign = abs(active[i]) - 1, 1.0 if active[i] > 0 else -1.0
    line = Phi[slot[i]]
    write_row(table, row, sign, D, line)
    dual(line, data.S, len(data.last), scratch)
    for j in range(i + 1):
        T[i, j] = dot(scratch, Phi[slot[j]])
    T[i, i] += softness[row]
    d[i] = sign * ((low[row] if sign > 0 else high[row]) - values_0[row])
