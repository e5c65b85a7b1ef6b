"""The QP of one tick: as stated, else with limits relaxed at a price, else not at all."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Status
from multi_qp_controller.formulations import Formulation
from multi_qp_controller.formulations.base import PhysicalSolution
from multi_qp_controller.qp import Problem, Solution, Solver

Array = NDArray[np.float64]

#: Price of slack on collision and joint-limit rows, far above any task's.
SLACK_WEIGHT = 1e6
#: Slack below this is rounding [SI unit of the row].
SLACK_NOISE = 1e-6


@dataclass(frozen=True)
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


class Ladder:
    """Solves the QP of each tick, one rung down after the other.

    Attributes:
        failed_problem: the QP that began the present (or the last) failure; None if there was none.
    """

    def __init__(self, formulation: Formulation, solver: Solver) -> None:
        self._formulation = formulation
        self._solver = solver
        self._last_solution: Solution | None = None
        self._failing = False
        self.failed_problem: Problem | None = None

    def prepare(self) -> None:
        """Take up the statement's present contacts."""
        self._formulation.prepare()
        self.forget()

    def forget(self) -> None:
        """Start the next tick's solver from nothing."""
        self._last_solution = None

    def solve(self) -> Answer:
        """Solve the QP of this tick."""
        problem = self._formulation.build()
        solution = self._solver.solve(problem, warm_start=self._last_solution)
        if solution.found:
            self._last_solution = solution
            self._failing = False
            return Answer(Status.OK, solution, self._formulation.recover(solution.x))
        self.forget()
        if not self._failing:
            self.failed_problem = _copy(problem)
            self._failing = True
        return self._solve_relaxed(problem, f"the QP has no solution ({solution.status}); ")

    def _solve_relaxed(self, problem: Problem, message: str) -> Answer:
        solution = self._solver.solve(problem.with_slack(SLACK_WEIGHT))
        if not solution.found:
            return Answer(Status.FALLBACK, solution, None, message + "relaxing limits does not help")
        message += "collision, balance and joint limits were relaxed"
        slack = _slack(problem, solution.x[: problem.n])
        return Answer(Status.RELAXED, solution, self._formulation.recover(solution.x), message, slack)


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


def _copy(problem: Problem) -> Problem:
    """Return a copy whose arrays the next tick does not overwrite."""
    arrays = ("H", "g", "A", "b", "C", "l", "u", "lb", "ub", "relaxable_rows", "relaxable_bounds")
    return Problem(**{name: getattr(problem, name).copy() for name in arrays}, labels=problem.labels)
