"""Dual active-set QP solver [Goldfarb1983]_ over rows that are formed when violated."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class _Workspace(NamedTuple):
    """Arrays of a search, with one entry for each active row, up to the capacity.

    Attributes:
        active: 1 + row, negative if the upper side is active.
        multipliers: of the active rows.
        slot: line of Φ and of T of each active row.
        d: distance of its side from the unconstrained optimum.
        direction: change of the multipliers per unit of that of a new row.
        gaps: distances of active rows from their sides.
        line: one line of Φ.
        scratch: another one.
    """

    active: Indices
    multipliers: Array
    slot: Indices
    d: Array
    direction: Array
    gaps: Array
    line: Array
    scratch: Array


@compiled_part
def _workspace(capacity: int, changing: int, unknowns: int) -> _Workspace:
    """Return arrays for the active rows, for changes of them (0 without any), and for unknowns."""
    return _Workspace(
        np.empty(capacity, dtype=np.intp),
        np.empty(capacity),
        np.arange(changing),
        np.empty(changing),
        np.empty(changing),
        np.empty(changing),
        np.empty(unknowns),
        np.empty(unknowns),
    )


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
    D, length = data.D_all[:count], len(data.limited) + len(torque) + len(data.facets) + count
    low, high = data.low_all[:length], data.high_all[:length]
    _write_sides(table, count, len(torque), low, high)
    capacity, size = len(data.Phi) - 1, len(data.last)
    values, values_0 = np.empty(length), np.empty(length)
    is_active = np.empty(length, dtype=np.bool_)
    phi, s, physical = data.phi.copy(), np.empty(size), np.empty(len(data.e_all))
    work = _workspace(capacity + 1, 0, len(data.phi))  # the rest of it is only needed where the active set changes
    active, multipliers = work.active, work.multipliers
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
            measure_rows(table, values, low, high, is_active, data.length, tolerance, work.line, D)
            worst = farthest_rows(values, low, high, is_active, data.length, tolerance, joining)
        data.counts[0] = k
        if worst == -length - 1:
            return NOT_FINITE
        gap = _gaps(values, low, high, softness, active, multipliers, k, work.direction) if worst == 0 else 0.0
        if refined < 2 and gap > _GAP:  # T has the condition number of C K⁻¹ Cᵀ, not its root
            refined += 1
            solve(data.R, k, work.direction, work.gaps)  # k may exceed the number of unknowns if rows have slack
            for i in range(k):
                multipliers[i] = max(0.0, multipliers[i] + work.gaps[i])
            _combine(phi, data.phi, data.Phi, work.slot, multipliers, k)
            continue
        if worst == 0:
            store_multipliers(z, active, multipliers, k)
            return SOLVED if gap <= 1e-7 else NUMERICAL
        if first:
            first = False
            for i in range(length):
                values_0[i] = values[i]
            whole = _workspace(capacity + 1, capacity + 1, len(data.phi))
            for i in range(len(active)):  # assigned as a slice, it compiles numba's formatted errors
                whole.active[i] = active[i]
            work, active, multipliers = whole, whole.active, whole.multipliers
            for k in range(warm):
                _activate(table, k, work, D, softness, low, high, values_0)
            k = drop_negative_multipliers(warm, active, work.slot, data.T, data.R, work.d, multipliers, data.counts)
            _combine(phi, data.phi, data.Phi, work.slot, multipliers, k)
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
            _activate(table, k, work, D, softness, low, high, values_0)
            multipliers[k] = 0.0
            if c and not _violation(k, data.T, work.d, multipliers) > tolerance * scale(row, low, high):
                continue  # no longer violated
            k, status = _join(table, k, work, softness, scale(row, low, high), max_iterations)
            if status == LIMIT:
                store_multipliers(z, active, multipliers, k + 1)
            if status != SOLVED:
                return status
        _combine(phi, data.phi, data.Phi, work.slot, multipliers, k)


@compiled_part
def _write_sides(table: Any, count: int, motors: int, low: Array, high: Array) -> None:
    """Write the sides of the rows that change from tick to tick: accelerations, torques and constraints."""
    data = unpack(table, CondensedData)
    limited = len(data.limited)
    for i in range(limited):
        low[i], high[i] = data.least[data.limited[i]], data.most[data.limited[i]]
    for i in range(motors):
        low[limited + i], high[limited + i] = data.least_torque[i], data.most_torque[i]
    for i in range(count):
        low[limited + motors + len(data.facets) + i] = data.d_all[i]


@compiled_part
def _join(
    table: Any, k: int, work: _Workspace, softness: Array, scale_of_row: float, max_iterations: int
) -> tuple[int, int]:
    """Raise the multiplier of row k until the row is satisfied, and drop rows whose multipliers become negative.

    Returns:
        Number of active rows, without row k where it is satisfied within rounding; and SOLVED, LIMIT, INFEASIBLE or
        NUMERICAL.
    """
    data = unpack(table, CondensedData)
    d, direction, multipliers = work.d, work.direction, work.multipliers
    row = abs(work.active[k]) - 1
    while True:
        data.counts[1] += 1
        violation, rise = _violation(k, data.T, d, multipliers), append(data.T, data.R, k)
        for i in range(k):
            direction[i] = data.R[k, i]
        backward(data.R, k, direction)
        if k and rise < _NEARLY_DEPENDENT * data.T[k, k]:
            rise = refine_coefficients(
                k, work.active, work.slot, data.Phi, data.S, len(data.last), data.R, softness, direction, work.line,
                work.gaps, work.scratch,
            )  # fmt: skip
        longest, blocking = np.inf, -1
        for i in range(k):
            if direction[i] > 1e-14 and multipliers[i] / direction[i] < longest:
                longest, blocking = multipliers[i] / direction[i], i
        dependent = rise <= _INDEPENDENT * data.T[k, k]
        if multipliers[k] == 0.0 and dependent and violation <= ROUNDING * scale_of_row:
            data.length[row] = ROUNDING_ONLY
            return k, SOLVED
        full = violation / rise if rise > _INDEPENDENT * data.T[k, k] else np.inf
        step = min(full, longest)
        if step == np.inf:  # within rounding, infeasibility is not certain
            return k, INFEASIBLE if violation > ROUNDING * (1.0 + abs(d[k])) else NUMERICAL
        for i in range(k):
            multipliers[i] = max(0.0, multipliers[i] - step * direction[i])
        multipliers[k] += step
        if full <= longest:
            data.R[k, k] = np.sqrt(rise)
            k += 1
            solve(data.R, k, d, multipliers)
            for i in range(k):
                multipliers[i] = max(0.0, multipliers[i])
            return k, SOLVED
        if data.counts[1] >= max_iterations:
            return k, LIMIT
        shrink(blocking, k, data.R)
        k = drop(blocking, k + 1, work.active, work.slot, data.T, d, multipliers) - 1


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
    table: Any, i: int, work: _Workspace, D: Array, softness: Array, low: Array, high: Array, values_0: Array
) -> None:
    """Form active row i and its products with the previous ones."""
    data = unpack(table, CondensedData)
    row, sign = abs(work.active[i]) - 1, 1.0 if work.active[i] > 0 else -1.0
    line = data.Phi[work.slot[i]]
    write_row(table, row, sign, D, line)
    dual(line, data.S, len(data.last), work.scratch)
    for j in range(i + 1):
        data.T[i, j] = dot(work.scratch, data.Phi[work.slot[j]])
    data.T[i, i] += softness[row]
    work.d[i] = sign * ((low[row] if sign > 0 else high[row]) - values_0[row])
