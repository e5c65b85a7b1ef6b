"""State machine: states, transition conditions, active contacts and tasks."""

from multi_qp_controller.state_machine.conditions import Condition, register_condition
from multi_qp_controller.state_machine.transition_context import TransitionContext

__all__ = ["Condition", "TransitionContext", "register_condition"]
