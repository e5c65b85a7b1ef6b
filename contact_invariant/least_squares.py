"""Levenberg-Marquardt method for sums of squares with a chain of knots and variables local to an instant."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, solveh_banded

from multi_qp_scene.arrays import Array, Indices

#: Damping: initial, least, factors after a rejected and an accepted step.
DAMPING, LEAST, UP, DOWN = 1e-2, 1e-7, 4.0, 1.0 / 3.0
#: Largest number of rejected steps in a row.
REJECTED = 10


@dataclass(frozen=True)
class NormalBlocks:
    """JᵀJ and Jᵀr of one group of instants or terms: W windows of g knot variables, each with S instants.

    Attributes:
        windows: indices of the knot variables, (W, g).
        A: JᵀJ with respect to them, (W, g, g).
        b: Jᵀr, (W, g).
        local: index of the first of the l local variables of each instant, (W, S).
        cross: JᵀJ with respect to knot and local variables, (W, S, g, l).
        D: JᵀJ with respect to local variables, (W, S, l, l).
        c: Jᵀr with respect to local variables, (W, S, l).
    """

    windows: Indices
    A: Array
    b: Array
    local: Indices
    cross: Array
    D: Array
    c: Array

    @classmethod
    def of_knots(cls, window: Indices, A: Array, b: Array) -> NormalBlocks:
        """Return the blocks of one term without local variables."""
        g, none = len(window), np.zeros((1, 0, 0))
        cross, D = np.zeros((1, 0, g, 0)), np.zeros((1, 0, 0, 0))
        return cls(window[None], A[None], b[None], np.zeros((1, 0), dtype=np.intp), cross, D, none)


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
            if step is not None:
                trial = z + step
                trial_cost = cost_of(problem.residuals(trial))
                if trial_cost < cost:
                    found = trial
                    break
            damping *= UP
            if time.process_time() > deadline:
                break
        if found is None:
            reason = "time" if time.process_time() > deadline else "no decrease"
            break
        gain, z, cost = (cost - trial_cost) / cost, found, trial_cost
        damping = max(damping * DOWN, LEAST)
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


class _NormalEquations:
    """JᵀJ and Jᵀr in blocks; local variables are eliminated instant by instant, knots form a banded matrix.

    What a shared residual adds to this has rank one (Sherman-Morrison).
    """

    def __init__(
        self, problem: Problem, parts: Sequence[NormalBlocks], shared: tuple[float, Array] | None = None
    ) -> None:
        self._problem = problem
        n = problem.knots
        self._band = max(int(np.ptp(part.windows, axis=1).max()) + 1 for part in parts)
        self._H, self._gradient = np.zeros((n, n)), np.zeros(n)
        for part in parts:
            for window, block, gradient in zip(part.windows, part.A, part.b, strict=True):
                self._H[np.ix_(window, window)] += block
                self._gradient[window] += gradient
        r, self._shared = (0.0, np.zeros(n)) if shared is None else shared
        self._gradient += r * self._shared
        self._local = [part for part in parts if part.c.size]
        self._diagonal = np.diagonal(self._H) + 1e-6

    def step(self, damping: float) -> Array | None:
        """Return the step of the damped equations, (size,); None where they are numerically singular."""
        H, gradient, eliminated = self._H.copy(), self._gradient.copy(), []
        for part in self._local:
            W, S, g, own = part.cross.shape
            D, k = part.D.copy(), np.arange(own)
            D[..., k, k] += damping * D[..., k, k] + 1e-8
            right = np.concatenate([part.cross.transpose(0, 1, 3, 2), part.c[..., None]], axis=3)
            solved = np.linalg.solve(D, right)
            cross = part.cross.transpose(0, 2, 1, 3).reshape(W, g, S * own)
            schur = np.matmul(cross, solved.reshape(W, S * own, g + 1))
            for window, block in zip(part.windows, schur, strict=True):
                H[np.ix_(window, window)] -= block[:, :g]
                gradient[window] -= block[:, g]
            eliminated.append((part, solved))
        diagonal = np.arange(len(H))
        H[diagonal, diagonal] += damping * self._diagonal
        fixed = self._problem.fixed
        H, n = H[fixed:, fixed:], len(H) - fixed
        band = np.zeros((min(self._band, n), n))
        for below in range(len(band)):
            band[below, : n - below] = np.diagonal(H, -below)
        try:
            right = np.column_stack([-gradient, self._shared])[fixed:]
            free, turned = solveh_banded(band, right, lower=True, overwrite_ab=True, check_finite=False).T
        except LinAlgError:
            return None
        own = self._shared[fixed:]
        free = free - turned * (own @ free) / (1.0 + own @ turned)
        step = np.zeros(self._problem.size)
        step[fixed : self._problem.knots] = free
        for part, solved in eliminated:
            moved = step[part.windows][:, None, :, None]
            values = -solved[..., -1] - np.matmul(solved[..., :-1], moved)[..., 0]
            step[part.local[..., None] + np.arange(values.shape[2])] = values
        return step
