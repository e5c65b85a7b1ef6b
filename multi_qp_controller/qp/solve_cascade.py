"""Solve cascade of one tick: the warm-started QP, fallback solvers, relaxed limits (slack), then failure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Status
from multi_qp_controller.qp import QPProblem, Solution, Solver
from multi_qp_controller.qp.condensed import INFEASIBLE_CONTACTS
from multi_qp_controller.qp.formulations import DegenerateError, Formulation
from multi_qp_controller.qp.labels import Labels
from multi_qp_controller.qp.physical_solution import PhysicalSolution, Solved
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_scene.stateful import Stateful

Array = NDArray[np.float64]

#: Penalty weight of slack in the elastic problem of general solvers, far above any task weight.
ELASTIC_PENALTY = 1e6
#: Slack below this is rounding and not reported [SI unit of the row].
ELASTIC_NOISE = 1e-6
#: Penalty weight of squared slack in `Formulation.solve`, the first attempt to relax limits, and slack below which it
#: is not reported: active rows have some slack.
BLOCK_SOLVER_PENALTY, BLOCK_SOLVER_NOISE = 1e7, 1e-4
#: Largest relative residual of the dynamics and of the no-slip rows of a solution.
_EQUALITY_TOLERANCE = 1e-6
_RELAXED = "collision, balance and joint limits were relaxed"
#: Status for which fallback solvers are not called.
_FINAL = "infeasible", "not_finite"


@dataclass(slots=True)
class SolveResult:
    """Result of the QP of one tick.

    Attributes:
        status: level of the cascade that solved it.
        solution: solution of the last solver.
        physical: physical quantities; None in a fallback.
        message: error message, empty on success.
        slack: relaxed rows: name -> (slack, unit).
        dynamics_residual: relative residual of the dynamics, see `QPData.equality_residuals`.
    """

    status: Status
    solution: Solution
    physical: PhysicalSolution | None
    message: str = ""
    slack: dict[str, tuple[float, str]] = field(default_factory=dict)
    dynamics_residual: float = 0.0


@dataclass(frozen=True)
class FallbackSolvers:
    """Formulation and solvers that are used if the first solver fails.

    Attributes:
        formulation: a formulation whose problems can be relaxed and explained row by row.
        solvers: called in order, unless the problem was found infeasible or not finite.
    """

    formulation: Formulation
    solvers: tuple[Solver, ...]


@dataclass
class WarmStart:
    """The fields of a `Solution` that the next solve starts from."""

    x: Array
    y_eq: Array | None
    z_ineq: Array | None
    z_bounds: Array | None


class SolveCascade(Stateful):
    """Solver of the QP of each tick with levels of graceful degradation.

    The warm start is the solution of the last tick that was solved with all limits. It is discarded when contacts or
    tasks change, by a tick without such a solution, and by `reset`.
    """

    @dataclass
    class State:
        """Warm start, and whether the last tick failed."""

        warm_start: WarmStart | None
        failing: bool

    def __init__(
        self,
        formulation: Formulation,
        solver: Solver,
        fallback_solvers: FallbackSolvers | None = None,
        *,
        time_limited: bool = False,
    ) -> None:
        """Set the levels of the cascade.

        Args:
            formulation: formulation of the QP.
            solver: solver of the QP.
            fallback_solvers: further solvers, if any.
            time_limited: skip levels that take several periods, if there is a faster way to relax limits: a robot keeps
                moving while it waits, and is then less likely to have a solution at the next tick.
        """
        self._time_limited = time_limited and solver.name == "active_set"
        if self._time_limited:
            formulation.limit_time()
        self._formulation = formulation
        self._solver = solver
        self._fallback_solvers = fallback_solvers
        self._last_solution: Solution | None = None
        self._failing = False
        self._fallback_is_ready = False
        self._failed: QPProblem | QPData | None = None

    def prepare(self) -> None:
        """Prepare for the present contacts of the QP data; discard the warm start."""
        self._formulation.prepare()
        self._fallback_is_ready = False
        self.reset()

    def reset(self) -> None:
        """Discard the warm start."""
        self._last_solution = None

    def get_state(self) -> State:
        """Return the state; its arrays are not written to again."""
        last = self._last_solution
        warm = None if last is None else WarmStart(last.x, last.y_eq, last.z_ineq, last.z_bounds)
        return self.State(warm, self._failing)

    def set_state(self, saved: State) -> None:
        """Restore a saved state, after `prepare`."""
        warm, self._failing = saved.warm_start, saved.failing
        self._last_solution = None if warm is None else Solution(found=True, status="solved", **vars(warm))

    @property
    def failed_problem(self) -> QPProblem | None:
        """The QP of the first tick of the present or last failure, built on demand; None without failure."""
        if isinstance(self._failed, QPData):
            formulation = type(
                self._formulation if self._fallback_solvers is None else self._fallback_solvers.formulation
            )(self._failed)
            formulation.prepare()
            self._failed = formulation.build()
        return self._failed

    def solve(self) -> SolveResult:
        """Solve the QP of this tick."""
        # for `active_set` the formulation may have a solver of its own, faster and with the same solution
        solved = self._formulation.solve(self._last_solution) if self._solver.name == "active_set" else None
        if solved is not None and solved.physical is not None:
            result = self._accept(solved.solution, solved.physical)
            if result.physical is not None:
                return result
            solved = Solved(result.solution, None)
        problem: QPProblem | None = None
        if solved is not None:
            solution = solved.solution
        else:
            try:
                problem = self._formulation.build()
                solution = self._solver.solve(problem, warm_start=self._last_solution)
            except DegenerateError as error:
                solution = Solution.failed(0, status="numerical", message=str(error))
            if solution.found:
                result = self._accept(solution, self._formulation.recover(solution.x))
                if result.physical is not None:
                    return result
                solution = result.solution
        self.reset()
        if solved is None or not (self._time_limited or solution.status in _FINAL):
            return self._solve_with_fallbacks(problem, solution)
        self._record_failure(None)
        result = self._solve_relaxed_directly(solution)
        if result.physical is not None or self._time_limited or not _may_relax(solution):
            return result
        return self._solve_relaxed_with_fallbacks(None, solution)

    def _record_failure(self, problem: QPProblem | None) -> None:
        """Store the first QP of a failure; as `QPData` if it is not built yet, which takes several periods."""
        if not self._failing:
            self._failed = self._formulation.qp_data.snapshot() if problem is None else _copy(problem)
        self._failing = True

    def _solve_relaxed_directly(self, solution: Solution) -> SolveResult:
        """Relax limits with the solver of the formulation; return a fallback if that fails."""
        message = f"the QP has no solution ({_reason(solution)}); "
        relaxed = self._formulation.solve(None, penalty=BLOCK_SOLVER_PENALTY) if _may_relax(solution) else None
        if relaxed is None or relaxed.physical is None:
            return SolveResult(Status.FALLBACK, solution, None, message + "relaxing limits does not help")
        slack = _acceleration_slack(self._formulation.qp_data, relaxed.physical.acceleration)
        return self._verified(
            SolveResult(Status.RELAXED, relaxed.solution, relaxed.physical, message + _RELAXED, slack)
        )

    def _accept(self, solution: Solution, physical: PhysicalSolution) -> SolveResult:
        result = self._verified(SolveResult(Status.OK, solution, physical))
        if result.physical is not None:
            self._last_solution = solution
            self._failing = False
        return result

    def _verified(self, result: SolveResult) -> SolveResult:
        """Return the result if it satisfies the dynamics and the no-slip rows, else a fallback with the residuals."""
        if result.physical is None:
            return result
        dynamics, slip = self._formulation.qp_data.equality_residuals(*result.physical)
        if dynamics <= _EQUALITY_TOLERANCE and slip <= _EQUALITY_TOLERANCE:  # also rejects NaN
            result.dynamics_residual = dynamics
            return result
        message = f"relative residuals of the solution: dynamics {dynamics:.1e}, contacts {slip:.1e}"
        failed = Solution.failed(0, status="numerical", message=message)
        return SolveResult(Status.FALLBACK, failed, None, message)

    def _solve_with_fallbacks(self, problem: QPProblem | None, solution: Solution) -> SolveResult:
        """Solve with the fallback solvers; relax limits if these fail."""
        if self._fallback_solvers is not None:
            formulation, problem = self._fallback_solvers.formulation, None
            if solution.status not in (*_FINAL, "time_limit"):
                problem = self._build(formulation)
                for other in self._fallback_solvers.solvers:
                    spent = solution.solve_time
                    solution = other.solve(problem)
                    solution = replace(solution, solve_time=solution.solve_time + spent)
                    if solution.found:
                        result = self._verified(SolveResult(Status.OK, solution, formulation.recover(solution.x)))
                        if result.physical is not None:
                            self._failing = False
                            return result
                        solution = result.solution
        elif problem is None:
            return SolveResult(Status.FALLBACK, solution, None, f"the QP cannot be built: {solution.message}")
        self._record_failure(problem)
        return self._solve_relaxed_with_fallbacks(problem, solution)

    def _solve_relaxed_with_fallbacks(self, problem: QPProblem | None, solution: Solution) -> SolveResult:
        """Relax limits with the last fallback solver, if any; this may take many periods."""
        formulation, solver = self._formulation, self._solver
        if self._fallback_solvers is not None:
            formulation, solver = self._fallback_solvers.formulation, self._fallback_solvers.solvers[-1]
        message = f"the QP has no solution ({_reason(solution)}); "
        return self._verified(_solve_relaxed(formulation, solver, problem or self._build(formulation), message))

    def _build(self, formulation: Formulation) -> QPProblem:
        """Return the problem of the tick from a formulation, prepared if it is that of the fallback solvers."""
        if self._fallback_solvers is not None and not self._fallback_is_ready:
            formulation.prepare()
            self._fallback_is_ready = True
        return formulation.build()


def _may_relax(solution: Solution) -> bool:
    """Return whether relaxing limits can help: not for NaN or infeasible contact constraints."""
    return solution.status != "not_finite" and solution.message != INFEASIBLE_CONTACTS


def _reason(solution: Solution) -> str:
    return solution.message if solution.message == INFEASIBLE_CONTACTS else solution.status


def _solve_relaxed(formulation: Formulation, solver: Solver, problem: QPProblem, message: str) -> SolveResult:
    solution = solver.solve(problem.with_slack(ELASTIC_PENALTY))
    if not solution.found:
        return SolveResult(Status.FALLBACK, solution, None, message + "relaxing limits does not help")
    message += _RELAXED
    slack = _slack(problem, solution.x[: problem.n])
    return SolveResult(Status.RELAXED, solution, formulation.recover(solution.x), message, slack)


def _slack(problem: QPProblem, x: Array) -> dict[str, tuple[float, str]]:
    """Return the violations of the rows of the problem by a relaxed solution, by name."""
    y = problem.C @ x
    row_slack = np.maximum(problem.l - y, y - problem.u)
    bound_slack = np.maximum(problem.lb - x, x - problem.ub)
    found = {}
    for k in np.flatnonzero(row_slack > ELASTIC_NOISE):
        found[problem.labels.name("inequality", int(k))] = (
            float(row_slack[k]),
            problem.labels.unit("inequality", int(k)),
        )
    for k in np.flatnonzero(bound_slack > ELASTIC_NOISE):
        found[problem.labels.name("bound", int(k))] = (
            float(bound_slack[k]),
            problem.labels.unit("variable", int(k)),
        )
    return found


def _acceleration_slack(qp_data: QPData, acceleration: Array) -> dict[str, tuple[float, str]]:
    """Return the violations of joint limits and rows on q̈, by name."""
    labels = Labels((qp_data.acceleration_label,), (), qp_data.row_labels())
    beyond = np.maximum(qp_data.lower - acceleration, acceleration - qp_data.upper)
    below = qp_data.d - qp_data.D @ acceleration
    found = {}
    for k in np.flatnonzero(below > BLOCK_SOLVER_NOISE):
        found[labels.name("inequality", int(k))] = float(below[k]), labels.unit("inequality", int(k))
    for k in np.flatnonzero(beyond > BLOCK_SOLVER_NOISE):
        found[labels.name("bound", int(k))] = float(beyond[k]), labels.unit("variable", int(k))
    return found


def _copy(problem: QPProblem) -> QPProblem:
    """Return a copy with its relaxed arrays."""
    arrays = ("H", "g", "A", "b", "C", "l", "u", "lb", "ub", "relaxable_rows", "relaxable_bounds")
    return QPProblem(**{name: getattr(problem, name).copy() for name in arrays}, labels=problem.labels)
