"""Schema of the goals of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import Angle, Coordinate, Length, Positive, Time, Tolerance, Vector3, Velocity
from multi_qp_scene.schema.name_of import (
    AnyFrameName,
    AnyJointName,
    ContactName,
    FrameName,
    Group,
    NameOf,
    StateName,
    TaskName,
    check_names,
)
from multi_qp_scene.schema.walking import WalkingSpec

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


class GoalBase(StrictModel):
    """A goal; its class in `multi_qp_simulator/goals/` measures it.

    Attributes:
        type: selects this type of goal.
    """

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Report each name that does not exist in the scenario, see `TaskBase.check`."""
        check_names(self, scenario, key)


class TrackingGoal(GoalBase):
    """Bound of the RMS tracking error of a pose task while it is active.

    Attributes:
        task: a pose task.
        position: maximum RMS distance [m].
        rotation: maximum RMS angle [rad].
    """

    type: Literal["tracking"]
    task: TaskName
    position: Length | None = None
    rotation: Tolerance | None = None

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the task, and that a quantity is bounded."""
        super().check(scenario, key)
        scenario.check_pose_task(self.task, (*key, "task"))
        if self.position is None and self.rotation is None:
            scenario.report_error(key, "give a tolerance: `position` [m], `rotation` [rad] or both")


class PoseGoal(GoalBase):
    """Final position of a frame: near a given position, or (`initial`) near its initial one.

    Attributes:
        frame: full name of a link or surface.
        target: position of its origin in the world [m], or `initial`.
        tolerance: maximum distance [m]; the orientation is not evaluated.
    """

    type: Literal["pose"]
    frame: AnyFrameName
    target: Vector3 | Literal["initial"]
    tolerance: Length


class PassGoal(GoalBase):
    """Least distance of a frame from a position during the run, for targets that are only touched on the way.

    Attributes:
        frame: full name of a link or surface.
        target: position in the world [m].
        tolerance: maximum of the least distance [m].
        between: first and last time that count [s]; the whole run if left out.
    """

    type: Literal["pass"]
    frame: AnyFrameName
    target: Vector3
    tolerance: Length
    between: tuple[Time, Time] | None = None

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the name of the frame, and that the interval is not empty."""
        super().check(scenario, key)
        if self.between is not None and self.between[0] >= self.between[1]:
            scenario.report_error((*key, "between"), "expected a first time before the last one")


class StateGoal(GoalBase):
    """A state that must be visited.

    Attributes:
        state: name of the state.
        visits: minimum number of visits.
    """

    type: Literal["state"]
    state: StateName
    visits: Annotated[int, Field(ge=1)] = 1


class PointsGoal(GoalBase):
    """Bound of the number of missed random points of a task.

    Attributes:
        task: a pose task whose target has `random_points`.
        misses: maximum number of missed points.
    """

    type: Literal["points"]
    task: TaskName
    misses: Annotated[int, Field(ge=0)] = 0


class JointGoal(GoalBase):
    """Angle of a joint at the end of a state.

    Attributes:
        joint: full name of the joint.
        target: angle [rad].
        tolerance: [rad].
        state: name of the state, at its last exit; the end of the run if left out.
    """

    type: Literal["joint"]
    joint: AnyJointName
    target: Angle
    tolerance: Tolerance
    state: StateName | None = None


class JointVelocityGoal(GoalBase):
    """Velocity of a joint throughout a state.

    Attributes:
        joint: full name of the joint.
        target: velocity [rad/s].
        tolerance: maximum deviation, relative to the target.
        state: name of the state.
        after: time in the state before evaluation begins [s].
    """

    type: Literal["joint_velocity"]
    joint: AnyJointName
    target: Velocity
    tolerance: Positive
    state: StateName
    after: Time = 1.0

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of joint and state, and the target."""
        super().check(scenario, key)
        if self.target == 0.0:
            scenario.report_error((*key, "target"), "the tolerance is relative to the target, which cannot be 0")


class TiltGoal(GoalBase):
    """Bound of the inclination of the z axis of a frame from the vertical.

    Attributes:
        frame: full name of a link or surface.
        tolerance: [rad].
        states: names of the evaluated states; all if left out.
    """

    type: Literal["tilt"]
    frame: FrameName
    tolerance: Tolerance
    states: list[StateName] | None = None


class BalanceGoal(GoalBase):
    """Minimum distance of a group's centre of mass inside the support polygon of its contacts with the environment.

    Attributes:
        subsystems: the group whose common centre of mass is evaluated.
        contacts: supporting contacts, of which the active ones count, for example of a group on other characters'
            shoulders; the group's own contacts with the environment if left out.
        margin: minimum horizontal distance from the polygon's edge [m].
        states: names of the evaluated states; all if left out.
    """

    type: Literal["balance"]
    subsystems: Group
    contacts: list[ContactName] | None = None
    margin: Coordinate = 0.0
    states: list[StateName] | None = None


class ClearanceGoal(GoalBase):
    """Minimum distance between bodies, of the pairs in `collisions`.

    Attributes:
        bodies: full names of two links, or patterns with `*`.
        at_least: minimum distance [m].
    """

    type: Literal["clearance"]
    bodies: tuple[str, str]
    at_least: Coordinate = 0.0


def _walking(scenario: ScenarioChecker) -> list[str]:
    generators = [one for state in scenario.spec.states.values() for one in state.generators.items()]
    return [name for name, spec in generators if isinstance(spec, WalkingSpec)]


class VelocityGoal(GoalBase):
    """Mean velocity of a walking robot relative to its command, for each of vx, vy, wz.

    Attributes:
        generator: a generator of type `walking`.
        tolerance: maximum deviation of the mean, relative to the command.
        after: time since the last change of the command before evaluation begins [s].
    """

    type: Literal["velocity"]
    generator: Annotated[str, NameOf("generator of type walking", _walking)]
    tolerance: Positive
    after: Time = 1.0


class TaskTermsGoal(GoalBase):
    """Bounds of the task terms of the scenario's `behaviour`, at the ends of their phases, and at the end of the run.

    A motion that is played has this goal under the name `task`, with the bounds of the audit, unless the scenario gives
    other bounds under this name. It needs CasADi. At the end of the run, velocities are not evaluated.

    Attributes:
        distance: of each term, maximum [m].
        angle: of each term, maximum [rad].
        speed: of each velocity in a term, maximum of the difference in each direction [m/s]; reported, not bounded, if
            left out.
    """

    type: Literal["task_terms"]
    distance: Length = 0.03
    angle: Tolerance = 0.0873
    speed: Positive | None = None

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check that there is a behaviour, whose terms stay the same."""
        behaviour = scenario.spec.behaviour
        if behaviour is None or behaviour.online is not None:
            scenario.report_error(key, "a goal of type `task_terms` needs a `behaviour` without `online`")


GoalSpec = Annotated[
    TrackingGoal
    | PoseGoal
    | PassGoal
    | StateGoal
    | PointsGoal
    | JointGoal
    | JointVelocityGoal
    | TiltGoal
    | BalanceGoal
    | ClearanceGoal
    | VelocityGoal
    | TaskTermsGoal,
    Field(discriminator="type"),
]
