"""Schema of the conditions of transitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import Angle, Coordinate, Length, Speed, Time, Tolerance
from multi_qp_scene.schema.name_of import ContactName, Contacts, Group, JointName, NameOf, StateName, check_names
from multi_qp_scene.schema.tagged_union import TaggedUnion

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


class StateNames(NamedTuple):
    """Names in the state of a transition.

    Attributes:
        tasks: active tasks.
        generators: motion generators.
    """

    tasks: set[str]
    generators: set[str]


class ConditionSpec(StrictModel):
    """Base class of the specifications of conditions; a subclass has a key `type: Literal[...]`.

    Attributes:
        type: selects this type of condition.
    """

    @property
    def parts(self) -> list[ConditionSpec]:
        """The conditions that it is composed of."""
        return []

    @property
    def elements(self) -> Iterator[ConditionSpec]:
        """The elementary conditions that it is composed of: itself, unless it has parts."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.elements

    def check(self, scenario: ScenarioChecker, key: Key, state: StateNames) -> None:
        """Check the names in this specification, and report unknown ones at places below its own."""
        check_names(self, scenario, key, {_TASK.kind: state.tasks, _GENERATOR.kind: state.generators})


_TASK, _GENERATOR = NameOf("task of this state"), NameOf("generator of this state")
_TaskName = Annotated[str, _TASK]
_GeneratorName = Annotated[str, _GENERATOR]


class TimeConditionSpec(ConditionSpec):
    """True when the state has lasted for a time.

    Attributes:
        after: time since the state was entered [s].
    """

    type: Literal["time"]
    after: Time


class TaskConditionSpec(ConditionSpec):
    """True when a task has reached its target and its reference has ended.

    Attributes:
        task: a task of this state.
        error: maximum norm of x − x_ref, in the feature's unit (m and rad combined for a pose).
        speed: maximum norm of ẋ, in the feature's unit per second.
    """

    type: Literal["task"]
    task: _TaskName
    error: Tolerance | None = None
    speed: Speed | None = None

    def check(self, scenario: ScenarioChecker, key: Key, state: StateNames) -> None:
        """Check the name of the task, and that a bound is given."""
        super().check(scenario, key, state)
        if self.error is None and self.speed is None:
            scenario.report_error(key, "give `error`, `speed` or both")


class ReferenceConditionSpec(ConditionSpec):
    """True when the moving reference of a task has ended.

    Attributes:
        task: a task of this state.
    """

    type: Literal["reference_done"]
    task: _TaskName


class CoMInsideConditionSpec(ConditionSpec):
    """True when a centre of mass, or its capture point, is over the support polygon of some contacts.

    Attributes:
        subsystems: the group whose common centre of mass is tested.
        contacts: contacts whose first surfaces span the polygon; they need not be active.
        margin: minimum distance inside [m].
        capture_point: whether the capture point c + ċ / ω is tested, ω² = g / height: outside, planted feet cannot
            stop the centre of mass c by the place of the forces alone.
    """

    type: Literal["com_inside"]
    subsystems: Group
    contacts: Contacts
    margin: Coordinate = 0.0
    capture_point: bool = False


class TouchingConditionSpec(ConditionSpec):
    """True when the surfaces of a contact are aligned and at rest relative to each other (foot landed, grasp closed).

    The distance is that of the first surface's origin from the plane of the second one, on either side and not to its
    edges: a foot level with a step but beside it is touching, although its contact is then refused. A grasp's distance
    is between the axes of the two cylinders. Surfaces that have come to rest, below 1 mm/s and 0.01 rad/s when all
    references have ended, touch if they are within `contact_tolerance`, unless `distance` or `angle` is given. With
    `closed_loop.landing_force`, planar and point contacts are touching when their measured normal force reaches it;
    grasps, and all contacts while no forces are measured, are judged by position.

    Attributes:
        contact: name of the contact.
        distance: maximum distance [m].
        angle: maximum angle between the surfaces [rad].
        speed: maximum relative linear speed [m/s]; the angular limit is ten times that in rad/s.
    """

    type: Literal["touching"]
    contact: ContactName
    distance: Length = 0.001
    angle: Tolerance = 0.02
    speed: Speed = 0.02


