"""Schema of the finite state machine of a scenario: states, transitions and the goals of the whole run."""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3
from multi_qp_scene.schema.tasks import TaskSpec


class TimeCondition(StrictModel):
    """Holds when the state has lasted so long [s]."""

    type: Literal["time"]
    after: NonNegative


class TaskCondition(StrictModel):
    """Holds when a task has reached its target: error [m, rad] and speed [m/s, rad/s] below these."""

    type: Literal["task"]
    task: str
    error: Positive | None = None
    speed: Positive | None = None


class ReferenceCondition(StrictModel):
    """Holds when the moving reference of a task has come to its end."""

    type: Literal["reference_done"]
    task: str


class CoMInsideCondition(StrictModel):
    """Holds when a centre of mass is over the support polygon of some contacts, at least `margin` [m] inside."""

    type: Literal["com_inside"]
    subsystems: list[str]
    contacts: list[str]
    margin: float = 0.0


class TouchingCondition(StrictModel):
    """Holds when the surfaces of a contact lie flush and still, ready to be made (foot landed, grasp closed)."""

    type: Literal["touching"]
    contact: str
    distance: Positive = 0.001
    angle: Positive = 0.02
    speed: Positive = 0.02


class SeparatedCondition(StrictModel):
    """Holds when the surfaces of a contact have come apart by a distance [m]."""

    type: Literal["separated"]
    contact: str
    distance: Positive


class JointCondition(StrictModel):
    """Holds when a joint is above and below these angles [rad]."""

    type: Literal["joint"]
    joint: str
    above: float | None = None
    below: float | None = None


class CommandCondition(StrictModel):
    """Holds when the user has given this command."""

    type: Literal["command"]
    name: str


class AllCondition(StrictModel):
    """Holds when all of these hold."""

    type: Literal["all"]
    of: list[Condition]


class AnyCondition(StrictModel):
    """Holds when any of these holds."""

    type: Literal["any"]
    of: list[Condition]


class NotCondition(StrictModel):
    """Holds when this does not."""

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
        AllCondition,
        AnyCondition,
        NotCondition,
    ],
    Field(discriminator="type"),
]

for _recursive in (AllCondition, AnyCondition, NotCondition):
    _recursive.model_rebuild()


class TransitionSpec(StrictModel):
    """Where to go, and when."""

    to: str
    when: Condition


class StateSpec(StrictModel):
    """One phase: its contacts, its tasks (over those of the whole scenario), its transitions.

    A state without transitions is an end of the run, `hold` [s] after it was entered. `tasks: {name: null}` drops a
    task of the scenario here. `timeout` [s] ends the run, as failed, in a state that lasts too long.
    """

    description: str = ""
    contacts: list[str] = []
    tasks: dict[str, TaskSpec | None] = {}
    transitions: list[TransitionSpec] = []
    timeout: Positive | None = None
    hold: NonNegative = 0.0


class TrackingGoal(StrictModel):
    """The RMS error with which a pose task follows its reference while it is active."""

    type: Literal["tracking"]
    task: str
    position: Positive | None = None
    rotation: Positive | None = None


class PoseGoal(StrictModel):
    """Where a frame is at the end of the run: near a given place, or (`initial`) near where it started."""

    type: Literal["pose"]
    frame: str
    target: Vector3 | Literal["initial"]
    tolerance: Positive


class StateGoal(StrictModel):
    """A state that the run must have visited."""

    type: Literal["state"]
    state: str


GoalSpec = Annotated[TrackingGoal | PoseGoal | StateGoal, Field(discriminator="type")]
