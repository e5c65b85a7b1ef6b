"""Evaluation of transition conditions at the present tick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.contacts.contact_gap import ContactGap, contact_gap, within_tolerance
from multi_qp_controller.contacts.gap_kernel import GRASP, PLANAR, POINT, gap_between
from multi_qp_controller.contacts.support_polygon import margin_inside
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema import states as st

Array = NDArray[np.float64]


#: Kind of gap for each kind of surface; all others are planar.
_KINDS = {"point": POINT, "grasp": GRASP}


@dataclass(slots=True)
class TransitionContext:
    """Quantities that conditions depend on; one object is reused over ticks.

    Attributes:
        scenario: names of contacts and subsystems.
        kinematics: kinematics at this tick.
        tasks: the active tasks by name, as computed at the last tick.
        time: present time [s].
        entered: time at which the present state was entered [s].
        commands: pending user commands, not yet consumed by a transition.
        visited: names of all states so far, in order, including the present one.
        interactive: whether a user is present.
        done: names of the generators that are done.
        measured_contacts: contacts with a measured force; None where contacts are detected by the distance of their
            surfaces.
        surfaces: cache, by contact: joint of a surface and its placement in that joint, for both, and the kind of gap.
    """

    scenario: Scenario
    kinematics: Kinematics
    tasks: Mapping[str, Task]
    time: float
    entered: float
    commands: frozenset[str]
    visited: Sequence[str] = ()
    interactive: bool = False
    measured_contacts: frozenset[str] | None = None
    done: frozenset[str] = frozenset()
    surfaces: dict[str, tuple[int, Array, int, Array, int]] = field(default_factory=dict)


def holds(condition: st.Condition, now: TransitionContext) -> bool:
    """Return whether a condition holds."""
    # the most frequent conditions first, by `type`: matching by class takes four times as long
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
            return not now.interactive
        case st.VisitsCondition():
            return now.visited.count(condition.state) >= condition.count
        case st.GeneratorCondition():
            return condition.generator in now.done
        case st.NotCondition():
            return not holds(condition.of, now)
        case _:
            assert_never(condition)


def open_contacts(names: Iterable[str], now: TransitionContext) -> dict[str, ContactGap]:
    """Return the contacts whose gap is too large for them to be made, with their gaps.

    A contact with a measured force is closed, wherever its surfaces are in the model.
    """
    found = {}
    for name in names:
        if now.measured_contacts is not None and name in now.measured_contacts:
            continue
        surfaces = now.scenario.scene.surfaces
        first, second = (surfaces[surface] for surface in now.scenario.spec.contacts[name].surfaces)
        poses = now.kinematics.pose(first.frame_id), now.kinematics.pose(second.frame_id)
        gap = contact_gap(first, second, poses[1].actInv(poses[0]))
        if not within_tolerance(now.scenario, name, gap):
            found[name] = gap
    return found


def parts_of(condition: st.Condition) -> list[st.Condition]:
    """Return the elementary conditions that a condition is composed of."""
    match condition:
        case st.AllCondition() | st.AnyCondition():
            return [part for one in condition.of for part in parts_of(one)]
        case st.NotCondition():
            return parts_of(condition.of)
        case _:
            return [condition]


def _task_reached(condition: st.TaskCondition, now: TransitionContext) -> bool:
    task = now.tasks[condition.task]
    if not task.reference_done(now.time):
        return False
    near = condition.error is None or task.error <= condition.error
    return near and (condition.speed is None or task.speed <= condition.speed)


def _com_inside(condition: st.CoMInsideCondition, now: TransitionContext) -> bool:
    scene, contacts = now.scenario.scene, now.scenario.spec.contacts
    surfaces = [scene.surfaces[contacts[name].surfaces[0]] for name in condition.contacts]
    com = now.kinematics.group(tuple(condition.subsystems)).com(now.kinematics)
    return margin_inside(now.kinematics, surfaces, com) >= condition.margin


def gap(contact: str, now: TransitionContext) -> tuple[float, float, float, float]:
    """Return the gap between the surfaces of a contact: distance [m], angle [rad], and the rates of both."""
    if contact not in now.surfaces:
        scene = now.scenario.scene
        first, second = (scene.surfaces[name] for name in now.scenario.spec.contacts[contact].surfaces)
        a, b = (now.kinematics.fixed_frame(surface.frame_id) for surface in (first, second))
        now.surfaces[contact] = a.joint, a.place, b.joint, b.place, _KINDS.get(first.kind, PLANAR)
    a_joint, a_place, b_joint, b_place, kind = now.surfaces[contact]
    views = now.kinematics.views
    return gap_between(a_joint, a_place, b_joint, b_place, views.poses, views.twists, kind)


def _touching(condition: st.TouchingCondition, now: TransitionContext) -> bool:
    if now.measured_contacts is not None and _kind(condition.contact, now) != "grasp":
        return condition.contact in now.measured_contacts
    distance, angle, speed, turning = gap(condition.contact, now)
    still = speed <= condition.speed and turning <= 10.0 * condition.speed
    return bool(distance <= condition.distance and angle <= condition.angle and still)


def _kind(contact: str, now: TransitionContext) -> str:
    return now.scenario.scene.surfaces[now.scenario.spec.contacts[contact].surfaces[0]].kind


def _joint_between(condition: st.JointCondition, now: TransitionContext) -> bool:
    angle = ScalarJoint.of(now.scenario.scene.model, condition.joint).angle(now.kinematics.q)
    above = condition.above is None or angle >= condition.above
    return above and (condition.below is None or angle <= condition.below)
