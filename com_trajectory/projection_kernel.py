"""Compiled projection of a polytope of few rows and many columns onto a plane."""

from __future__ import annotations

import numpy as np

from com_trajectory.simplex_kernel import UNBOUNDED, Indices, maximise, refactor
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

EMPTY, NOT_BOUNDED, TOO_MANY_CORNERS = -1, -2, -3

_SAME = 1e-8  # [m] corners closer than this are merged
_PUSHED = 1e-10  # [m] edges that can move outwards by less are on the boundary
_FLAT = 1e-8  # [m] narrower polygons are segments


@compiled_part
def find_first_vertex(
    M: Array, e: Array, n: int, basis: Indices, inverse: Array, x: Array, cost: Array, work: Array
) -> bool:
    """Find a first vertex of {x ≥ 0 : Mᵀ x = e} (phase 1); return whether there is one.

    Args:
        M: columns as rows, then I, one artificial column a row, (n + rows, rows).
        e: at least 0, (rows,).
        n: number of columns.
        basis: output, (rows,).
        inverse: output, (rows, rows).
        x: output, (rows,).
        cost: buffer, (n + rows,).
        work: see `simplex_kernel.workspace`.
    """
    rows = len(e)
    largest = 1.0
    for i in range(rows):
        basis[i], x[i] = n + i, e[i]
        largest = max(largest, e[i])
        for k in range(rows):
            inverse[i, k] = 1.0 if i == k else 0.0
    for j in range(n + rows):
        cost[j] = 0.0 if j < n else -1.0
    maximise(M, e, basis, inverse, x, cost, n + rows, work)
    remain = 0.0
    for i in range(rows):
        if basis[i] >= n:
            remain += x[i]
    if remain > 1e-9 * largest:
        return False
    for i in range(rows):  # exchange remaining artificial columns, at zero; a row where that fails is redundant
        if basis[i] < n:
            continue
        entering, steepest = -1, 1e-7
        for j in range(n):
            step = 0.0
            for k in range(rows):
                step += M[j, k] * inverse[i, k]
            for k in range(rows):
                if basis[k] == j:
                    step = 0.0
            if abs(step) > steepest:
                entering, steepest = j, abs(step)
        if entering >= 0:
            basis[i] = entering
            refactor(M, e, basis, inverse, x, work)
    return True


@compiled_part
def furthest(
    M: Array,
    e: Array,
    places: Array,
    basis: Indices,
    inverse: Array,
    x: Array,
    cost: Array,
    work: Array,
    along: float,
    across: float,
) -> bool:
    """Write the corner of the projection furthest along a direction to `work[0]`; return whether there is one."""
    n = len(places)
    for j in range(n):
        cost[j] = places[j, 0] * along + places[j, 1] * across
    for j in range(n, len(M)):
        cost[j] = 0.0
    if maximise(M, e, basis, inverse, x, cost, n, work) == UNBOUNDED:
        return False
    work[0, 0], work[0, 1] = 0.0, 0.0
    for k in range(len(e)):
        if basis[k] < n:
            share = max(x[k], 0.0)
            work[0, 0] += share * places[basis[k], 0]
            work[0, 1] += share * places[basis[k], 1]
    return True


