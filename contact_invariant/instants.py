"""Residuals at many instants of a spline motion: their cost, and the normal equations of its knots."""

from __future__ import annotations

from typing import Any

import numpy as np

from contact_invariant.least_squares import NormalBlocks
from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array, Indices


def spline_basis(u: Array, T: float) -> Array:
    """Return the weights of x_0, ẋ_0, x_1, ẋ_1 in value and two derivatives of a cubic, (m, 3, 4).

    Args:
        u: places between the knots, 0..1, (m,).
        T: time between the knots [s].
    """
    one, zero = np.ones_like(u), np.zeros_like(u)
    value = [2 * u**3 - 3 * u**2 + 1, T * (u**3 - 2 * u**2 + u), -2 * u**3 + 3 * u**2, T * (u**3 - u**2)]
    first = [(6 * u**2 - 6 * u) / T, 3 * u**2 - 4 * u + one, (-6 * u**2 + 6 * u) / T, 3 * u**2 - 2 * u]
    second = [(12 * u - 6) / T**2, (6 * u - 4) / T, (6 - 12 * u) / T**2, (6 * u - 2) / T + zero]
    return np.stack([np.stack(row, axis=1) for row in (value, first, second)], axis=1)


class _Buffered:
    """A CasADi function called with numpy arrays as its memory, without conversions."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._buffer, self._call = function.buffer()
        self._inputs = [np.zeros(function.nnz_in(k)) for k in range(function.n_in())]
        self._outputs = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
        for k, array in enumerate(self._inputs):
            self._buffer.set_arg(k, array.data)
        for k, array in enumerate(self._outputs):
            self._buffer.set_res(k, array.data)

    def __call__(self, *arguments: Array) -> list[Array]:
        """Return the nonzero entries of each result; valid until the next call."""
        for array, argument in zip(self._inputs, arguments, strict=True):
            array[:] = argument.ravel()
        self._call()
        return self._outputs


class Instants:
    """A residual function evaluated at all instants of one kind.

    Its variables y are x, ẋ, ẍ, logits a of the contact variables, and local variables. JᵀJ is a symbolic expression:
    most rows depend on few variables.
    """

    def __init__(
        self, y: Any, weight: Any, r: Any, basis: Array, windows: Indices, sizes: tuple[int, int, int], local: int
    ) -> None:
        """Build the functions.

        Args:
            y: symbolic variables.
            weight: symbolic weights.
            r: residuals.
            basis: spline weights of the instants of a piece, the same in all pieces, (S, 3, 4).
            windows: indices of x_0, ẋ_0, a, x_1, ẋ_1 of each piece, (W, 4 n + N).
            sizes: number of features n, of logits N, and of local variables.
            local: index of the first local variable.
        """
        self._basis, self._windows, self._sizes, self._local = basis, windows, sizes, local
        self._n, count = len(windows) * len(basis), r.numel()
        J = ca.jacobian(r, y)
        H = ca.tril(J.T @ J)
        self._residual = _Buffered(ca.Function("r", [y, weight], [r]).map(self._n))
        self._normal = _Buffered(ca.Function("n", [y, weight], [ca.sumsqr(r), H, ca.densify(J.T @ r)]).map(self._n))
        self._count = count
        self._scatter(np.array(H.sparsity().get_triplet(), dtype=np.intp))
        S = len(basis)
        self._pairs = np.einsum("uij,ukl->jluik", basis, basis).reshape(16, 9 * S)
        self._singles = basis.transpose(2, 0, 1).reshape(4, 3 * S)

    @property
    def count(self) -> int:
        """Number of instants."""
        return self._n

    def _scatter(self, where: Indices) -> None:
        """Prepare the places of the entries of JᵀJ in blocks (i, k, p, q) of motion and (row, column) of the rest."""
        n, N, own = self._sizes
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

    def variables(self, z: Array) -> Array:
        """Return y of each instant, (m, size)."""
        own = self._sizes[2]
        return self._variables(z[self._windows], z[self._local :] if own else z[:0])

    def _variables(self, window: Array, local: Array) -> Array:
        n, N, _ = self._sizes
        knots = np.hstack([window[:, : 2 * n], window[:, 2 * n + N :]]).reshape(-1, 1, 4, n)
        motion = np.matmul(self._basis, knots).reshape(-1, 3 * n)
        a = np.repeat(window[:, 2 * n : 2 * n + N], len(self._basis), axis=0)
        return np.hstack([motion, a, local.reshape(len(motion), -1)])

    def residuals(self, z: Array, weights: Array) -> Array:
        """Return the residuals of each instant, (m, rows)."""
        y = self.variables(z)
        return self._residual(y, np.tile(weights, (len(y), 1)))[0].reshape(self._n, self._count).copy()

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
        y = self._variables(window, local)
        r = self._residual(y, np.tile(weights, (len(y), 1)))[0].reshape(self._n, self._count)
        return np.einsum("ij,ij->i", r, r)

    def normal_equations(self, z: Array, weights: Array) -> tuple[float, NormalBlocks]:
        """Return half the sum of squares, JᵀJ and Jᵀr, with respect to knots and local variables."""
        n, N, own = self._sizes
        y, W, S = self.variables(z), len(self._windows), len(self._basis)
        squares, entries, gradient = self._normal(y, np.tile(weights, (len(y), 1)))
        entries, gradient = entries.reshape(self._n, -1), gradient.reshape(self._n, -1)
        found = []
        for size, (places, source) in (
            (9 * n * n, self._motion),
            (3 * n * (N + own), self._mixed),
            ((N + own) ** 2, self._rest),
        ):
            found.append(np.zeros((self._n, size)))
            found[-1][:, places] = entries[:, source]
        motion = found[0]
        mixed, rest = found[1].reshape(W, S, 3 * n, N + own), found[2].reshape(W, S, N + own, N + own)
        g, m = 4 * n + N, 3 * n
        knots = np.concatenate([np.arange(2 * n), np.arange(2 * n + N, g)])
        logits = np.arange(2 * n, 2 * n + N)
        A, b, cross = np.zeros((W, g, g)), np.zeros((W, g)), np.zeros((W, S, g, own))
        both = np.matmul(self._pairs, motion.reshape(W, 9 * S, n * n)).reshape(W, 4, 4, n, n)
        A[:, knots[:, None], knots] = both.transpose(0, 1, 3, 2, 4).reshape(W, 4 * n, 4 * n)
        with_a = mixed[..., :N].reshape(W, 3 * S, n * N)
        A[:, knots[:, None], logits] = np.matmul(self._singles, with_a).reshape(W, 4 * n, N)
        A[:, logits[:, None], knots] = A[:, knots[:, None], logits].transpose(0, 2, 1)
        A[:, logits[:, None], logits] = rest[..., :N, :N].sum(axis=1)
        b[:, knots] = np.matmul(self._singles, gradient[:, :m].reshape(W, 3 * S, n)).reshape(W, -1)
        b[:, logits] = gradient[:, m : m + N].reshape(W, S, N).sum(axis=1)
        turned = self._basis.transpose(0, 2, 1)
        cross[:, :, knots] = np.matmul(turned, mixed[..., N:].reshape(W, S, 3, n * own)).reshape(W, S, 4 * n, own)
        cross[:, :, logits] = rest[..., :N, N:]
        local = self._local + own * np.arange(self._n).reshape(W, S)
        blocks = NormalBlocks(
            self._windows, A, b, local, cross, rest[..., N:, N:], gradient[:, m + N :].reshape(W, S, own)
        )
        return 0.5 * float(squares.sum()), blocks
