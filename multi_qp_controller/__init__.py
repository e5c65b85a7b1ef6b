"""Multi-robot QP controller: tasks, constraints, QP formulations and solvers, state machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multi_qp_controller.command import Command, Diagnostics, Status
    from multi_qp_controller.controller import Controller

__all__ = ["Command", "Controller", "Diagnostics", "Status"]

#: Module of each public name. Imports are lazy: using one module of the package does not import all of it.
_MODULES = {"Command": "command", "Controller": "controller", "Diagnostics": "command", "Status": "command"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
