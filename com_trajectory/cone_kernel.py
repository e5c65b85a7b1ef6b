"""The cone of the wrenches of contacts: is a vector in it, how far outside, and how far may a ray go? Compiled."""

from __future__ import annotations

from com_trajectory.simplex_kernel import (
    GIVEN_UP,
    MOST_PIVOTS,
    PIVOT,
    PIVOTS_TO_REFACTOR,
    ZERO,
    Array,
    Indices,
    climb,
    refactor,
)
from multi_qp_scene.jit import compiled, compiled_part

INSIDE, OUTSIDE = 0, 1

_MOST_REPAIRS = 60
_OUTSIDE = 1e-9  # a smaller distance from the cone is none


@compiled
def fill_generators(points: Array, rays: Array, origin: Array, G: Array) -> None:
    """Write the wrenches of unit forces at points about their mean.

    Args:
        points: (k, 3) [m].
        rays: directions of the forces at each point, (k, e, 3).
        origin: to be filled with the mean of the points, (3,) [m].
        G: to be filled: force, then moment [m], in columns, (6, k e).
    """
    count, edges = rays.shape[0], rays.shape[1]
    for i in range(3):
        origin[i] = 0.0
        for k in range(count):
            origin[i] += points[k, i]
        origin[i] /= count
    for k in range(count):
        x, y, z = points[k, 0] - origin[0], points[k, 1] - origin[1], points[k, 2] - origin[2]
        for j in range(edges):
            u, v, w = rays[k, j, 0], rays[k, j, 1], rays[k, j, 2]
            column = k * edges + j
            G[0, column], G[1, column], G[2, column] = u, v, w
            G[3, column], G[4, column], G[5, column] = y * w - z * v, z * u - x * w, x * v - y * u


@compiled_part
def start_at_helpers(e: Array, basis: Indices, inverse: Array, x: Array, first: int) -> None:
    """Stand at the corner of the helper columns: `first` on are I, then −I."""
    rows = len(e)
    for i in range(rows):
        positive = e[i] >= 0.0
        basis[i] = first + i if positive else first + rows + i
        x[i] = abs(e[i])
        for k in range(rows):
            inverse[i, k] = 0.0
        inverse[i, i] = 1.0 if positive else -1.0


@compiled
def fill_distances(
    M: Array, cost: Array, W: Array, basis: Indices, inverse: Array, x: Array, work: Array, out: Array, proofs: Array
) -> None:
    """Write how far vectors W, (k, rows), are from the cone of all columns but the last 2 rows; see `simplex`."""
    rows = W.shape[1]
    rays = len(M) - 2 * rows
    for k in range(len(W)):
        start_at_helpers(W[k], basis, inverse, x, rays)
        climb(M, W[k], basis, inverse, x, cost, len(M), work)
        out[k] = 0.0
        for i in range(rows):
            proofs[k, i] = 0.0
        for i in range(rows):
            out[k] -= cost[basis[i]] * max(x[i], 0.0)
            for j in range(rows):
                proofs[k, j] -= cost[basis[i]] * inverse[i, j]


