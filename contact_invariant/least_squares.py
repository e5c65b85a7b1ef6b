"""Levenberg-Marquardt method for sums of squares with a chain of knots and variables local to an instant."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, solveh_banded
from scipy.linalg.blas import dtrsm, dtrsv
from scipy.linalg.lapack import dpotrf

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled

#: Damping: initial, least, factors after a rejected step, one of which a share is accepted, and an accepted one.
DAMPING, LEAST, UP, SHARED, DOWN = 1e-2, 1e-7, 4.0, 2.0, 1.0 / 3.0
#: Shares of a step that are tried: a residual takes a tenth of the time of a step with other damping.
SHARES = 1.0, 0.5, 0.25
#: Largest number of rejected steps in a row.
REJECTED = 10
#: Number of entries of JᵀJ that are added at once: those of all weights fit into the first cache.
ENTRIES = 200


@dataclass(frozen=True)
class KnotMap:
    """Motion variables of S instants in each of W windows as linear functions of k knot variables each.

    Attributes:
        knots: indices of the knot variables, (W, k, q).
        weights: (W, S, k, …).
        columns: of each motion variable in the weights, which many share, (q,).
    """

    knots: Indices
    weights: Array
    columns: Indices

    @staticmethod
    def identity(knots: Indices) -> KnotMap:
        """Return the map of windows, (W, g), of one instant whose motion variables are knot variables."""
        W, g = knots.shape
        return KnotMap(knots[:, None], np.ones((W, 1, 1, 1)), np.zeros(g, dtype=np.intp))

    def only(self, variables: Indices) -> KnotMap:
        """Return the map of some of the motion variables."""
        return KnotMap(self.knots[..., variables], self.weights, self.columns[variables])

    def moved(self, step: Array) -> Array:
        """Return the step of the motion variables, (m, q), for that of knot variables, (knots,)."""
        moved = np.einsum("wskq,wkq->wsq", self.weights[..., self.columns], step[self.knots])
        return moved.reshape(-1, len(self.columns))

    def add_gradient(self, gradient: Array, b: Array) -> None:
        """Add Jᵀr of motion variables, (m, q), to that of knot variables, (knots,)."""
        b = b.reshape(*self.weights.shape[:2], -1)
        own = np.einsum("wskq,wsq->wkq", self.weights[..., self.columns], b)
        gradient += np.bincount(self.knots.ravel(), own.ravel(), len(gradient))

    def add_squares(self, band: Array, first: Indices, second: Indices, places: Indices, H: Array) -> None:
        """Add entries of JᵀJ of motion variables, (m, …), to a banded matrix of knot variables, see `_add_squares`."""
        H = H.reshape(*self.weights.shape[:2], -1)
        _add_squares(band, self.knots, self.weights, self.columns, first, second, places, H)


@dataclass(frozen=True)
class LocalBlocks:
    """JᵀJ and Jᵀr of m instants, with respect to their l local variables.

    Attributes:
        first: index of the first local variable of each instant, (m,).
        columns: motion variables on which residuals with local variables depend, (e,).
        mixed: JᵀJ with respect to these and local variables, and Jᵀr with respect to local ones, (m, e + 1, l).
        D: JᵀJ with respect to local variables, its lower triangle, (m, l, l).
    """

    first: Indices
    columns: Indices
    mixed: Array
    D: Array

    def factors(self, damping: float) -> tuple[list[Array], Array] | None:
        """Return Cholesky factors, upper, of the damped D, and their quotient of `mixed`; None if there are none.

        Those of `mixed`, whose products are what eliminated variables change: U⁻ᵀ mixedᵀ, (m, e + 1, l).
        """
        k, found, quotient = np.arange(self.D.shape[1]), [], self.mixed.copy()
        D = self.D.copy()
        D[:, k, k] += damping * D[:, k, k] + 1e-8
        for square, columns in zip(D, quotient, strict=True):
            U, failed = dpotrf(square.T, overwrite_a=True, clean=False)
            if failed:
                return None
            dtrsm(1.0, U, columns.T, trans_a=True, overwrite_b=True)
            found.append(U)
        return found, quotient


@dataclass(frozen=True)
class NormalBlocks:
    """JᵀJ and Jᵀr of m instants, with respect to their q motion variables: linear in small steps of knot variables.

    Attributes:
        pairs: motion variables of each entry of H, the first ones ascending, (2, h).
        H: entries of one triangle of JᵀJ, (m, h).
        b: Jᵀr, (m, q).
        map: what maps both to knot variables.
        local: the same of local variables, if there are any.
    """

    pairs: Indices
    H: Array
    b: Array
    map: KnotMap
    local: LocalBlocks | None = None


class Problem(Protocol):
    """A sum of squares over z = (knot variables, local variables); the first `fixed` knot variables are constant."""

    size: int
    knots: int
    fixed: int

    def residuals(self, z: Array) -> list[Array]:
        """Return the residuals of each group, (m, k) each."""

    def normal_equations(self, z: Array) -> tuple[float, list[NormalBlocks]]:
        """Return the cost, half the sum of squares, and JᵀJ and Jᵀr of each group but that of `shared`."""

    def shared(self, z: Array) -> tuple[float, Array] | None:
        """Return a residual of knot variables far apart, and its gradient, (knots,), if there is one."""


@dataclass(frozen=True)
class Fit:
    """Result of an optimisation.

    Attributes:
        z: best point.
        costs: half the sum of squares after each iteration, from the start.
        times: computing time since the start at each of them [s].
        reason: why it ended.
    """

    z: Array
    costs: list[float]
    times: list[float]
    reason: str


def cost_of(residuals: Sequence[Array]) -> float:
    """Return half the sum of squares."""
    return 0.5 * sum(float(np.einsum("ij,ij->", r, r)) for r in residuals)


def levenberg_marquardt(
    problem: Problem,
    z: Array,
    *,
    iterations: int,
    tolerance: float = 1e-4,
    deadline: float = float("inf"),
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Minimise a sum of squares.

    Args:
        problem: the sum of squares.
        z: initial point, (size,).
        iterations: maximum number.
        tolerance: relative decrease of the cost below which it ends.
        deadline: value of `time.process_time()` after which it ends [s].
        progress: called with number and cost of each iteration.
    """
    start, damping, reason = time.process_time(), DAMPING, "iterations"
    cost, parts = problem.normal_equations(z)
    costs, times = [cost], [0.0]
    for number in range(1, iterations + 1):
        system = _NormalEquations(problem, parts, problem.shared(z))
        found = None
        for _ in range(REJECTED):
            step = system.step(damping)
            found = None if step is None else _decrease(problem, z, step, cost)
            if found is not None:
                break
            damping *= UP
            if time.process_time() > deadline:
                break
        if found is None:
            reason = "time" if time.process_time() > deadline else "no decrease"
            break
        share, z, least = found
        damping = max(damping * DOWN, LEAST) if share == 1.0 else damping * SHARED
        gain, cost = (cost - least) / cost, least
        costs.append(cost)
        times.append(time.process_time() - start)
        if progress is not None:
            progress(number, cost)
        if gain < tolerance:
            reason = "converged"
            break
        if time.process_time() > deadline:
            reason = "time"
            break
        _, parts = problem.normal_equations(z)
    return Fit(z, costs, times, reason)


