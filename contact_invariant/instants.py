"""Residuals at many instants of a spline motion: their cost, and the normal equations of its knots."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from contact_invariant.batch_function import BatchFunction
from contact_invariant.least_squares import KnotMap, LocalBlocks, NormalBlocks
from contact_invariant.squares import SquaresOfJacobian
from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array, Indices

#: Power of the duration of a piece in each entry of `spline_basis`.
_POWERS = np.array([[0, 1, 0, 1], [-1, 0, -1, 0], [-2, -1, -2, -1]])


def spline_basis(u: Array, T: Array) -> Array:
    """Return the weights of x_0, ẋ_0, x_1, ẋ_1 in value and two derivatives of cubics, (W, S, 3, 4).

    Args:
        u: places between the knots, 0..1, (S,).
        T: time between the knots of each piece, (W,) [s].
    """
    one = np.ones_like(u)
    value = [2 * u**3 - 3 * u**2 + 1, u**3 - 2 * u**2 + u, -2 * u**3 + 3 * u**2, u**3 - u**2]
    first = [6 * u**2 - 6 * u, 3 * u**2 - 4 * u + one, -6 * u**2 + 6 * u, 3 * u**2 - 2 * u]
    second = [12 * u - 6, 6 * u - 4, 6 - 12 * u, 6 * u - 2]
    of_one_second = np.stack([np.stack(row, axis=1) for row in (value, first, second)], axis=1)
    return np.asarray(of_one_second * T[:, None, None, None] ** _POWERS)


class Instants:
    """A residual function evaluated at all instants of one kind.

    Its variables y are x, ẋ, ẍ, logits a of the contact variables, and local variables. JᵀJ is a symbolic expression:
    most rows depend on few variables. If durations are free, each window has a variable τ: its piece lasts e^τ times as
    long, and counts the same.
    """

    def __init__(
        self,
        symbols: tuple[Any, Any, Any],
        places: tuple[Array, float],
        windows: Indices,
        sizes: tuple[int, int, int, int],
        local: int,
    ) -> None:
        """Prepare the functions; they are built when they are called first.

        Args:
            symbols: variables y, weights, residuals.
            places: of the instants between the knots of a piece, 0..1, (S,), and its duration where τ = 0 [s].
            windows: indices of x_0, ẋ_0, a, τ if durations are free, x_1, ẋ_1 of each piece, (W, 4 n + N + D).
            sizes: number of features n, of logits N, of local variables, and D, 1 if durations are free, else 0.
            local: index of the first local variable.
        """
        self._symbols, self._places, self._windows, self._sizes, self._local = symbols, places, windows, sizes, local
        self._n = len(windows) * len(places[0])

    @cached_property
    def _residual(self) -> BatchFunction:
        y, weight, r = self._symbols
        return BatchFunction(ca.Function("r", [y, weight], [ca.densify(r)]), self._n)

    @cached_property
    def _squares_of_jacobian(self) -> SquaresOfJacobian:
        return SquaresOfJacobian(self._symbols, self._sizes[2], self._n)

    @property
    def count(self) -> int:
        """Number of instants."""
        return self._n

    def _split(self, window: Array) -> tuple[Array, Array, Array]:
        """Return x_0, ẋ_0, x_1, ẋ_1 of windows, (W, 1, 4, n), their logits, (W, N), and e^τ, (W,)."""
        n, N, _, free = self._sizes
        knots = np.hstack([window[:, : 2 * n], window[:, 2 * n + N + free :]]).reshape(-1, 1, 4, n)
        factors = np.exp(window[:, 2 * n + N]) if free else np.ones(len(window))
        return knots, window[:, 2 * n : 2 * n + N], factors

    def _basis(self, factors: Array) -> Array:
        places, duration = self._places
        return spline_basis(places, duration * factors)

    def _variables(self, window: Array, local: Array) -> Array:
        """Return y of each instant, (m, size)."""
        knots, a, factors = self._split(window)
        motion = np.matmul(self._basis(factors), knots).reshape(-1, 3 * self._sizes[0])
        a = np.repeat(a, len(motion) // len(window), axis=0)
        return np.hstack([motion, a, local.reshape(len(motion), -1)])

    def residuals(self, z: Array, weights: Array) -> Array:
        """Return the residuals of each instant, (m, rows), for weights of all instants, (k,), or of each, (m, k)."""
        window = z[self._windows]
        return self._residuals(window, z[self._local :] if self._sizes[2] else z[:0], weights).copy()

    def _residuals(self, window: Array, local: Array, weights: Array) -> Array:
        y = self._variables(window, local)
        return self._residual(y, np.broadcast_to(weights, (len(y), weights.shape[-1])))[0]

    def differences(self, z: Array, weights: Array, step: float) -> tuple[float, Array]:
        """Return the cost and its gradient by central differences, (size of z,).

        Only what depends on a variable is evaluated again: the same one of all windows, or of all instants, at a time.
        """
        own, gradient = self._sizes[2], np.zeros(len(z))
        window, local = z[self._windows], (z[self._local :] if own else z[:0]).reshape(self._n, own)
        scale = 0.25 / step
        for k in range(window.shape[1]):
            shift = np.zeros(window.shape[1])
            shift[k] = step
            change = self._squares(window + shift, local, weights) - self._squares(window - shift, local, weights)
            np.add.at(gradient, self._windows[:, k], scale * change.reshape(len(window), -1).sum(axis=1))
        for k in range(own):
            shift = np.zeros(own)
            shift[k] = step
            change = self._squares(window, local + shift, weights) - self._squares(window, local - shift, weights)
            gradient[self._local + k :: own] += scale * change
        return 0.5 * float(self._squares(window, local, weights).sum()), gradient

    def _squares(self, window: Array, local: Array, weights: Array) -> Array:
        """Return the sum of squares of each instant, (m,)."""
        r = self._residuals(window, local, weights)
        return np.einsum("ij,ij->i", r, r)

    def normal_equations(self, z: Array, weights: Array) -> tuple[float, NormalBlocks]:
        """Return half the sum of squares, JᵀJ and Jᵀr, with respect to motion and local variables."""
        own, form, window = self._sizes[2], self._squares_of_jacobian, z[self._windows]
        y = self._variables(window, z[self._local :] if own else z[:0])
        found = form(y, np.broadcast_to(weights, (len(y), weights.shape[-1])))
        first = self._local + own * np.arange(self._n)
        local = LocalBlocks(first, form.depending, found.mixed, found.D) if own else None
        return found.cost, NormalBlocks(form.pairs, found.H, found.b, self._map(window), local)

    def _map(self, window: Array) -> KnotMap:
        """Return x, ẋ, ẍ and a of each instant by x_0, ẋ_0, x_1, ẋ_1 and τ if durations are free, or by a."""
        n, N, _, free = self._sizes
        places, _, factors = self._split(window)
        basis = self._basis(factors)
        W, S = basis.shape[:2]
        of_x, a = np.arange(3 * n), 3 * n + np.arange(N)
        columns = np.concatenate([of_x if free else of_x // n, np.full(N, 3 * n if free else 3)])
        knots, weights = np.zeros((4 + free, 3 * n + N), dtype=np.intp), np.zeros((W, S, 4 + free, columns[-1] + 1))
        begins = np.array([0, n, 2 * n + N + free, 3 * n + N + free])
        knots[:4, of_x] = begins[:, None] + of_x % n
        weights[:, :, :4, :-1] = basis.transpose(0, 1, 3, 2)[..., of_x // n if free else np.arange(3)]
        if free:
            knots[4] = 2 * n + N
            weights[:, :, 4, :-1] = np.matmul(_POWERS * basis, places).reshape(W, S, 3 * n)
        knots[:, a], weights[:, :, 0, -1] = 2 * n + np.arange(N), 1.0  # the other weights are zero
        return KnotMap(self._windows[:, knots], weights, columns)
