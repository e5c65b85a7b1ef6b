"""Schema of the tasks of a scenario: feature, weight, gains and reference."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.limits import Within, excess
from multi_qp_scene.schema.common import (
    Angle,
    Coordinate,
    Distance,
    Duration,
    Length,
    NonNegative,
    Number,
    Rpy,
    Seed,
    Speed,
    Spread,
    Time,
    Vector3,
    Velocity,
)

Axis = Literal["x", "y", "z", "roll", "pitch", "yaw"]


class RandomPathSpec(StrictModel):
    """A smooth random path around the pose at the state's entry, which starts and ends there at rest.

    Attributes:
        duration: duration of the path [s].
        seed: seed of the random numbers; `${seed}` is the run's `--seed`.
        position: the knots lie within ± this of the entry pose, along the axes of the world or of `relative_to` [m].
        angle: the knots' rotation vectors lie within ± this, about the frame's own axes [rad].
        knots_every: time between knots [s].
    """

    duration: Duration
    seed: Seed
    position: tuple[Distance, Distance, Distance] = (0.0, 0.0, 0.0)
    angle: tuple[Spread, Spread, Spread] = (0.0, 0.0, 0.0)
    knots_every: Duration = 1.25

    @model_validator(mode="after")
    def _knots(self) -> RandomPathSpec:
        if (message := excess("samples", self.duration / self.knots_every)) is not None:
            raise ValueError(f"its knots: {message}")
        return self


class RandomPointsSpec(StrictModel):
    """Consecutive random points in a box; the next point follows when a point was reached and held, or timed out.

    Attributes:
        count: number of points.
        seed: seed of the random numbers; `${seed}` is the run's `--seed`.
        size: size of the box, along the axes of the world or of `relative_to` [m].
        centre: centre of the box, relative to the position at the state's entry [m].
        tolerance: distance at which a point is reached [m].
        hold: time for which it must be held [s].
        timeout: time after which the point is missed and the next one follows [s].
        speed: maximum speed of minimum-jerk paths between points [m/s]; steps of the set-point if left out.
    """

    count: Annotated[int, Field(ge=1), Within("samples")]
    seed: Seed
    size: Vector3
    centre: Vector3 = (0.0, 0.0, 0.0)
    tolerance: Length = 0.02
    hold: Time = 0.1
    timeout: Duration = 5.0
    speed: Speed | None = None


class PoseTargetSpec(StrictModel):
    """Target pose of a frame.

    Components that are not given remain at their value when the task starts. With `duration` the reference moves to the
    target along a minimum-jerk path; without, the target is a set-point.

    Attributes:
        frame: reference frame of `position` and `rpy`: `world`; the full name of a link or surface, as it is when the
            task starts; or `entry`: the pose of the tasked frame itself at that moment, with the offset along the axes
            of the world (of `relative_to`) and the rotation about the frame's own.
        position: position of the tasked frame [m].
        rpy: roll, pitch, yaw of the tasked frame [rad].
        duration: duration of the reference path [s].
        apex: additional height of the middle of the path along the z axis of the world (of `relative_to`), for example
            of a swing foot [m].
        via: control points between the start and the target, given as `position` is: the path is the Bézier curve with
            these control points; it needs `duration` and replaces `apex` [m].
        random_path: a random path instead; the other keys are ignored.
        random_points: random points instead; the other keys are ignored.
        interactive: name of the set-point for a user, who may move it while the state is active.
    """

    frame: str = "world"
    position: Vector3 | None = None
    rpy: Rpy | None = None
    duration: Duration | None = None
    apex: Coordinate = 0.0
    via: list[Vector3] = []
    random_path: RandomPathSpec | None = None
    random_points: RandomPointsSpec | None = None
    interactive: str | None = None


class CurveSpec(StrictModel):
    """One Bézier curve, [Tonneau2018] (7).

    Attributes:
        points: control points, world [m].
        duration: duration [s].
    """

    points: list[Vector3] = Field(min_length=2)
    duration: Duration


class CoMTargetSpec(StrictModel):
    """Target of a centre of mass: a position or the centre of the support polygon of some contacts, with an offset.

    Attributes:
        over_contacts: contacts whose first surfaces span the support polygon; its centre gives x and y, z remains
            unchanged.
        position: position instead, world [m]; the present one if neither is given.
        follow: whether the target moves with the first surfaces of `over_contacts`, for example on the shoulders of
            another character; the axes remain those of the world.
        offset: added to the target [m].
        duration: duration of a minimum-jerk path to the target [s]; a set-point if left out.
        curves: consecutive Bézier curves instead; the other keys are ignored.
        interactive: name of the set-point for a user, who may move it while the state is active.
    """

    over_contacts: list[str] | None = None
    follow: bool = False
    position: Vector3 | None = None
    offset: Vector3 = (0.0, 0.0, 0.0)
    duration: Duration | None = None
    curves: list[CurveSpec] = []
    interactive: str | None = None


class TaskBase(StrictModel):
    """Weight w in (32) and gains in (33) of a task.

    Attributes:
        weight: w in (32).
        stiffness: k in (33) [1/s²].
        damping: gain on the velocity error [1/s]; 2√k if left out.
    """

    weight: NonNegative = 1.0
    stiffness: NonNegative = 10.0
    damping: NonNegative | None = None


class PostureTaskSpec(TaskBase):
    """Joint posture of one subsystem.

    Attributes:
        type: selects this type of task.
        weight: w in (32).
        stiffness: k in (33) [1/s²].
        damping: gain on the velocity error [1/s]; 2√k if left out.
        subsystem: name of the subsystem.
        posture: a posture of its model, `initial` (if left out), `entry` (the one when the task starts), or angles
            [rad] by joint, with the initial ones for other joints.
        joints: names or patterns with `*` of the joints; all if left out.
        joint_weights: weight relative to `weight` by joint name or pattern; the last match applies.
        duration: duration of a minimum-jerk path to the posture [s]; a set-point if left out.
    """

    type: Literal["posture"]
    subsystem: str
    posture: str | dict[str, Angle] | None = None
    joints: list[str] | None = None
    joint_weights: dict[str, NonNegative] = {}
    duration: Duration | None = None


class CoMTaskSpec(TaskBase):
    """Position of the centre of mass of one subsystem, or of a group.

    Attributes:
        type: selects this type of task.
        weight: w in (32).
        stiffness: k in (33) [1/s²].
        damping: gain on the velocity error [1/s]; 2√k if left out.
        subsystems: the group.
        axes: controlled world axes.
        target: target position.
        max_speed: maximum speed towards a set-point [m/s].
    """

    type: Literal["com"]
    subsystems: list[str]
    axes: list[Literal["x", "y", "z"]] = ["x", "y", "z"]
    target: CoMTargetSpec = CoMTargetSpec()
    max_speed: Speed | None = None


class PoseTaskSpec(TaskBase):
    """Pose of a link, a surface or an object, in the world or relative to another link (`relative_to`).

    Attributes:
        type: selects this type of task.
        weight: w in (32).
        stiffness: k in (33) [1/s²].
        damping: gain on the velocity error [1/s]; 2√k if left out.
        frame: full name of the link or surface.
        relative_to: full name of the link or surface that is the reference frame; the world if left out.
        axes: controlled axes, along and about the axes of the world (of `relative_to`).
        target: target pose.
        max_speed: maximum speed [m/s], [rad/s] towards a set-point.
    """

    type: Literal["pose"]
    frame: str
    relative_to: str | None = None
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: PoseTargetSpec = PoseTargetSpec()
    max_speed: Speed | None = None


class JointAngleTaskSpec(TaskBase):
    """Angle [rad] or position [m] of one joint.

    Attributes:
        type: selects this type of task.
        weight: w in (32).
        stiffness: k in (33) [1/s²].
        damping: gain on the velocity error [1/s]; 2√k if left out.
        joint: full name; the joint needs no motor.
        target: angle [rad] or position [m].
        duration: duration of a minimum-jerk path to the target [s]; a set-point if left out.
    """

    type: Literal["joint_angle"]
    joint: str
    target: Angle
    duration: Duration | None = None


class JointVelocityTaskSpec(TaskBase):
    """Velocity of one joint [rad/s] or [m/s].

    Attributes:
        type: selects this type of task.
        weight: w in (32).
        stiffness: gain on the error [1/s].
        damping: not used.
        joint: full name; the joint needs no motor.
        target: velocity [rad/s] or [m/s].
    """

    type: Literal["joint_velocity"]
    joint: str
    target: Velocity


class MomentumTaskSpec(TaskBase):
    """Momentum of a group about its own centre of mass: linear [N s], angular [N m s].

    Attributes:
        type: selects this type of task.
        weight: w in (32).
        stiffness: gain on the error [1/s].
        damping: not used.
        subsystems: the group.
        axes: controlled world axes: x, y, z linear, roll, pitch, yaw angular.
        target: linear [N s], then angular [N m s].
    """

    type: Literal["momentum"]
    subsystems: list[str]
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: tuple[Number, Number, Number, Number, Number, Number] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


TaskSpec = Annotated[
    PostureTaskSpec | CoMTaskSpec | PoseTaskSpec | JointAngleTaskSpec | JointVelocityTaskSpec | MomentumTaskSpec,
    Field(discriminator="type"),
]
