"""Schema of the tasks of a scenario: what is asked of which feature, how strongly, and which reference it follows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3

Axis = Literal["x", "y", "z", "roll", "pitch", "yaw"]


class RandomPathSpec(StrictModel):
    """A smooth random path around the pose at the state's entry, which starts and ends there at rest.

    Attributes:
        duration: of the path [s].
        seed: of the random numbers; `${seed}` is the run's `--seed`.
        position: the knots lie within ± this of the entry pose, along the axes of the world or of `relative_to` [m].
        angle: the knots' rotation vectors lie within ± this, about the frame's own axes [rad].
        knots_every: time between knots [s].
    """

    duration: Positive
    seed: int
    position: tuple[NonNegative, NonNegative, NonNegative] = (0.0, 0.0, 0.0)
    angle: tuple[NonNegative, NonNegative, NonNegative] = (0.0, 0.0, 0.0)
    knots_every: Positive = 1.25


class RandomPointsSpec(StrictModel):
    """Random points in a box, one after the other: the next when the last was reached and held, or its time is up.

    Attributes:
        count: number of points.
        seed: of the random numbers; `${seed}` is the run's `--seed`.
        size: of the box, along the axes of the world or of `relative_to` [m].
        centre: of the box, from the position at the state's entry [m].
        tolerance: distance at which a point is reached [m].
        hold: time for which it must then be held [s].
        timeout: time after which the next point comes all the same [s].
        speed: largest speed of minimum-jerk paths from point to point [m/s]; set-points that jump if left out.
    """

    count: Annotated[int, Field(ge=1)]
    seed: int
    size: Vector3
    centre: Vector3 = (0.0, 0.0, 0.0)
    tolerance: Positive = 0.02
    hold: NonNegative = 0.1
    timeout: Positive = 5.0
    speed: Positive | None = None


class PoseTargetSpec(StrictModel):
    """Where a frame should go.

    What is not given stays as it is. With `duration` the reference moves there along a minimum-jerk path; without, the
    target is a set-point.

    Attributes:
        frame: what `position` and `rpy` are given in: `world`; the full name of a link or surface, as it is when the
            task starts; or `entry`: the pose of the tasked frame itself at that moment, with the offset along the axes
            of the world (of `relative_to`) and the turn about the frame's own.
        position: of the tasked frame [m].
        rpy: roll, pitch, yaw of the tasked frame [rad].
        duration: how long the reference takes [s].
        apex: raises the middle of the path along the z axis of the world (of `relative_to`), as of a stepping foot [m].
        via: control points between the start and the target, given as `position` is: the path is a Bézier curve that is
            drawn towards them and leaves and arrives in their directions; it needs `duration` and replaces `apex` [m].
        random_path: follow a random path instead; the other keys do not count then.
        random_points: go to random points instead; the other keys do not count then.
        interactive: name under which a user may move this set-point while the state lasts.
    """

    frame: str = "world"
    position: Vector3 | None = None
    rpy: Vector3 | None = None
    duration: Positive | None = None
    apex: float = 0.0
    via: list[Vector3] = []
    random_path: RandomPathSpec | None = None
    random_points: RandomPointsSpec | None = None
    interactive: str | None = None


class CurveSpec(StrictModel):
    """One Bézier curve, [Tonneau2018] (7).

    Attributes:
        points: control points, world [m].
        duration: how long it takes [s].
    """

    points: list[Vector3] = Field(min_length=2)
    duration: Positive


class CoMTargetSpec(StrictModel):
    """Where a centre of mass should go: a place or the middle of the support polygon of some contacts, and an offset.

    Attributes:
        over_contacts: contacts whose first surfaces span the support polygon; its centre gives x and y, z stays as it
            is.
        position: the place instead, world [m]; the present one if neither is given.
        follow: whether the target goes along with the first surfaces of `over_contacts` where these move, as shoulders
            do that carry somebody; the axes stay those of the world.
        offset: added to it [m].
        duration: of a minimum-jerk path to it [s]; a set-point if left out.
        curves: Bézier curves to follow one after the other instead; the other keys do not count then.
        interactive: name under which a user may move this set-point while the state lasts.
    """

    over_contacts: list[str] | None = None
    follow: bool = False
    position: Vector3 | None = None
    offset: Vector3 = (0.0, 0.0, 0.0)
    duration: Positive | None = None
    curves: list[CurveSpec] = []
    interactive: str | None = None


class TaskBase(StrictModel):
    """What every task has: its weight w in (32) and its gains in (33).

    Attributes:
        weight: w of (32).
        stiffness: k of (33) [1/s²].
        damping: of the velocity error [1/s]; 2√k if left out.
    """

    weight: NonNegative = 1.0
    stiffness: NonNegative = 10.0
    damping: NonNegative | None = None


class PostureTaskSpec(TaskBase):
    """Keep the joints of one subsystem near a posture.

    Attributes:
        type: chooses this task.
        weight: w of (32).
        stiffness: k of (33) [1/s²].
        damping: of the velocity error [1/s]; 2√k if left out.
        subsystem: whose joints.
        posture: a posture of its model, `initial` (if left out), `entry` (as when the task starts), or angles [rad] by
            joint over the initial ones.
        joints: names or patterns with `*` of the joints that count; all if left out.
        joint_weights: weight relative to `weight` by joint name or pattern; the last that matches counts.
        duration: of a minimum-jerk path to the posture [s]; a set-point if left out.
    """

    type: Literal["posture"]
    subsystem: str
    posture: str | dict[str, float] | None = None
    joints: list[str] | None = None
    joint_weights: dict[str, NonNegative] = {}
    duration: Positive | None = None


class CoMTaskSpec(TaskBase):
    """Place the centre of mass of one subsystem, or of a group.

    Attributes:
        type: chooses this task.
        weight: w of (32).
        stiffness: k of (33) [1/s²].
        damping: of the velocity error [1/s]; 2√k if left out.
        subsystems: the group.
        axes: which world axes count.
        target: where to.
        max_speed: bounds the speed with which a far set-point is approached [m/s].
    """

    type: Literal["com"]
    subsystems: list[str]
    axes: list[Literal["x", "y", "z"]] = ["x", "y", "z"]
    target: CoMTargetSpec = CoMTargetSpec()
    max_speed: Positive | None = None


class PoseTaskSpec(TaskBase):
    """Place a link, a surface or an object, in the world or relative to another link (`relative_to`).

    Attributes:
        type: chooses this task.
        weight: w of (32).
        stiffness: k of (33) [1/s²].
        damping: of the velocity error [1/s]; 2√k if left out.
        frame: full name of the link or surface.
        relative_to: full name of the link or surface in which it is placed; the world if left out.
        axes: which rows count, along and about the axes of the world (of `relative_to`).
        target: where to.
        max_speed: bounds the speed [m/s], [rad/s] with which a far set-point is approached.
    """

    type: Literal["pose"]
    frame: str
    relative_to: str | None = None
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: PoseTargetSpec = PoseTargetSpec()
    max_speed: Positive | None = None


class JointAngleTaskSpec(TaskBase):
    """Bring one joint to an angle [rad] or position [m].

    Attributes:
        type: chooses this task.
        weight: w of (32).
        stiffness: k of (33) [1/s²].
        damping: of the velocity error [1/s]; 2√k if left out.
        joint: full name; it needs no motor.
        target: angle [rad] or position [m].
        duration: of a minimum-jerk path to it [s]; a set-point if left out.
    """

    type: Literal["joint_angle"]
    joint: str
    target: float
    duration: Positive | None = None


class JointVelocityTaskSpec(TaskBase):
    """Keep one joint at a velocity [rad/s] or [m/s].

    Attributes:
        type: chooses this task.
        weight: w of (32).
        stiffness: gain on the error [1/s].
        damping: not used.
        joint: full name; it needs no motor.
        target: velocity [rad/s] or [m/s].
    """

    type: Literal["joint_velocity"]
    joint: str
    target: float


class MomentumTaskSpec(TaskBase):
    """Bring the momentum of a group about its own centre of mass to a value: linear [N s], angular [N m s].

    Attributes:
        type: chooses this task.
        weight: w of (32).
        stiffness: gain on the error [1/s].
        damping: not used.
        subsystems: the group.
        axes: which rows count, world axes: x, y, z linear, roll, pitch, yaw angular.
        target: linear [N s], then angular [N m s].
    """

    type: Literal["momentum"]
    subsystems: list[str]
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


TaskSpec = Annotated[
    PostureTaskSpec | CoMTaskSpec | PoseTaskSpec | JointAngleTaskSpec | JointVelocityTaskSpec | MomentumTaskSpec,
    Field(discriminator="type"),
]
