"""What a state waits for: the conditions of its transitions that do not hold, with what they see, for people."""

from __future__ import annotations

from collections.abc import Mapping

from multi_qp_controller.conditions import Situation, gap, holds
from multi_qp_controller.fsm import StateMachine
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema import states as st


def waited_for(
    scenario: Scenario,
    machine: StateMachine,
    kinematics: Kinematics,
    tasks: Mapping[str, Task],
    *,
    time: float,
    felt: frozenset[str] | None = None,
) -> str:
    """Say which conditions keep the present state from its transitions, empty where it has none.

    Args:
        scenario: what is run.
        machine: in the state that is asked about.
        kinematics: of the present tick.
        tasks: the running tasks by name, as computed at this tick.
        time: [s].
        felt: the contacts that are felt to press; None where that is told by where surfaces are.
    """
    now = Situation(scenario, kinematics, tasks, time, machine.entered, machine.commands, machine.visited, felt=felt)
    ways = [f"'{way.to}' waits for {_missing(way.when, now)}" for way in machine.phase.spec.transitions]
    return "; ".join(ways)


def _missing(condition: st.Condition, now: Situation) -> str:
    """Return what a condition lacks."""
    if holds(condition, now):
        return "nothing"
    match condition:
        case st.AllCondition():
            return " and ".join(_missing(part, now) for part in condition.of if not holds(part, now))
        case st.AnyCondition():
            return " or ".join(_missing(part, now) for part in condition.of)
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
        case st.VisitsCondition():
            return f"'{condition.state}' entered {now.visited.count(condition.state)} of {condition.count} times"
        case _:
            return condition.type


def _apart(condition: st.TouchingCondition | st.SeparatedCondition, now: Situation) -> str:
    distance, angle, speed, _ = gap(condition.contact, now)
    said = f"{condition.type} '{condition.contact}' ({1e3 * distance:.3g} mm apart"
    if condition.type == "touching":
        said += f", {angle:.3g} rad from flush, at {1e3 * speed:.3g} mm/s"
    return f"{said})"


def _task(condition: st.TaskCondition | st.ReferenceCondition, now: Situation) -> str:
    task = now.tasks[condition.task]
    if not task.reference_done(now.time):
        return f"task '{condition.task}' (its reference is still on its way)"
    return f"task '{condition.task}' (error {task.error:.3g}, speed {task.speed:.3g})"
