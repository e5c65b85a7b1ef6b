"""PIQP: proximal interior-point method [Schwan2023]_, with dense linear algebra."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import piqp

from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution, Status
from multi_qp_controller.qp.solvers.base import Solver

_STATUS: dict[int, Status] = {
    int(piqp.PIQP_SOLVED): "solved",
    int(piqp.PIQP_PRIMAL_INFEASIBLE): "infeasible",
    int(piqp.PIQP_MAX_ITER_REACHED): "iteration_limit",
}


#: What PIQP takes for infinite.
_INFINITE = 1e30


class Piqp(Solver):
    """Takes about the same time for every problem of a size, whatever its active set. It has no warm start.

    PIQP equilibrates the problem itself; scaling variables beforehand made it worse. Where it does not
    converge (one in twenty of the badly conditioned problems, most of them infeasible), scaling the cost as
    well usually helps; at last less accuracy is asked for, which still gives accelerations to 1e-6.

    Args:
        max_iterations: interior-point steps, for each of up to three tries.
        tolerance: see `Solver`.
        time_limit: see `Solver` [s].
    """

    name: ClassVar[str] = "piqp"
    polishes: ClassVar[bool] = True

    def __init__(self, *, max_iterations: int = 100, tolerance: float = 1e-6, time_limit: float = 1.0) -> None:
        """Set the limits."""
        super().__init__(tolerance=tolerance, time_limit=time_limit)
        self._max_iterations = max_iterations

    def _solve(self, problem: Problem, warm_start: Solution | None) -> Solution:
        limited = (problem.l > -_INFINITE) | (problem.u < _INFINITE)
        if limited.all():
            return self._tried(problem)
        # PIQP complains on stderr about rows without any side.
        answer = self._tried(
            replace(
                problem,
                C=problem.C[limited],
                l=problem.l[limited],
                u=problem.u[limited],
                relaxable_rows=problem.relaxable_rows[limited],
            )
        )
        if answer.z_ineq is None:
            return answer
        z_ineq = np.zeros(problem.p)
        z_ineq[limited] = answer.z_ineq
        return replace(answer, z_ineq=z_ineq)

    def _tried(self, problem: Problem) -> Solution:
        answer = self._run(problem, scale_cost=False)
        # where a slack costs much, PIQP takes a problem for infeasible that is not
        if answer.status in ("iteration_limit", "infeasible"):
            answer = self._run(problem, scale_cost=True)
        if answer.status == "iteration_limit":
            answer = self._run(problem, scale_cost=False, accuracy=1e-7)
        return answer

    def _run(self, problem: Problem, *, scale_cost: bool, accuracy: float = 1e-9) -> Solution:
        solver, (H, A, C) = self._backend(problem)
        # Absolute accuracy of 1e-9 is below round-off where gradients are 1e6; the other allows for it.
        solver.settings.eps_abs = accuracy
        solver.settings.eps_rel = 1e-12
        # With less regularisation than this, round-off in the multipliers grows from iteration to iteration.
        solver.settings.reg_lower_limit = 1e-8
        solver.settings.reg_finetune_lower_limit = 1e-8
        solver.settings.max_iter = self._max_iterations
        solver.settings.preconditioner_scale_cost = scale_cost
        solver.setup(H, problem.g, A, problem.b, C, problem.l, problem.u, problem.lb, problem.ub)
        code = solver.solve()
        status = _STATUS.get(int(code), "numerical")
        result = solver.result
        iterations = int(result.info.iter)
        if status == "iteration_limit" and self._stalled_at_optimum(problem, result.info):
            status = "solved"
        if status != "solved":
            return Solution.failed(problem.n, status=status, iterations=iterations, message=f"PIQP: {code.name}")
        return Solution(
            x=np.array(result.x),
            found=True,
            status=status,
            iterations=iterations,
            y_eq=np.array(result.y),
            z_ineq=result.z_u - result.z_l,
            z_bounds=result.z_bu - result.z_bl,
        )

    def _stalled_at_optimum(self, problem: Problem, info: Any) -> bool:
        """Tell whether an iteration limit was reached at an optimum.

        Where contact forces hardly cost anything, the dual residual stalls above 1e-9 while x is exact to 1e-8.
        """
        residual = max(info.primal_res, info.dual_res / (1.0 + np.abs(problem.g).max(initial=0.0)))
        gap = info.duality_gap / (1.0 + abs(info.primal_obj))
        return bool(max(residual, gap) <= self.tolerance)

    def _backend(self, problem: Problem) -> tuple[Any, tuple[Any, Any, Any]]:
        """Return a new PIQP object, and H, A and C as it takes them."""
        H, A, C = (np.asfortranarray(M) for M in (problem.H, problem.A, problem.C))
        return piqp.DenseSolver(), (H, A, C)
