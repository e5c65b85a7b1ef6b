"""Residuals at many instants of a spline motion: their cost, and the normal equations of its knots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from contact_invariant.batch_function import BatchFunction
from contact_invariant.least_squares import LocalBlocks, NormalBlocks
from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled

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
    def _squares_of_jacobian(self) -> _SquaresOfJacobian:
        return _SquaresOfJacobian(self._symbols, self._sizes, self._n)

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
        _, N, own, free = self._sizes
        window, form = z[self._windows], self._squares_of_jacobian
        places, _, factors = self._split(window)
        y, basis = self._variables(window, z[self._local :] if own else z[:0]), self._basis(factors)
        cost, (H, b), rest = form(y, np.broadcast_to(weights, (len(y), weights.shape[-1])))
        stretch = np.matmul(_POWERS * basis, places)[:, :, form.orders] if free else None
        knots = SplineMap(self._windows, basis[:, :, form.orders], stretch, N)
        first = self._local + own * np.arange(self._n)
        local = LocalBlocks(first, form.depending, form.places, *rest) if own else None
        return cost, NormalBlocks(H, b, knots, local)


class _SquaresOfJacobian:
    """JᵀJ and Jᵀr of residuals at all instants, as entries in blocks of motion variables and of local ones.

    Motion variables are a, and those of x, ẋ, ẍ on which anything depends.

    Attributes:
        orders: which of x, ẋ, ẍ these are.
        depending: motion variables on which residuals with local variables depend, (e,).
        places: of their pairs among the entries of motion variables, (e, e).
    """

    def __init__(self, symbols: tuple[Any, Any, Any], sizes: tuple[int, int, int, int], points: int) -> None:
        y, weight, r = symbols
        n, N, own, _ = sizes
        J = ca.jacobian(r, y)
        H = ca.tril(J.T @ J)
        function = ca.Function("n", [y, weight], [ca.sumsqr(r), H, ca.densify(J.T @ r)])
        self._function, self._own = BatchFunction(function, points), own
        lower = np.array(H.sparsity().get_triplet(), dtype=np.intp)
        self.orders = np.unique(lower[lower < 3 * n] // n)
        self._motion = np.concatenate([*(k * n + np.arange(n) for k in self.orders), 3 * n + np.arange(N)])
        q, place = len(self._motion), np.zeros(3 * n + N + own, dtype=np.intp)
        place[self._motion], place[3 * n + N :] = np.arange(q), q + np.arange(own)
        rows, columns = place[np.hstack([lower, lower[::-1]])]
        entries = np.tile(np.arange(lower.shape[1]), 2)
        motion, mixed, local = (rows < q) & (columns < q), (rows < q) & (columns >= q), (rows >= q) & (columns >= q)
        of_motion, count = motion_places(len(self.orders), n, N)
        self.depending, row = np.unique(rows[mixed], return_inverse=True)
        self.places = of_motion[self.depending[:, None], self.depending]
        self._scatter = [  # places in a block, entries, and the block's shape
            (of_motion[rows[motion], columns[motion]], entries[motion], (count,)),
            (row * own + columns[mixed] - q, entries[mixed], (len(self.depending), own)),
            ((rows[local] - q) * own + columns[local] - q, entries[local], (own, own)),
        ]

    def __call__(self, y: Array, weights: Array) -> tuple[float, tuple[Array, Array], tuple[Array, Array, Array]]:
        """Return half the sum of squares, H and b of `NormalBlocks`, and cross, D and c of `LocalBlocks`."""
        squares, entries, gradient = self._function(y, weights)
        blocks = []
        for places, source, shape in self._scatter:
            block = np.zeros((len(y), math.prod(shape)))
            _scatter(entries, source, places, block)
            blocks.append(block.reshape(len(y), *shape))
        H, cross, D = blocks
        local = gradient[:, gradient.shape[1] - self._own :]
        return 0.5 * float(squares.sum()), (H, gradient[:, self._motion]), (cross, D, local)


@compiled
def _scatter(entries: Array, source: Indices, places: Indices, block: Array) -> None:
    """Write entries, (m, entries), from their source to their places in a block, (m, size)."""
    for m in range(len(block)):
        for k in range(len(places)):
            block[m, places[k]] = entries[m, source[k]]


def motion_places(r: int, n: int, N: int) -> tuple[Indices, int]:
    """Return the places of the entries of JᵀJ with respect to r of x, ẋ, ẍ, and a, (r n + N, r n + N), and their count.

    Entries of two motions are (derivative, derivative, feature, feature); then come (derivative, feature, logit) and
    (logit, logit). Both triangles share the places of the second.
    """
    motion = np.arange(r * r * n * n).reshape(r, r, n, n).transpose(0, 2, 1, 3).reshape(r * n, r * n)
    mixed = motion.size + np.arange(r * n * N).reshape(r * n, N)
    logits = motion.size + mixed.size + np.arange(N * N).reshape(N, N)
    return np.block([[motion, mixed], [mixed.T, logits]]), motion.size + mixed.size + logits.size


@dataclass(frozen=True)
class SplineMap:
    """Motion variables of instants as functions of the knots of a spline, a `KnotMap`: r of x, ẋ, ẍ, and a.

    Attributes:
        windows: indices of x_0, ẋ_0, a, τ if durations are free, x_1, ẋ_1 of each piece, (W, 4 n + N + D).
        basis: of `spline_basis`, (W, S, r, 4).
        stretch: derivative of x, ẋ, ẍ with respect to τ, (W, S, r, n), if durations are free.
        logits: their number N.
    """

    windows: Indices
    basis: Array
    stretch: Array | None
    logits: int

    def squares(self, H: Array, b: Array) -> tuple[Array, Array]:
        """Return JᵀJ and Jᵀr with respect to the windows, (W, g, g) and (W, g)."""
        (W, S, r, _), (knots, logits), g = self.basis.shape, self._columns(), self.windows.shape[1]
        n, m, N = len(knots) // 4, r * len(knots) // 4, self.logits
        motion, mixed, own = np.split(H, [m * m, m * (m + N)], axis=1)
        mixed, own, b = mixed.reshape(W, S, m, N), own.reshape(W, S, N, N), b.reshape(W, S, m + N)
        A, gradient = np.zeros((W, g, g)), np.zeros((W, g))
        pairs = np.einsum("wuij,wukl->wjluik", self.basis, self.basis).reshape(W, 16, S * r * r)
        both = np.matmul(pairs, motion.reshape(W, S * r * r, n * n)).reshape(W, 4, 4, n, n)
        A[:, knots[:, None], knots] = both.transpose(0, 1, 3, 2, 4).reshape(W, 4 * n, 4 * n)
        A[:, knots[:, None], logits] = self._of_knots(mixed).reshape(W, 4 * n, N)
        A[:, logits[:, None], knots] = A[:, knots[:, None], logits].transpose(0, 2, 1)
        A[:, logits[:, None], logits] = own.sum(axis=1)
        gradient[:, knots], gradient[:, logits] = self._of_knots(b[..., :m]), b[..., m:].sum(axis=1)
        if self.stretch is not None:
            tau, d = logits[-1] + 1, self.stretch
            Hd = np.einsum("wsikpq,wskq->wsip", motion.reshape(W, S, r, r, n, n), d)
            A[:, tau, knots] = A[:, knots, tau] = self._of_knots(Hd)
            A[:, tau, logits] = A[:, logits, tau] = np.einsum("wsm,wsmk->wk", d.reshape(W, S, m), mixed)
            A[:, tau, tau] = (d * Hd).sum(axis=(1, 2, 3))
            gradient[:, tau] = (d.reshape(W, S, m) * b[..., :m]).sum(axis=(1, 2))
        return A, gradient

    def diagonal(self, H: Array) -> Array:
        """Return the diagonal of JᵀJ with respect to the windows, (W, g)."""
        (W, S, r, _), (knots, logits), found = self.basis.shape, self._columns(), np.zeros(self.windows.shape)
        n, N = len(knots) // 4, self.logits
        motion = H[:, : (r * n) ** 2].reshape(W, S, r, r, n * n)
        of_knots = np.einsum("wsiu,wsku,wsika->wua", self.basis, self.basis, motion[..., :: n + 1])
        found[:, knots] = of_knots.reshape(W, -1)
        found[:, logits] = H[:, H.shape[1] - N * N :].reshape(W, S, -1)[..., :: N + 1].sum(axis=1)
        if (d := self.stretch) is not None:
            pairs = motion.reshape(W, S, r, r, n, n)
            found[:, logits[-1] + 1] = np.einsum("wsip,wsikpq,wskq->w", d, pairs, d, optimize=True)
        return found

    def moved(self, step: Array) -> Array:
        """Return the step of the motion variables, (m, r n + N), for that of the windows, (W, g)."""
        (W, S), (knots, logits) = self.basis.shape[:2], self._columns()
        motion = np.matmul(self.basis, step[:, knots].reshape(W, 1, 4, -1))
        if self.stretch is not None:
            motion += self.stretch * step[:, logits[-1] + 1, None, None, None]
        a = np.broadcast_to(step[:, None, logits], (W, S, self.logits))
        return np.concatenate([motion.reshape(W, S, -1), a], axis=2).reshape(W * S, -1)

    def _columns(self) -> tuple[Indices, Indices]:
        """Return the places of x_0, ẋ_0, x_1, ẋ_1, (4 n,), and of a, (N,), in a window."""
        places, free = np.arange(self.windows.shape[1]), int(self.stretch is not None)
        n = (len(places) - self.logits - free) // 4
        return np.delete(places, np.arange(2 * n, 2 * n + self.logits + free)), places[2 * n : 2 * n + self.logits]

    def _of_knots(self, of_motion: Array) -> Array:
        """Return the sum over instants of what belongs to x, ẋ, ẍ, (W, S, r n, …), for the knots, (W, 4 n · …)."""
        W, S, r, _ = self.basis.shape
        rows = self.basis.transpose(0, 3, 1, 2).reshape(W, 4, S * r)
        return np.matmul(rows, of_motion.reshape(W, S * r, -1)).reshape(W, -1)
