"""Readable description of the transition conditions of a state that do not hold."""

from __future__ import annotations

from collections.abc import Mapping

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.state_machine.state_machine import StateMachine, Transition
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.scenario import Scenario


def describe_unmet_conditions(
    scenario: Scenario,
    machine: StateMachine,
    kinematics: Kinematics,
    tasks: Mapping[str, Task],
    *,
    time: float,
    measured_contacts: frozenset[str] | None = None,
) -> str:
    """Describe the unmet transition conditions of the present state; empty where it has no transitions.

    Args:
        scenario: the running scenario.
        machine: the state machine, in the state to describe.
        kinematics: kinematics at the present tick.
        tasks: the active tasks by name, as computed at this tick.
        time: present time [s].
        measured_contacts: contacts with a measured force; None where contacts are detected by the distance of their
            surfaces.
    """
    now = TransitionContext(
        scenario,
        kinematics,
        tasks,
        time,
        machine.entered,
        machine.commands,
        machine.visited,
        measured_contacts=measured_contacts,
    )
    return "; ".join(f"'{way.to}' waits for {_missing(way, machine, now)}" for way in machine.present.transitions)


def _missing(way: Transition, machine: StateMachine, now: TransitionContext) -> str:
    """Describe the unmet conditions of a transition, or the contacts that are open when its condition holds."""
    if not way.when.holds(now):
        return way.when.unmet(now)
    gaps = now.open_contacts(machine.new_contacts(way.to))
    return " and ".join(f"contact '{name}' to close ({gap})" for name, gap in gaps.items()) or "nothing"
