"""Batches of small linear programs, each warm-started from the vertex of the previous one.

A general solver cold-starts each program and stops within a tolerance. An equilibrium region needs about thirty exact
corners, and a curve about a thousand tests of a wrench against a cone: both over a handful of rows that do not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from com_trajectory.cone_kernel import fill_distances, least_step
from com_trajectory.projection_kernel import NOT_BOUNDED, TOO_MANY_CORNERS, project
from com_trajectory.simplex_kernel import workspace
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError

_MOST_CORNERS = 2_000
_ANGLES = 0.1 + 0.5 * np.pi * np.arange(4)
_DIRECTIONS: Array = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])


def distances_to_cone(G: Array, W: Array) -> tuple[Array, Array]:
    """Return the distances of vectors from a cone, with their certificates.

    Args:
        G: rays, (rows, r).
        W: vectors, (k, rows).

    Returns:
        The least Σ|W_i − G β| over β ≥ 0, (k,), 0 inside; and y, (k, rows), with y G ≤ 0, |y_i| ≤ 1 and
        y · W = distance.
    """
    rows, rays = G.shape
    M = np.vstack([G.T, np.eye(rows), -np.eye(rows)])
    cost = np.concatenate([np.zeros(rays), np.full(2 * rows, -1.0)])
    distances, proofs = np.empty(len(W)), np.empty((len(W), rows))
    fill_distances(M, cost, np.ascontiguousarray(W), *_corner(rows), workspace(rows), distances, proofs)
    return distances, proofs


def least_step_inside(G: Array, start: Array, direction: Array, limit: float) -> float:
    """Return the largest step κ for which all start + κ direction stay in a cone, except rays that leave it at once.

    Args:
        G: rays, (rows, r).
        start: inside the cone, (k, rows), contiguous.
        direction: (k, rows), contiguous.
        limit: upper bound of the result.
    """
    rows, rays = G.shape
    M, costs = np.empty((rays + 2 * rows, rows)), np.empty(rays + 2 * rows)
    buffers = (*_corner(rows), workspace(rows), np.empty(rows))
    return float(least_step(G, M, costs, start, direction, limit, *buffers))


def projected_polygon(M: Array, e: Array, places: Array) -> Array | None:
    """Return the projection of the polytope {x ≥ 0 : M x = e}, of few rows and many columns, onto a plane.

    Args:
        M: (rows, n), contiguous.
        e: (rows,).
        places: projection of each column on the plane, (n, 2), contiguous.

    Returns:
        Its corners, counterclockwise, (k, 2): none if the polytope is empty, 1 for a point, 2 for a segment. None if it
        is unbounded.

    Raises:
        MultiQpError: it has more corners than the buffer holds.
    """
    rows, n = M.shape
    corners, waiting = np.empty((2, _MOST_CORNERS, 2))
    buffers = (*_corner(rows), np.empty(n + rows), workspace(rows), waiting, corners)
    count = project(M, e.copy(), np.empty((n + rows, rows)), places, _DIRECTIONS, *buffers)
    if count == NOT_BOUNDED:
        return None
    if count == TOO_MANY_CORNERS:
        raise MultiQpError(f"equilibrium: the region has more than {_MOST_CORNERS} corners")
    return corners[: max(count, 0)].copy()


def _corner(rows: int) -> tuple[NDArray[np.int64], Array, Array]:
    """Return buffers for a basis, its inverse and its values."""
    return np.empty(rows, dtype=np.int64), np.empty((rows, rows)), np.empty(rows)
