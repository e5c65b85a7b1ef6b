"""Condensed QP, eliminated subsystem by subsystem at a cost linear in their number."""

from multi_qp_controller.qp.condensed.block_solver import INFEASIBLE_CONTACTS, BlockSolver

__all__ = ["INFEASIBLE_CONTACTS", "BlockSolver"]
