"""Which accelerations, torques and forces, now: tasks, constraints, QP and state machine."""

from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.controller import Controller

__all__ = ["Command", "Controller", "Diagnostics", "Status"]
