"""Solver interface with verification of solutions and further attempts after failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import ClassVar

import numpy as np

from multi_qp_controller.qp.equalities import EqualityForm
from multi_qp_controller.qp.feasibility import is_feasible, is_unbounded
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution, SolverStatus
from multi_qp_controller.qp.solvers.polish import polished
from multi_qp_controller.qp.solvers.repair import Rescaled, loosened, repair_bounds, without_distant_sides
from multi_qp_controller.qp.verification import flaw, is_convex, with_multipliers

#: Successive curvatures of the proximal-point iterations, for variables and rows scaled to 1.
_CURVATURES = 1e-7, 1e-5, 1e-3
#: Proximal-point iterations per curvature.
_ITERATIONS = 12
#: Magnitude of scaled variables that indicates an unbounded problem.
_UNBOUNDED = 1e12


class Solver(ABC):
    """Base class of solver backends.

    `solve` never raises for numerical reasons and always terminates. Its result is verified, or is a failure with a
    named status: an optimum by the conditions of `verification.flaw`, "infeasible" and "unbounded" by a certificate.
    Solvers are stateless apart from the `warm_start` of the caller.

    Backends receive the `EqualityForm` of a problem. After a failure further attempts follow: without the warm start;
    with scaled rows and variables and without linearly dependent equalities; with proximal-point iterations, which need
    no positive definite Hessian. If none succeeds, linear programs decide whether the problem is infeasible or
    unbounded.

    Attributes:
        name: name in `make_solver`.
        reproducible: whether the same sequence of problems gives bitwise equal solutions.
        polishes: whether solutions are always polished on their active set, as iterative methods need.
        refuses_concave: whether the backend fails if the Hessian has a negative eigenvalue.

    Args:
        tolerance: relative tolerance of the verification.
        time_limit: no further attempt starts after this time; some backends also stop [s].
    """

    name: ClassVar[str]
    reproducible: ClassVar[bool] = True
    polishes: ClassVar[bool] = False
    refuses_concave: ClassVar[bool] = False

    def __init__(self, *, tolerance: float = 1e-6, time_limit: float = 1.0) -> None:
        """Set the limits."""
        if not tolerance > 0 or not time_limit > 0:
            raise ValueError(f"tolerance and time_limit must be positive, got {tolerance} and {time_limit}")
        self.tolerance = tolerance
        self.time_limit = time_limit
        self._deadline = np.inf
        self._known_feasible = False

    def solve(self, problem: QPProblem, *, warm_start: Solution | None = None) -> Solution:
        """Solve one problem.

        Args:
            problem: the problem; it is not modified.
            warm_start: solution of a similar problem. It changes the time, not the solution; ignored if its
                size differs.
        """
        begun = perf_counter()
        self._deadline, self._known_feasible = begun + self.time_limit, False
        valid = problem if problem.is_finite() else self._repaired(problem)
        if isinstance(valid, Solution):
            return replace(valid, solve_time=perf_counter() - begun)
        form = EqualityForm.of(valid)
        start = form.start(warm_start) if warm_start is not None and _fits(warm_start, problem) else None
        with np.errstate(all="ignore"):  # overflows do not pass verification
            solution = form.restored(self._attempts(form.problem, start))
        return replace(solution, solve_time=perf_counter() - begun)

    @abstractmethod
    def _solve(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        """Call the backend once. Exceptions count as numerical failures."""

    def _repaired(self, problem: QPProblem) -> QPProblem | Solution:
        """Return the problem with sides that cross by rounding made equal, or the solution of an invalid problem."""
        if problem.non_finite_arrays():
            return Solution.failed(problem.n, status="not_finite", message="the problem contains NaN or infinity")
        repaired = repair_bounds(problem, tolerance=self.tolerance)
        if repaired is None:
            return Solution.failed(problem.n, status="infeasible", message="a lower side is above its upper side")
        return repaired

    def _attempts(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        if not problem.n:
            return _without_variables(problem, self.tolerance)
        solution = self._checked(problem, warm_start)
        if warm_start is not None and self._try_again(solution):
            solution = self._checked(problem, None)
        if solution.status in ("solved", "not_convex", "time_limit"):
            return solution
        if not is_convex(problem.H):
            return Solution.failed(problem.n, status="not_convex", message="the Hessian has a negative eigenvalue")
        try:
            rescaled = Rescaled.of(problem, tolerance=self.tolerance)
            if rescaled is None:
                return Solution.failed(problem.n, status="infeasible", message="the equality rows are inconsistent")
            return self._further_attempts(problem, rescaled, solution)
        except (ArithmeticError, ValueError) as error:  # LinAlgError, a ValueError, for extreme magnitudes
            return Solution.failed(problem.n, status="numerical", message=f"{solution.message}; then {error}")

    def _further_attempts(self, problem: QPProblem, rescaled: Rescaled, solution: Solution) -> Solution:
        """Solve equivalent problems with the backend; if that fails, determine the reason."""
        feasible: bool | None = None
        if solution.status in ("infeasible", "iteration_limit"):
            feasible = self._is_feasible(rescaled)
            if feasible is False:
                return replace(solution, status="infeasible")
        if solution.status == "infeasible":
            solution = replace(
                solution, status="numerical", message=f"{self.name}: infeasible, which was not confirmed"
            )
        for found in self._proximal_point(problem, rescaled):
            if found.found:
                return found
        if feasible is None:
            feasible = self._is_feasible(rescaled)
        if feasible is False:
            return replace(solution, status="infeasible")
        if feasible and is_unbounded(rescaled.problem, time_limit=self._remaining()):
            return replace(
                solution, status="unbounded", message="the cost is unbounded below along a feasible direction"
            )
        return replace(solution, status="time_limit") if self._remaining() < 0.0 else solution

    def _is_feasible(self, rescaled: Rescaled) -> bool | None:
        feasible = is_feasible(rescaled.problem, tolerance=self.tolerance, time_limit=self._remaining())
        self._known_feasible = feasible is True
        return feasible

    def _proximal_point(self, problem: QPProblem, rescaled: Rescaled) -> Iterator[Solution]:
        """Yield solutions of the rescaled problem, then with added curvature around the last one [Rockafellar1976]_.

        Each is tried without distant sides, and with sides loosened by different amounts, for backends that report
        dependent rows as infeasible; the solution is then polished on its active set.
        """
        previous = np.zeros(problem.n)
        form = EqualityForm.of(without_distant_sides(rescaled.problem))
        near = form.problem
        for curvature in (0.0, *_CURVATURES):
            for scaled in (near, loosened(near)):
                for _ in range(_ITERATIONS if curvature else 1):
                    if self._remaining() < 0.0:
                        return
                    trial = scaled
                    if curvature:
                        H = scaled.H + curvature * np.eye(problem.n)
                        trial = replace(scaled, H=H, g=scaled.g - curvature * previous)
                    solution = self._call_backend(trial, None)
                    if not solution.found or not np.abs(solution.x).max() < _UNBOUNDED:  # also rejects NaN
                        break
                    for candidate in (solution, polished(near, solution)):
                        if candidate is not None:
                            yield self._verified(problem, rescaled.restored(form.restored(candidate)))
                    previous = solution.x

    def _remaining(self) -> float:
        """Return the remaining time of the present call of `solve` [s]."""
        return self._deadline - perf_counter()

    def _try_again(self, solution: Solution) -> bool:
        return not solution.found and solution.status != "time_limit" and self._remaining() > 0.0

    def _checked(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        """Call the backend once and verify its result, polished first or if the verification fails."""
        solution = self._call_backend(problem, warm_start)
        if not solution.found:
            return solution
        exact = polished(problem, solution) if self.polishes else None
        verified = self._verified(problem, exact or solution)
        if not verified.found and verified.status == "numerical" and not self.polishes:
            exact = polished(problem, solution)
            verified = verified if exact is None else self._verified(problem, exact)
        return verified

    def _call_backend(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        try:
            solution = self._solve(problem, warm_start)
            if solution.found and solution.z_ineq is None and np.isfinite(solution.x).all():
                solution = with_multipliers(problem, solution)
        # No exception of a backend, such as an IndexError of quadprog, may stop the controller.
        except Exception as error:
            message = f"{self.name}: {type(error).__name__}: {error}"
            return Solution.failed(problem.n, status="numerical", message=message)
        return solution

    def _verified(self, problem: QPProblem, solution: Solution) -> Solution:
        fault = flaw(problem, solution, self.tolerance)
        status: SolverStatus = "numerical"
        if not fault and not self.refuses_concave and not is_convex(problem.H):
            fault, status = "the Hessian has a negative eigenvalue", "not_convex"
        if not fault:
            return solution
        message = f"{self.name}: {fault}"
        return Solution.failed(problem.n, status=status, iterations=solution.iterations, message=message)


def _without_variables(problem: QPProblem, tolerance: float) -> Solution:
    """Return the solution of a problem without variables."""
    low, high = np.append(problem.l, problem.b), np.append(problem.u, problem.b)
    if (low > tolerance).any() or (high < -tolerance).any():
        return Solution.failed(0, status="infeasible", message="a row without variables is violated")
    none, z = np.zeros(0), np.zeros(problem.p)
    return Solution(x=none, found=True, status="solved", y_eq=np.zeros(problem.m), z_ineq=z, z_bounds=none)


def _fits(warm_start: Solution, problem: QPProblem) -> bool:
    """Return whether a solution and its multipliers have the shape of a problem."""
    if not warm_start.found or len(warm_start.x) != problem.n:
        return False
    lengths = ((warm_start.y_eq, problem.m), (warm_start.z_ineq, problem.p), (warm_start.z_bounds, problem.n))
    return all(z is None or len(z) == length for z, length in lengths)
