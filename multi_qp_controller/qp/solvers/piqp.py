"""PIQP: proximal interior-point method [Schwan2023]_, with dense linear algebra."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import piqp

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution, SolverStatus
from multi_qp_controller.qp.solvers.base import Solver

_STATUS: dict[int, SolverStatus] = {
    int(piqp.PIQP_SOLVED): "solved",
    int(piqp.PIQP_PRIMAL_INFEASIBLE): "infeasible",
    int(piqp.PIQP_MAX_ITER_REACHED): "iteration_limit",
}


class Piqp(Solver):
    """Its time depends on the problem size, hardly on the active set. It has no warm start.

    PIQP equilibrates the problem itself; variables are not scaled beforehand, which makes it worse. If it does
    not converge (one in twenty of the badly conditioned problems, most of them infeasible), the cost is scaled
    as well; the last try has less accuracy, which still gives accelerations to 1e-6.

    Args:
        max_iterations: largest number of interior-point steps in each of up to three tries.
        tolerance: see `Solver`.
        time_limit: see `Solver` [s].
    """

    name: ClassVar[str] = "piqp"
    polishes: ClassVar[bool] = True

    def __init__(self, *, max_iterations: int = 100, tolerance: float = 1e-6, time_limit: float = 1.0) -> None:
        """Set the limits."""
        super().__init__(tolerance=tolerance, time_limit=time_limit)
        self._max_iterations = max_iterations

    def _solve(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        solution = self._run(problem, scale_cost=False)
        # with large penalty weights of slack, PIQP may report a feasible problem as infeasible
        if solution.status in ("iteration_limit", "infeasible"):
            solution = self._run(problem, scale_cost=True)
        if solution.status == "iteration_limit":
            solution = self._run(problem, scale_cost=False, accuracy=1e-7)
        return solution

    def _run(self, problem: QPProblem, *, scale_cost: bool, accuracy: float = 1e-9) -> Solution:
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

    def _stalled_at_optimum(self, problem: QPProblem, info: Any) -> bool:
        """Return whether an iteration limit was reached at an optimum.

        With small weights of contact forces, the dual residual stalls above 1e-9 while x is exact to 1e-8.
        """
        residual = max(info.primal_res, info.dual_res / (1.0 + np.abs(problem.g).max(initial=0.0)))
        gap = info.duality_gap / (1.0 + abs(info.primal_obj))
        return bool(max(residual, gap) <= self.tolerance)

    def _backend(self, problem: QPProblem) -> tuple[Any, tuple[Any, Any, Any]]:
        """Return a new PIQP object, and H, A and C in its matrix type."""
        H, A, C = (np.asfortranarray(M) for M in (problem.H, problem.A, problem.C))
        return piqp.DenseSolver(), (H, A, C)