@compiled_part
def into_cone(
    M: Array, rays: int, at: Array, basis: Indices, inverse: Array, x: Array, work: Array, since: int
) -> tuple[int, int]:
    """Exchange generators of a basis until a vector is a sum of them with no negative share, by dual pivots.

    Args:
        M: columns as rows; the first `rays` are the generators.
        rays: their number.
        at: the vector, (rows,).
        basis: numbers of generators, (rows,).
        inverse: of the basis, (rows, rows).
        x: shares, to be filled, (rows,).
        work: see `workspace`; its first row gets the facet y, y · g ≤ 0 for all generators, that `at` is outside of.
        since: pivots since the inverse was made anew.

    Returns:
        `INSIDE`, `OUTSIDE` or `GIVEN_UP`, and the pivots since the inverse was made anew.
    """
    rows = len(at)
    for pivot in range(_MOST_REPAIRS):
        if since >= PIVOTS_TO_REFACTOR:
            if not refactor(M, at, basis, inverse, x, work):
                return GIVEN_UP, 0
            since = 0
        greedy = pivot < _MOST_REPAIRS // 2  # then the rule of Bland, which cannot cycle
        leaving, least = -1, -ZERO
        for k in range(rows):
            x[k] = 0.0
            for i in range(rows):
                x[k] += inverse[k, i] * at[i]
            if x[k] < least and (greedy or leaving < 0 or basis[k] < basis[leaving]):
                leaving = k
                if greedy:
                    least = x[k]
        if leaving < 0:
            return INSIDE, since
        entering, steepest = -1, -PIVOT
        for j in range(rays):
            step = 0.0
            for i in range(rows):
                step += inverse[leaving, i] * M[j, i]
            if step < steepest:
                entering, steepest = j, step
                if not greedy:
                    break
        if entering < 0:
            if since > 0:  # the facet is wanted with all its digits
                since = PIVOTS_TO_REFACTOR
                continue
            for i in range(rows):
                work[0, i] = -inverse[leaving, i]
            return OUTSIDE, 0
        for k in range(rows):
            work[1, k] = 0.0
            for i in range(rows):
                work[1, k] += inverse[k, i] * M[entering, i]
        scale = 1.0 / work[1, leaving]
        for i in range(rows):
            inverse[leaving, i] *= scale
        for k in range(rows):
            if k != leaving:
                for i in range(rows):
                    inverse[k, i] -= work[1, k] * inverse[leaving, i]
        basis[leaving] = entering
        since = PIVOTS_TO_REFACTOR if -steepest < 1e-6 else since + 1
    return GIVEN_UP, since


@compiled
def least_step(
    G: Array,
    M: Array,
    helpers: Array,
    start: Array,
    direction: Array,
    limit: float,
    basis: Indices,
    inverse: Array,
    x: Array,
    work: Array,
    at: Array,
) -> float:
    """Return the least of the limit and of the largest κ > 0 with start + κ direction inside a cone; see `simplex`.

    The basis that holds one point also holds the next one, or a few dual pivots later. Where a point is outside of the
    cone at the limit, the facet that shows it says how far κ may go at most: that is the next limit.

    Args:
        G: generators, (rows, rays).
        M: room for them and for the helpers I and −I, as rows, (rays + 2 rows, rows).
        helpers: room for costs, (rays + 2 rows,).
        start: inside the cone, (k, rows); a ray that leaves it at once does not count.
        direction: (k, rows).
        limit: the answer is not to be larger than this.
        basis: room for the numbers of a basis, (rows,).
        inverse: room for its inverse, (rows, rows).
        x: room for its values, (rows,).
        work: see `workspace`.
        at: room for a point, (rows,).
    """
    rows, rays = G.shape
    for j in range(rays + 2 * rows):
        helpers[j] = 0.0 if j < rays else -1.0
        for i in range(rows):
            if j < rays:
                M[j, i] = G[i, j]
            else:
                M[j, i] = (1.0 if j == rays + i else 0.0) - (1.0 if j == rays + rows + i else 0.0)
    known, since = False, 0
    for k in range(len(start)):
        for _ in range(MOST_PIVOTS):
            for i in range(rows):
                at[i] = start[k, i] + limit * direction[k, i]
            verdict = GIVEN_UP
            if known:
                verdict, since = into_cone(M, rays, at, basis, inverse, x, work, since)
            if verdict == GIVEN_UP:  # anew; the cone may also be flat, so that no generators make a basis
                start_at_helpers(at, basis, inverse, x, rays)
                climb(M, at, basis, inverse, x, helpers, len(M), work)
                known, since, outside = True, 0, 0.0
                for j in range(rows):
                    work[0, j] = 0.0
                for i in range(rows):
                    if basis[i] >= rays:
                        known = False
                        outside += max(x[i], 0.0)
                        for j in range(rows):
                            work[0, j] += inverse[i, j]
                verdict = OUTSIDE if outside > _OUTSIDE else INSIDE
            if verdict == INSIDE:
                break
            level, slope, size = 0.0, 0.0, 0.0
            for i in range(rows):
                level += work[0, i] * start[k, i]
                slope += work[0, i] * direction[k, i]
                size += abs(work[0, i])
            if not (level < -ZERO * size and -level < limit * slope):
                break
            limit = -level / slope
    return limit
