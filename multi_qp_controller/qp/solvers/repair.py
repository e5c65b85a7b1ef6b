"""Equivalent or nearby problems for backends that failed: scaling, independent equalities, loosened sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution
from multi_qp_scene.arrays import Array

RANK_TOLERANCE = 1e-10
"""A row counts as dependent when less than this fraction of it lies outside the span of the others."""

_DISTANT = 1e6
"""Magnitude of distant sides, for variables and rows scaled to 1."""

_RELAXATION = 1e-7
"""Share of 1 + |side| by which sides are loosened."""

_PASSES = 8
"""Passes of the equilibration."""


def independent_equalities(A: Array, b: Array, *, tolerance: float) -> tuple[NDArray[np.int64], bool]:
    """Return a largest set of linearly independent rows of A, and whether the other rows are consistent with it.

    QR with column pivoting of the transposed, normalised rows [Golub2013]_. A dependent row a = sum c_i a_i
    is consistent if |b - sum c_i b_i| <= tolerance (1 + sum |c_i b_i|), in units of the normalised row.

    Args:
        A: equality rows, (m, n).
        b: right-hand side, (m,).
        tolerance: inconsistency that counts as round-off.
    """
    if not len(b):
        return np.arange(0), True
    scale = np.linalg.norm(A, axis=1)
    scale[scale == 0] = 1.0
    rows, rhs = A / scale[:, None], b / scale
    R, order = qr(rows.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > RANK_TOLERANCE).sum())
    independent, rest = order[:rank], order[rank:]
    coefficients = solve_triangular(R[:rank, :rank], R[:rank, rank:]) if rank else np.zeros((0, len(rest)))
    predicted = coefficients.T @ rhs[independent]
    allowed = tolerance * (1 + np.abs(coefficients).T @ np.abs(rhs[independent]))
    return np.sort(independent).astype(np.int64), bool((np.abs(rhs[rest] - predicted) <= allowed).all())


@dataclass(frozen=True, slots=True)
class Rescaled:
    """A problem with entries near 1 and independent equality rows, for backends that failed on the original.

    With x = columns · y and the cost divided by `cost`; all factors are powers of two, which change no digit. The rows
    and columns of the KKT matrix get a largest entry near 1 [Ruiz2001]_.

    Attributes:
        problem: the scaled problem in y.
        columns: factors of the variables, (n,).
        rows: factors of the equality and inequality rows, (m + p,).
        independent: indices of the remaining equality rows.
        cost: divisor of the cost.
    """

    problem: QPProblem
    columns: Array
    rows: Array
    independent: NDArray[np.int64]
    cost: float

    @classmethod
    def of(cls, problem: QPProblem, *, tolerance: float) -> Rescaled | None:
        """Return the scaled problem, or None if its equality rows are inconsistent beyond the tolerance."""
        columns, rows = _equilibrated(np.abs(problem.H), np.abs(np.concatenate([problem.A, problem.C])))
        m, g = problem.m, problem.g * columns
        H = problem.H * np.outer(columns, columns)
        cost = float(_power_of_two(max(np.abs(H).max(initial=0.0), np.abs(g).max(initial=0.0), 1e-300)))
        A, b = rows[:m, None] * problem.A * columns, rows[:m] * problem.b
        C = rows[m:, None] * problem.C * columns
        independent, consistent = independent_equalities(A, b, tolerance=tolerance)
        if not consistent:
            return None
        scaled = QPProblem(
            H=H / cost,
            g=g / cost,
            A=A[independent],
            b=b[independent],
            C=C,
            l=rows[m:] * problem.l,
            u=rows[m:] * problem.u,
            lb=problem.lb / columns,
            ub=problem.ub / columns,
        )
        return cls(scaled, columns, rows, independent, cost)

    def restored(self, solution: Solution) -> Solution:
        """Return the solution of the original problem; multipliers of removed rows are 0."""
        if solution.y_eq is None or solution.z_ineq is None or solution.z_bounds is None:
            return replace(solution, x=self.columns * solution.x)
        m = len(self.rows) - len(solution.z_ineq)
        y_eq = np.zeros(m)
        y_eq[self.independent] = self.cost * self.rows[self.independent] * solution.y_eq
        return replace(
            solution,
            x=self.columns * solution.x,
            y_eq=y_eq,
            z_ineq=self.cost * self.rows[m:] * solution.z_ineq,
            z_bounds=self.cost * solution.z_bounds / self.columns,
        )


def _equilibrated(H: Array, rows: Array) -> tuple[Array, Array]:
    """Return factors of columns and rows that scale their largest magnitudes to about 1."""
    columns, factors = np.ones(len(H)), np.ones(len(rows))
    for _ in range(_PASSES):
        largest = np.maximum(H.max(axis=0, initial=0.0), rows.max(axis=0, initial=0.0))
        across = rows.max(axis=1, initial=0.0)
        scale = np.where(largest > 0.0, largest, 1.0) ** -0.5
        factor = np.where(across > 0.0, across, 1.0) ** -0.5
        H, rows = H * np.outer(scale, scale), rows * np.outer(factor, scale)
        columns, factors = columns * scale, factors * factor
    return _power_of_two(columns), _power_of_two(factors)


def _power_of_two(values: Array | float) -> Array:
    return np.asarray(np.exp2(np.round(np.log2(values))))


def without_distant_sides(problem: QPProblem) -> QPProblem:
    """Return a scaled problem without distant sides, which are rarely active."""
    return replace(
        problem,
        l=np.where(problem.l < -_DISTANT, -np.inf, problem.l),
        u=np.where(problem.u > _DISTANT, np.inf, problem.u),
        lb=np.where(problem.lb < -_DISTANT, -np.inf, problem.lb),
        ub=np.where(problem.ub > _DISTANT, np.inf, problem.ub),
    )


def loosened(problem: QPProblem) -> QPProblem:
    """Return the problem with each side loosened_sides outwards by a small random amount."""
    random = np.random.default_rng(0)
    loosened_sides = {}
    for name, sign in (("l", -1.0), ("u", 1.0), ("lb", -1.0), ("ub", 1.0)):
        side = getattr(problem, name)
        step = np.where(np.isfinite(side), 1.0 + np.abs(side), 0.0)
        loosened_sides[name] = side + sign * _RELAXATION * random.uniform(0.5, 1.5, len(side)) * step
    return replace(problem, **loosened_sides)


def repair_bounds(problem: QPProblem, *, tolerance: float) -> QPProblem | None:
    """Return the problem with sides that cross by round-off made equal; None if they cross by more."""
    rows = _repair_sides(problem.l, problem.u, tolerance)
    bounds = _repair_sides(problem.lb, problem.ub, tolerance)
    if rows is None or bounds is None:
        return None
    return replace(problem, l=rows[0], u=rows[1], lb=bounds[0], ub=bounds[1])


def _repair_sides(low: Array, high: Array, tolerance: float) -> tuple[Array, Array] | None:
    crossed = low > high
    if not crossed.any():
        return low, high
    middle = 0.5 * (low[crossed] + high[crossed])
    if not (low[crossed] - high[crossed] <= tolerance * (1 + np.abs(middle))).all():
        return None
    low, high = low.copy(), high.copy()
    low[crossed] = high[crossed] = middle
    return low, high
