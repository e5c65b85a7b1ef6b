"""The QP of one tick: as stated, else with limits relaxed at a price, else not at all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks import CONTRADICTING_CONTACTS
from multi_qp_controller.command import Status
from multi_qp_controller.formulations import DegenerateError, Formulation
from multi_qp_controller.memory import Memory
from multi_qp_controller.physical import PhysicalSolution
from multi_qp_controller.qp import Problem, Solution, Solver
from multi_qp_controller.qp.labels import Labels
from multi_qp_controller.statement import Statement

Array = NDArray[np.float64]

#: Price of slack on collision and joint-limit rows, far above any task's.
SLACK_WEIGHT = 1e6
#: Slack below this is rounding [SI unit of the row].
SLACK_NOISE = 1e-6
#: Price of squared slack where a formulation relaxes a tick by itself; rows that are just active give way by less than
#: the noise that is left out.
OWN_SLACK_PRICE, OWN_SLACK_NOISE = 1e7, 1e-4
_RELAXED = "collision, balance and joint limits were relaxed"
#: How a search ends that no other solver would bring to a better end.
_HOPELESS = "infeasible", "not_finite"
#: What a solver may take of an earlier answer.
_WARM_START = ("x", "y_eq", "z_ineq", "z_bounds")


@dataclass(slots=True)
class Answer:
    """What became of the QP of one tick.

    Attributes:
        status: how it was solved.
        solution: what the solver said last.
        physical: what the QP decided; None in a fallback.
        message: what went wrong, empty if nothing.
        slack: rows that were relaxed, with how much: name -> (slack, unit).
    """

    status: Status
    solution: Solution
    physical: PhysicalSolution | None
    message: str = ""
    slack: dict[str, tuple[float, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reserve:
    """What takes over where the first way of solving fails.

    Attributes:
        formulation: whose problems can be relaxed and explained row by row.
        solvers: asked one after the other, where the first failed other than by finding the problem infeasible.
    """

    formulation: Formulation
    solvers: tuple[Solver, ...]


class Ladder:
    """Solves the QP of each tick, one rung down after the other."""

    def __init__(
        self, formulation: Formulation, solver: Solver, reserve: Reserve | None = None, *, hurried: bool = False
    ) -> None:
        """Prepare.

        Args:
            formulation: that writes the QP.
            solver: that solves it.
            reserve: what takes over; None where there is nothing else.
            hurried: pass over the rungs that take several times as long as a tick, where a way to relax limits is left
                that does not: a world that goes on meanwhile would be further from any solution at the next tick.
        """
        self._hurried = hurried and solver.name == "active_set"
        if self._hurried:
            formulation.hurry()
        self._formulation = formulation
        self._solver = solver
        self._reserve = reserve
        self._last_solution: Solution | None = None
        self._failing = False
        self._reserve_is_ready = False
        self._failed: Problem | Statement | None = None

    def prepare(self) -> None:
        """Take up the statement's present contacts."""
        self._formulation.prepare()
        self._reserve_is_ready = False
        self.forget()

    def forget(self) -> None:
        """Start the next tick's solver from nothing."""
        self._last_solution = None

    def begin_with(self, rows: Array | None) -> None:
        """Start the next tick's solver from rows that were found active in another way; see `BlockSolver`."""
        if rows is not None and self._solver.name == "active_set":
            self._last_solution = Solution(np.zeros(0), True, "solved", z_ineq=rows)

    def memory(self) -> Memory:
        """Return what the solver starts from, and whether the last tick failed."""
        last = self._last_solution
        warm = None if last is None else {name: getattr(last, name) for name in _WARM_START}
        return {"warm_start": warm, "failing": self._failing}

    def resume(self, memory: Memory) -> None:
        """Go on from a memory, after `prepare`."""
        warm = memory["warm_start"]
        self._last_solution = None if warm is None else Solution(found=True, status="solved", **warm)
        self._failing = memory["failing"]

    @property
    def failed_problem(self) -> Problem | None:
        """The QP that began the present (or the last) failure, written when somebody asks; None if there was none."""
        if isinstance(self._failed, Statement):
            written = type(self._formulation if self._reserve is None else self._reserve.formulation)(self._failed)
            written.prepare()
            self._failed = written.build()
        return self._failed

    def solve(self) -> Answer:
        """Solve the QP of this tick."""
        # our own solver would find nothing else
        solved = self._formulation.solve(self._last_solution) if self._solver.name == "active_set" else None
        if solved is not None and solved.physical is not None:
            return self._found(solved.solution, solved.physical)
        problem: Problem | None = None
        if solved is not None:
            solution = solved.solution
        else:
            try:
                problem = self._formulation.build()
                solution = self._solver.solve(problem, warm_start=self._last_solution)
            except DegenerateError as error:
                solution = Solution.failed(0, status="numerical", message=str(error))
            if solution.found:
                return self._found(solution, self._formulation.recover(solution.x))
        self.forget()
        if solved is None or not (self._hurried or solution.status in _HOPELESS):
            return self._solve_otherwise(problem, solution)
        self._note_failure(None)
        answer = self._relaxed_at_once(solution)
        if answer.physical is not None or self._hurried or not _may_relax(solution):
            return answer
        return self._relaxed_otherwise(None, solution)

    def _note_failure(self, problem: Problem | None) -> None:
        """Keep the QP that begins a failure; as it is stated where it is not written, for that takes some ticks."""
        if not self._failing:
            self._failed = self._formulation.statement.kept() if problem is None else _copy(problem)
        self._failing = True

    def _relaxed_at_once(self, solution: Solution) -> Answer:
        """Relax limits in the formulation's own way; failing that, give up this tick."""
        message = f"the QP has no solution ({_reason(solution)}); "
        own = self._formulation.solve(None, price=OWN_SLACK_PRICE) if _may_relax(solution) else None
        if own is None or own.physical is None:
            return Answer(Status.FALLBACK, solution, None, message + "relaxing limits does not help")
        slack = _given_way(self._formulation.statement, own.physical.acceleration)
        return Answer(Status.RELAXED, own.solution, own.physical, message + _RELAXED, slack)

    def _found(self, solution: Solution, physical: PhysicalSolution) -> Answer:
        self._last_solution = solution
        self._failing = False
        return Answer(Status.OK, solution, physical)

    def _solve_otherwise(self, problem: Problem | None, solution: Solution) -> Answer:
        """Solve with the reserve; failing that, with slack."""
        if self._reserve is not None:
            formulation, problem = self._reserve.formulation, None
            if solution.status not in (*_HOPELESS, "time_limit"):
                problem = self._written(formulation)
                for other in self._reserve.solvers:
                    spent = solution.solve_time
                    solution = other.solve(problem)
                    solution = replace(solution, solve_time=solution.solve_time + spent)
                    if solution.found:
                        self._failing = False
                        return Answer(Status.OK, solution, formulation.recover(solution.x))
        elif problem is None:
            return Answer(Status.FALLBACK, solution, None, f"the QP cannot be written: {solution.message}")
        self._note_failure(problem)
        return self._relaxed_otherwise(problem, solution)

    def _relaxed_otherwise(self, problem: Problem | None, solution: Solution) -> Answer:
        """Relax limits as the reserve does, if there is one: what the first way could not relax takes many ticks."""
        formulation, solver = self._formulation, self._solver
        if self._reserve is not None:
            formulation, solver = self._reserve.formulation, self._reserve.solvers[-1]
        message = f"the QP has no solution ({_reason(solution)}); "
        return _solve_relaxed(formulation, solver, problem or self._written(formulation), message)

    def _written(self, formulation: Formulation) -> Problem:
        """Return the tick's problem as the reserve writes it."""
        if self._reserve is not None and not self._reserve_is_ready:
            formulation.prepare()
            self._reserve_is_ready = True
        return formulation.build()


