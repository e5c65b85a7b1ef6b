"""Schema of `config/scenarios/*.yaml`: scene, state machine and goals."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.behaviour import BehaviourSpec
from multi_qp_scene.schema.common import (
    Angle,
    Color,
    Coordinate,
    Distance,
    Duration,
    Factors,
    Force,
    Friction,
    Length,
    Mass,
    MassOrNone,
    NonNegative,
    Period,
    PoseSpec,
    Positive,
    Seed,
    Speed,
    Spread,
    Switch,
    Time,
    Vector2,
    Vector3,
)
from multi_qp_scene.schema.conditions import CONDITION_SPECS
from multi_qp_scene.schema.generators import GENERATOR_SPECS
from multi_qp_scene.schema.goals import GoalSpec
from multi_qp_scene.schema.health import HealthSpec
from multi_qp_scene.schema.mismatch import MismatchSpec
from multi_qp_scene.schema.model_file import MotorSpec
from multi_qp_scene.schema.plan import FollowSpec, PlanSpec
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.schema.tasks import TASK_SPECS, TaskSpec
from multi_qp_scene.schema.turns import TurnsSpec


class ParameterSpec(StrictModel):
    """A number that `--set` can change; used in the file as `${name}`.

    Attributes:
        default: default value.
        min: minimum value.
        max: maximum value.
        multiple_of: the value must be an integer multiple of this, for example for an even number of steps.
        unit: unit, for messages.
        description: one line of text.
    """

    default: float
    min: float
    max: float
    multiple_of: Positive | None = None
    unit: str = ""
    description: str = ""


class PlaceSpec(StrictModel):
    """Placement of a body with its surfaces aligned to another surface, centred at `xy` of it and rotated by `yaw`.

    Attributes:
        surfaces: surfaces of this subsystem, without its name; their mean point is placed at `xy`.
        onto: full name of the supporting surface of the environment.
        xy: position in the supporting surface's frame [m].
        yaw: heading of the base's x axis about the supporting surface's normal [rad].
    """

    surfaces: list[str] = Field(min_length=1)
    onto: str
    xy: Vector2 = (0.0, 0.0)
    yaw: Angle = 0.0


class CopiesSpec(StrictModel):
    """Copies of a subsystem in a rectangle of the ground plane, on a grid or at random; they are named `<name>_1`, ...

    The position of a copy adds to that of the subsystem's `pose`. Random copies are turned about z at random as well.

    Attributes:
        region: two opposite corners of the rectangle [m].
        grid: number of copies along x and along y.
        count: instead of `grid`: number of random copies.
        distance: least distance of random copies from each other [m].
        seed: seed of random copies; `${seed}` is the run's `--seed`.
        models: models of which each random copy has one, instead of the subsystem's.
        mass: bounds of the total mass of random copies [kg], instead of the subsystem's mass.
        release: instead of the subsystem's: times at which copies at the region's first corner and at its second one
            are released, by their places along x between these [s].
    """

    region: tuple[Vector2, Vector2]
    grid: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    distance: Distance = 0.0
    seed: Annotated[int, Field(ge=0)] = 0
    models: list[str] = []
    mass: tuple[Mass, Mass] | None = None
    release: tuple[Time, Time] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> CopiesSpec:
        if (self.grid is None) == (self.count is None):
            raise ValueError("give either `grid` or `count`")
        if self.grid is not None and (self.models or self.mass or self.distance):
            raise ValueError("`distance`, `models` and `mass` are for random copies; give `count` instead of `grid`")
        if self.mass is not None and self.mass[1] < self.mass[0]:
            raise ValueError(f"`mass`: expected the lower bound first, got {list(self.mass)}")
        return self


class SubsystemSpec(StrictModel):
    """A robot, an object or an articulated part: its model, pose and posture.

    Attributes:
        model: name of a shipped model, or path of a model file, relative to this file.
        controlled: whether it is part of the QP. Other subsystems, which have no motors, are simulated and seen, for
            example as obstacles of generators; contacts, tasks and constraints cannot name them.
        release: time until which a subsystem that is not controlled has no weight, as it hangs somewhere [s].
        copies: several of it instead of one.
        pose: pose of the base in the world; for a floating base, the initial one.
        place: instead of `pose`, for floating bases: aligned to a surface.
        posture: initial joint angles: a posture of the model, or angles [rad] by joint; `zero` if left out.
        mass: total mass [kg]; masses and inertias of all its links are scaled to it.
        scale: factors along x, y and z of a model of one link: its shapes and surfaces are scaled; its mass is
            unchanged.
        effort_limits: name of the model's set of effort limits; its first if left out.
        motors: rotors by joint or by a pattern with `*`, instead of the model's.
        color: red, green, blue in 0..1; the model's if left out.
    """

    model: str
    controlled: Switch = True
    release: Time = 0.0
    copies: CopiesSpec | None = None
    pose: PoseSpec | None = None
    place: PlaceSpec | None = None
    posture: str | dict[str, Angle] | None = None
    mass: Mass | None = None
    scale: Factors = (1.0, 1.0, 1.0)
    effort_limits: str | None = None
    motors: dict[str, MotorSpec] = {}
    color: Color | None = None


class EnvironmentCopiesSpec(StrictModel):
    """Copies of a piece of the environment on a grid of the ground plane; they are named `<name>_1`, ...

    The position of a copy adds to that of the piece's `pose`.

    Attributes:
        region: two opposite corners of the rectangle [m].
        grid: number of copies along x and along y, each in the middle of its cell.
        heights: bounds of a random height that adds to each copy's position [m].
        seed: seed of the heights; `${seed}` is the run's `--seed`.
    """

    region: tuple[Vector2, Vector2]
    grid: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    heights: tuple[Coordinate, Coordinate] = (0.0, 0.0)
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _consistent(self) -> EnvironmentCopiesSpec:
        if self.heights[1] < self.heights[0]:
            raise ValueError(f"`heights`: expected the lower bound first, got {list(self.heights)}")
        return self


class EnvironmentSpec(StrictModel):
    """A fixed part of the environment: a model, a box given by its size, a triangle mesh, or a URDF.

    Attributes:
        model: name of a shipped model, or path of a model file, relative to this file; its root must be `fixed`.
        box: instead of `model`: extent along x, y and z [m] of a box whose frame is at its centre. It has the surfaces
            `front` (+x), `back`, `left` (+y), `right`, `top` (+z) and `bottom`.
        mesh: instead of `model`: a triangle mesh (STL, OBJ, DAE, PLY), a path relative to this file, or package://...
            It has a surface on each planar facet that is at least 3 cm wide: `facet_1` is the largest, facets of equal
            size are numbered from the lowest. Facets that are not convex are divided into convex ones. The collision
            geometry consists of closed convex shells as they are, of columns under the facets of shells without
            overhang, and of plates behind the facets of other shells. Its z axis is up.
        urdf: instead of `model`: a URDF without moving joints, a path relative to this file, or package://... Every
            collision box and mesh has surfaces: `<link>_top`, `<link>_facet_1`, `<link>_2_top` if it has several.
        scale: factors along x, y and z of a mesh, or of a model or URDF of one link: shapes and surfaces are scaled.
        unknown_part_of: name of another piece that this one is a part of, without the controller knowing it: only the
            simulator has it, as ground that differs from the model. Contacts with surfaces of the other piece touch
            this one as well, and measured forces include it. It has an effect with `--backend mujoco` only, since the
            integrator takes the controller's model as the world.
        copies: several of it instead of one.
        pose: pose of its base in the world.
        color: red, green, blue in 0..1; the model's if left out.
    """

    model: str | None = None
    box: tuple[Length, Length, Length] | None = None
    mesh: str | None = None
    urdf: str | None = None
    scale: Factors = (1.0, 1.0, 1.0)
    unknown_part_of: str | None = None
    copies: EnvironmentCopiesSpec | None = None
    pose: PoseSpec = PoseSpec()
    color: Color | None = None


class ContactToleranceSpec(StrictModel):
    """Largest gap at which a contact is made; with a larger one a start is refused, and a transition waits.

    Attributes:
        distance: of the first surface's origin from the second surface, or between the axes of a grasp [m].
        angle: between the opposed normals, or between the axes of a grasp; a point may rotate [rad].
    """

    distance: Distance = 0.005
    angle: Spread = 0.035


class ContactSpec(StrictModel):
    """A possible contact of two surfaces; the first one gives the contact points, so it should be the smaller.

    The contact wrench acts on the first surface's body.

    Attributes:
        surfaces: full names of the first and the second surface; the environment's must be second.
        friction: Coulomb coefficient.
        tolerance: largest gap at which this contact is made; the scenario's `contact_tolerance` if left out.
        pad: with `--backend mujoco`, whether surfaces of subsystems touch by a pad, which has the shape of the surface,
            instead of the collision shapes of their links; `auto`: if these do not fit the surface. Grasps have none.
    """

    surfaces: tuple[str, str]
    friction: Friction = 0.7
    tolerance: ContactToleranceSpec | None = None
    pad: Literal["auto", "always", "never"] = "auto"


class CollisionPairSpec(StrictModel):
    """Collision avoidance for two bodies; values left out are those of `collisions`.

    Attributes:
        bodies: full names of two links, or patterns with `*`; the first entry that matches a pair of links applies.
        influence: δ_i: the damper acts below this distance [m].
        security: δ_s: minimum distance [m]; below `influence`.
        damping: ξ: approach speed allowed at δ_i [m/s].
        damper: whether the damper is active; with `false` the distance is only measured. May be a parameter: 1, 0.
    """

    bodies: tuple[str, str]
    influence: Length | None = None
    security: Distance | None = None
    damping: Speed | None = None
    damper: Switch = True


class CollisionsSpec(StrictModel):
    """Collision avoidance: pairs of bodies, and the damper's parameters ξ, δ_i, δ_s of (22).

    Attributes:
        influence: δ_i: the damper acts below this distance [m].
        security: δ_s: minimum distance [m]; below `influence`.
        damping: ξ: approach speed allowed at δ_i [m/s].
        pairs: the pairs of bodies; the damper is inactive while an active contact connects the two bodies.
        self_collisions: subsystems whose own links keep apart.
        self_pairs: which pairs of their links. "all": every pair that can meet, found by sampling. Of a model file with
            a list `self_collisions`, pairs that it does not name have δ_i of at most 3 cm and δ_s of at most 2 mm.
            Pairs that are closer than δ_s (without a list: 1 cm) at the start are left out. "listed": only those of the
            list, where the model file has one.
    """

    influence: Length = 0.08
    security: Distance = 0.01
    damping: Speed = 0.4
    pairs: list[CollisionPairSpec] = []
    self_collisions: list[str] = []
    self_pairs: Literal["listed", "all"] = "all"


class JointLimitsSpec(StrictModel):
    """Joint limit damper of (31): distances as fractions of each joint's range; ξ as a fraction of its velocity limit.

    Attributes:
        influence: δ_i / range; δ_i is at most 0.3 rad.
        security: δ_s / range; below `influence`, and reduced in proportion where δ_i is.
        damping: ξ / velocity limit; ξ is at most 4 rad/s.
        stretch: distance of a limb in contact from its full length below which a damper slows its stretching, for
            joints whose range passes the straight angle; 0: off [m].
        start: largest distance of a joint beyond its limits at the start [rad], [m]; a run beyond it is refused.
    """

    influence: Positive = 0.1
    security: NonNegative = 0.01
    damping: Positive = 0.5
    stretch: Distance = 0.05
    start: Spread = 0.25


class BalanceSpec(StrictModel):
    """Balance constraint: capture point of each standing character and its held objects inside the support polygon.

    Attributes:
        influence: δ_i: the damper acts below this distance from an edge [m].
        security: δ_s: minimum distance [m]; below `influence`.
        damping: ξ: approach speed of the capture point allowed at δ_i [m/s].
    """

    influence: Length = 0.03
    security: Distance = 0.01
    damping: Speed = 0.3


class RegularisationSpec(StrictModel):
    """Regularisation weights, for a unique optimum.

    Attributes:
        acceleration: weight of ½‖q̈‖².
        torque: weight of ½‖τ‖².
        force: weight of ½‖f‖² of each contact's wrench.
        moment: weight of ½‖m‖² of each contact's wrench, at the first surface's origin.
    """

    acceleration: NonNegative = 1e-4
    torque: NonNegative = 1e-5
    force: NonNegative = 1e-5
    moment: NonNegative = 1e-3


#: Groups of rows of the QP that can get slack.
RelaxedGroup = Literal["collisions", "grips", "limits", "balance", "supports"]


class FallbackSpec(StrictModel):
    """What is given up when the QP has no solution, and safe torques when no command can be computed.

    Safe torques hold the last torques, then damp each joint to rest.

    Attributes:
        relax: groups of rows that get slack, one after the other, until the QP has a solution: `collisions`,
            `grips` (friction cones of contacts between subsystems), `limits` (positions and speeds of joints),
            `balance`, and `supports` (friction cones of contacts with the environment). Groups that are left out
            never get slack.
        restore_after: time with a solution after which a task that was given up is resumed [s].
        hold: how long the last torques are repeated [s].
        time_constant: time constant of the damping [s].
        give_up_after: the run ends after this time without an unrelaxed QP solution [s].
    """

    relax: list[RelaxedGroup] = ["collisions", "grips", "limits", "balance", "supports"]
    restore_after: Duration = 0.5
    hold: Time = 0.05
    time_constant: Duration = 0.1
    give_up_after: Duration = 0.2

    @field_validator("relax")
    @classmethod
    def _once(cls, relax: list[RelaxedGroup]) -> list[RelaxedGroup]:
        twice = sorted({group for group in relax if relax.count(group) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: named twice, expected each group once at most")
        return relax


class StateCheckSpec(StrictModel):
    """Ranges of measured states; states outside are refused.

    Attributes:
        position_margin: allowed distance of a joint beyond its position limits [rad or m]; the integrator has no
            mechanical stops, so that an uncontrolled limb may exceed them.
        velocity_factor: allowed joint velocity relative to its limit.
        unlimited_velocity: maximum speed of joints without a velocity limit [rad/s or m/s].
        base_velocity: maximum speed of floating bases along each axis [m/s].
        base_angular_velocity: maximum angular speed of floating bases about each axis [rad/s].
    """

    position_margin: NonNegative = 3.0
    velocity_factor: Annotated[float, Field(ge=1)] = 5.0
    unlimited_velocity: Positive = 1000.0
    base_velocity: Positive = 100.0
    base_angular_velocity: Positive = 100.0


class ImpedanceSpec(StrictModel):
    """Joint impedance of the drives around the trajectory integrated from the QP's accelerations.

    Attributes:
        stiffness: stiffness relative to the joint's inertia [1/s²].
        damping: damping relative to the joint's inertia [1/s].
        memory: time constant with which this trajectory decays to the measured state [s].
    """

    stiffness: NonNegative = 400.0
    damping: NonNegative = 40.0
    memory: Duration = 0.1


class ClosedLoopSpec(StrictModel):
    """Controller settings for a physics simulation or a robot: `--backend mujoco`.

    Attributes:
        dt: control period [s]; the scenario's if left out.
        contact_stiffness: gain on the position error of a contact [1/s²], instead of the full correction in one period
            of (20).
        contact_damping: gain on the velocity error of a contact [1/s].
        friction: fraction of the contacts' friction coefficients used by the QP, as a safety margin.
        horizon: dampers, joint limits and couplings constrain the velocity after this time [s], at least one period.
        velocity_filter: time constant of a first-order filter on measured velocities [s]; 0 for none.
        disturbance: time constant of the estimator of unmodelled forces [s]; `null` for none.
        lead: prediction time of the state before the command is computed [s]; half a period if left out, since torques
            are constant over a period.
        impedance: impedance of the drives around the QP's trajectory; none if left out.
        landing_force: a planar or point contact is `touching` when its measured normal force reaches this [N], at any
            modelled distance; by distance, angle and speed if left out.
        force_ramp: duration of the ramp of contact forces after a contact is made and before it is broken [s]; 0 for
            none.
    """

    dt: Period | None = None
    contact_stiffness: NonNegative = 0.0
    contact_damping: NonNegative = 20.0
    friction: Friction = 0.7
    horizon: Time = 0.02
    velocity_filter: Time = 0.0
    disturbance: Duration | None = 0.2
    lead: Time | None = None
    impedance: ImpedanceSpec | None = None
    landing_force: Force | None = None
    force_ramp: Time = 0.0


class RandomMassSpec(StrictModel):
    """A smooth random mass profile between the limits.

    Attributes:
        seed: seed of the random numbers; `${seed}` is the run's `--seed`.
        every: time between new values [s].
    """

    seed: Seed
    every: Duration = 1.0


class LoadSpec(StrictModel):
    """A point mass on a link, variable at run time, at random or by a user.

    Attributes:
        link: full name of the link that carries it.
        xyz: position in the link's frame [m].
        mass: initial mass [kg].
        min: minimum mass [kg].
        max: maximum mass [kg].
        rate: rate limit of changes by a user [kg/s]; none if left out.
        random: random profile, until a user sets the mass; constant if left out.
    """

    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    mass: MassOrNone
    min: MassOrNone
    max: Mass
    rate: Positive | None = None
    random: RandomMassSpec | None = None


class CameraSpec(StrictModel):
    """A fixed camera.

    Attributes:
        position: position of the camera, world [m].
        target: point at the centre of the image, world [m].
        fov: vertical field of view [rad].
    """

    position: Vector3
    target: Vector3
    fov: Annotated[float, Field(gt=0, lt=3.1)] = 0.7


class ScenarioFile(StrictModel):
    """A scenario: scene, state machine and goals.

    Attributes:
        description: one line, as `multi-qp list` shows it.
        dt: control period [s]; `--dt` overrides it.
        duration: maximum simulated time [s]; a run that has not ended by then has failed.
        parameters: numbers that `--set` can change, by name.
        subsystems: moving models by name; the order is that of q and v, with those that are not controlled last.
        environment: fixed models by name.
        contacts: possible contacts by name; each state activates some of them.
        contact_tolerance: largest gap at which contacts are made.
        collisions: collision avoidance.
        loads: variable masses by name.
        joint_limits: parameters of the joint limit damper.
        balance: constraint on capture points; off if left out, on with `balance: {}`.
        regularisation: regularisation weights of the QP.
        fallback: safe torques when the QP cannot be solved.
        state_check: accepted ranges of measured states.
        closed_loop: controller settings for a physics simulation or a robot.
        mismatch: model mismatch and disturbances of `--backend mujoco`.
        health: bounds of a healthy run.
        formulation: formulation of the QP; if left out, `condensed`, or `reduced` for another solver than
            `active_set`; `--formulation` overrides it.
        solver: name of the QP solver; the fastest for the formulation if left out; `--solver` overrides it.
        tasks: tasks of every state, by name; a state may replace or drop them.
        plan: a goal for the contact planner, from which the states are generated, instead of `initial_state` and
            `states`.
        contact_sequence: a contact sequence from which the states are generated, instead of `plan` or states.
        turns: several characters that move one limb in turns, instead of `plan`, `contact_sequence` or states.
        behaviour: task terms from which contacts and motion are found together, instead of `plan`, `contact_sequence`,
            `turns` or states.
        initial_state: initial state of the state machine; required with `states`.
        states: states of the state machine by name; required unless they are generated.
        goals: success criteria of a run by name; the state machine must also reach a final state.
        camera: camera of videos with `--camera fixed`; one that shows the whole run if left out.
    """

    description: str
    dt: Period = 0.005
    duration: Duration = 60.0
    parameters: dict[str, ParameterSpec] = {}
    subsystems: dict[str, SubsystemSpec] = Field(min_length=1)
    environment: dict[str, EnvironmentSpec] = {}
    contacts: dict[str, ContactSpec] = {}
    contact_tolerance: ContactToleranceSpec = ContactToleranceSpec()
    collisions: CollisionsSpec = CollisionsSpec()
    loads: dict[str, LoadSpec] = {}
    joint_limits: JointLimitsSpec = JointLimitsSpec()
    balance: BalanceSpec | None = None
    regularisation: RegularisationSpec = RegularisationSpec()
    fallback: FallbackSpec = FallbackSpec()
    state_check: StateCheckSpec = StateCheckSpec()
    closed_loop: ClosedLoopSpec = ClosedLoopSpec()
    mismatch: MismatchSpec = MismatchSpec()
    health: HealthSpec = HealthSpec()
    formulation: Literal["full", "reduced", "condensed"] | None = None
    solver: str | None = None
    tasks: dict[str, TaskSpec] = {}
    plan: PlanSpec | None = None
    contact_sequence: FollowSpec | None = None
    turns: TurnsSpec | None = None
    behaviour: BehaviourSpec | None = None
    initial_state: str = ""
    states: dict[str, StateSpec] = {}
    goals: dict[str, GoalSpec] = {}
    camera: CameraSpec | None = None


CONDITION_SPECS.users.append(ScenarioFile)
TASK_SPECS.users.append(ScenarioFile)
GENERATOR_SPECS.users.append(ScenarioFile)
