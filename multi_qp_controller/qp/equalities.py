"""Equality form of a QP for solvers: rows and bounds with equal sides become equalities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution
from multi_qp_scene.arrays import Array

BoolArray = NDArray[np.bool_]

INFINITE = 1e20
"""Sides of this magnitude or above count as infinite."""

_THIN = 1e-12
"""Sides that differ by less than this, relative to their magnitude, count as equal."""


@dataclass(frozen=True, slots=True)
class EqualityForm:
    """A QP whose rows and bounds with equal sides are equalities, without rows that have no finite side.

    Dual active-set methods would otherwise activate two opposite, linearly dependent rows, and interior-point methods
    find no interior. The equalities are those of the problem, then its equal rows, then its fixed variables.

    Attributes:
        problem: the problem for solvers.
        original: the problem before conversion.
        equal: flags of inequality rows that became equalities, (p,).
        remaining: flags of remaining inequality rows, (p,).
        fixed: flags of variables whose bounds became equalities, (n,).
    """

    problem: QPProblem
    original: QPProblem
    equal: BoolArray
    remaining: BoolArray
    fixed: BoolArray

    @classmethod
    def of(cls, problem: QPProblem) -> EqualityForm:
        """Return the form of a problem without NaN and crossing sides; it shares unchanged arrays."""
        low, high = problem.l, problem.u
        equal, fixed = _equal(low, high), _equal(problem.lb, problem.ub)
        remaining = ((low > -INFINITE) | (high < INFINITE)) & ~equal
        form = problem
        if fixed.any() or not remaining.all():
            middle = 0.5 * (low[equal] + high[equal]), 0.5 * (problem.lb[fixed] + problem.ub[fixed])
            form = QPProblem(
                H=problem.H,
                g=problem.g,
                A=np.vstack([problem.A, problem.C[equal], np.eye(problem.n)[fixed]]),
                b=np.concatenate([problem.b, *middle]),
                C=problem.C[remaining],
                l=low[remaining],
                u=high[remaining],
                lb=np.where(fixed, -np.inf, problem.lb),
                ub=np.where(fixed, np.inf, problem.ub),
            )
        if any(_is_far(side) for side in (form.l, form.u, form.lb, form.ub)):
            form = replace(form, l=_infinite(form.l), u=_infinite(form.u), lb=_infinite(form.lb), ub=_infinite(form.ub))
        return cls(form, problem, equal, remaining, fixed)

    def start(self, warm: Solution) -> Solution:
        """Return a warm start for the form from one for the original problem."""
        if self.problem is self.original or warm.z_ineq is None or warm.z_bounds is None:
            return warm
        y_eq = None
        if warm.y_eq is not None:
            y_eq = np.concatenate([warm.y_eq, warm.z_ineq[self.equal], warm.z_bounds[self.fixed]])
        return replace(
            warm, y_eq=y_eq, z_ineq=warm.z_ineq[self.remaining], z_bounds=np.where(self.fixed, 0.0, warm.z_bounds)
        )

    def restored(self, solution: Solution) -> Solution:
        """Return the solution of the original problem; multipliers of equal sides may have either sign."""
        if (
            self.problem is self.original
            or solution.y_eq is None
            or solution.z_ineq is None
            or solution.z_bounds is None
        ):
            return solution
        m, z_ineq, z_bounds = self.original.m, np.zeros(self.original.p), solution.z_bounds.copy()
        z_ineq[self.remaining] = solution.z_ineq
        ends = m, m + int(self.equal.sum())
        z_ineq[self.equal] = solution.y_eq[ends[0] : ends[1]]
        z_bounds[self.fixed] = solution.y_eq[ends[1] :]
        return replace(solution, y_eq=solution.y_eq[:m], z_ineq=z_ineq, z_bounds=z_bounds)


def _equal(low: Array, high: Array) -> BoolArray:
    # low == high covers equal infinite sides, whose difference is NaN
    return np.asarray((low == high) | (high - low < _THIN * np.abs(low)))


def _is_far(side: Array) -> bool:
    magnitude = np.abs(side)
    return bool(((magnitude >= INFINITE) & (magnitude < np.inf)).any())


def _infinite(side: Array) -> Array:
    return np.where(np.abs(side) >= INFINITE, np.copysign(np.inf, side), side)
