"""Levenberg-Marquardt method for sums of squares with a chain of knots and variables local to an instant."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, solveh_banded

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled

#: Damping: initial, least, factors after a rejected and an accepted step.
DAMPING, LEAST, UP, DOWN = 1e-2, 1e-7, 4.0, 1.0 / 3.0
#: Largest number of rejected steps in a row.
REJECTED = 10


@dataclass(frozen=True)
class LocalBlocks:
    """JᵀJ and Jᵀr of m instants, with respect to their l local variables.

    Attributes:
        first: index of the first local variable of each instant, (m,).
        columns: motion variables on which residuals with local variables depend, (e,).
        places: of their pairs among the entries of `NormalBlocks.H`, (e, e).
        cross: JᵀJ with respect to these and local variables, (m, e, l).
        D: JᵀJ with respect to local variables, (m, l, l).
        c: Jᵀr with respect to local variables, (m, l).
    """

    first: Indices
    columns: Indices
    places: Indices
    cross: Array
    D: Array
    c: Array

    def eliminated(self, H: Array, b: Array, damping: float) -> tuple[Array, Array, Array]:
        """Return H and b of motion variables without the damped local ones, and what these are, (m, l, e + 1)."""
        k, D = np.arange(self.D.shape[1]), self.D.copy()
        D[:, k, k] += damping * D[:, k, k] + 1e-8
        solved = np.linalg.solve(D, np.concatenate([self.cross.transpose(0, 2, 1), self.c[..., None]], axis=2))
        schur, b = np.matmul(self.cross, solved), b.copy()
        b[:, self.columns] -= schur[..., -1]
        return _reduced(H, self.places, schur), b, solved


@dataclass(frozen=True)
class NormalBlocks:
    """JᵀJ and Jᵀr of m instants, with respect to their q motion variables: linear in small steps of knot variables.

    Attributes:
        H: entries of JᵀJ, (m, h).
        b: Jᵀr, (m, q).
        knots: what maps both to knot variables.
        local: the same of local variables, if there are any.
    """

    H: Array
    b: Array
    knots: KnotMap
    local: LocalBlocks | None = None


class KnotMap(Protocol):
    """Motion variables of instants as linear functions of windows of g knot variables."""

    @property
    def windows(self) -> Indices:
        """Indices of the knot variables of each window, (W, g)."""

    def squares(self, H: Array, b: Array) -> tuple[Array, Array]:
        """Return JᵀJ and Jᵀr with respect to the windows, (W, g, g) and (W, g)."""

    def diagonal(self, H: Array) -> Array:
        """Return the diagonal of JᵀJ with respect to the windows, (W, g)."""

    def moved(self, step: Array) -> Array:
        """Return the step of the motion variables, (m, q), for that of the windows, (W, g)."""


@dataclass(frozen=True)
class OwnKnots:
    """Knot variables that are themselves the motion variables of one instant in each window.

    Attributes:
        windows: their indices, (W, g).
    """

    windows: Indices

    def squares(self, H: Array, b: Array) -> tuple[Array, Array]:
        """Return the arguments, with H as a square."""
        return H.reshape(*b.shape, -1), b

    def diagonal(self, H: Array) -> Array:
        """Return the diagonal of the argument as a square."""
        return H[:, :: self.windows.shape[1] + 1]

    def moved(self, step: Array) -> Array:
        """Return the argument."""
        return step


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
    """JᵀJ and Jᵀr; local variables are eliminated instant by instant, knots form a banded matrix.

    What a shared residual adds to this has rank one (Sherman-Morrison).
    """

    def __init__(
        self, problem: Problem, parts: Sequence[NormalBlocks], shared: tuple[float, Array] | None = None
    ) -> None:
        self._problem, n = problem, problem.knots
        self._band, self._gradient = np.zeros((max(_width(part) for part in parts), n)), np.zeros(n)
        self._parts, self._diagonal = parts, np.full(n, 1e-6)
        for part in parts:
            for window, own in zip(part.knots.windows, part.knots.diagonal(part.H), strict=True):
                self._diagonal[window] += own
            if part.local is None:
                _add(self._band, self._gradient, part.knots.windows, *part.knots.squares(part.H, part.b))
        r, self._shared = (0.0, np.zeros(n)) if shared is None else shared
        self._gradient += r * self._shared

    def step(self, damping: float) -> Array | None:
        """Return the step of the damped equations, (size,); None where they are numerically singular."""
        band, gradient, eliminated = self._band.copy(), self._gradient.copy(), []
        for part in self._parts:
            if part.local is not None:
                H, b, solved = part.local.eliminated(part.H, part.b, damping)
                _add(band, gradient, part.knots.windows, *part.knots.squares(H, b))
                eliminated.append((part.knots, part.local, solved))
        band[0] += damping * self._diagonal
        fixed = self._problem.fixed
        right = np.column_stack([-gradient, self._shared])[fixed:]
        try:
            free, turned = solveh_banded(band[:, fixed:], right, lower=True, overwrite_ab=True, check_finite=False).T
        except LinAlgError:
            return None
        own = self._shared[fixed:]
        free = free - turned * (own @ free) / (1.0 + own @ turned)
        step = np.zeros(self._problem.size)
        step[fixed : self._problem.knots] = free
        for knots, local, solved in eliminated:
            moved = knots.moved(step[knots.windows])[:, local.columns]
            values = -solved[..., -1] - np.matmul(solved[..., :-1], moved[..., None])[..., 0]
            step[local.first[:, None] + np.arange(values.shape[1])] = values
        return step


def _width(part: NormalBlocks) -> int:
    return int(np.ptp(part.knots.windows, axis=1).max()) + 1


@compiled
def _reduced(H: Array, places: Indices, schur: Array) -> Array:
    """Return the entries H, (m, h), of which those at places, (e, e), are less by the Schur complement, (m, e, e + 1).

    A place may occur twice, for both triangles.
    """
    found = H.copy()
    for m in range(len(H)):
        for i in range(len(places)):
            for j in range(len(places)):
                found[m, places[i, j]] = H[m, places[i, j]] - schur[m, i, j]
    return found


@compiled
def _add(band: Array, gradient: Array, windows: Indices, A: Array, b: Array) -> None:
    """Add the blocks of windows to a banded matrix, of which row k has the k-th diagonal below the main one."""
    for w in range(len(windows)):
        for row in range(windows.shape[1]):
            one = windows[w, row]
            gradient[one] += b[w, row]
            for column in range(row + 1):
                other = windows[w, column]
                band[abs(one - other), min(one, other)] += A[w, row, column]
