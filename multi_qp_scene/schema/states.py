"""Schema of the finite state machine of a scenario: states, transitions and the goals of the whole run."""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3
from multi_qp_scene.schema.tasks import TaskSpec


class TimeCondition(StrictModel):
    """Holds when the state has lasted so long [s].

    Attributes:
        type: chooses this condition.
        after: time since the state was entered [s].
    """

    type: Literal["time"]
    after: NonNegative


class TaskCondition(StrictModel):
    """Holds when a task has reached its target, and its reference has come to its end.

    Attributes:
        type: chooses this condition.
        task: a task of this state.
        error: largest norm of x − x_ref, in the feature's unit (m and rad taken together for a pose).
        speed: largest norm of ẋ, in the feature's unit per second.
    """

    type: Literal["task"]
    task: str
    error: Positive | None = None
    speed: Positive | None = None


class ReferenceCondition(StrictModel):
    """Holds when the moving reference of a task has come to its end.

    Attributes:
        type: chooses this condition.
        task: a task of this state.
    """

    type: Literal["reference_done"]
    task: str


class CoMInsideCondition(StrictModel):
    """Holds when a centre of mass is over the support polygon of some contacts.

    Attributes:
        type: chooses this condition.
        subsystems: whose common centre of mass.
        contacts: whose first surfaces span the polygon; they need not be on.
        margin: how far inside, at least [m].
    """

    type: Literal["com_inside"]
    subsystems: list[str]
    contacts: list[str]
    margin: float = 0.0


class TouchingCondition(StrictModel):
    """Holds when the surfaces of a contact lie flush and still, ready to be made (foot landed, grasp closed).

    The distance is along the second surface's normal; a grasp's is between the axes of the two cylinders.

    Attributes:
        type: chooses this condition.
        contact: which contact.
        distance: largest distance [m].
        angle: largest angle between the surfaces [rad].
        speed: largest relative speed [m/s]; ten times that in rad/s for turning.
    """

    type: Literal["touching"]
    contact: str
    distance: Positive = 0.001
    angle: Positive = 0.02
    speed: Positive = 0.02


class SeparatedCondition(StrictModel):
    """Holds when the surfaces of a contact have come apart.

    Attributes:
        type: chooses this condition.
        contact: which contact.
        distance: least distance, measured as in `touching` [m].
    """

    type: Literal["separated"]
    contact: str
    distance: Positive


class JointCondition(StrictModel):
    """Holds when a joint is above and below these angles [rad].

    Attributes:
        type: chooses this condition.
        joint: full name of the joint.
        above: least angle [rad] or position [m].
        below: largest angle [rad] or position [m].
    """

    type: Literal["joint"]
    joint: str
    above: float | None = None
    below: float | None = None


class CommandCondition(StrictModel):
    """Holds when the user has given this command: by its button in the viewer, or by `Controller.command`.

    Attributes:
        type: chooses this condition.
        name: of the command.
    """

    type: Literal["command"]
    name: str


class UnattendedCondition(StrictModel):
    """Holds when nobody is there to interact: in headless runs; a phase for the user is passed over then.

    Attributes:
        type: chooses this condition.
    """

    type: Literal["unattended"]


class VisitsCondition(StrictModel):
    """Holds when a state has been entered so many times.

    Attributes:
        type: chooses this condition.
        state: which state; the present one counts as entered.
        count: how many times, at least.
    """

    type: Literal["visits"]
    state: str
    count: Annotated[int, Field(ge=1)]


class AllCondition(StrictModel):
    """Holds when all of these hold.

    Attributes:
        type: chooses this condition.
        of: conditions.
    """

    type: Literal["all"]
    of: list[Condition]


class AnyCondition(StrictModel):
    """Holds when any of these holds.

    Attributes:
        type: chooses this condition.
        of: conditions.
    """

    type: Literal["any"]
    of: list[Condition]


