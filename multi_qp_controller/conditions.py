"""Conditions of transitions, evaluated on the present tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.gap_kernel import GRASP, PLANAR, POINT, gap_between
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.support import margin_inside
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema import states as st

Array = NDArray[np.float64]


#: How surfaces of each kind lie flush; any other does as a planar one.
_KINDS = {"point": POINT, "grasp": GRASP}


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
        surfaces: both of each contact that was asked for: joint and place in it, twice, and the kind.
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
    surfaces: dict[str, tuple[int, Array, int, Array, int]] = field(default_factory=dict)


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
            return bool(gap(condition.contact, now)[0] >= condition.distance)
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


def parts_of(condition: st.Condition) -> list[st.Condition]:
    """Return the conditions that a condition is made of: those that are themselves made of none."""
    match condition:
        case st.AllCondition() | st.AnyCondition():
            return [part for one in condition.of for part in parts_of(one)]
        case st.NotCondition():
            return parts_of(condition.of)
        case _:
            return [condition]


def earliest(condition: st.Condition, now: Situation) -> float:
    """Return a time before which a condition cannot hold, as far as clocks and references tell [s]."""
    match condition:
        case st.AllCondition():
            return max((earliest(part, now) for part in condition.of), default=now.entered)
        case st.AnyCondition():
            return min((earliest(part, now) for part in condition.of), default=now.entered)
        case st.TimeCondition():
            return now.entered + condition.after
        case st.TaskCondition() | st.ReferenceCondition():
            task = now.tasks[condition.task]
            return task.started_at + task.duration
        case _:
            return now.entered


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


def gap(contact: str, now: Situation) -> tuple[float, float, float, float]:
    """Return how far the surfaces of a contact are from lying flush: distance [m], angle [rad], and both rates."""
    if contact not in now.surfaces:
        scene = now.scenario.scene
        first, second = (scene.surfaces[name] for name in now.scenario.spec.contacts[contact].surfaces)
        a, b = (now.kinematics.fixed_frame(surface.frame_id) for surface in (first, second))
        now.surfaces[contact] = a.joint, a.place, b.joint, b.place, _KINDS.get(first.kind, PLANAR)
    a_joint, a_place, b_joint, b_place, kind = now.surfaces[contact]
    views = now.kinematics.views
    return gap_between(a_joint, a_place, b_joint, b_place, views.poses, views.twists, kind)


def _touching(condition: st.TouchingCondition, now: Situation) -> bool:
    if now.felt is not None and _kind(condition.contact, now) != "grasp":
        return condition.contact in now.felt
    distance, angle, speed, turning = gap(condition.contact, now)
    still = speed <= condition.speed and turning <= 10.0 * condition.speed
    return bool(distance <= condition.distance and angle <= condition.angle and still)


def _kind(contact: str, now: Situation) -> str:
    return now.scenario.scene.surfaces[now.scenario.spec.contacts[contact].surfaces[0]].kind


def _joint_between(condition: st.JointCondition, now: Situation) -> bool:
    angle = ScalarJoint.of(now.scenario.scene.model, condition.joint).angle(now.kinematics.q)
    above = condition.above is None or angle >= condition.above
    return above and (condition.below is None or angle <= condition.below)
