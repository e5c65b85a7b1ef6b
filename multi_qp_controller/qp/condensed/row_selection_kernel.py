"""Compiled selection of the violated row that joins the active set, by violation or by distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.condensed.data import CondensedData
from multi_qp_controller.qp.condensed.linear_kernel import forward_band_together
from multi_qp_controller.qp.condensed.row_kernel import dot, write_internal
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled_part
from multi_qp_scene.kernel_data import unpack

Flags = NDArray[np.bool_]

#: A row violated by more than this joins the active set, relative to 1 + |value of the side|.
VIOLATION = 1e-9
#: A row that depends on the active ones is satisfied up to rounding if violated by less than this, relative as above.
ROUNDING = 1e-6
#: Marker in place of the length of rows that need to be satisfied to `ROUNDING` only.
ROUNDING_ONLY = -1.0
#: Number of rows whose lengths are computed together.
_BATCH = 16
#: One row joins at a time, plus one for each this many violated rows.
_VIOLATED_PER_EXTRA_ROW = 100


@compiled_part
def scale(row: int, low: Array, high: Array) -> float:
    """Return the scale of violations of a row."""
    return 1.0 + min(abs(low[row]), abs(high[row]), 1e6)


@compiled_part
def violation(
    row: int, values: Array, low: Array, high: Array, is_active: Flags, length: Array, tolerance: float
) -> float:
    """Return the violation of a row, negative at its upper side; 0 if it is satisfied or active; NaN for NaN."""
    if not values[row] * 0.0 == 0.0:
        return np.nan
    below, above = low[row] - values[row], values[row] - high[row]
    most = max(below, above)
    if not most > 0.0 or is_active[row]:
        return 0.0
    if not most > (ROUNDING if length[row] == ROUNDING_ONLY else tolerance) * scale(row, low, high):
        return 0.0
    return below if below > above else -above


@compiled_part
def worst_row(values: Array, low: Array, high: Array, is_active: Flags, length: Array, tolerance: float) -> int:
    """Return 1 + the row with the largest relative violation, negative at its upper side; 0: none; -rows - 1: NaN."""
    most, found = 0.0, 0
    for i in range(len(values)):
        beyond = violation(i, values, low, high, is_active, length, tolerance)
        if np.isnan(beyond):
            return -len(values) - 1
        if beyond == 0.0:
            continue
        share = abs(beyond) / scale(i, low, high)
        if share > most:
            most, found = share, i + 1 if beyond > 0.0 else -i - 1
    return found


@compiled_part
def farthest_rows(
    values: Array, low: Array, high: Array, is_active: Flags, length: Array, tolerance: float, joining: Indices
) -> int:
    """Write the rows with the largest distances in the metric of the cost, as `worst_row`; return the first.

    The distance is the root of twice the cost of satisfying one row alone. It shows infeasibility after a few changes
    of the active set, where the largest violation, whose unit differs from row to row, takes hundreds. If very many
    rows are violated, several join at a time, as evaluating all of them takes longer than a change.
    """
    far, violated = np.zeros(len(joining)), 0
    for i in range(len(values)):
        beyond = violation(i, values, low, high, is_active, length, tolerance)
        if np.isnan(beyond):
            return -len(values) - 1
        if beyond == 0.0:
            continue
        violated += 1
        place, distance = len(far), abs(beyond) / length[i]
        while place and distance > far[place - 1]:
            place -= 1
            if place + 1 < len(far):
                far[place + 1], joining[place + 1] = far[place], joining[place]
        if place < len(far):
            far[place], joining[place] = distance, i + 1 if beyond > 0.0 else -i - 1
    joining[1 + violated // _VIOLATED_PER_EXTRA_ROW :] = 0
    return joining[0]


@compiled_part
def measure_rows(
    table: Any,
    values: Array,
    low: Array,
    high: Array,
    is_active: Flags,
    length: Array,
    tolerance: float,
    line: Array,
    D: Array,
) -> None:
    """Write missing lengths of violated rows in the metric of the cost, in batches.

    Each takes one forward substitution per tick; `length` caches it.
    """
    data = unpack(table, CondensedData)
    rows, square = np.empty(_BATCH, dtype=np.intp), np.empty(_BATCH)
    tails, n, pending = np.empty((0, _BATCH)), len(line) - len(data.last), 0
    for i in range(len(values) + 1):
        if i < len(values):
            if length[i] > 0.0 or not abs(violation(i, values, low, high, is_active, length, tolerance)) > 0.0:
                continue
            if len(tails) != len(data.last):
                tails = np.zeros((len(data.last), _BATCH))
            write_internal(table, i, 1.0, D, line)
            for j in range(len(data.last)):
                tails[j, pending] = line[n + j]
            rows[pending], square[pending] = i, dot(line[:n], line[:n])
            pending += 1
            _store_length(table, i, 0.0, np.inf, length, len(data.limited) + len(data.motor_order))
        if pending == _BATCH or (pending and i == len(values)):
            forward_band_together(data.S, data.last, data.border, tails)
            for j in range(len(tails)):
                for k in range(_BATCH):
                    tails[j, k] *= tails[j, k] / data.S[j, j]
            for k in range(pending):
                for j in range(len(tails)):
                    square[k] += tails[j, k]
                own = np.sqrt(max(square[k], 1e-24))
                _store_length(table, rows[k], np.inf, own, length, len(data.limited) + len(data.motor_order))
            pending = 0


@compiled_part
def _store_length(table: Any, row: int, old: float, new: float, length: Array, first: int) -> None:
    """Store the length of a row; that of a facet also for the other facets of its contact, which are similar."""
    data = unpack(table, CondensedData)
    length[row], f = new, row - first
    for j in range(len(data.facet_rows) if 0 <= f < len(data.facet_rows) else 0):
        if data.facet_rows[j, 0] == data.facet_rows[f, 0] and length[first + j] == old:
            length[first + j] = new
