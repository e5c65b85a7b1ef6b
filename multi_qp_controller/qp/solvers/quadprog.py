"""quadprog: dense dual active-set method of Goldfarb and Idnani [Goldfarb1983]_, used as reference."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import quadprog

from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution, SolverStatus
from multi_qp_controller.qp.solvers.base import Solver
from multi_qp_controller.qp.solvers.one_sided import OneSided


class Quadprog(Solver):
    """Exact up to round-off, slow. It has no warm start and no limit of its own; the method is finite."""

    name: ClassVar[str] = "quadprog"
    refuses_concave: ClassVar[bool] = True

    def _solve(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        sides = OneSided.of(problem)
        # quadprog accepts no empty set of rows: add 0 x >= -1.
        rows = np.concatenate([problem.A, sides.G, np.zeros((1, problem.n))])
        rhs = np.concatenate([problem.b, sides.h, [-1.0]])
        try:
            x, _, _, iterations, multipliers, _ = quadprog.solve_qp(problem.H, -problem.g, rows.T, rhs, problem.m)
        except ValueError as error:
            status: SolverStatus = "infeasible" if "inconsistent" in str(error) else "numerical"
            return Solution.failed(problem.n, status=status, message=f"quadprog: {error}")
        z_ineq, z_bounds = sides.multipliers(multipliers[problem.m : -1])
        return Solution(
            x=x,
            found=True,
            status="solved",
            iterations=int(iterations[0]),
            y_eq=-multipliers[: problem.m],
            z_ineq=z_ineq,
            z_bounds=z_bounds,
        )
