"""Conditions of transitions, evaluated on the present tick."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.relative_motion import relative_twist
from multi_qp_controller.support import margin_inside
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema import states as st


@dataclass(slots=True)
class Situation:
    """What conditions look at; one is kept from tick to tick.

    Attributes:
        scenario: names of contacts and subsystems.
        kinematics: at this tick.
        tasks: the running tasks by name, as computed at the last tick.
        time: [s].
        entered: when the present state was entered [s].
        commands: commands that the user has given and no transition has consumed.
        visited: names of all states so far, in order, with the present one.
        attended: whether somebody is there to interact.
        felt: the contacts that are felt to press; None where that is told by where surfaces are.
    """

    scenario: Scenario
    kinematics: Kinematics
    tasks: Mapping[str, Task]
    time: float
    entered: float
    commands: frozenset[str]
    visited: Sequence[str] = ()
    attended: bool = False
    felt: frozenset[str] | None = None


def holds(condition: st.Condition, now: Situation) -> bool:
    """Return whether a condition holds."""
    # those that most scenes ask first, and not by class, which takes four times as long
    if condition.type == "all":
        return all(holds(part, now) for part in condition.of)
    if condition.type == "any":
        return any(holds(part, now) for part in condition.of)
    if condition.type == "time":
        return now.time - now.entered >= condition.after - 1e-9
    if condition.type == "task":
        return _task_reached(condition, now)
    if condition.type == "reference_done":
        return now.tasks[condition.task].reference_done(now.time)
    match condition:
        case st.CoMInsideCondition():
            return _com_inside(condition, now)
        case st.TouchingCondition():
            return _touching(condition, now)
        case st.SeparatedCondition():
            return _gap(condition.contact, now)[0] >= condition.distance
        case st.JointCondition():
            return _joint_between(condition, now)
        case st.CommandCondition():
            return condition.name in now.commands
        case st.UnattendedCondition():
            return not now.attended
        case st.VisitsCondition():
            return now.visited.count(condition.state) >= condition.count
        case st.NotCondition():
            return not holds(condition.of, now)
        case _:
            assert_never(condition)


def _task_reached(condition: st.TaskCondition, now: Situation) -> bool:
    task = now.tasks[condition.task]
    if not task.reference_done(now.time):
        return False
    near = condition.error is None or task.error <= condition.error
    return near and (condition.speed is None or task.speed <= condition.speed)


def _com_inside(condition: st.CoMInsideCondition, now: Situation) -> bool:
    scene, contacts = now.scenario.scene, now.scenario.spec.contacts
    surfaces = [scene.surfaces[contacts[name].surfaces[0]] for name in condition.contacts]
    com = now.kinematics.group(tuple(condition.subsystems)).com(now.kinematics)
    return margin_inside(now.kinematics, surfaces, com) >= condition.margin


def _gap(contact: str, now: Situation) -> tuple[float, float, float, float]:
    """Return how far the surfaces of a contact are from lying flush: distance [m], angle [rad], and both rates."""
    scene = now.scenario.scene
    first, second = (scene.surfaces[name] for name in now.scenario.spec.contacts[contact].surfaces)
    X, twist = relative_twist(now.kinematics, first.frame_id, second.frame_id)
    place, axes = X.translation.tolist(), X.rotation.tolist()
    if first.kind == "grasp":
        # a grasp closes anywhere around the handle's axis: only the axes must meet
        angle = math.acos(min(1.0, abs(axes[0][0])))
        distance = math.hypot(*place[1:])
    else:
        # flush: normals opposed, at any angle about them, anywhere on the second surface
        distance = abs(place[2])
        angle = 0.0 if first.kind == "point" else math.acos(min(1.0, max(-1.0, -axes[2][2])))
    rates = twist.tolist()
    return distance, angle, math.hypot(*rates[:3]), math.hypot(*rates[3:])


def _touching(condition: st.TouchingCondition, now: Situation) -> bool:
    if now.felt is not None and _kind(condition.contact, now) != "grasp":
        return condition.contact in now.felt
    distance, angle, speed, turning = _gap(condition.contact, now)
    still = speed <= condition.speed and turning <= 10.0 * condition.speed
    return distance <= condition.distance and angle <= condition.angle and still


def _kind(contact: str, now: Situation) -> str:
    return now.scenario.scene.surfaces[now.scenario.spec.contacts[contact].surfaces[0]].kind


def _joint_between(condition: st.JointCondition, now: Situation) -> bool:
    angle = ScalarJoint.of(now.scenario.scene.model, condition.joint).angle(now.kinematics.q)
    above = condition.above is None or angle >= condition.above
    return above and (condition.below is None or angle <= condition.below)
