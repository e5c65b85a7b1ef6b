"""Small linear programs, many of them, each from the corner where the last one ended.

A general solver starts each program anew and stops within a tolerance. The corners of an equilibrium region are wanted
exactly and thirty at a time, and a curve asks of a thousand wrenches whether some contacts can exert them: both over a
handful of rows that do not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from com_trajectory.simplex_kernel import UNBOUNDED, climb, fill_distances, least_step, refactor, workspace

Array = NDArray[np.float64]


class UnboundedError(Exception):
    """The function grows for ever inside the polytope."""


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
        start: inside the cone, (k, rows).
        direction: (k, rows).
        limit: the answer is not to be larger than this.
    """
    rows, rays = G.shape
    M = np.vstack([G.T, np.zeros(rows), np.eye(rows), -np.eye(rows)])
    helpers = np.concatenate([np.zeros(rays + 1), np.full(2 * rows, -1.0)])
    furthest = 1e6 * helpers  # helpers that remain are at zero; a large penalty keeps them there
    furthest[rays] = 1.0
    start, direction = np.ascontiguousarray(start), np.ascontiguousarray(direction)
    return float(
        least_step(M, helpers, furthest, start, direction, limit, *_corner(rows), workspace(rows), np.empty(rows))
    )


def _corner(rows: int) -> tuple[NDArray[np.int64], Array, Array]:
    """Return room for a basis, its inverse and its values."""
    return np.empty(rows, dtype=np.int64), np.empty((rows, rows)), np.empty(rows)


class CornerSearch:
    """The polytope {x ≥ 0 : M x = e} of few rows and many columns, standing at one of its corners.

    Attributes:
        feasible: whether the polytope holds a point.
    """

    def __init__(self, M: Array, e: Array) -> None:
        """Find a first corner.

        Args:
            M: (rows, n).
            e: (rows,).
        """
        rows, self._n = M.shape
        signs = np.where(e < 0.0, -1.0, 1.0)
        self._M = np.vstack([(M * signs[:, None]).T, np.eye(rows)])  # one helper a row makes the first corner
        self._e, self._work = e * signs, workspace(rows)
        self._basis = np.arange(self._n, self._n + rows)
        self._inverse, self._x = np.eye(rows), self._e.copy()
        helpers = np.concatenate([np.zeros(self._n), -np.ones(rows)])
        self._run(helpers, self._n + rows)
        left = float(-helpers[self._basis] @ self._x)
        self.feasible = left <= 1e-9 * max(1.0, float(np.abs(e).max()))
        if self.feasible:
            self._expel_helpers()

    def maximise(self, cost: Array) -> Array:
        """Return a corner at which cost · x is largest, (n,).

        Args:
            cost: (n,).

        Raises:
            UnboundedError: there is none.
        """
        if self._run(np.concatenate([cost, np.zeros(len(self._e))]), self._n) == UNBOUNDED:
            raise UnboundedError
        x = np.zeros(len(self._M))
        x[self._basis] = np.maximum(self._x, 0.0)
        return x[: self._n]

    def _run(self, cost: Array, columns: int) -> int:
        return int(climb(self._M, self._e, self._basis, self._inverse, self._x, cost, columns, self._work))

    def _expel_helpers(self) -> None:
        """Swap helpers that are still in the basis, at zero, for columns; a row where that fails says nothing."""
        for row in np.flatnonzero(self._basis >= self._n):
            steps = np.abs(self._M[: self._n] @ self._inverse[row])
            steps[self._basis[self._basis < self._n]] = 0.0
            if steps.max() > 1e-7:
                self._basis[row] = int(np.argmax(steps))
                refactor(self._M, self._e, self._basis, self._inverse, self._x, self._work)
