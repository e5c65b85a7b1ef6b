"""The eliminated QP solved subsystem by subsystem, at a cost that grows with their number as the scene does."""

from multi_qp_controller.blocks.direct import BlockSolver

__all__ = ["BlockSolver"]