def _decrease(problem: Problem, z: Array, step: Array, cost: float) -> tuple[float, Array, float] | None:
    """Return the first share of a step that decreases the cost, the point there, and its cost; None if none does."""
    for share in SHARES:
        trial = z + share * step
        trial_cost = cost_of(problem.residuals(trial))
        if trial_cost < cost:
            return share, trial, trial_cost
    return None


class _NormalEquations:
    """JᵀJ and Jᵀr; local variables are eliminated instant by instant, knots form a banded matrix.

    What a shared residual adds to this has rank one (Sherman-Morrison).
    """

    def __init__(
        self, problem: Problem, parts: Sequence[NormalBlocks], shared: tuple[float, Array] | None = None
    ) -> None:
        self._problem, n = problem, problem.knots
        self._band, self._gradient = np.zeros((n, max(_width(part) for part in parts))), np.zeros(n)
        for part in parts:
            first, second = part.pairs
            part.map.add_squares(self._band, first, second, np.arange(len(first)), part.H)
            part.map.add_gradient(self._gradient, part.b)
        self._diagonal = self._band[:, -1] + 1e-6
        self._local = [(part.local, part.map.only(part.local.columns)) for part in parts if part.local is not None]
        r, self._shared = (0.0, np.zeros(n)) if shared is None else shared
        self._gradient += r * self._shared

    def step(self, damping: float) -> Array | None:
        """Return the step of the damped equations, (size,); None where they are numerically singular."""
        band, gradient, eliminated = self._band.copy(), self._gradient.copy(), []
        band[:, -1] += damping * self._diagonal
        for local, knots in self._local:
            if (found := local.factors(damping)) is None:
                return None
            factors, quotient = found
            products = np.matmul(quotient, quotient.transpose(0, 2, 1))
            np.negative(products, out=products)
            i, j = np.tril_indices(len(local.columns))
            knots.add_squares(band, i, j, i * products.shape[1] + j, products)
            knots.add_gradient(gradient, products[:, -1, :-1])
            eliminated.append((local, knots, factors, quotient))
        fixed = self._problem.fixed
        right = np.column_stack([-gradient, self._shared])[fixed:]
        try:
            free, turned = solveh_banded(band[fixed:].T, right, overwrite_ab=True, check_finite=False).T
        except LinAlgError:
            return None
        own = self._shared[fixed:]
        free = free - turned * (own @ free) / (1.0 + own @ turned)
        step = np.zeros(self._problem.size)
        step[fixed : self._problem.knots] = free
        for local, knots, factors, quotient in eliminated:
            weights = np.column_stack([knots.moved(step), np.ones(len(quotient))])
            right = -np.matmul(weights[:, None], quotient)[:, 0]
            values = np.array([dtrsv(U, one) for U, one in zip(factors, right, strict=True)])
            step[local.first[:, None] + np.arange(values.shape[1])] = values
        return step


