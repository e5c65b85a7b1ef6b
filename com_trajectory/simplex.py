"""Small linear programs, many of them, each from the corner where the last one ended.

A general solver starts each program anew and stops within a tolerance. The corners of an equilibrium region are wanted
exactly and thirty at a time, and a curve asks of a thousand wrenches whether some contacts can exert them: both over a
handful of rows that do not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from com_trajectory.simplex_kernel import (
    UNBOUNDED,
    climb,
    fill_distances,
    least_step,
    workspace,
)

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
    M, helpers = np.zeros((rays + 1 + 2 * rows, rows)), np.zeros(rays + 1 + 2 * rows)
    M[:rays], helpers[rays + 1 :] = G.T, -1.0
    ones = M.ravel()[(rays + 1) * rows :]
    ones[: rows * rows : rows + 1], ones[rows * rows :: rows + 1] = 1.0, -1.0
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

    def __init__(self, M: Array, e: Array, places: Array) -> None:
        """Find a first corner.

        Args:
            M: (rows, n).
            e: (rows,).
            places: shadow of each column on a plane, (n, 2).
        """
        rows, self._n = M.shape
        signs = np.where(e < 0.0, -1.0, 1.0)
        self._inverse = np.eye(rows)
        self._M = np.empty((self._n + rows, rows))
        np.multiply(M.T, signs, out=self._M[: self._n])
        self._M[self._n :] = self._inverse  # one helper a row makes the first corner
        self._e, self._work = e * signs, workspace(rows)
        self._basis = np.arange(self._n, self._n + rows)
        self._x = self._e.copy()
        helpers, self._places = np.zeros(self._n + rows), np.zeros((self._n + rows, 2))
        helpers[self._n :], self._places[: self._n] = -1.0, places
        self._run(helpers, self._n + rows)
        remain = self._basis >= self._n
        self.feasible = not remain.any() or float(self._x[remain].sum()) <= 1e-9 * max(1.0, float(self._e.max()))
        if self.feasible and remain.any():
            self._expel_helpers()

    def furthest(self, along: float, across: float) -> tuple[float, float]:
        """Return where the polytope's shadow is furthest along a direction of the plane.

        Args:
            along: first component of the direction.
            across: second component.

        Raises:
            UnboundedError: there is no such corner.
        """
        if self._run(self._places @ (along, across), self._n) == UNBOUNDED:
            raise UnboundedError
        x, y = (np.maximum(self._x, 0.0) @ self._places[self._basis]).tolist()
        return x, y

    def _run(self, cost: Array, columns: int) -> int:
        """Climb by a cost, (n + rows,), over the first columns."""
        return int(climb(self._M, self._e, self._basis, self._inverse, self._x, cost, columns, self._work))

    def _expel_helpers(self) -> None:
        """Swap helpers that are still in the basis, at zero, for columns; a row where that fails says nothing."""
        for row in np.flatnonzero(self._basis >= self._n):
            steps = np.abs(self._M[: self._n] @ self._inverse[row])
            steps[self._basis[self._basis < self._n]] = 0.0
            if steps.max() > 1e-7:
                self._basis[row] = int(np.argmax(steps))
                self._inverse[:] = np.linalg.inv(self._M[self._basis].T)
                self._x[:] = self._inverse @ self._e
