"""Solve cascade of one tick: the warm-started QP, fallback solvers, relaxed limits (slack), then failure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.command import Status
from multi_qp_controller.contacts.rows import INCONSISTENCY
from multi_qp_controller.qp import QPProblem, Solution, Solver
from multi_qp_controller.qp.condensed import INFEASIBLE_CONTACTS, BlockSolver
from multi_qp_controller.qp.formulations import Formulation
from multi_qp_controller.qp.labels import Labels
from multi_qp_controller.qp.physical_solution import PhysicalSolution
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.relaxation import component_names, components
from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful

#: Penalty weight of slack in the elastic problem of general solvers, far above any task weight.
ELASTIC_PENALTY = 1e6
#: Penalty weight of squared slack in the block solver, the first attempt to relax limits.
BLOCK_SOLVER_PENALTY = 1e4
#: Slack below this is not reported: active rows have some [SI unit of the row].
SLACK_NOISE = 1e-4
#: Distance of a wrench from its cone below which it is not reported [N or N m].
CONE_NOISE = 1e-3
#: Largest relative residual of the dynamics and of the no-slip rows of a solution.
_EQUALITY_TOLERANCE = 1e-6
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
        infeasible: flags of the entries of v of the components with slack, (nv,); None if no row was relaxed.
    """

    status: Status
    solution: Solution
    physical: PhysicalSolution | None
    message: str = ""
    slack: dict[str, tuple[float, str]] = field(default_factory=dict)
    dynamics_residual: float = 0.0
    infeasible: NDArray[np.bool_] | None = None


@dataclass
class WarmStart:
    """The fields of a `Solution` that the next solve starts from."""

    x: Array
    y_eq: Array | None
    z_ineq: Array | None
    z_bounds: Array | None


