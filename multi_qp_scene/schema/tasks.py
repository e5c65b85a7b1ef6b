"""Schema of the tasks of a scenario: feature, weight, gains and reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.errors import MultiQpError
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
from multi_qp_scene.schema.name_of import Contacts, FrameName, Group, JointName, SubsystemName, check_names
from multi_qp_scene.schema.tagged_union import TaggedUnion

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker

#: Place of a task in the order in which tasks are given up.
Importance = Annotated[int, Field(ge=0, le=1000)]
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

    over_contacts: Contacts | None = None
    follow: bool = False
    position: Vector3 | None = None
    offset: Vector3 = (0.0, 0.0, 0.0)
    duration: Duration | None = None
    curves: list[CurveSpec] = []
    interactive: str | None = None


class TaskBase(StrictModel):
    """Weight w in (32) and gains in (33) of a task.

    Attributes:
        type: selects this type of task.
        weight: w in (32).
        stiffness: k in (33) [1/s²].
        damping: gain on the velocity error [1/s]; 2√k if left out.
        importance: order in which tasks are given up while the QP has no solution, smallest first; null: never.
    """

    type: str
    weight: NonNegative = 1.0
    stiffness: NonNegative = 10.0
    damping: NonNegative | None = None
    importance: Importance | None = 1

    @property
    def gains(self) -> dict[str, Any]:
        """Weight, stiffness and damping, as arguments of a task."""
        return {"weight": self.weight, "stiffness": self.stiffness, "damping": self.damping}

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Report each name that does not exist in the scenario and each inconsistent value.

        Args:
            scenario: checker of the scenario file; its `known` and `report_error` report, `names` are the valid names.
            key: location of the task in the file.
        """
        check_names(self, scenario, key)


class MotionTargetSpec(StrictModel):
    """A motion over time as the reference of a posture.

    Attributes:
        motion: file of a reference motion, as `multi-qp motion import` writes it; a path, or one relative to the
            scenario.
    """

    motion: str


class PostureTaskSpec(TaskBase):
    """Joint posture of one subsystem: constant, a path to it, or a motion over time.

    Attributes:
        subsystem: name of the subsystem.
        posture: a posture of its model, `initial` (if left out), `entry` (the one when the task starts), or angles
            [rad] by joint, with the initial ones for other joints.
        joints: names or patterns with `*` of the joints; all if left out.
        joint_weights: weight relative to `weight` by joint name or pattern; the last match applies.
        target: a motion instead of `posture`, from the start of the task on; afterwards its last posture is held.
        duration: duration of a minimum-jerk path to the posture [s]; a set-point if left out. Of a motion: time in
            which the distance between its beginning and the posture at the start of the task is reduced to zero.
    """

    type: Literal["posture"]
    importance: Importance | None = None
    subsystem: SubsystemName
    posture: str | dict[str, Angle] | None = None
    target: MotionTargetSpec | None = None
    joints: list[str] | None = None
    joint_weights: dict[str, NonNegative] = {}
    duration: Duration | None = None

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of subsystem, posture and joints."""
        super().check(scenario, key)
        if self.subsystem not in scenario.names.postures:
            return
        own_joints = scenario.joints_of(self.subsystem)
        scenario.check_posture((*key, "posture"), self.subsystem, self.posture, ("initial", "entry"))
        scenario.check_patterns((*key, "joints"), "joint", self.joints or [], own_joints)
        scenario.check_patterns((*key, "joint_weights"), "joint", self.joint_weights, own_joints)
        if self.target is not None:
            if self.posture is not None:
                scenario.report_error((*key, "target"), "give either `posture` or `target`, not both")
            check_motion(scenario, (*key, "target", "motion"), self.target.motion, self.subsystem)


def check_motion(scenario: ScenarioChecker, key: Key, file: str, subsystem: str) -> None:
    """Report a file that is no reference motion of a subsystem."""
    from multi_qp_scene.motions.reference import ReferenceMotion

    path = scenario.document.path
    try:
        motion = ReferenceMotion.beside(file, Path() if path is None else path)
    except MultiQpError as error:
        scenario.report_error(key, str(error))
        return
    foreign = sorted(set(motion.joints) - scenario.joints_of(subsystem))
    if foreign:
        scenario.report_error(key, f"a motion of '{motion.robot}': '{subsystem}' has no joint '{foreign[0]}'")


class CoMTaskSpec(TaskBase):
    """Position of the centre of mass of one subsystem, or of a group.

    Attributes:
        subsystems: the group.
        axes: controlled world axes.
        target: target position.
        max_speed: maximum speed towards a reference that is far away [m/s]; 0.5 if left out.
    """

    type: Literal["com"]
    importance: Importance | None = None
    subsystems: Group
    axes: list[Literal["x", "y", "z"]] = ["x", "y", "z"]
    target: CoMTargetSpec = CoMTargetSpec()
    max_speed: Speed | None = None

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check group, axes and target."""
        target, at = self.target, (*key, "target")
        super().check(scenario, key)
        scenario.check_axes(self.axes, key)
        scenario.check_target(self, key, "`over_contacts`, `position` or `offset`")
        check_names(target, scenario, at)
        if target.curves and target.follow:
            message = "curves are given in the world frame and cannot be combined with `follow`"
            scenario.report_error((*at, "follow"), message)
        if target.over_contacts and target.position:
            scenario.report_error(at, "give either `over_contacts` or `position`, not both")


