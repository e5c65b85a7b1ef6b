"""Small linear programs, many of them, each from the corner where the last one ended.

A general solver starts each program anew and stops within a tolerance. The corners of an equilibrium region are wanted
exactly and thirty at a time, and a curve asks of a thousand wrenches whether some contacts can exert them: both over a
handful of rows that do not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from com_trajectory.cone_kernel import fill_distances, least_step
from com_trajectory.shadow_kernel import TOO_MANY, WITHOUT_END, shadow
from com_trajectory.simplex_kernel import workspace
from multi_qp_scene.errors import MultiQpError

Array = NDArray[np.float64]

_MOST_CORNERS = 2_000
_ANGLES = 0.1 + 0.5 * np.pi * np.arange(4)
_DIRECTIONS: Array = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])


def distances_to_cone(G: Array, W: Array) -> tuple[Array, Array]:
    """Return how far vectors are from a cone, and what proves it.

    Args:
        G: generators, (rows, r).
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
    """Return how far all rays start + κ direction stay inside a cone, but for those that leave it at once.

    Args:
        G: generators, (rows, r).
        start: inside the cone, (k, rows), contiguous.
        direction: (k, rows), contiguous.
        limit: the answer is not to be larger than this.
    """
    rows, rays = G.shape
    M, helpers = np.empty((rays + 2 * rows, rows)), np.empty(rays + 2 * rows)
    room = (*_corner(rows), workspace(rows), np.empty(rows))
    return float(least_step(G, M, helpers, start, direction, limit, *room))


def shadow_polygon(M: Array, e: Array, places: Array) -> Array | None:
    """Return the shadow of the polytope {x ≥ 0 : M x = e}, of few rows and many columns, on a plane.

    Args:
        M: (rows, n), contiguous.
        e: (rows,).
        places: shadow of each column on the plane, (n, 2), contiguous.

    Returns:
        Its corners, counterclockwise, (k, 2): none if the polytope is empty, 1 for a point, 2 for a segment. None if it
        has no end.

    Raises:
        MultiQpError: it has more corners than there is room for.
    """
    rows, n = M.shape
    corners, waiting = np.empty((2, _MOST_CORNERS, 2))
    room = (*_corner(rows), np.empty(n + rows), workspace(rows), waiting, corners)
    count = shadow(M, e.copy(), np.empty((n + rows, rows)), places, _DIRECTIONS, *room)
    if count == WITHOUT_END:
        return None
    if count == TOO_MANY:
        raise MultiQpError(f"equilibrium: the region has more than {_MOST_CORNERS} corners")
    return corners[: max(count, 0)].copy()


def _corner(rows: int) -> tuple[NDArray[np.int64], Array, Array]:
    """Return room for a basis, its inverse and its values."""
    return np.empty(rows, dtype=np.int64), np.empty((rows, rows)), np.empty(rows)
