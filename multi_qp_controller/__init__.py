"""Which accelerations, torques and forces, now: tasks, constraints, QP and state machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multi_qp_controller.command import Command, Diagnostics, Status
    from multi_qp_controller.controller import Controller

__all__ = ["Command", "Controller", "Diagnostics", "Status"]

#: They are imported when they are asked for: whoever needs one module of this package need not wait for all.
_WHERE = {"Command": "command", "Controller": "controller", "Diagnostics": "command", "Status": "command"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
