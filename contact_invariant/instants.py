"""Residuals at many instants of a spline motion: their cost, and the normal equations of its knots."""

from __future__ import annotations

from typing import Any

import numpy as np

from contact_invariant.batch_function import BatchFunction
from contact_invariant.least_squares import NormalBlocks
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
        """Build the functions.

        Args:
            symbols: variables y, weights, residuals.
            places: of the instants between the knots of a piece, 0..1, (S,), and its duration where τ = 0 [s].
            windows: indices of x_0, ẋ_0, a, τ if durations are free, x_1, ẋ_1 of each piece, (W, 4 n + N + D).
            sizes: number of features n, of logits N, of local variables, and D, 1 if durations are free, else 0.
            local: index of the first local variable.
        """
        y, weight, r = symbols
        self._places, self._windows, self._sizes, self._local = places, windows, sizes, local
        self._n = len(windows) * len(places[0])
        J = ca.jacobian(r, y)
        H = ca.tril(J.T @ J)
        normal = ca.Function("n", [y, weight], [ca.sumsqr(r), H, ca.densify(J.T @ r)])
        self._residual = BatchFunction(ca.Function("r", [y, weight], [ca.densify(r)]), self._n)
        self._normal = BatchFunction(normal, self._n)
        self._scatter(np.array(H.sparsity().get_triplet(), dtype=np.intp))

    @property
    def count(self) -> int:
        """Number of instants."""
        return self._n

    def _scatter(self, where: Indices) -> None:
        """Prepare the places of the entries of JᵀJ in blocks (i, k, p, q) of motion and (row, column) of the rest."""
        n, N, own, _ = self._sizes
        rows, columns = where
        rows, columns = np.append(rows, columns), np.append(columns, rows)
        entries = np.tile(np.arange(len(where[0])), 2)
        m, size = 3 * n, N + own
        both, mixed, rest = (
            (rows < m) & (columns < m),
            (rows < m) & (columns >= m),
            (rows >= m) & (columns >= m),
        )
        i, p, k, q = rows // n, rows % n, columns // n, columns % n
        self._motion = (((i * 3 + k) * n + p) * n + q)[both], entries[both]
        self._mixed = (rows * size + columns - m)[mixed], entries[mixed]
        self._rest = ((rows - m) * size + columns - m)[rest], entries[rest]

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
        """Return half the sum of squares, JᵀJ and Jᵀr, with respect to knots and local variables."""
        n, N, own, free = self._sizes
        W, S = len(self._windows), len(self._places[0])
        window = z[self._windows]
        places, _, factors = self._split(window)
        basis, y = self._basis(factors), self._variables(window, z[self._local :] if own else z[:0])
        squares, entries, gradient = self._normal(y, np.broadcast_to(weights, (len(y), weights.shape[-1])))
        found = []
        for size, (where, source) in (
            (9 * n * n, self._motion),
            (3 * n * (N + own), self._mixed),
            ((N + own) ** 2, self._rest),
        ):
            found.append(np.zeros((self._n, size)))
            found[-1][:, where] = entries[:, source]
        motion = found[0]
        mixed, rest = found[1].reshape(W, S, 3 * n, N + own), found[2].reshape(W, S, N + own, N + own)
        g, m = 4 * n + N + free, 3 * n
        knots = np.concatenate([np.arange(2 * n), np.arange(2 * n + N + free, g)])
        logits = np.arange(2 * n, 2 * n + N)
        A, b, cross = np.zeros((W, g, g)), np.zeros((W, g)), np.zeros((W, S, g, own))
        pairs = np.einsum("wuij,wukl->wjluik", basis, basis).reshape(W, 16, 9 * S)
        both = np.matmul(pairs, motion.reshape(W, 9 * S, n * n)).reshape(W, 4, 4, n, n)
        A[:, knots[:, None], knots] = both.transpose(0, 1, 3, 2, 4).reshape(W, 4 * n, 4 * n)
        singles = basis.transpose(0, 3, 1, 2).reshape(W, 4, 3 * S)
        with_a = mixed[..., :N].reshape(W, 3 * S, n * N)
        A[:, knots[:, None], logits] = np.matmul(singles, with_a).reshape(W, 4 * n, N)
        A[:, logits[:, None], knots] = A[:, knots[:, None], logits].transpose(0, 2, 1)
        A[:, logits[:, None], logits] = rest[..., :N, :N].sum(axis=1)
        b[:, knots] = np.matmul(singles, gradient[:, :m].reshape(W, 3 * S, n)).reshape(W, -1)
        b[:, logits] = gradient[:, m : m + N].reshape(W, S, N).sum(axis=1)
        turned = basis.transpose(0, 1, 3, 2)
        cross[:, :, knots] = np.matmul(turned, mixed[..., N:].reshape(W, S, 3, n * own)).reshape(W, S, 4 * n, own)
        cross[:, :, logits] = rest[..., :N, N:]
        if free:
            tau = 2 * n + N
            d = np.matmul(_POWERS * basis, places).reshape(W, S, m)  # derivative of x, ẋ, ẍ with respect to τ
            Hd = np.einsum("sikpq,skq->sip", motion.reshape(-1, 3, 3, n, n), d.reshape(-1, 3, n)).reshape(W, S, m)
            on_rest = np.einsum("wsm,wsmk->wsk", d, mixed)
            A[:, tau, knots] = A[:, knots, tau] = np.matmul(singles, Hd.reshape(W, 3 * S, n)).reshape(W, -1)
            A[:, tau, logits] = A[:, logits, tau] = on_rest[..., :N].sum(axis=1)
            A[:, tau, tau] = np.einsum("wsm,wsm->w", d, Hd)
            b[:, tau] = np.einsum("wsm,wsm->w", d, gradient[:, :m].reshape(W, S, m))
            cross[:, :, tau] = on_rest[..., N:]
        local = self._local + own * np.arange(self._n).reshape(W, S)
        blocks = NormalBlocks(
            self._windows, A, b, local, cross, rest[..., N:, N:], gradient[:, m + N :].reshape(W, S, own)
        )
        return 0.5 * float(squares.sum()), blocks
