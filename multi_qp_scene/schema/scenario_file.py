"""Schema of `config/scenarios/*.yaml`: a scene, its state machine and its goals."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Period, PoseSpec, Positive, Switch, Vector3
from multi_qp_scene.schema.plan import FollowSpec, PlanSpec
from multi_qp_scene.schema.reality import RealitySpec
from multi_qp_scene.schema.states import GoalSpec, StateSpec
from multi_qp_scene.schema.tasks import TaskSpec
from multi_qp_scene.schema.turns import TurnsSpec


class ParameterSpec(StrictModel):
    """A number that `--set` can change; used in the file as `${name}`.

    Attributes:
        default: value unless set.
        min: least value allowed.
        max: largest value allowed.
        multiple_of: the value must be a whole multiple of this, as an even number of steps.
        unit: for people.
        description: for people.
    """

    default: float
    min: float
    max: float
    multiple_of: Positive | None = None
    unit: str = ""
    description: str = ""


class PlaceSpec(StrictModel):
    """Put a body so that its surfaces lie flush on another one, centred at `xy` of it and turned by `yaw`.

    Attributes:
        surfaces: surfaces of this subsystem, without its name; their mean point is put at `xy`.
        onto: full name of the surface of the environment that carries it.
        xy: place in the carrying surface's frame [m].
        yaw: heading of the base's x axis about the carrying surface's normal [rad].
    """

    surfaces: list[str] = Field(min_length=1)
    onto: str
    xy: tuple[float, float] = (0.0, 0.0)
    yaw: float = 0.0


class SubsystemSpec(StrictModel):
    """A robot, an object or an articulated part: which model, where, in which posture.

    Attributes:
        model: name of a shipped model, or path of a model file, seen from this file.
        pose: of the base in the world; of a floating base, the initial one.
        place: instead of `pose`, for floating bases: flush on a surface.
        posture: initial joint angles: a posture of the model, or angles [rad] by joint; `zero` if left out.
        mass: total mass [kg]; masses and inertias of all its links are scaled to it.
        scale: factors along x, y and z of a model of one link: its shapes and surfaces are stretched; its mass stays.
        effort_limits: which set of the model's effort limits holds; its first if left out.
        color: red, green, blue in 0..1; the model's if left out.
    """

    model: str
    pose: PoseSpec | None = None
    place: PlaceSpec | None = None
    posture: str | dict[str, float] | None = None
    mass: Positive | None = None
    scale: tuple[Positive, Positive, Positive] = (1.0, 1.0, 1.0)
    effort_limits: str | None = None
    color: tuple[float, float, float] | None = None


class EnvironmentSpec(StrictModel):
    """A fixed piece of the surroundings: a model, a box given by its size, a triangle mesh, or a URDF.

    Attributes:
        model: name of a shipped model, or path of a model file, seen from this file; its root must be `fixed`.
        box: instead of `model`: extent along x, y and z [m] of a box whose frame is at its centre. It has the surfaces
            `front` (+x), `back`, `left` (+y), `right`, `top` (+z) and `bottom`.
        mesh: instead of `model`: a file of triangles (STL, OBJ, DAE, PLY), a path seen from this file, or package://...
            It has a surface on each planar facet that is 3 cm wide: `facet_1` is the largest, alike ones are counted
            from the lowest. Facets that are not convex are cut into some that are. Closed convex shells collide as they
            are, shells without overhang as columns under their facets, others as plates behind them. Its z axis is up.
        urdf: instead of `model`: a URDF without moving joints, a path seen from this file, or package://... Every box
            and mesh that collides has surfaces: `<link>_top`, `<link>_facet_1`, `<link>_2_top` if it has several.
        scale: factors along x, y and z of a mesh, or of a model or URDF of one link: shapes and surfaces are stretched.
        pose: of its base in the world.
        color: red, green, blue in 0..1; the model's if left out.
    """

    model: str | None = None
    box: tuple[Positive, Positive, Positive] | None = None
    mesh: str | None = None
    urdf: str | None = None
    scale: tuple[Positive, Positive, Positive] = (1.0, 1.0, 1.0)
    pose: PoseSpec = PoseSpec()
    color: tuple[float, float, float] | None = None


class ContactSpec(StrictModel):
    """Two surfaces that can touch; the first one gives the contact points, so it should be the smaller.

    The wrench of the contact is the one that acts on the first surface's body.

    Attributes:
        surfaces: full names of the first and the second surface; the environment's must be second.
        friction: Coulomb coefficient.
    """

    surfaces: tuple[str, str]
    friction: Positive = 0.7


class CollisionPairSpec(StrictModel):
    """Two bodies to keep apart; what is left out is taken from `collisions`.

    Attributes:
        bodies: full names of two links, or patterns with `*`; the first entry that matches a pair of links counts.
        influence: δ_i: the damper acts below this distance [m].
        security: δ_s: the distance that is kept [m]; below `influence`.
        damping: ξ: approach speed allowed at δ_i [m/s].
        damper: whether they are kept apart; with `false` they are only measured. A parameter may give it: 1, 0.
    """

    bodies: tuple[str, str]
    influence: Positive | None = None
    security: NonNegative | None = None
    damping: Positive | None = None
    damper: Switch = True


class CollisionsSpec(StrictModel):
    """Which bodies are kept apart, and the damper's parameters ξ, δ_i, δ_s of (22).

    Attributes:
        influence: δ_i: the damper acts below this distance [m].
        security: δ_s: the distance that is kept [m]; below `influence`.
        damping: ξ: approach speed allowed at δ_i [m/s].
        pairs: the pairs of bodies; a pair that an active contact holds together is left alone meanwhile.
        self_collisions: subsystems of which the model file's `self_collisions` are watched too.
    """

    influence: Positive = 0.08
    security: NonNegative = 0.01
    damping: Positive = 0.4
    pairs: list[CollisionPairSpec] = []
    self_collisions: list[str] = []


class JointLimitsSpec(StrictModel):
    """The damper of (31): distances as fractions of each joint's range; ξ as a fraction of its velocity limit.

    Attributes:
        influence: δ_i / range; δ_i is at most 0.3 rad.
        security: δ_s / range; below `influence`, and reduced with δ_i where that is cut.
        damping: ξ / velocity limit; ξ is at most 4 rad/s.
    """

    influence: Positive = 0.1
    security: NonNegative = 0.01
    damping: Positive = 0.5


class BalanceSpec(StrictModel):
    """Keeps the capture point of everybody who stands, with all that he holds, over his support polygon.

    Attributes:
        influence: δ_i: the damper acts below this distance from an edge [m].
        security: δ_s: the distance that is kept [m]; below `influence`.
        damping: ξ: approach speed of the capture point allowed at δ_i [m/s].
    """

    influence: Positive = 0.03
    security: NonNegative = 0.01
    damping: Positive = 0.3


class RegularisationSpec(StrictModel):
    """Small costs on physical quantities, which make the optimum unique.

    Attributes:
        acceleration: of ½‖q̈‖².
        torque: of ½‖τ‖².
        force: of ½‖f‖² of each contact's wrench.
        moment: of ½‖m‖² of each contact's wrench, at the first surface's origin.
    """

    acceleration: NonNegative = 1e-4
    torque: NonNegative = 1e-5
    force: NonNegative = 1e-5
    moment: NonNegative = 1e-3


class FallbackSpec(StrictModel):
    """What to do when no command can be computed: hold the last torques, then damp each joint to rest.

    Attributes:
        hold: how long the last torques are repeated [s].
        time_constant: of the damping [s].
        give_up_after: a run ends when no tick of so long could be solved as stated [s].
    """

    hold: NonNegative = 0.05
    time_constant: Positive = 0.1
    give_up_after: Positive = 0.2


class ImpedanceSpec(StrictModel):
    """Springs and dampers that drives add around the motion that the QP's accelerations integrate to.

    Attributes:
        stiffness: times the joint's inertia [1/s²].
        damping: times the joint's inertia [1/s].
        memory: time constant with which that motion is drawn to the measured one [s].
    """

    stiffness: NonNegative = 400.0
    damping: NonNegative = 40.0
    memory: Positive = 0.1


class ClosedLoopSpec(StrictModel):
    """What the controller does where a world of its own answers its torques: `--backend mujoco`.

    Attributes:
        dt: control period there [s]; the scenario's if left out.
        contact_stiffness: of the way back to where a contact was made [1/s²], instead of all of it at once, as in (20).
        contact_damping: of the velocity of a contact [1/s].
        friction: share of the contacts' friction that is counted on; more is there than one may use.
        horizon: dampers, joint limits and couplings act on the velocity after so long [s], or after one period if that
            is longer.
        velocity_filter: time constant of a first-order filter on measured velocities [s]; 0 for none.
        disturbance: time constant with which forces that the model does not know of are learnt [s]; `null` for none.
        lead: the state is brought forward by so much before it is answered [s]; half a period, for which torques are
            held, if left out.
        impedance: of drives around the QP's trajectory; none if left out.
        landing_force: a contact of surfaces is `touching` when it is felt to press with so much [N], wherever the model
            has it; by distance, angle and speed if left out.
        force_ramp: time in which forces come up where a contact is made, and go down before it is broken [s]; 0 for
            at once.
    """

    dt: Period | None = None
    contact_stiffness: NonNegative = 0.0
    contact_damping: NonNegative = 20.0
    friction: Positive = 0.7
    horizon: NonNegative = 0.02
    velocity_filter: NonNegative = 0.0
    disturbance: Positive | None = 0.2
    lead: NonNegative | None = None
    impedance: ImpedanceSpec | None = None
    landing_force: Positive | None = None
    force_ramp: NonNegative = 0.0


class RandomMassSpec(StrictModel):
    """A mass that wanders smoothly and at random between its limits.

    Attributes:
        seed: of the random numbers; `${seed}` is the run's `--seed`.
        every: time between new values [s].
    """

    seed: int
    every: Positive = 1.0


class LoadSpec(StrictModel):
    """A point mass on a link that may change while the scenario runs, at random or by a user.

    Attributes:
        link: full name of the link that carries it.
        xyz: place in the link's frame [m].
        mass: at the beginning [kg].
        min: least mass [kg].
        max: largest mass [kg].
        rate: how fast a user can change it [kg/s]; at once if left out.
        random: how it changes by itself, until a user sets it; it keeps its mass if left out.
    """

    link: str
    xyz: Vector3 = (0.0, 0.0, 0.0)
    mass: NonNegative
    min: NonNegative
    max: Positive
    rate: Positive | None = None
    random: RandomMassSpec | None = None


class CameraSpec(StrictModel):
    """Where pictures are taken from.

    Attributes:
        position: of the eye, world [m].
        target: the point in the middle of the picture, world [m].
        fov: vertical opening angle [rad].
    """

    position: Vector3
    target: Vector3
    fov: Positive = 0.7


class ScenarioFile(StrictModel):
    """A scenario: what is there, what happens, and what must be reached.

    Attributes:
        description: one line, as `multi-qp list` shows it.
        dt: control period [s]; `--dt` overrides it.
        duration: longest simulated time [s]; a run that is not at its end by then has failed.
        parameters: numbers that `--set` can change, by name.
        subsystems: what moves, by name; the order is that of q and v.
        environment: what does not move, by name.
        contacts: pairs of surfaces that states can make touch, by name.
        collisions: what is kept apart.
        loads: masses that may change while it runs, by name.
        joint_limits: how joints approach their limits.
        balance: keeps capture points over support polygons; off if left out, on with `balance: {}`.
        regularisation: small costs of the QP.
        fallback: what happens when the QP cannot be solved.
        closed_loop: what the controller does where a world of its own answers its torques.
        reality: in what the world of `--backend mujoco` differs from the model.
        formulation: how the QP is written; `--formulation` overrides it.
        solver: name of the QP solver; the fastest for the formulation if left out; `--solver` overrides it.
        tasks: tasks of every state, by name; a state may replace or drop them.
        plan: a goal for the contact planner, which then writes the states; `initial_state` and `states` are not given.
        contact_sequence: contacts to go through, phase by phase, instead of `plan` or states.
        turns: several characters that move one limb by turns, instead of `plan`, `contact_sequence` or states.
        initial_state: where the state machine begins; needed with `states`.
        states: phases of the motion, by name; needed unless something else writes them.
        goals: what decides whether a run has succeeded, by name; it must also come to an end of its state machine.
        camera: of videos with `--camera fixed`; one that sees the whole run if left out.
    """

    description: str
    dt: Period = 0.005
    duration: Positive = 60.0
    parameters: dict[str, ParameterSpec] = {}
    subsystems: dict[str, SubsystemSpec] = Field(min_length=1)
    environment: dict[str, EnvironmentSpec] = {}
    contacts: dict[str, ContactSpec] = {}
    collisions: CollisionsSpec = CollisionsSpec()
    loads: dict[str, LoadSpec] = {}
    joint_limits: JointLimitsSpec = JointLimitsSpec()
    balance: BalanceSpec | None = None
    regularisation: RegularisationSpec = RegularisationSpec()
    fallback: FallbackSpec = FallbackSpec()
    closed_loop: ClosedLoopSpec = ClosedLoopSpec()
    reality: RealitySpec = RealitySpec()
    formulation: Literal["full", "reduced", "condensed"] = "condensed"
    solver: str | None = None
    tasks: dict[str, TaskSpec] = {}
    plan: PlanSpec | None = None
    contact_sequence: FollowSpec | None = None
    turns: TurnsSpec | None = None
    initial_state: str = ""
    states: dict[str, StateSpec] = {}
    goals: dict[str, GoalSpec] = {}
    camera: CameraSpec | None = None
