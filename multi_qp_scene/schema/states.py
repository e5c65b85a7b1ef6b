"""Schema of the state machine of a scenario: states, transitions and goals of the run."""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import (
    Angle,
    Coordinate,
    Duration,
    Length,
    Speed,
    Time,
    Tolerance,
)
from multi_qp_scene.schema.generators import GENERATOR_SPECS, AnyGeneratorSpec
from multi_qp_scene.schema.tasks import TASK_SPECS, TaskSpec


class TimeCondition(StrictModel):
    """True when the state has lasted for a time.

    Attributes:
        type: selects this type of condition.
        after: time since the state was entered [s].
    """

    type: Literal["time"]
    after: Time


class TaskCondition(StrictModel):
    """True when a task has reached its target and its reference has ended.

    Attributes:
        type: selects this type of condition.
        task: a task of this state.
        error: maximum norm of x − x_ref, in the feature's unit (m and rad combined for a pose).
        speed: maximum norm of ẋ, in the feature's unit per second.
    """

    type: Literal["task"]
    task: str
    error: Tolerance | None = None
    speed: Speed | None = None


class ReferenceCondition(StrictModel):
    """True when the moving reference of a task has ended.

    Attributes:
        type: selects this type of condition.
        task: a task of this state.
    """

    type: Literal["reference_done"]
    task: str


class CoMInsideCondition(StrictModel):
    """True when a centre of mass is over the support polygon of some contacts.

    Attributes:
        type: selects this type of condition.
        subsystems: the group whose common centre of mass is tested.
        contacts: contacts whose first surfaces span the polygon; they need not be active.
        margin: minimum distance inside [m].
    """

    type: Literal["com_inside"]
    subsystems: list[str]
    contacts: list[str]
    margin: Coordinate = 0.0


class TouchingCondition(StrictModel):
    """True when the surfaces of a contact are aligned and at rest relative to each other (foot landed, grasp closed).

    The distance is along the second surface's normal, to its plane, not to its edges: a foot level with a step but
    beside it is also touching. A grasp's distance is between the axes of the two cylinders. With
    `closed_loop.landing_force`, planar and point contacts are touching when their measured normal force reaches it.

    Attributes:
        type: selects this type of condition.
        contact: name of the contact.
        distance: maximum distance [m].
        angle: maximum angle between the surfaces [rad].
        speed: maximum relative linear speed [m/s]; the angular limit is ten times that in rad/s.
    """

    type: Literal["touching"]
    contact: str
    distance: Length = 0.001
    angle: Tolerance = 0.02
    speed: Speed = 0.02


class SeparatedCondition(StrictModel):
    """True when the surfaces of a contact have separated.

    Attributes:
        type: selects this type of condition.
        contact: name of the contact.
        distance: minimum distance, measured as in `touching` [m].
    """

    type: Literal["separated"]
    contact: str
    distance: Length


class JointCondition(StrictModel):
    """True when a joint is above and below the given angles [rad].

    Attributes:
        type: selects this type of condition.
        joint: full name of the joint.
        above: minimum angle [rad] or position [m].
        below: maximum angle [rad] or position [m].
    """

    type: Literal["joint"]
    joint: str
    above: Angle | None = None
    below: Angle | None = None


class CommandCondition(StrictModel):
    """True when the user has given this command: by its button in the viewer, or by `Controller.command`.

    Attributes:
        type: selects this type of condition.
        name: of the command.
    """

    type: Literal["command"]
    name: str


class UnattendedCondition(StrictModel):
    """True when the run is not interactive (headless), to skip states for the user.

    Attributes:
        type: selects this type of condition.
    """

    type: Literal["unattended"]


class VisitsCondition(StrictModel):
    """True when a state has been entered a number of times.

    Attributes:
        type: selects this type of condition.
        state: name of the state; the present one counts as entered.
        count: minimum number of times.
    """

    type: Literal["visits"]
    state: str
    count: Annotated[int, Field(ge=1)]


class GeneratorCondition(StrictModel):
    """True when a motion generator of the state is done.

    Attributes:
        type: selects this type of condition.
        generator: a generator of this state.
    """

    type: Literal["generator"]
    generator: str


class AllCondition(StrictModel):
    """True when all of the conditions are true.

    Attributes:
        type: selects this type of condition.
        of: conditions.
    """

    type: Literal["all"]
    of: list[Condition]


class AnyCondition(StrictModel):
    """True when any of the conditions is true.

    Attributes:
        type: selects this type of condition.
        of: conditions.
    """

    type: Literal["any"]
    of: list[Condition]


class NotCondition(StrictModel):
    """True when the condition is false.

    Attributes:
        type: selects this type of condition.
        of: a condition.
    """

    type: Literal["not"]
    of: Condition


Condition = Annotated[
    Union[  # noqa: UP007  (the members refer back to this alias)
        TimeCondition,
        TaskCondition,
        ReferenceCondition,
        CoMInsideCondition,
        TouchingCondition,
        SeparatedCondition,
        JointCondition,
        CommandCondition,
        UnattendedCondition,
        VisitsCondition,
        GeneratorCondition,
        AllCondition,
        AnyCondition,
        NotCondition,
    ],
    Field(discriminator="type"),
]

for _recursive in (AllCondition, AnyCondition, NotCondition):
    _recursive.model_rebuild()


class TransitionSpec(StrictModel):
    """Transition to another state; the first transition of a state whose condition is true is taken.

    Attributes:
        to: name of the next state.
        when: the condition.
    """

    to: str
    when: Condition


class StateSpec(StrictModel):
    """One state: contact set, tasks (in addition to those of the scenario), motion generators and transitions.

    A state without transitions is final. `tasks: {name: null}` removes a task of the scenario in this state. Tasks of
    the scenario continue across transitions; tasks of a state start when it is entered. A contact that stays active
    keeps its contact position.

    Attributes:
        description: one line of text.
        contacts: names of the active contacts.
        tasks: tasks by name; one of the same name as a task of the scenario replaces it.
        generators: motion generators by name; each makes and breaks contacts of its own, which are not in `contacts`,
            and gives the references of its own tasks at every tick.
        transitions: transitions in order of precedence.
        timeout: maximum duration; the run fails when the state lasts longer [s].
        hold: in a final state: duration before the run is complete [s].
    """

    description: str = ""
    contacts: list[str] = []
    tasks: dict[str, TaskSpec | None] = {}
    generators: dict[str, AnyGeneratorSpec] = {}
    transitions: list[TransitionSpec] = []
    timeout: Duration | None = None
    hold: Time = 0.0

    @property
    def all_contacts(self) -> tuple[str, ...]:
        """Names of its contacts and of those that its generators own."""
        return (*self.contacts, *(name for spec in self.generators.values() for name in spec.owned_contacts))


TASK_SPECS.users.append(StateSpec)
GENERATOR_SPECS.users.append(StateSpec)
