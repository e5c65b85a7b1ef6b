"""Crocoddyl, imported with a clear message if it is missing."""

from __future__ import annotations

from multi_qp_scene.errors import MultiQpError

try:
    import crocoddyl
except ImportError as error:  # an optional dependency
    raise MultiQpError(
        "the refinement of motions needs crocoddyl: pip install 'multi_qp_controller[synthesis]'"
    ) from error

__all__ = ["crocoddyl"]
