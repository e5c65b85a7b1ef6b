"""Schema of `config/scenarios/*.yaml`: scene, state machine and goals."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.behaviour import BehaviourSpec
from multi_qp_scene.schema.common import (
    Distance,
    Duration,
    Friction,
    NonNegative,
    Period,
    Positive,
    Spread,
    Vector3,
)
from multi_qp_scene.schema.conditions import CONDITION_SPECS
from multi_qp_scene.schema.control import (
    BalanceSpec,
    ClosedLoopSpec,
    CollisionsSpec,
    FallbackSpec,
    JointLimitsSpec,
    RegularisationSpec,
    StateCheckSpec,
)
from multi_qp_scene.schema.generators import GENERATOR_SPECS
from multi_qp_scene.schema.goals import GoalSpec
from multi_qp_scene.schema.health import HealthSpec
from multi_qp_scene.schema.mismatch import MismatchSpec
from multi_qp_scene.schema.plan import FollowSpec, PlanSpec
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.schema.subsystems import EnvironmentSpec, LoadSpec, SubsystemSpec
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
        effort: factor of the cost of its wrench in the QP: where several contacts can bear a load, less of it is borne
            by those that cost more.
        grip: largest force with which the first surface pulls at the second, as a hand that grips it; the friction cone
            is that of a normal force that is larger by it [N]. With `--backend mujoco`, it presses the shapes together
            as long as the contact is active. Grasps pull without it.
    """

    surfaces: tuple[str, str]
    friction: Friction = 0.7
    tolerance: ContactToleranceSpec | None = None
    pad: Literal["auto", "always", "never"] = "auto"
    effort: Positive = 1.0
    grip: NonNegative = 0.0


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
