"""What every solver promises, and the checks and second attempts that make the promise hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.qp.feasibility import least_violation
from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution
from multi_qp_controller.qp.solvers.polish import polished
from multi_qp_controller.qp.solvers.repair import independent_equalities, mend_bounds, regularised

Array = NDArray[np.float64]


class Solver(ABC):
    """A backend behind one small interface.

    `solve` never raises for what the numbers hold, never answers `found` with an x that is not finite or
    that violates a row by more than the tolerance, and always comes back: iterations are bounded. Nothing is
    remembered from one call to the next but what the caller hands over as `warm_start`.

    When a backend fails, up to three more attempts follow, none of which costs anything before: without the
    warm start; without linearly dependent equality rows; with a trace of regularisation on the Hessian. If
    none succeeds and none says "infeasible", a linear program decides whether the problem has a solution at
    all.

    Attributes:
        name: what `make_solver` calls it.
        reproducible: whether the same sequence of problems gives the same bits.
        polishes: whether answers are made exact on their active set, as iterative methods need.

    Args:
        tolerance: violation of a row that an answer may have, relative to 1 + |value of the row|.
        time_limit: no further attempt starts after this time, and backends that can, stop [s].
    """

    name: ClassVar[str]
    reproducible: ClassVar[bool] = True
    polishes: ClassVar[bool] = False

    def __init__(self, *, tolerance: float = 1e-6, time_limit: float = 1.0) -> None:
        """Set what an answer has to satisfy."""
        if not tolerance > 0 or not time_limit > 0:
            raise ValueError(f"tolerance and time_limit must be positive, got {tolerance} and {time_limit}")
        self.tolerance = tolerance
        self.time_limit = time_limit

    def solve(self, problem: Problem, *, warm_start: Solution | None = None) -> Solution:
        """Solve one problem.

        Args:
            problem: the problem; it is not modified.
            warm_start: the answer to a similar problem. It changes the time, not the answer; one that does
                not fit is ignored.
        """
        start = perf_counter()
        if problem.is_finite():
            answer = self._attempts(problem, warm_start, deadline=start + self.time_limit)
        else:
            answer = self._ill_posed(problem, deadline=start + self.time_limit)
        return replace(answer, solve_time=perf_counter() - start)

    @abstractmethod
    def _solve(self, problem: Problem, warm_start: Solution | None) -> Solution:
        """Ask the backend once. Whatever it raises counts as a numerical failure."""

    def _ill_posed(self, problem: Problem, *, deadline: float) -> Solution:
        if problem.non_finite_arrays():
            return Solution.failed(problem.n, status="not_finite", message="the problem holds NaN or infinity")
        mended = mend_bounds(problem, tolerance=self.tolerance)
        if mended is None:
            return Solution.failed(problem.n, status="infeasible", message="a lower side is above its upper side")
        return self._attempts(mended, None, deadline=deadline)

    def _attempts(self, problem: Problem, warm_start: Solution | None, *, deadline: float) -> Solution:
        warm_start = warm_start if warm_start is not None and _fits(warm_start, problem) else None
        answer = self._checked(problem, warm_start)
        if warm_start is not None and self._try_again(answer, deadline):
            answer = self._checked(problem, None)
        if self._try_again(answer, deadline):
            answer = self._without_dependent_rows(problem, answer)
        if answer.status == "numerical" and self._try_again(answer, deadline):
            answer = self._checked(regularised(problem), None)
        if self._try_again(answer, deadline) and answer.status != "infeasible":
            answer = self._verdict(problem, answer, time_limit=deadline - perf_counter())
        return answer

    def _verdict(self, problem: Problem, answer: Solution, *, time_limit: float) -> Solution:
        """Tell a failure of the backend from a problem without solution, by a linear program."""
        try:
            worst = least_violation(problem, time_limit=time_limit).violation.max(initial=0.0)
        except RuntimeError:
            return answer
        return replace(answer, status="infeasible") if worst > self.tolerance else answer

    def _try_again(self, answer: Solution, deadline: float) -> bool:
        return not answer.found and answer.status != "time_limit" and perf_counter() < deadline

    def _without_dependent_rows(self, problem: Problem, answer: Solution) -> Solution:
        kept, consistent = independent_equalities(problem.A, problem.b, tolerance=self.tolerance)
        if not consistent:
            return Solution.failed(problem.n, status="infeasible", message="the equality rows contradict each other")
        if len(kept) == problem.m:
            return answer
        answer = self._checked(replace(problem, A=problem.A[kept], b=problem.b[kept]), None)
        if answer.y_eq is None:
            return answer
        y_eq = np.zeros(problem.m)
        y_eq[kept] = answer.y_eq
        return replace(answer, y_eq=y_eq)

    def _checked(self, problem: Problem, warm_start: Solution | None) -> Solution:
        try:
            answer = self._solve(problem, warm_start)
        # Whatever a backend raises, an IndexError of quadprog included, must not end a robot's control.
        except Exception as error:
            message = f"{self.name}: {type(error).__name__}: {error}"
            return Solution.failed(problem.n, status="numerical", message=message)
        if self.polishes and answer.found:
            answer = polished(problem, answer) or answer
        flaw = self._flaw(problem, answer) if answer.found else ""
        if flaw:
            message = f"{self.name}: {flaw}"
            return Solution.failed(problem.n, status="numerical", iterations=answer.iterations, message=message)
        return answer

    def _flaw(self, problem: Problem, answer: Solution) -> str:
        """Return what is wrong with an answer, or nothing."""
        x = answer.x
        if not np.isfinite(x).all():
            return "the answer is not finite"
        if not self._satisfies(problem, x):
            return f"the answer misses a row by {problem.primal_residual(x):.3g}"
        return "" if self._stationary(problem, answer) else "the answer is not an optimum"

    def _satisfies(self, problem: Problem, x: Array) -> bool:
        tolerance = self.tolerance
        if problem.m and not (np.abs(problem.A @ x - problem.b) <= tolerance * (1 + np.abs(problem.b))).all():
            return False
        rows_fit = _between(problem.C @ x, problem.l, problem.u, tolerance)
        return rows_fit and _between(x, problem.lb, problem.ub, tolerance)

    def _stationary(self, problem: Problem, answer: Solution) -> bool:
        if answer.y_eq is None or answer.z_ineq is None or answer.z_bounds is None:
            return True
        pull = problem.H @ answer.x
        gradient = pull + problem.g + answer.y_eq @ problem.A + answer.z_ineq @ problem.C + answer.z_bounds
        scale = 1 + max(np.abs(pull).max(initial=0.0), np.abs(problem.g).max(initial=0.0))
        # Written so that a NaN fails: every comparison with it is false.
        return bool((np.abs(gradient) <= self.tolerance * scale).all())


def _between(y: Array, low: Array, high: Array, tolerance: float) -> bool:
    slack = tolerance * (1 + np.abs(y))
    return bool((y >= low - slack).all() and (y <= high + slack).all())


def _fits(warm_start: Solution, problem: Problem) -> bool:
    """Tell whether an answer belongs to a problem of this shape, multipliers included where it has them."""
    if not warm_start.found or len(warm_start.x) != problem.n:
        return False
    lengths = ((warm_start.y_eq, problem.m), (warm_start.z_ineq, problem.p), (warm_start.z_bounds, problem.n))
    return all(z is None or len(z) == length for z, length in lengths)
