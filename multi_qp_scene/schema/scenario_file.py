"""Schema of `config/scenarios/*.yaml`: a scene, its state machine and its goals."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, PoseSpec, Positive, Vector3
from multi_qp_scene.schema.states import GoalSpec, StateSpec
from multi_qp_scene.schema.tasks import TaskSpec


class ParameterSpec(StrictModel):
    """A number that `--set` can change; used in the file as `${name}`."""

    default: float
    min: float
    max: float
    unit: str = ""
    description: str = ""


class PlaceSpec(StrictModel):
    """Put a body so that its surfaces lie flush on another one, centred at `xy` of it and turned by `yaw`."""

    surfaces: list[str] = Field(min_length=1)
    onto: str
    xy: tuple[float, float] = (0.0, 0.0)
    yaw: float = 0.0


class SubsystemSpec(StrictModel):
    """A robot, an object or an articulated part: which model, where, in which posture."""

    model: str
    pose: PoseSpec | None = None
    place: PlaceSpec | None = None
    posture: str | dict[str, float] | None = None
    mass: Positive | None = None
    effort_limits: str | None = None
    color: tuple[float, float, float] | None = None


class EnvironmentSpec(StrictModel):
    """A fixed piece of the surroundings."""

    model: str
    pose: PoseSpec = PoseSpec()
    color: tuple[float, float, float] | None = None


class ContactSpec(StrictModel):
    """Two surfaces that can touch; the first one gives the contact points, so it should be the smaller.

    The wrench of the contact is the one that acts on the first surface's body.
    """

    surfaces: tuple[str, str]
    friction: Positive = 0.7


class CollisionPairSpec(StrictModel):
    """Two bodies to keep apart: links, or patterns with `*`; [m], [m], [m/s]."""

    bodies: tuple[str, str]
    influence: Positive | None = None
    security: NonNegative | None = None
    damping: Positive | None = None


class CollisionsSpec(StrictModel):
    """Which bodies are kept apart, and the damper's parameters ξ, δ_i, δ_s of (22)."""

    influence: Positive = 0.08
    security: NonNegative = 0.01
    damping: Positive = 0.4
    pairs: list[CollisionPairSpec] = []
    self_collisions: list[str] = []


class JointLimitsSpec(StrictModel):
    """The damper of (31): distances as fractions of each joint's range; ξ as a fraction of its velocity limit."""

    influence: Positive = 0.1
    security: NonNegative = 0.01
    damping: Positive = 0.5


class RegularisationSpec(StrictModel):
    """Small costs on physical quantities, which make the optimum unique."""

    acceleration: NonNegative = 1e-4
    torque: NonNegative = 1e-5
    force: NonNegative = 1e-5
    moment: NonNegative = 1e-3


class FallbackSpec(StrictModel):
    """What to do when no command can be computed: hold the last torques for `hold` [s], then damp each joint to rest.

    `time_constant` [s] is that of the damping. A run ends when no tick of the last `give_up_after` [s] could be solved
    as stated.
    """

    hold: NonNegative = 0.05
    time_constant: Positive = 0.1
    give_up_after: Positive = 0.2


class CameraSpec(StrictModel):
    """Where pictures are taken from."""

    position: Vector3
    target: Vector3
    fov: Positive = 0.7


class ScenarioFile(StrictModel):
    """A scenario: what is there, what happens, and what must be reached."""

    description: str
    dt: Positive = 0.005
    duration: Positive = 60.0
    parameters: dict[str, ParameterSpec] = {}
    subsystems: dict[str, SubsystemSpec] = Field(min_length=1)
    environment: dict[str, EnvironmentSpec] = {}
    contacts: dict[str, ContactSpec] = {}
    collisions: CollisionsSpec = CollisionsSpec()
    joint_limits: JointLimitsSpec = JointLimitsSpec()
    regularisation: RegularisationSpec = RegularisationSpec()
    fallback: FallbackSpec = FallbackSpec()
    formulation: Literal["full", "reduced"] = "reduced"
    solver: str | None = None
    tasks: dict[str, TaskSpec] = {}
    initial_state: str
    states: dict[str, StateSpec] = Field(min_length=1)
    goals: dict[str, GoalSpec] = {}
    camera: CameraSpec | None = None