class SeparatedConditionSpec(ConditionSpec):
    """True when the surfaces of a contact have separated.

    Attributes:
        contact: name of the contact.
        distance: minimum distance, measured as in `touching` [m].
    """

    type: Literal["separated"]
    contact: ContactName
    distance: Length


class JointConditionSpec(ConditionSpec):
    """True when a joint is above and below the given angles [rad].

    Attributes:
        joint: full name of the joint.
        above: minimum angle [rad] or position [m].
        below: maximum angle [rad] or position [m].
    """

    type: Literal["joint"]
    joint: JointName
    above: Angle | None = None
    below: Angle | None = None

    def check(self, scenario: ScenarioChecker, key: Key, state: StateNames) -> None:
        """Check the name of the joint, and that a bound is given."""
        super().check(scenario, key, state)
        if self.above is None and self.below is None:
            scenario.report_error(key, "give `above`, `below` or both")


class CommandConditionSpec(ConditionSpec):
    """True when the user has given this command: by its button in the viewer, or by `Controller.command`.

    Attributes:
        name: of the command.
    """

    type: Literal["command"]
    name: str


class UnattendedConditionSpec(ConditionSpec):
    """True when the run is not interactive (headless), to skip states for the user."""

    type: Literal["unattended"]


class VisitsConditionSpec(ConditionSpec):
    """True when a state has been entered a number of times.

    Attributes:
        state: name of the state; the present one counts as entered.
        count: minimum number of times.
    """

    type: Literal["visits"]
    state: StateName
    count: Annotated[int, Field(ge=1)]


class GeneratorConditionSpec(ConditionSpec):
    """True when a motion generator of the state is done.

    Attributes:
        generator: a generator of this state.
    """

    type: Literal["generator"]
    generator: _GeneratorName


#: The types of conditions; `multi_qp_controller.state_machine.register_condition` adds one.
CONDITION_SPECS = TaggedUnion(
    TimeConditionSpec,
    TaskConditionSpec,
    ReferenceConditionSpec,
    CoMInsideConditionSpec,
    TouchingConditionSpec,
    SeparatedConditionSpec,
    JointConditionSpec,
    CommandConditionSpec,
    UnattendedConditionSpec,
    VisitsConditionSpec,
    GeneratorConditionSpec,
)

AnyConditionSpec = Annotated[ConditionSpec, CONDITION_SPECS]


class SeveralConditionsSpec(ConditionSpec):
    """Base class of conditions on several others."""

    of: list[AnyConditionSpec]

    @property
    def parts(self) -> list[ConditionSpec]:
        """The conditions."""
        return self.of

    def check(self, scenario: ScenarioChecker, key: Key, state: StateNames) -> None:
        """Check the conditions."""
        if not self.of:
            scenario.report_error((*key, "of"), "give at least one condition")
        for k, part in enumerate(self.of):
            part.check(scenario, (*key, "of", k), state)


class AllConditionSpec(SeveralConditionsSpec):
    """True when all of the conditions are true.

    Attributes:
        of: conditions.
    """

    type: Literal["all"]


class OneOfConditionSpec(SeveralConditionsSpec):
    """True when any of the conditions is true.

    Attributes:
        of: conditions.
    """

    type: Literal["any"]


class NotConditionSpec(ConditionSpec):
    """True when the condition is false.

    Attributes:
        of: a condition.
    """

    type: Literal["not"]
    of: AnyConditionSpec

    @property
    def parts(self) -> list[ConditionSpec]:
        """The condition."""
        return [self.of]

    def check(self, scenario: ScenarioChecker, key: Key, state: StateNames) -> None:
        """Check the condition."""
        self.of.check(scenario, (*key, "of"), state)


CONDITION_SPECS.users += [AllConditionSpec, OneOfConditionSpec, NotConditionSpec]
for _compound in (AllConditionSpec, OneOfConditionSpec, NotConditionSpec):
    CONDITION_SPECS.add(_compound)
