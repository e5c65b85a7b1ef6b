"""Quadratic programs: data, formulations, solvers, and explanations of infeasibility."""

from multi_qp_controller.qp.explain import Explanation, explain_infeasibility
from multi_qp_controller.qp.labels import Kind, LabelBlock, Labels
from multi_qp_controller.qp.problem import QPProblem
from multi_qp_controller.qp.solution import Solution, SolverStatus
from multi_qp_controller.qp.solvers import Solver, make_solver, solver_names

__all__ = [
    "LabelBlock",
    "Explanation",
    "Kind",
    "Labels",
    "QPProblem",
    "Solution",
    "Solver",
    "SolverStatus",
    "explain_infeasibility",
    "make_solver",
    "solver_names",
]
