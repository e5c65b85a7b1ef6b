"""Which violated row joins the active set: the one violated most, or the one that is farthest from being kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.linear_kernel import forward_band_together
from multi_qp_controller.blocks.row_kernel import dot, write_own
from multi_qp_scene.jit import compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

#: A row violated by more than this joins the active set, relative to 1 + |value of the side|.
VIOLATION = 1e-9
#: A row that follows from the active ones, and violated by less than this, relative as above, is kept but for rounding.
ROUNDING = 1e-6
#: Stands for the length of such a row, and of one that need not be kept better.
KEPT = -1.0
#: So many rows are measured together.
_TOGETHER = 16
#: One row joins at once, and one more for each so many that are violated.
_A_CROWD = 100


@compiled_part
def scale(row: int, low: Array, high: Array) -> float:
    """Return what violations of a row are relative to."""
    return 1.0 + min(abs(low[row]), abs(high[row]), 1e6)


@compiled_part
def violation(row: int, values: Array, low: Array, high: Array, taken: Flags, length: Array) -> float:
    """Return how far a row is beyond a side, negative at its upper one; 0 where it may be or is active, or NaN."""
    if not values[row] * 0.0 == 0.0:
        return np.nan
    below, above = low[row] - values[row], values[row] - high[row]
    most = max(below, above)
    if not most > 0.0 or taken[row]:
        return 0.0
    if not most > (ROUNDING if length[row] == KEPT else VIOLATION) * scale(row, low, high):
        return 0.0
    return below if below > above else -above


@compiled_part
def worst_row(values: Array, low: Array, high: Array, taken: Flags, length: Array) -> int:
    """Return the row that is violated most, plus 1, negative at its upper side; 0: none; -rows - 1: not a number."""
    most, found = 0.0, 0
    for i in range(len(values)):
        beyond = violation(i, values, low, high, taken, length)
        if np.isnan(beyond):
            return -len(values) - 1
        if beyond == 0.0:
            continue
        share = abs(beyond) / scale(i, low, high)
        if share > most:
            most, found = share, i + 1 if beyond > 0.0 else -i - 1
    return found


@compiled_part
def farthest_rows(values: Array, low: Array, high: Array, taken: Flags, length: Array, joining: Indices) -> int:
    """Write which rows are farthest from being kept, the farthest first, as `worst_row`; return that.

    By the root of twice the cost of keeping one alone. A contradiction shows after a few changes of the active set
    where the largest violation, whose unit differs from row to row, takes hundreds. Where very many are violated, some
    join at once: looking at all of them takes longer than a change.
    """
    far, violated = np.zeros(len(joining)), 0
    for i in range(len(values)):
        beyond = violation(i, values, low, high, taken, length)
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
    joining[1 + violated // _A_CROWD :] = 0
    return joining[0]


@compiled_part
def measure_rows(
    values: Array, low: Array, high: Array, taken: Flags, length: Array, line: Array, nodes: Indices,
    lists: Indices, last: Indices, border: int, places: Indices, limited: Indices, facets: Array, facet_rows: Indices,
    D: Array, motors: int, E_all: Array, L_all: Array, U_all: Array, S: Array, size: int,
) -> None:  # fmt: skip
    """Write the lengths of violated rows in the metric of the cost that nobody needed before, many at a time.

    That costs a forward solution for each violated row, once, which `length` keeps.
    """
    rows, square = np.empty(_TOGETHER, dtype=np.intp), np.empty(_TOGETHER)
    tails, n, waiting = np.empty((0, _TOGETHER)), len(line) - size, 0
    for i in range(len(values) + 1):
        if i < len(values):
            if length[i] > 0.0 or not abs(violation(i, values, low, high, taken, length)) > 0.0:
                continue
            if len(tails) != size:
                tails = np.zeros((size, _TOGETHER))
            write_own(i, 1.0, nodes, lists, size, places, limited, facets, facet_rows, D, motors,
                      E_all, L_all, U_all, line)  # fmt: skip
            for j in range(size):
                tails[j, waiting] = line[n + j]
            rows[waiting], square[waiting] = i, dot(line[:n], line[:n])
            waiting += 1
            _share(i, 0.0, np.inf, length, facet_rows, len(limited) + motors)
        if waiting == _TOGETHER or (waiting and i == len(values)):
            forward_band_together(S, last, border, tails)
            for j in range(len(tails)):
                for k in range(_TOGETHER):
                    tails[j, k] *= tails[j, k] / S[j, j]
            for k in range(waiting):
                for j in range(len(tails)):
                    square[k] += tails[j, k]
                own = np.sqrt(max(square[k], 1e-24))
                _share(rows[k], np.inf, own, length, facet_rows, len(limited) + motors)
            waiting = 0


@compiled_part
def _share(row: int, old: float, new: float, length: Array, facet_rows: Indices, first: int) -> None:
    """Note the length of a row, and of a facet for the others of its contact, which are much the same."""
    length[row], f = new, row - first
    for j in range(len(facet_rows) if 0 <= f < len(facet_rows) else 0):
        if facet_rows[j, 0] == facet_rows[f, 0] and length[first + j] == old:
            length[first + j] = new