class PoseTaskSpec(TaskBase):
    """Pose of a link, a surface or an object, in the world or relative to another link (`relative_to`).

    Attributes:
        frame: full name of the link or surface.
        relative_to: full name of the link or surface that is the reference frame; the world if left out. A target with
            `position` or `rpy` then needs its own `frame`.
        axes: controlled axes, along and about the axes of the world (of `relative_to`).
        target: target pose.
        max_speed: maximum speed [m/s], [rad/s] towards a reference that is far away; 0.5 m/s and 1 rad/s if left out.
    """

    type: Literal["pose"]
    frame: FrameName
    relative_to: FrameName | None = None
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: PoseTargetSpec = PoseTargetSpec()
    max_speed: Speed | None = None

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check frames, axes and target."""
        target, at = self.target, (*key, "target")
        super().check(scenario, key)
        scenario.check_axes(self.axes, key)
        scenario.check_target(self, key, "`position`, `rpy` or `random_path`, or `frame: entry` to stay")
        for path in ("random_path", "random_points"):
            if (random := getattr(target, path)) is not None and random.seed < 0:
                scenario.report_error((*at, path, "seed"), f"a seed is 0 or above, got {random.seed}")
        if target.via and (target.duration is None or target.frame == "entry"):
            message = "a path by control points needs `duration`, and no `frame: entry`"
            scenario.report_error((*at, "via"), message)
        if self.frame == self.relative_to:
            scenario.report_error((*key, "relative_to"), "a frame cannot be placed relative to itself")
        if self.relative_to is not None:
            placed = self.frame != self.relative_to and (target.position or target.rpy)
            if placed and "frame" not in target.model_fields_set:
                message = f"with `relative_to`, name the frame of `position` and `rpy`: {self.relative_to}, or world"
                scenario.report_error((*at, "frame"), message)
        if target.frame not in ("world", "entry"):
            scenario.known((*at, "frame"), "link or surface", target.frame, scenario.names.frames)


class JointAngleTaskSpec(TaskBase):
    """Angle [rad] or position [m] of one joint.

    Attributes:
        joint: full name; the joint needs no motor.
        target: angle [rad] or position [m].
        duration: duration of a minimum-jerk path to the target [s]; a set-point if left out.
    """

    type: Literal["joint_angle"]
    joint: JointName
    target: Angle
    duration: Duration | None = None


class JointImpedanceTaskSpec(TaskBase):
    """Springs and dampers on joints of one subsystem, with compensated gravity: torques instead of accelerations.

    Attributes:
        weight: w in (32) of torques relative to the effort limits; large, so that they are those of the springs.
        stiffness: not used.
        damping: not used.
        subsystem: name of the subsystem.
        joints: names or patterns with `*` of joints with motors, which carry no contacts.
        posture: set-point: a posture of its model, `initial` (if left out), or angles [rad] by joint, with the initial
            ones for other joints.
        joint_stiffness: [N m/rad] or [N/m].
        joint_damping: [N m s/rad] or [N s/m].
    """

    type: Literal["joint_impedance"]
    weight: NonNegative = 1e5
    stiffness: NonNegative = 0.0
    subsystem: SubsystemName
    joints: list[str] = Field(min_length=1)
    posture: str | dict[str, Angle] | None = None
    joint_stiffness: NonNegative = 20.0
    joint_damping: NonNegative = 2.0

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names of subsystem, posture and joints."""
        super().check(scenario, key)
        if self.subsystem not in scenario.names.postures:
            return
        scenario.check_patterns((*key, "joints"), "joint", self.joints, scenario.joints_of(self.subsystem))
        scenario.check_posture((*key, "posture"), self.subsystem, self.posture)


class JointVelocityTaskSpec(TaskBase):
    """Velocity of one joint [rad/s] or [m/s].

    Attributes:
        stiffness: gain on the error [1/s].
        damping: not used.
        joint: full name; the joint needs no motor.
        target: velocity [rad/s] or [m/s].
    """

    type: Literal["joint_velocity"]
    joint: JointName
    target: Velocity


class MomentumTaskSpec(TaskBase):
    """Momentum of a group about its own centre of mass: linear [N s], angular [N m s].

    Attributes:
        stiffness: gain on the error [1/s].
        damping: not used.
        subsystems: the group.
        axes: controlled world axes: x, y, z linear, roll, pitch, yaw angular.
        target: linear [N s], then angular [N m s].
    """

    type: Literal["momentum"]
    subsystems: Group
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: tuple[Number, Number, Number, Number, Number, Number] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check group and axes."""
        super().check(scenario, key)
        scenario.check_axes(self.axes, key)


#: The types of tasks; `multi_qp_controller.tasks.register_task` adds one.
TASK_SPECS = TaggedUnion(
    PostureTaskSpec,
    CoMTaskSpec,
    PoseTaskSpec,
    JointAngleTaskSpec,
    JointImpedanceTaskSpec,
    JointVelocityTaskSpec,
    MomentumTaskSpec,
)

TaskSpec = Annotated[TaskBase, TASK_SPECS]
