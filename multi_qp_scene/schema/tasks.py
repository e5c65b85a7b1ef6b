"""Schema of the tasks of a scenario: what is asked of which feature, how strongly, and which reference it follows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3

Axis = Literal["x", "y", "z", "roll", "pitch", "yaw"]


class RandomPathSpec(StrictModel):
    """A smooth random path around the pose at the state's entry, which starts and ends there at rest."""

    duration: Positive
    seed: int
    position: tuple[NonNegative, NonNegative, NonNegative] = (0.0, 0.0, 0.0)
    angle: tuple[NonNegative, NonNegative, NonNegative] = (0.0, 0.0, 0.0)
    knots_every: Positive = 1.25


class PoseTargetSpec(StrictModel):
    """Where a frame should go.

    `position` and `rpy` are given in `frame`: `world`, any frame of the scene as it is when the state is entered, or
    `entry`: the pose of the tasked frame itself at that moment. What is not given stays as it is. With `duration` the
    reference moves there along a minimum-jerk path; without, the target is a set-point.
    """

    frame: str = "world"
    position: Vector3 | None = None
    rpy: Vector3 | None = None
    duration: Positive | None = None
    random_path: RandomPathSpec | None = None


class CoMTargetSpec(StrictModel):
    """Where a centre of mass should go: a place or the middle of the support polygon of some contacts, and an offset."""

    over_contacts: list[str] | None = None
    position: Vector3 | None = None
    offset: Vector3 = (0.0, 0.0, 0.0)
    duration: Positive | None = None


class TaskBase(StrictModel):
    """What every task has: its weight w in (32) and its gains in (33)."""

    weight: NonNegative = 1.0
    stiffness: NonNegative = 10.0
    damping: NonNegative | None = None


class PostureTaskSpec(TaskBase):
    """Keep the joints of one subsystem near a posture."""

    type: Literal["posture"]
    subsystem: str
    posture: str | dict[str, float] | None = None
    joints: list[str] | None = None
    joint_weights: dict[str, NonNegative] = {}
    duration: Positive | None = None


class CoMTaskSpec(TaskBase):
    """Place the centre of mass of one subsystem, or of a group."""

    type: Literal["com"]
    subsystems: list[str]
    axes: list[Literal["x", "y", "z"]] = ["x", "y", "z"]
    target: CoMTargetSpec = CoMTargetSpec()


class PoseTaskSpec(TaskBase):
    """Place a link, a surface or an object, in the world or relative to another link (`relative_to`)."""

    type: Literal["pose"]
    frame: str
    relative_to: str | None = None
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: PoseTargetSpec = PoseTargetSpec()
    max_speed: Positive | None = None


class JointAngleTaskSpec(TaskBase):
    """Bring one joint to an angle [rad] or position [m]."""

    type: Literal["joint_angle"]
    joint: str
    target: float
    duration: Positive | None = None


class JointVelocityTaskSpec(TaskBase):
    """Keep one joint at a velocity [rad/s] or [m/s]."""

    type: Literal["joint_velocity"]
    joint: str
    target: float


class MomentumTaskSpec(TaskBase):
    """Bring the centroidal momentum of a subsystem or a group to a value: linear [N s], then angular [N m s]."""

    type: Literal["momentum"]
    subsystems: list[str]
    axes: list[Axis] = ["x", "y", "z", "roll", "pitch", "yaw"]
    target: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


TaskSpec = Annotated[
    PostureTaskSpec | CoMTaskSpec | PoseTaskSpec | JointAngleTaskSpec | JointVelocityTaskSpec | MomentumTaskSpec,
    Field(discriminator="type"),
]
