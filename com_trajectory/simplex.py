"""Small linear programs, many of them, each from the corner where the last one ended; compiled.

A general solver starts each program anew and stops within a tolerance. The corners of an equilibrium region
are wanted exactly and
thirty at a time, and a curve asks of a thousand wrenches whether some contacts can exert them: both over a
handful of rows
that do not change. This is the revised simplex method with an explicit inverse, which suits six rows.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_ZERO = 1e-11  # gains below it are none
_PIVOT = 1e-9  # steps below it would make the basis singular
_MOST_PIVOTS = 2_000
_GREEDY_PIVOTS = 100  # after so many the rule of Bland takes over, which cannot cycle
_PIVOTS_TO_REFACTOR = 25  # products of elementary matrices lose digits
_OPTIMAL, _UNBOUNDED, _GIVEN_UP = 0, 1, 2


class UnboundedError(Exception):
    """The function grows for ever inside the polytope."""


def _compiled(function: Any) -> Any:
    return numba.njit(cache=True)(function)


@_compiled
def _refactor(M: Array, e: Array, basis: Indices, inverse: Array, x: Array) -> bool:
    """Invert the basis anew, by Gauss and Jordan with row pivots; return whether it could be inverted."""
    rows = len(e)
    left = np.empty((rows, rows))
    right = np.zeros((rows, rows))
    for k in range(rows):
        for i in range(rows):
            left[i, k] = M[i, basis[k]]
        right[k, k] = 1.0
    for k in range(rows):
        pivot = k
        for i in range(k + 1, rows):
            if abs(left[i, k]) > abs(left[pivot, k]):
                pivot = i
        if abs(left[pivot, k]) < 1e-13:
            return False
        for j in range(rows):
            left[k, j], left[pivot, j] = left[pivot, j], left[k, j]
            right[k, j], right[pivot, j] = right[pivot, j], right[k, j]
        scale = left[k, k]
        for j in range(rows):
            left[k, j] /= scale
            right[k, j] /= scale
        for i in range(rows):
            if i != k and left[i, k] != 0.0:
                share = left[i, k]
                for j in range(rows):
                    left[i, j] -= share * left[k, j]
                    right[i, j] -= share * right[k, j]
    inverse[:] = right
    for k in range(rows):
        total = 0.0
        for i in range(rows):
            total += inverse[k, i] * e[i]
        x[k] = total
    return True


@_compiled
def _climb(M: Array, e: Array, basis: Indices, inverse: Array, x: Array, cost: Array, columns: int) -> int:
    """Go from corner to corner upwards; basis, inverse and x follow. Columns from `columns` on stay out."""
    rows = len(e)
    prices = np.empty(rows)
    step = np.empty(rows)
    used = np.zeros(M.shape[1], dtype=np.bool_)
    for k in range(rows):
        used[basis[k]] = True
    since = 0
    for pivot in range(_MOST_PIVOTS):
        greedy = pivot < _GREEDY_PIVOTS
        for i in range(rows):
            total = 0.0
            for k in range(rows):
                total += cost[basis[k]] * inverse[k, i]
            prices[i] = total
        entering, best = -1, _ZERO
        for j in range(columns):
            if used[j]:
                continue
            gain = cost[j]
            for i in range(rows):
                gain -= prices[i] * M[i, j]
            if gain > best:
                entering, best = j, gain
                if not greedy:
                    break
        if entering < 0:
            if since > 0 and not _refactor(M, e, basis, inverse, x):
                return _GIVEN_UP
            return _OPTIMAL
        for k in range(rows):
            total = 0.0
            for i in range(rows):
                total += inverse[k, i] * M[i, entering]
            step[k] = total
        leaving, ratio = -1, np.inf
        for k in range(rows):
            if step[k] > _PIVOT:
                own = max(x[k], 0.0) / step[k]
                if leaving < 0 or own < ratio - 1e-14:
                    leaving, ratio = k, own
                elif own <= ratio + 1e-14:  # among equals: the best conditioned, or Bland's
                    better = step[k] > step[leaving] if greedy else basis[k] < basis[leaving]
                    if better:
                        leaving, ratio = k, min(own, ratio)
        if leaving < 0:
            return _UNBOUNDED
        used[basis[leaving]] = False
        used[entering] = True
        basis[leaving] = entering
        since += 1
        if since >= _PIVOTS_TO_REFACTOR or abs(step[leaving]) < 1e-6:
            if not _refactor(M, e, basis, inverse, x):
                return _GIVEN_UP
            since = 0
            continue
        for i in range(rows):
            inverse[leaving, i] /= step[leaving]
        x[leaving] /= step[leaving]
        for k in range(rows):
            if k != leaving and step[k] != 0.0:
                for i in range(rows):
                    inverse[k, i] -= step[k] * inverse[leaving, i]
                x[k] -= step[k] * x[leaving]
    return _GIVEN_UP


@_compiled
def distances_to_cone(G: Array, W: Array) -> tuple[Array, Array]:
    """Return how far vectors are from a cone, and what proves it.

    Args:
        G: generators, (rows, r).
        W: vectors, (k, rows).

    Returns:
        The least Σ|W_i − G β| over β ≥ 0, (k,), 0 inside; and y, (k, rows), with y G ≤ 0, |y_i| ≤ 1 and y ·
        W = distance.
    """
    rows, rays = G.shape
    M = np.zeros((rows, rays + 2 * rows))
    M[:, :rays] = G
    cost = np.zeros(rays + 2 * rows)
    for i in range(rows):
        M[i, rays + i] = 1.0
        M[i, rays + rows + i] = -1.0
        cost[rays + i] = cost[rays + rows + i] = -1.0
    distance = np.empty(len(W))
    proofs = np.zeros((len(W), rows))
    basis = np.empty(rows, dtype=np.int64)
    inverse = np.empty((rows, rows))
    x = np.empty(rows)
    for k in range(len(W)):
        e = W[k].copy()
        inverse[:] = 0.0
        for i in range(rows):
            positive = e[i] >= 0.0
            basis[i] = rays + i if positive else rays + rows + i
            inverse[i, i] = 1.0 if positive else -1.0
            x[i] = abs(e[i])
        _climb(M, e, basis, inverse, x, cost, rays + 2 * rows)
        total = 0.0
        for i in range(rows):
            total -= cost[basis[i]] * max(x[i], 0.0)
            for j in range(rows):
                proofs[k, j] -= cost[basis[i]] * inverse[i, j]
        distance[k] = total
    return distance, proofs


@_compiled
def longest_steps(G: Array, start: Array, direction: Array) -> Array:
    """Return how far each ray start + κ direction, κ ≥ 0, stays inside a cone.

    Args:
        G: generators, (rows, r).
        start: (k, rows).
        direction: (k, rows).

    Returns:
        The largest κ of each, (k,); inf where there is none, −1 where no κ ≥ 0 at all is inside.
    """
    rows, rays = G.shape
    n = rays + 1
    M = np.zeros((rows, n + 2 * rows))
    M[:, :rays] = G
    helpers = np.zeros(n + 2 * rows)
    for i in range(rows):
        M[i, n + i] = 1.0
        M[i, n + rows + i] = -1.0
        helpers[n + i] = helpers[n + rows + i] = -1.0
    furthest = np.zeros(n + 2 * rows)
    furthest[rays] = 1.0
    result = np.empty(len(start))
    basis = np.empty(rows, dtype=np.int64)
    inverse = np.empty((rows, rows))
    x = np.empty(rows)
    for k in range(len(start)):
        e = start[k].copy()
        length = np.sqrt((direction[k] ** 2).sum())
        M[:, rays] = -direction[k] / max(length, 1e-300)  # of unit length, as the rays are
        inverse[:] = 0.0
        for i in range(rows):
            positive = e[i] >= 0.0
            basis[i] = n + i if positive else n + rows + i
            inverse[i, i] = 1.0 if positive else -1.0
            x[i] = abs(e[i])
        _climb(M, e, basis, inverse, x, helpers, n + 2 * rows)
        outside = 0.0
        for i in range(rows):
            if basis[i] >= n:
                outside += max(x[i], 0.0)
        if outside > 1e-9:
            result[k] = -1.0
            continue
        if length < 1e-12:
            result[k] = np.inf
            continue
        # helpers that remain are at zero; a large penalty keeps them there
        penalised = furthest + 1e6 * helpers
        if _climb(M, e, basis, inverse, x, penalised, n) == _UNBOUNDED:
            result[k] = np.inf
            continue
        result[k] = 0.0
        for i in range(rows):
            if basis[i] == rays:
                result[k] = max(x[i], 0.0) / max(length, 1e-300)
    return result


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
        self._M = np.hstack([M * signs[:, None], np.eye(rows)])  # one helper a row makes the first corner
        self._e = e * signs
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
        if self._run(np.concatenate([cost, np.zeros(len(self._e))]), self._n) == _UNBOUNDED:
            raise UnboundedError
        x = np.zeros(self._M.shape[1])
        x[self._basis] = np.maximum(self._x, 0.0)
        return x[: self._n]

    def _run(self, cost: Array, columns: int) -> int:
        return int(_climb(self._M, self._e, self._basis, self._inverse, self._x, cost, columns))

    def _expel_helpers(self) -> None:
        """Swap helpers that are still in the basis, at zero, for columns; a row where that fails says nothing."""
        for row in np.flatnonzero(self._basis >= self._n):
            steps = np.abs(self._inverse[row] @ self._M[:, : self._n])
            steps[self._basis[self._basis < self._n]] = 0.0
            if steps.max() > 1e-7:
                self._basis[row] = int(np.argmax(steps))
                _refactor(self._M, self._e, self._basis, self._inverse, self._x)