def _may_relax(solution: Solution) -> bool:
    """Return whether a tick may have an answer with limits relaxed: not where a number or the contacts are at fault."""
    return solution.status != "not_finite" and solution.message != CONTRADICTING_CONTACTS


def _reason(solution: Solution) -> str:
    return solution.message if solution.message == CONTRADICTING_CONTACTS else solution.status


def _solve_relaxed(formulation: Formulation, solver: Solver, problem: Problem, message: str) -> Answer:
    solution = solver.solve(problem.with_slack(SLACK_WEIGHT))
    if not solution.found:
        return Answer(Status.FALLBACK, solution, None, message + "relaxing limits does not help")
    message += _RELAXED
    slack = _slack(problem, solution.x[: problem.n])
    return Answer(Status.RELAXED, solution, formulation.recover(solution.x), message, slack)


def _slack(problem: Problem, x: Array) -> dict[str, tuple[float, str]]:
    """Return how far a relaxed solution violates the rows of the problem, by name."""
    y = problem.C @ x
    row_slack = np.maximum(problem.l - y, y - problem.u)
    bound_slack = np.maximum(problem.lb - x, x - problem.ub)
    found = {}
    for k in np.flatnonzero(row_slack > SLACK_NOISE):
        found[problem.labels.name("inequality", int(k))] = (
            float(row_slack[k]),
            problem.labels.unit("inequality", int(k)),
        )
    for k in np.flatnonzero(bound_slack > SLACK_NOISE):
        found[problem.labels.name("bound", int(k))] = (
            float(bound_slack[k]),
            problem.labels.unit("variable", int(k)),
        )
    return found


def _given_way(statement: Statement, acceleration: Array) -> dict[str, tuple[float, str]]:
    """Return how far q̈ violates joint limits and the rows on it, by name."""
    limits, labels = statement.joint_limits, Labels((statement.acceleration_label,), (), statement.row_labels())
    beyond = np.maximum(limits.lower - acceleration, acceleration - limits.upper)
    below = statement.d - statement.D @ acceleration
    found = {}
    for k in np.flatnonzero(below > OWN_SLACK_NOISE):
        found[labels.name("inequality", int(k))] = float(below[k]), labels.unit("inequality", int(k))
    for k in np.flatnonzero(beyond > OWN_SLACK_NOISE):
        found[labels.name("bound", int(k))] = float(beyond[k]), labels.unit("variable", int(k))
    return found


def _copy(problem: Problem) -> Problem:
    """Return a copy whose arrays the next tick does not overwrite."""
    arrays = ("H", "g", "A", "b", "C", "l", "u", "lb", "ub", "relaxable_rows", "relaxable_bounds")
    return Problem(**{name: getattr(problem, name).copy() for name in arrays}, labels=problem.labels)