class SolveCascade(Stateful):
    """Solver of the QP of each tick with levels of graceful degradation.

    The warm start is the solution of the last tick that the first solver has solved with all limits. When contacts or
    tasks change, the block solver keeps its active limits and friction cones. It is discarded by a tick without such a
    solution, and by `reset`.
    """

    @dataclass
    class Checkpoint:
        """Warm start, and whether the last tick failed."""

        warm_start: WarmStart | None
        failing: bool

    def __init__(
        self,
        formulation: Formulation,
        solvers: tuple[Solver, ...],
        block_solver: BlockSolver | None = None,
        *,
        time_limited: bool = False,
    ) -> None:
        """Set the levels of the cascade.

        Args:
            formulation: formulation of the QP for `solvers`, which names the rows of an infeasible QP.
            solvers: general solvers, called in order until one of them succeeds; the last one also relaxes limits.
            block_solver: solver that is called first; the others are then its fallback solvers.
            time_limited: call only the block solver: the others take several periods, the robot keeps moving while it
                waits, and is then less likely to have a solution at the next tick. Only contacts that contradict each
                other are left to the last of the others. No effect without block solver.
        """
        self.block_solver = block_solver
        self._time_limited = time_limited and block_solver is not None
        if block_solver is not None and time_limited:
            block_solver.limit_time()
        self._qp_data = formulation.qp_data
        self._formulation = formulation
        self._solvers = solvers
        self._last_solution: Solution | None = None
        self._failing = False
        self._formulation_is_ready = False
        self._failed: QPProblem | QPData | None = None

    def prepare(self) -> None:
        """Prepare for the present contacts and tasks; the block solver transfers the warm start, others discard it."""
        if self.block_solver is not None:
            self._last_solution = self.block_solver.prepare(self._last_solution)
            self._formulation_is_ready = False
        else:
            self._formulation.prepare()
            self._formulation_is_ready = True
            self.reset()

    def reset(self) -> None:
        """Discard the warm start."""
        self._last_solution = None

    def get_state(self) -> Checkpoint:
        """Return the state; its arrays are not written to again."""
        last = self._last_solution
        warm = None if last is None else WarmStart(last.x, last.y_eq, last.z_ineq, last.z_bounds)
        return self.Checkpoint(warm, self._failing)

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state, after `prepare`."""
        warm, self._failing = saved.warm_start, saved.failing
        self._last_solution = None if warm is None else Solution(found=True, status="solved", **vars(warm))

    @property
    def failed_problem(self) -> QPProblem | None:
        """The QP of the first tick of the present or last failure, built on demand; None without failure."""
        if isinstance(self._failed, QPData):
            formulation = type(self._formulation)(self._failed)
            formulation.prepare()
            self._failed = formulation.build()
        return self._failed

    def solve(self) -> SolveResult:
        """Solve the QP of this tick."""
        if self.block_solver is None:
            result = self._solve_generally(self._last_solution)
            return result if result.physical is not None else self._relax_generally(self._build(), result.solution)
        result = self._solve_by_blocks(self.block_solver)
        if result.physical is not None:
            return result
        solution, start = result.solution, self._last_solution
        self.reset()
        # the general solvers take hundreds of periods: while a failure lasts, they only relax
        if not (self._time_limited or self._failing or solution.status in _FINAL):
            result = self._solve_generally(None, spent=solution.solve_time)
            if result.physical is not None:
                return result
            solution = result.solution
        self._record_failure(None)
        if solution.message == INFEASIBLE_CONTACTS:
            result = self._reconcile_contacts(solution)
            if result.physical is not None or not self._time_limited:
                return result
        result = self._relax_by_blocks(self.block_solver, start, solution)
        if result.physical is not None or self._time_limited or not _may_relax(solution):
            return result
        return self._relax_generally(self._build(), solution)

    def _solve_by_blocks(self, block_solver: BlockSolver) -> SolveResult:
        """Solve with the block solver; return a fallback if that fails."""
        solved = block_solver.solve(self._last_solution)
        result = self._verified(SolveResult(Status.OK, solved.solution, solved.physical))
        if result.physical is not None:
            self._succeeded(result.solution)
        return result

    def _solve_generally(
        self, start: Solution | None, solvers: tuple[Solver, ...] = (), *, spent: float = 0.0
    ) -> SolveResult:
        """Solve with the general solvers, from a warm start; return a fallback if they fail.

        Args:
            start: warm start.
            solvers: those to call; all by default.
            spent: time spent on this tick so far [s].
        """
        problem = self._build()
        for solver in solvers or self._solvers:
            solution = solver.solve(problem, warm_start=start)
            spent += solution.solve_time
            solution = replace(solution, solve_time=spent)
            if solution.found:
                result = self._verified(SolveResult(Status.OK, solution, self._formulation.recover(solution.x)))
                if result.physical is not None:
                    # the block solver does not start from a solution of another formulation
                    self._succeeded(solution if self.block_solver is None else None)
                    return result
                solution = result.solution
        self.reset()
        self._record_failure(problem)
        return SolveResult(Status.FALLBACK, solution, None)

    def _succeeded(self, warm_start: Solution | None) -> None:
        """Store the warm start of the next tick."""
        self._last_solution, self._failing = warm_start, False

    def _record_failure(self, problem: QPProblem | None) -> None:
        """Store the first QP of a failure; as `QPData` if it is not built yet, which takes several periods."""
        if not self._failing:
            self._failed = self._qp_data.snapshot() if problem is None else _copy(problem)
        self._failing = True

    def _relax_by_blocks(self, block_solver: BlockSolver, start: Solution | None, solution: Solution) -> SolveResult:
        """Relax rows of infeasible components with the block solver; return a fallback if that fails."""
        message, qp_data = f"the QP has no solution ({_reason(solution)}); ", self._qp_data
        relaxed = block_solver.solve(start, penalty=BLOCK_SOLVER_PENALTY) if _may_relax(solution) else None
        if relaxed is None or relaxed.physical is None or relaxed.relaxed is None:
            return SolveResult(Status.FALLBACK, solution, None, message + "relaxing limits does not help")
        names = component_names(qp_data.scene, relaxed.relaxed > 0)
        message += f"{qp_data.relaxation.described(int(relaxed.relaxed.max()))} of {', '.join(names)} were relaxed"
        result = SolveResult(Status.RELAXED, relaxed.solution, relaxed.physical, message)
        result.slack, result.infeasible = _slack(qp_data, relaxed.physical)
        return self._verified(result)

    def _reconcile_contacts(self, solution: Solution) -> SolveResult:
        """Solve with contacts that contradict each other followed as far as possible; others are not changed.

        Rows of other components of the scene are consistent, so that their least-squares solution is exact. With a
        deadline only the last general solver is called, which is the fastest and has its own time limit.
        """
        contacts = self._qp_data.contacts
        change = np.abs(contacts.reconcile())
        failing, labels = self._failing, Labels((), contacts.row_label, ())
        changed = [k for k in np.flatnonzero(change > INCONSISTENCY * (1.0 + np.abs(contacts.rhs).max()))]
        solvers = self._solvers[-1:] if self._time_limited else self._solvers
        result = self._solve_generally(None, solvers, spent=solution.solve_time)
        self._failing = failing
        if result.physical is None:
            return result
        names = component_names(self._qp_data.scene, (contacts.J[changed] != 0.0).any(axis=0))
        message = f"contacts of {', '.join(names)} contradict each other: they are followed as far as possible"
        slack = {labels.name("equality", int(k)): (float(change[k]), labels.unit("equality", int(k))) for k in changed}
        return replace(result, status=Status.RELAXED, message=message, slack=slack)

    def _relax_generally(self, problem: QPProblem, solution: Solution) -> SolveResult:
        """Relax rows of all components with the last general solver; this may take many periods.

        The penalty is exact: components with a solution keep it.
        """
        message, order, step = f"the QP has no solution ({_reason(solution)}); ", self._qp_data.relaxation, 0
        relaxed = Solution.failed(problem.n, status="infeasible")
        while not relaxed.found and step < len(order.steps):
            step += 1
            relaxed = self._solvers[-1].solve(problem.with_slack(ELASTIC_PENALTY, step=step))
        if not relaxed.found:
            return SolveResult(Status.FALLBACK, relaxed, None, message + "relaxing limits does not help")
        physical = self._formulation.recover(relaxed.x)
        result = SolveResult(Status.RELAXED, relaxed, physical, f"{message}{order.described(step)} were relaxed")
        result.slack, result.infeasible = _slack(self._qp_data, physical)
        return self._verified(result)

    def _verified(self, result: SolveResult) -> SolveResult:
        """Return the result if it satisfies the dynamics and the no-slip rows, else a fallback with the residuals."""
        if result.physical is None:
            return result
        dynamics, slip = self._qp_data.equality_residuals(*result.physical)
        if dynamics <= _EQUALITY_TOLERANCE and slip <= _EQUALITY_TOLERANCE:  # also rejects NaN
            result.dynamics_residual = dynamics
            return result
        message = f"relative residuals of the solution: dynamics {dynamics:.1e}, contacts {slip:.1e}"
        failed = Solution.failed(0, status="numerical", message=message)
        return SolveResult(Status.FALLBACK, failed, None, message)

    def _build(self) -> QPProblem:
        """Return the problem of the tick for the general solvers."""
        if not self._formulation_is_ready:
            self._formulation.prepare()
            self._formulation_is_ready = True
        return self._formulation.build()


def _may_relax(solution: Solution) -> bool:
    """Return whether relaxing limits can help: not for NaN or infeasible contact constraints."""
    return solution.status != "not_finite" and solution.message != INFEASIBLE_CONTACTS


def _reason(solution: Solution) -> str:
    return solution.message if solution.message == INFEASIBLE_CONTACTS else solution.status


def _slack(qp_data: QPData, physical: PhysicalSolution) -> tuple[dict[str, tuple[float, str]], NDArray[np.bool_]]:
    """Return the violations of joint limits, rows on q̈ and wrench cones, by name, and flags of their components."""
    acceleration, contacts = physical.acceleration, qp_data.contacts
    labels = Labels((qp_data.acceleration_label,), (), qp_data.row_labels())
    beyond = np.maximum(qp_data.lower - acceleration, acceleration - qp_data.upper)
    below = qp_data.d - qp_data.D @ acceleration
    found, involved = {}, beyond > SLACK_NOISE
    for k in np.flatnonzero(below > SLACK_NOISE):
        found[labels.name("inequality", int(k))] = float(below[k]), labels.unit("inequality", int(k))
        involved |= qp_data.D[k] != 0.0
    for k in np.flatnonzero(beyond > SLACK_NOISE):
        found[labels.name("bound", int(k))] = float(beyond[k]), labels.unit("variable", int(k))
    for contact, rows in zip(contacts.contacts, contacts.row_slices, strict=True):
        outside = float((contact.low - contact.F @ physical.reactions[rows]).max(initial=0.0))
        if outside > CONE_NOISE:
            found[f"friction cone {contact.name}"] = outside, "N or N m"
            involved |= (contacts.J[rows] != 0.0).any(axis=0)
    owner = components(qp_data)
    return found, np.isin(owner, owner[involved])


def _copy(problem: QPProblem) -> QPProblem:
    """Return a copy with its relaxed arrays."""
    arrays = ("H", "g", "A", "b", "C", "l", "u", "lb", "ub", "relaxable_rows", "relaxable_bounds")
    return QPProblem(**{name: getattr(problem, name).copy() for name in arrays}, labels=problem.labels)
