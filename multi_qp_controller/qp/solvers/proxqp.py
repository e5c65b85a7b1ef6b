"""ProxQP: primal-dual augmented Lagrangian method [Bambade2022]_, dense."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import proxsuite

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution, SolverStatus
from multi_qp_controller.qp.solvers.base import Solver
from multi_qp_scene.arrays import Array

_QP = proxsuite.proxqp
_STATUS: dict[Any, SolverStatus] = {
    _QP.PROXQP_SOLVED: "solved",
    _QP.PROXQP_PRIMAL_INFEASIBLE: "infeasible",
    _QP.PROXQP_MAX_ITER_REACHED: "iteration_limit",
}

# Penalty parameters of a warm start: near those at which a cold start ends, so that few iterations are left.
_WARM_MU_EQ, _WARM_MU_IN = 1e-6, 1e-5


class Proxqp(Solver):
    """Needs no positive definite Hessian. A warm start provides x and all multipliers.

    Its last digits depend on memory addresses, so two runs agree to about 1e-9 only.

    Args:
        max_iterations: largest number of outer iterations, and of inner iterations of each.
        tolerance: see `Solver`.
        time_limit: see `Solver` [s].
    """

    name: ClassVar[str] = "proxqp"
    reproducible: ClassVar[bool] = False
    polishes: ClassVar[bool] = True

    def __init__(self, *, max_iterations: int = 100, tolerance: float = 1e-6, time_limit: float = 1.0) -> None:
        """Set the limits."""
        super().__init__(tolerance=tolerance, time_limit=time_limit)
        self._max_iterations = max_iterations

    def _solve(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        start = _start(warm_start)
        qp = self._cold(problem) if start is None else self._warm(problem, start)
        info = qp.results.info
        status = _STATUS.get(info.status, "numerical")
        iterations = int(info.iter)
        if status == "iteration_limit" and self._stalled_at_optimum(problem, info):
            status = "solved"
        if status != "solved":
            return Solution.failed(problem.n, status=status, iterations=iterations, message=f"ProxQP: {info.status}")
        z = np.array(qp.results.z)
        return Solution(
            x=np.array(qp.results.x),
            found=True,
            status=status,
            iterations=iterations,
            y_eq=np.array(qp.results.y),
            z_ineq=z[: problem.p],
            z_bounds=z[problem.p :],
        )

    def _stalled_at_optimum(self, problem: QPProblem, info: Any) -> bool:
        """Return whether the iteration limit was reached at an optimum: the dual residual may stall above 1e-9."""
        residual = max(info.pri_res, info.dua_res / (1.0 + np.abs(problem.g).max(initial=0.0)))
        gap = abs(info.duality_gap) / (1.0 + abs(info.objValue))
        return bool(max(residual, gap) <= self.tolerance)

    def _cold(self, problem: QPProblem) -> Any:
        q = problem
        qp = self._configured(_QP.dense.QP(q.n, q.m, q.p, box_constraints=True))
        qp.init(q.H, q.g, q.A, q.b, q.C, q.l, q.u, q.lb, q.ub)
        qp.solve()
        return qp

    def _warm(self, problem: QPProblem, start: tuple[Array, Array, Array]) -> Any:
        # With box constraints ProxQP 0.8 accepts no warm start of any length; bounds are rows here.
        q = problem
        qp = self._configured(_QP.dense.QP(q.n, q.m, q.p + q.n))
        qp.settings.initial_guess = _QP.InitialGuess.WARM_START
        rows, low, high = (
            np.vstack([q.C, np.eye(q.n)]),
            np.concatenate([q.l, q.lb]),
            np.concatenate([q.u, q.ub]),
        )
        qp.init(q.H, q.g, q.A, q.b, rows, low, high, mu_eq=_WARM_MU_EQ, mu_in=_WARM_MU_IN)
        qp.solve(*start)
        return qp

    def _configured(self, qp: Any) -> Any:
        # Absolute accuracy of 1e-9 is below round-off where gradients are 1e6; the other allows for it.
        qp.settings.eps_abs = 1e-9
        qp.settings.eps_rel = 1e-12
        if self._known_feasible:  # the default of 1e-4 reports some feasible linear programs as infeasible
            qp.settings.eps_primal_inf = 1e-8
        qp.settings.max_iter = self._max_iterations
        qp.settings.max_iter_in = self._max_iterations
        return qp


def _start(warm_start: Solution | None) -> tuple[Array, Array, Array] | None:
    if warm_start is None or warm_start.y_eq is None or warm_start.z_ineq is None or warm_start.z_bounds is None:
        return None
    return warm_start.x, warm_start.y_eq, np.concatenate([warm_start.z_ineq, warm_start.z_bounds])
