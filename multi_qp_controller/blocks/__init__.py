"""The eliminated QP solved subsystem by subsystem, at a cost that grows with their number as the scene does."""

from multi_qp_controller.blocks.direct import CONTRADICTING_CONTACTS, BlockSolver

__all__ = ["CONTRADICTING_CONTACTS", "BlockSolver"]