def _width(part: NormalBlocks) -> int:
    knots = part.map.knots.reshape(len(part.map.knots), -1)
    return int(np.ptp(knots, axis=1).max()) + 1


@compiled
def _add_squares(
    band: Array,
    knots: Indices,
    weights: Array,
    columns: Indices,
    first: Indices,
    second: Indices,
    places: Indices,
    H: Array,
) -> None:
    """Add entries of JᵀJ of motion variables to a banded matrix of knot variables.

    Args:
        band: entry (i, k) is that of knot variables i and i + k + 1 - width, (knots, width).
        knots: of `KnotMap`.
        weights: the same.
        columns: the same.
        first: motion variable of each entry, ascending, (h,).
        second: its other one, (h,): each pair in one order.
        places: in H, (h,).
        H: entries, (W, S, …).
    """
    windows, instants, size, _ = weights.shape
    width, values, sums = band.shape[1], np.empty(ENTRIES), np.empty((size, size, ENTRIES))
    A = np.empty((width, width))  # of a window, its lower triangle, and half of its diagonal
    for w in range(windows):
        lowest, begin = knots[w].min(), 0
        A[:] = 0.0
        while begin < len(places):
            of_first, of_second, end = columns[first[begin]], columns[second[begin]], begin + 1
            while end < min(begin + ENTRIES, len(places)) and (
                columns[first[end]] == of_first and columns[second[end]] == of_second
            ):
                end += 1
            count = end - begin
            sums[:, :, :count] = 0.0
            for s in range(instants):
                for k in range(count):
                    values[k] = H[w, s, places[begin + k]]
                for u in range(size):
                    for v in range(size):
                        weight = weights[w, s, u, of_first] * weights[w, s, v, of_second]
                        for k in range(count):
                            sums[u, v, k] += weight * values[k]
            for u in range(size):
                for v in range(size):
                    for k in range(count):
                        i, j = first[begin + k], second[begin + k]
                        a, b = knots[w, u, i] - lowest, knots[w, v, j] - lowest
                        half = 0.5 if i == j else 1.0  # of others, H has one triangle
                        A[max(a, b), min(a, b)] += half * sums[u, v, k]
            begin = end
        for a in range(min(width, len(band) - lowest)):
            A[a, a] *= 2.0
            for b in range(a + 1):
                band[lowest + a, width - 1 - a + b] += A[a, b]
