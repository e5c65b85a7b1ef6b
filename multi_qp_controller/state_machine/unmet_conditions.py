"""Readable description of the transition conditions of a state that do not hold."""

from __future__ import annotations

from collections.abc import Mapping

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.state_machine.conditions import TransitionContext, gap, holds, open_contacts
from multi_qp_controller.state_machine.state_machine import StateMachine
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema import states as st


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
    return "; ".join(f"'{way.to}' waits for {_missing(way, machine, now)}" for way in machine.phase.spec.transitions)


def _missing(way: st.TransitionSpec, machine: StateMachine, now: TransitionContext) -> str:
    """Describe the unmet conditions of a transition, or the contacts that are open when its condition holds."""
    if not holds(way.when, now):
        return _unmet(way.when, now)
    gaps = open_contacts(machine.new_contacts(way.to), now)
    return " and ".join(f"contact '{name}' to close ({gap})" for name, gap in gaps.items()) or "nothing"


def _unmet(condition: st.Condition, now: TransitionContext) -> str:
    """Describe the unmet parts of a condition."""
    if holds(condition, now):
        return "nothing"
    match condition:
        case st.AllCondition():
            return " and ".join(_unmet(part, now) for part in condition.of if not holds(part, now))
        case st.AnyCondition():
            return " or ".join(_unmet(part, now) for part in condition.of)
        case st.TouchingCondition() | st.SeparatedCondition():
            return _apart(condition, now)
        case st.TaskCondition() | st.ReferenceCondition():
            return _task(condition, now)
        case st.JointCondition():
            angle = ScalarJoint.of(now.scenario.scene.model, condition.joint).angle(now.kinematics.q)
            return f"{condition.joint} is at {angle:.4g}"
        case st.CommandCondition():
            return f"command '{condition.name}'"
        case st.TimeCondition():
            return f"{condition.after:g} s to pass"
        case st.CoMInsideCondition():
            return f"the centre of mass of {', '.join(condition.subsystems)} over {', '.join(condition.contacts)}"
        case st.GeneratorCondition():
            return f"generator '{condition.generator}' to be done"
        case st.VisitsCondition():
            return f"'{condition.state}' entered {now.visited.count(condition.state)} of {condition.count} times"
        case _:
            return condition.type


def _apart(condition: st.TouchingCondition | st.SeparatedCondition, now: TransitionContext) -> str:
    distance, angle, speed, _ = gap(condition.contact, now)
    text = f"{condition.type} '{condition.contact}' ({1e3 * distance:.3g} mm apart"
    if condition.type == "touching":
        text += f", {angle:.3g} rad from aligned, at {1e3 * speed:.3g} mm/s"
    return f"{text})"


def _task(condition: st.TaskCondition | st.ReferenceCondition, now: TransitionContext) -> str:
    task = now.tasks[condition.task]
    if not task.reference_done(now.time):
        return f"task '{condition.task}' (its reference has not ended)"
    return f"task '{condition.task}' (error {task.error:.3g}, speed {task.speed:.3g})"
