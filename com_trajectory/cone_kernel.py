"""Compiled kernels for wrench cones: rays, distance of a vector from the cone, and largest step in a direction."""

from __future__ import annotations

from com_trajectory.simplex_kernel import (
    MOST_PIVOTS,
    NOT_CONVERGED,
    PIVOT,
    PIVOTS_TO_REFACTOR,
    ZERO,
    Indices,
    maximise,
    refactor,
)
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

INSIDE, OUTSIDE = 0, 1

_MOST_REPAIRS = 60
_OUTSIDE = 1e-9  # distances below count as inside the cone


@compiled
def fill_generators(points: Array, rays: Array, origin: Array, G: Array) -> None:
    """Write the wrenches of unit forces at points, about the mean of the points.

    Args:
        points: (k, 3) [m].
        rays: directions of the forces at each point, (k, e, 3).
        origin: output, mean of the points, (3,) [m].
        G: output: force, then moment [m], in columns, (6, k e).
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
def start_at_artificial_basis(e: Array, basis: Indices, inverse: Array, x: Array, first: int) -> None:
    """Set the basis to the artificial columns: from column `first` on these are I, then −I."""
    rows = len(e)
    for i in range(rows):
        positive = e[i] >= 0.0
        basis[i] = first + i if positive else first + rows + i
        x[i] = abs(e[i])
        for k in range(rows):
            inverse[i, k] = 0.0
        inverse[i, i] = 1.0 if positive else -1.0


@compiled_part
def into_cone(
    M: Array, rays: int, at: Array, basis: Indices, inverse: Array, x: Array, work: Array, since: int
) -> tuple[int, int]:
    """Exchange basis rays by dual pivots until a vector is a non-negative combination of them.

    Args:
        M: columns as rows; the first `rays` are those of the cone.
        rays: number of rays of the cone.
        at: the vector, (rows,).
        basis: indices of rays, (rows,).
        inverse: of the basis, (rows, rows).
        x: output, coefficients, (rows,).
        work: see `workspace`; its first row receives the facet y, y · g ≤ 0 for all rays, that `at` violates.
        since: pivots since the last refactorisation.

    Returns:
        `INSIDE`, `OUTSIDE` or `NOT_CONVERGED`, and the pivots since the last refactorisation.
    """
    rows = len(at)
    for pivot in range(_MOST_REPAIRS):
        if since >= PIVOTS_TO_REFACTOR:
            if not refactor(M, at, basis, inverse, x, work):
                return NOT_CONVERGED, 0
            since = 0
        greedy = pivot < _MOST_REPAIRS // 2  # then Bland's rule, which cannot cycle
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
            if since > 0:  # the facet is computed with a fresh factorisation
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
    return NOT_CONVERGED, since


@compiled
def fill_distances(
    M: Array, cost: Array, W: Array, basis: Indices, inverse: Array, x: Array, work: Array, out: Array, proofs: Array
) -> None:
    """Write the distances of vectors W, (k, rows), from the cone of all columns but the last 2 rows; see `simplex`.

    Rays that contain one vector usually contain the next one too, at most a few dual pivots later.
    """
    rows = W.shape[1]
    rays = len(M) - 2 * rows
    known, since = False, 0
    for k in range(len(W)):
        out[k] = 0.0
        for i in range(rows):
            proofs[k, i] = 0.0
        if known:
            status, since = into_cone(M, rays, W[k], basis, inverse, x, work, since)
            if status == INSIDE:
                continue
        start_at_artificial_basis(W[k], basis, inverse, x, rays)
        maximise(M, W[k], basis, inverse, x, cost, len(M), work)
        known, since = True, 0
        for i in range(rows):
            known = known and basis[i] < rays
            out[k] -= cost[basis[i]] * max(x[i], 0.0)
            for j in range(rows):
                proofs[k, j] -= cost[basis[i]] * inverse[i, j]


@compiled
def least_step(
    G: Array,
    M: Array,
    costs: Array,
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

    The basis that contains one point usually contains the next one too, at most a few dual pivots later. Where a point
    is outside of the cone at the limit, the violated facet bounds κ: that bound is the next limit.

    Args:
        G: rays, (rows, rays).
        M: buffer for the rays and the artificial columns I and −I, as rows, (rays + 2 rows, rows).
        costs: buffer, (rays + 2 rows,).
        start: inside the cone, (k, rows); a ray that leaves it at once does not count.
        direction: (k, rows).
        limit: upper bound of the result.
        basis: buffer for the basis, (rows,).
        inverse: buffer for its inverse, (rows, rows).
        x: buffer for its values, (rows,).
        work: see `workspace`.
        at: buffer for a point, (rows,).
    """
    rows, rays = G.shape
    for j in range(rays + 2 * rows):
        costs[j] = 0.0 if j < rays else -1.0
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
            status = NOT_CONVERGED
            if known:
                status, since = into_cone(M, rays, at, basis, inverse, x, work, since)
            if status == NOT_CONVERGED:  # cold start; also where the cone is flat, so that no rays form a basis
                start_at_artificial_basis(at, basis, inverse, x, rays)
                maximise(M, at, basis, inverse, x, costs, len(M), work)
                known, since, outside = True, 0, 0.0
                for j in range(rows):
                    work[0, j] = 0.0
                for i in range(rows):
                    if basis[i] >= rays:
                        known = False
                        outside += max(x[i], 0.0)
                        for j in range(rows):
                            work[0, j] += inverse[i, j]
                status = OUTSIDE if outside > _OUTSIDE else INSIDE
            if status == INSIDE:
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