@compiled
def project(
    M: Array,
    e: Array,
    columns: Array,
    places: Array,
    directions: Array,
    basis: Indices,
    inverse: Array,
    x: Array,
    cost: Array,
    work: Array,
    waiting: Array,
    corners: Array,
) -> int:
    """Write the corners of the projection of {x ≥ 0 : M x = e}, counterclockwise.

    Every edge is moved outwards as far as the polytope extends: to a new corner, or not at all if it is on the
    boundary.

    Args:
        M: (rows, n).
        e: signs are changed in place so that e ≥ 0, (rows,).
        columns: buffer for columns as rows, then I, (n + rows, rows).
        places: projection of each column on the plane, (n, 2).
        directions: unit vectors, counterclockwise, whose furthest corners start the search, (4, 2).
        basis: buffer, (rows,).
        inverse: buffer, (rows, rows).
        x: buffer, (rows,).
        cost: buffer, (n + rows,).
        work: see `simplex_kernel.workspace`.
        waiting: buffer for the largest number of corners, (k, 2).
        corners: output, (k, 2).

    Returns:
        Number of corners: 1 for a point, 2 for a segment; or `EMPTY`, `NOT_BOUNDED` or `TOO_MANY_CORNERS`.
    """
    rows, n = M.shape
    for i in range(rows):
        sign = -1.0 if e[i] < 0.0 else 1.0
        e[i] *= sign
        for j in range(n):
            columns[j, i] = sign * M[i, j]
        for j in range(rows):  # artificial columns form the first basis
            columns[n + j, i] = 1.0 if i == j else 0.0
    if not find_first_vertex(columns, e, n, basis, inverse, x, cost, work):
        return EMPTY
    found = 0
    for k in range(len(directions)):
        if not furthest(columns, e, places, basis, inverse, x, cost, work, directions[k, 0], directions[k, 1]):
            return NOT_BOUNDED
        new = True
        for j in range(found):
            new = new and np.hypot(work[0, 0] - corners[j, 0], work[0, 1] - corners[j, 1]) > _SAME
        if new:
            corners[found, 0], corners[found, 1] = work[0, 0], work[0, 1]
            found += 1
    if found == 1:
        return 1
    waiting[0, 0], waiting[0, 1] = corners[0, 0], corners[0, 1]
    for k in range(found):
        waiting[found - k, 0], waiting[found - k, 1] = corners[k, 0], corners[k, 1]
    top, done = found, 0  # waiting[top] starts the next edge, waiting[top - 1] ends it
    while top > 0:
        length = np.hypot(waiting[top, 0] - waiting[top - 1, 0], waiting[top, 1] - waiting[top - 1, 1])
        if length < _SAME:  # direction dominated by rounding
            if top > 1:
                waiting[top - 1, 0], waiting[top - 1, 1] = waiting[top, 0], waiting[top, 1]
            top -= 1
            continue
        along = (waiting[top - 1, 1] - waiting[top, 1]) / length
        across = (waiting[top, 0] - waiting[top - 1, 0]) / length
        if not furthest(columns, e, places, basis, inverse, x, cost, work, along, across):
            return NOT_BOUNDED
        height = along * (work[0, 0] - waiting[top, 0]) + across * (work[0, 1] - waiting[top, 1])
        near = min(
            np.hypot(work[0, 0] - waiting[top, 0], work[0, 1] - waiting[top, 1]),
            np.hypot(work[0, 0] - waiting[top - 1, 0], work[0, 1] - waiting[top - 1, 1]),
        )
        if height > _PUSHED and near > _SAME:
            if done + top + 2 > len(waiting):
                return TOO_MANY_CORNERS
            waiting[top + 1, 0], waiting[top + 1, 1] = waiting[top, 0], waiting[top, 1]
            waiting[top, 0], waiting[top, 1] = work[0, 0], work[0, 1]
            top += 1
        else:
            corners[done, 0], corners[done, 1] = waiting[top, 0], waiting[top, 1]
            done += 1
            top -= 1
    return without_collinear(corners, done)


@compiled_part
def without_collinear(corners: Array, count: int) -> int:
    """Remove collinear corners, all but two if the polygon is flat; return the number left."""
    if count < 3:
        return count
    far, length = 0, 1e-30
    for k in range(count):
        way = np.hypot(corners[k, 0] - corners[0, 0], corners[k, 1] - corners[0, 1])
        if way > length:
            far, length = k, way
    x, y = (corners[far, 0] - corners[0, 0]) / length, (corners[far, 1] - corners[0, 1]) / length
    low, high, first, last, start, end = 0.0, 0.0, 0, 0, 0.0, 0.0
    for k in range(count):
        p, q = corners[k, 0] - corners[0, 0], corners[k, 1] - corners[0, 1]
        height, place = q * x - p * y, p * x + q * y
        low, high = min(low, height), max(high, height)
        if place < start:
            first, start = k, place
        if place > end:
            last, end = k, place
    if high - low < _FLAT:
        p, q = corners[last, 0], corners[last, 1]
        corners[0, 0], corners[0, 1] = corners[first, 0], corners[first, 1]
        corners[1, 0], corners[1, 1] = p, q
        return 2
    count_left = 0
    p, q = corners[count - 1, 0], corners[count - 1, 1]  # previous corner, removed or not
    a, b = corners[0, 0], corners[0, 1]
    for k in range(count):
        here, there = corners[k, 0], corners[k, 1]
        u, v = (corners[k + 1, 0], corners[k + 1, 1]) if k + 1 < count else (a, b)
        chord = np.hypot(u - p, v - q)
        height = (u - p) * (there - q) - (v - q) * (here - p)
        if abs(height) > 1e-10 * max(chord, 1e-30):
            corners[count_left, 0], corners[count_left, 1] = here, there
            count_left += 1
        p, q = here, there
    return count_left