class NotCondition(StrictModel):
    """Holds when this does not.

    Attributes:
        type: chooses this condition.
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
        AllCondition,
        AnyCondition,
        NotCondition,
    ],
    Field(discriminator="type"),
]

for _recursive in (AllCondition, AnyCondition, NotCondition):
    _recursive.model_rebuild()


class TransitionSpec(StrictModel):
    """Where to go, and when; the first transition of a state whose condition holds is taken.

    Attributes:
        to: name of the next state.
        when: the condition.
    """

    to: str
    when: Condition


class StateSpec(StrictModel):
    """One phase: its contacts, its tasks (over those of the whole scenario), its transitions.

    A state without transitions is an end of the run. `tasks: {name: null}` drops a task of the scenario here. The tasks
    of the scenario go on undisturbed from state to state; a state's own start anew. A contact that goes on keeps the
    place at which it was made.

    Attributes:
        description: for people.
        contacts: the contacts that are on.
        tasks: tasks by name; one of the same name as a task of the scenario replaces it.
        transitions: ways on, in order of precedence.
        timeout: the run ends, as failed, when the state lasts longer [s].
        hold: in a state without transitions: how long it lasts before the run is complete [s].
    """

    description: str = ""
    contacts: list[str] = []
    tasks: dict[str, TaskSpec | None] = {}
    transitions: list[TransitionSpec] = []
    timeout: Positive | None = None
    hold: NonNegative = 0.0


class TrackingGoal(StrictModel):
    """The RMS error with which a pose task follows its reference while it is active.

    Attributes:
        type: chooses this goal.
        task: a pose task.
        position: largest RMS distance [m].
        rotation: largest RMS angle [rad].
    """

    type: Literal["tracking"]
    task: str
    position: Positive | None = None
    rotation: Positive | None = None


class PoseGoal(StrictModel):
    """Where a frame is at the end of the run: near a given place, or (`initial`) near where it started.

    Attributes:
        type: chooses this goal.
        frame: full name of a link or surface.
        target: place of its origin in the world [m], or `initial`.
        tolerance: largest distance [m]; orientation is not judged.
    """

    type: Literal["pose"]
    frame: str
    target: Vector3 | Literal["initial"]
    tolerance: Positive


class StateGoal(StrictModel):
    """A state that the run must have visited.

    Attributes:
        type: chooses this goal.
        state: name of the state.
        visits: how many times, at least.
    """

    type: Literal["state"]
    state: str
    visits: Annotated[int, Field(ge=1)] = 1


class PointsGoal(StrictModel):
    """How many of the random points of a task were missed.

    Attributes:
        type: chooses this goal.
        task: a pose task whose target has `random_points`.
        misses: how many may be.
    """

    type: Literal["points"]
    task: str
    misses: Annotated[int, Field(ge=0)] = 0


class JointGoal(StrictModel):
    """The angle of a joint when a state was left.

    Attributes:
        type: chooses this goal.
        joint: full name of the joint.
        target: angle [rad].
        tolerance: [rad].
        state: which state, the last time it was left; the end of the run if left out.
    """

    type: Literal["joint"]
    joint: str
    target: float
    tolerance: Positive
    state: str | None = None


class JointVelocityGoal(StrictModel):
    """The velocity of a joint all through a state.

    Attributes:
        type: chooses this goal.
        joint: full name of the joint.
        target: velocity [rad/s].
        tolerance: of the worst moment, relative to the target.
        state: which state.
        after: only once the state has lasted so long [s].
    """

    type: Literal["joint_velocity"]
    joint: str
    target: float
    tolerance: Positive
    state: str
    after: NonNegative = 1.0


class TiltGoal(StrictModel):
    """How far the z axis of a frame ever leaned from the vertical.

    Attributes:
        type: chooses this goal.
        frame: full name of a link or surface.
        tolerance: [rad].
        states: in which states; all if left out.
    """

    type: Literal["tilt"]
    frame: str
    tolerance: Positive
    states: list[str] | None = None


class BalanceGoal(StrictModel):
    """How far inside the support polygon of its own contacts with the environment a group's centre of mass always was.

    Attributes:
        type: chooses this goal.
        subsystems: whose common centre of mass.
        contacts: of the contacts that are on, those that carry the group, as when it stands on other characters'
            shoulders; if left out, its own contacts with the environment.
        margin: least distance from the polygon's edge, seen from above [m].
        states: in which states; all if left out.
    """

    type: Literal["balance"]
    subsystems: list[str]
    contacts: list[str] | None = None
    margin: float = 0.0
    states: list[str] | None = None


class ClearanceGoal(StrictModel):
    """How close bodies ever came to each other, of the pairs that `collisions` watches.

    Attributes:
        type: chooses this goal.
        bodies: full names of two links, or patterns with `*`.
        at_least: [m].
    """

    type: Literal["clearance"]
    bodies: tuple[str, str]
    at_least: float = 0.0


GoalSpec = Annotated[
    TrackingGoal
    | PoseGoal
    | StateGoal
    | PointsGoal
    | JointGoal
    | JointVelocityGoal
    | TiltGoal
    | BalanceGoal
    | ClearanceGoal,
    Field(discriminator="type"),
]
