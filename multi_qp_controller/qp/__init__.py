"""The quadratic program as data, its solvers, and why it has no solution when it has none."""

from multi_qp_controller.qp.explain import Explanation, explain_infeasibility
from multi_qp_controller.qp.labels import Block, Kind, Labels
from multi_qp_controller.qp.problem import Problem
from multi_qp_controller.qp.solution import Solution, Status
from multi_qp_controller.qp.solvers import Solver, make_solver, solver_names

__all__ = [
    "Block",
    "Explanation",
    "Kind",
    "Labels",
    "Problem",
    "Solution",
    "Solver",
    "Status",
    "explain_infeasibility",
    "make_solver",
    "solver_names",
]
