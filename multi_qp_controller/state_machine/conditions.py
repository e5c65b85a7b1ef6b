"""Conditions of transitions: the built-in types, and the registry of all types."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from multi_qp_controller.contacts.support_polygon import margin_inside
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_scene.arguments import check_type
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.schema import conditions as schema

#: Speed below which surfaces are at rest [m/s], and time that a state must have lasted until they are [s].
_REST, _SETTLED = 1e-3, 0.25
#: Least height of a centre of mass over the contacts for which its capture point is computed [m].
_LOWEST = 0.1


class Condition(ABC):
    """Condition of a transition.

    Attributes:
        Spec: its schema in scenario files.
        spec: its keys in the scenario file, whose names have been checked.
        parts: the conditions that it is composed of.
    """

    Spec: ClassVar[type[schema.ConditionSpec]]
    spec: schema.ConditionSpec

    def __init__(self, spec: schema.ConditionSpec) -> None:
        self.spec = spec
        self.parts = tuple(make_condition(part) for part in spec.parts)

    @abstractmethod
    def holds(self, now: TransitionContext) -> bool:
        """Return whether the condition holds at this tick."""

    def unmet(self, now: TransitionContext) -> str:
        """Describe what is missing for the condition to hold, for reports; called where it does not hold."""
        return str(self.spec.type)  # type: ignore[attr-defined]  # each subclass has it

    @property
    def elements(self) -> tuple[Condition, ...]:
        """The elementary conditions that it is composed of: itself, unless it has parts."""
        return tuple(element for part in self.parts for element in part.elements) or (self,)


class TimeCondition(Condition):
    """The state has lasted for a time."""

    Spec = schema.TimeConditionSpec
    spec: schema.TimeConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether the time has passed."""
        return now.time - now.entered >= self.spec.after - 1e-9

    def unmet(self, now: TransitionContext) -> str:
        """Return the time."""
        return f"{self.spec.after:g} s to pass"


class ReferenceCondition(Condition):
    """The moving reference of a task has ended."""

    Spec: ClassVar[type[schema.ConditionSpec]] = schema.ReferenceConditionSpec
    spec: schema.ReferenceConditionSpec | schema.TaskConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether it has ended."""
        return now.tasks[self.spec.task].reference_done(now.time)

    def unmet(self, now: TransitionContext) -> str:
        """Return the task with its error and speed."""
        task = now.tasks[self.spec.task]
        if not task.reference_done(now.time):
            return f"task '{self.spec.task}' (its reference has not ended)"
        return f"task '{self.spec.task}' (error {task.error:.3g}, speed {task.speed:.3g})"


class TaskCondition(ReferenceCondition):
    """A task has reached its target."""

    Spec = schema.TaskConditionSpec
    spec: schema.TaskConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether its reference has ended, and error and speed are small."""
        if not super().holds(now):
            return False
        task, spec = now.tasks[self.spec.task], self.spec
        near = spec.error is None or task.error <= spec.error
        return near and (spec.speed is None or task.speed <= spec.speed)


class CoMInsideCondition(Condition):
    """A centre of mass, or its capture point, is over the support polygon of some contacts."""

    Spec = schema.CoMInsideConditionSpec
    spec: schema.CoMInsideConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether it is inside by the margin."""
        surfaces = [now.surfaces_of(name)[0] for name in self.spec.contacts]
        group = now.kinematics.group(tuple(self.spec.subsystems))
        point = com = group.com(now.kinematics)
        if self.spec.capture_point:
            feet = np.mean([now.kinematics.pose(one.frame_id).translation[2] for one in surfaces])
            gravity = float(np.linalg.norm(now.kinematics.gravity))
            point = com + group.com_velocity(now.kinematics) * math.sqrt(max(com[2] - feet, _LOWEST) / gravity)
        return margin_inside(now.kinematics, surfaces, point) >= self.spec.margin

    def unmet(self, now: TransitionContext) -> str:
        """Return the group and the contacts."""
        what = "capture point" if self.spec.capture_point else "centre of mass"
        return f"the {what} of {', '.join(self.spec.subsystems)} over {', '.join(self.spec.contacts)}"


class TouchingCondition(Condition):
    """The surfaces of a contact are aligned and at rest relative to each other."""

    Spec = schema.TouchingConditionSpec
    spec: schema.TouchingConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether they touch, by measured force where there is one."""
        spec = self.spec
        if now.measured_contacts is not None and now.surfaces_of(spec.contact)[0].kind != "grasp":
            return spec.contact in now.measured_contacts
        gap = now.gap_to_alignment(spec.contact)
        still = gap.speed <= spec.speed and gap.angular_speed <= 10.0 * spec.speed
        if gap.distance <= spec.distance and gap.angle <= spec.angle and still:
            return True
        return max(gap.speed, 0.1 * gap.angular_speed) <= _REST and self._have_come_to_rest(now)

    def _have_come_to_rest(self, now: TransitionContext) -> bool:
        """Whether surfaces at rest will not come closer, and are close enough for their contact to be made."""
        if {"distance", "angle"} & self.spec.model_fields_set or now.time - now.entered < _SETTLED:
            return False
        ended = all(task.reference_done(now.time) for task in now.tasks.values())
        return ended and not now.open_contacts([self.spec.contact])

    def unmet(self, now: TransitionContext) -> str:
        """Return the gap."""
        gap = now.gap_to_alignment(self.spec.contact)
        return (
            f"touching '{self.spec.contact}' ({1e3 * gap.distance:.3g} mm apart, {gap.angle:.3g} rad from aligned, "
            f"at {1e3 * gap.speed:.3g} mm/s)"
        )


class SeparatedCondition(Condition):
    """The surfaces of a contact have separated."""

    Spec = schema.SeparatedConditionSpec
    spec: schema.SeparatedConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether the distance is large enough."""
        return now.gap_to_alignment(self.spec.contact).distance >= self.spec.distance

    def unmet(self, now: TransitionContext) -> str:
        """Return the distance."""
        gap = now.gap_to_alignment(self.spec.contact)
        return f"separated '{self.spec.contact}' ({1e3 * gap.distance:.3g} mm apart)"


class JointCondition(Condition):
    """A joint is above and below given angles."""

    Spec = schema.JointConditionSpec
    spec: schema.JointConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether it is."""
        angle = self._angle(now)
        above = self.spec.above is None or angle >= self.spec.above
        return above and (self.spec.below is None or angle <= self.spec.below)

    def unmet(self, now: TransitionContext) -> str:
        """Return the present angle."""
        return f"{self.spec.joint} is at {self._angle(now):.4g}"

    def _angle(self, now: TransitionContext) -> float:
        return ScalarJoint.of(now.scenario.scene.model, self.spec.joint).angle(now.kinematics.q)


class CommandCondition(Condition):
    """The user has given a command."""

    Spec = schema.CommandConditionSpec
    spec: schema.CommandConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether it is pending."""
        return self.spec.name in now.commands

    def unmet(self, now: TransitionContext) -> str:
        """Return the command."""
        return f"command '{self.spec.name}'"


class UnattendedCondition(Condition):
    """The run is not interactive."""

    Spec = schema.UnattendedConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether no user is present."""
        return not now.interactive


class VisitsCondition(Condition):
    """A state has been entered a number of times."""

    Spec = schema.VisitsConditionSpec
    spec: schema.VisitsConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether it has."""
        return now.visited.count(self.spec.state) >= self.spec.count

    def unmet(self, now: TransitionContext) -> str:
        """Return the number of times so far."""
        return f"'{self.spec.state}' entered {now.visited.count(self.spec.state)} of {self.spec.count} times"


class GeneratorCondition(Condition):
    """A motion generator of the state is done."""

    Spec = schema.GeneratorConditionSpec
    spec: schema.GeneratorConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether it is done."""
        return self.spec.generator in now.done

    def unmet(self, now: TransitionContext) -> str:
        """Return the generator."""
        return f"generator '{self.spec.generator}' to be done"


class AllCondition(Condition):
    """All of several conditions hold."""

    Spec = schema.AllConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether all hold."""
        return all(part.holds(now) for part in self.parts)

    def unmet(self, now: TransitionContext) -> str:
        """Return the conditions that do not hold."""
        return " and ".join(part.unmet(now) for part in self.parts if not part.holds(now))


class OneOfCondition(Condition):
    """Any of several conditions holds."""

    Spec = schema.OneOfConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether any holds."""
        return any(part.holds(now) for part in self.parts)

    def unmet(self, now: TransitionContext) -> str:
        """Return the conditions."""
        return " or ".join(part.unmet(now) for part in self.parts)


class NotCondition(Condition):
    """A condition does not hold."""

    Spec = schema.NotConditionSpec

    def holds(self, now: TransitionContext) -> bool:
        """Return whether it does not."""
        return not self.parts[0].holds(now)


_CONDITIONS: tuple[type[Condition], ...] = (
    TimeCondition,
    ReferenceCondition,
    TaskCondition,
    CoMInsideCondition,
    TouchingCondition,
    SeparatedCondition,
    JointCondition,
    CommandCondition,
    UnattendedCondition,
    VisitsCondition,
    GeneratorCondition,
    AllCondition,
    OneOfCondition,
    NotCondition,
)
#: Class of the condition of each type of specification.
_BY_SPEC: dict[type[schema.ConditionSpec], type[Condition]] = {one.Spec: one for one in _CONDITIONS}


def register_condition(condition: type[Condition]) -> None:
    """Add a type of condition, before a scenario file is loaded that contains it.

    Args:
        condition: class with `Spec`, a subclass of `ConditionSpec` with `type: Literal["..."]`.

    Raises:
        ArgumentError: when the class is none of this kind, or its type has the name of another one.
    """
    check_type("condition", condition, type, "a class of conditions")
    spec = getattr(condition, "Spec", None)
    if not issubclass(condition, Condition) or not isinstance(spec, type) or not issubclass(spec, schema.ConditionSpec):
        raise ArgumentError(
            f"condition: expected a subclass of Condition with a `Spec` of ConditionSpec, got {condition.__name__}"
        )
    schema.CONDITION_SPECS.add(spec)
    _BY_SPEC[spec] = condition


def make_condition(spec: schema.ConditionSpec) -> Condition:
    """Create a condition from its specification, whose names have been checked."""
    return _BY_SPEC[type(spec)](spec)
