"""Interface of motion generators, and the registry of their types.

A state of a scenario declares generators. Each owns contacts and tasks; at every tick it computes from the state
estimate and the measured contact forces which of its contacts are active, and the references of its tasks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.references.references import PoseSample
from multi_qp_controller.uncontrolled_subsystems import UncontrolledSubsystems
from multi_qp_scene.arguments import check_type
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.generator_spec import GeneratorSpec
from multi_qp_scene.schema.generators import GENERATOR_SPECS
from multi_qp_scene.schema.settings import Setting
from multi_qp_scene.schema.tasks import TaskBase
from multi_qp_scene.stateful import Stateful
from multi_qp_scene.suggestions import unknown_name

_REST3, _REST6 = np.zeros(3), np.zeros(6)


@dataclass(frozen=True)
class GeneratorInput:
    """Input of a generator at one tick; read-only.

    Attributes:
        time: present time [s].
        dt: control period [s].
        kinematics: kinematics at the state estimate: `q`, `v`, `pose(frame)`, `group(names).com(kinematics)`.
        forces: measured normal force of each contact [N]; None where no forces are measured.
        surroundings: subsystems that are not controlled; None if there are none.
        external: mean generalised force of the last period that the scene's model does not have, as that of a touch,
            with the noise of the velocities, (nv,) [N or N m]; None where accelerations are integrated directly.
    """

    time: float
    dt: float
    kinematics: Kinematics
    forces: Mapping[str, float] | None
    surroundings: UncontrolledSubsystems | None = None
    external: Array | None = None


@dataclass(frozen=True)
class GaitChange:
    """What one generator changes in the command of a walking one, for one tick.

    Attributes:
        speed: factor of the commanded velocity.
        velocity: added to it, (vx, vy, wz) in the heading of the body, (3,) [m/s, m/s, rad/s].
        lower: by which the centre of mass is lowered [m].
        lean: by which the links that are kept upright lean ahead [rad].
    """

    speed: float = 1.0
    velocity: Array = field(default_factory=lambda: np.zeros(3))
    lower: float = 0.0
    lean: float = 0.0


@dataclass(frozen=True)
class GeneratorOutput:
    """Output of a generator at one tick.

    Attributes:
        contacts: names of those of its contacts that are active in this tick.
        references: reference of each of its tasks that is active in this tick, by its name within the generator, as
            returned by `pose_reference`, `com_reference`, `posture_reference` and `momentum_reference`.
        done: whether it has reached its goal, for transitions.
        changes: what it changes in other generators of the state, by their names; they use it at their next update.
    """

    contacts: tuple[str, ...] = ()
    references: Mapping[str, Array] = field(default_factory=dict)
    done: bool = False
    changes: Mapping[str, GaitChange] = field(default_factory=dict)


class MotionGenerator(Stateful, ABC):
    """A component that makes and breaks contacts, and gives references of tasks, at every tick of a state.

    Attributes:
        name: name in the state.
        tasks: the tasks that it owns, by name within the generator; constant. In the controller they are named
            `<generator>/<task>`.
        settings: numbers that a user may change during a run, by name; constant.
        changed: present values of those that a user has changed.
    """

    @dataclass
    class Checkpoint:
        """Everything that the next `update` depends on besides its input, see `Stateful`."""

    def __init__(self, name: str, spec: Any, scenario: Scenario) -> None:
        """Create the generator from its specification, an instance of the registered subclass of `GeneratorSpec`."""
        self.name = name
        self.scenario = scenario
        self.tasks: dict[str, TaskBase] = {}
        self.settings: dict[str, Setting] = spec.settings
        self.changed: dict[str, float] = {}

    def setting(self, name: str) -> float:
        """Return the present value of a setting."""
        return self.changed.get(name, self.settings[name].value)

    def adjust(self, name: str, value: float) -> None:
        """Change a setting, from the next tick on.

        Raises:
            ArgumentError: when there is no such setting, or the value is not a number within its range.
        """
        if name not in self.settings:
            raise ArgumentError(f"generator '{self.name}': {unknown_name('setting', name, self.settings)}")
        one = self.settings[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not one.minimum <= value <= one.maximum:
            expected = f"a number from {one.minimum:g} to {one.maximum:g}{' ' + one.unit if one.unit else ''}"
            raise ArgumentError(f"generator '{self.name}': setting '{name}': expected {expected}, got {value!r}")
        self.change(self.changed | {name: float(value)})

    def change(self, values: Mapping[str, float]) -> None:
        """Set the values of all settings that a user has changed; extended where others depend on them."""
        self.changed = dict(values)

    def apply(self, change: GaitChange) -> None:
        """Use a change by another generator at the next update; only some types can.

        Raises:
            ArgumentError: when this type cannot.
        """
        raise ArgumentError(f"generator '{self.name}': its command cannot be changed by another generator")

    def contact_sets(self) -> Iterable[tuple[str, ...]]:
        """Return the sets of active contacts that will occur; their plans are built before the first tick."""
        return ((),)

    def start(self, now: GeneratorInput) -> None:  # noqa: B027  (optional)
        """Start in the first tick of a state; a generator that the state before has declared as well continues."""

    def missing(self) -> tuple[str, ...]:
        """Return the contacts that its motion has at present, and that are not made because nothing touches yet."""
        return ()

    def followed(self) -> dict[str, Array]:
        """Return the configuration, (nq,), of each subsystem in the motion that it follows at present, for viewers."""
        return {}

    @abstractmethod
    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return contacts and references of this tick.

        After an exception its contacts remain, its references are held, and the command has the status `REDUCED`.
        """

    def warm_up(self, now: GeneratorInput) -> None:  # noqa: B027  (optional)
        """Run every kernel once that a later tick may use; the generator is discarded afterwards."""


#: Class of each type of generator, or the place of it, which is imported when a scenario uses it.
GENERATORS: dict[str, type[MotionGenerator] | str] = {
    "antagonistic": "upper_body.generator:AntagonisticGenerator",
    "anticipation": "upper_body.anticipation:AnticipationGenerator",
    "modal": "modal_control.generator:ModalGenerator",
    "motion_playback": "motion_generation.motion_playback:MotionPlayback",
    "motion_replanning": "motion_generation.motion_replanning:MotionReplanning",
    "oscillation": "motion_generation.oscillation:Oscillation",
    "walking": "walking.generator:WalkingGenerator",
}


def register_generator(spec: type[GeneratorSpec], generator: type[MotionGenerator]) -> None:
    """Register a type of generator, before a scenario file is loaded that contains it.

    Args:
        spec: its specification, with a key `type: Literal["..."]`.
        generator: its class.

    Raises:
        ArgumentError: when the specification has no such key, or the type is another one's already.
    """
    check_type("spec", spec, type, "a class of specifications")
    check_type("generator", generator, type, "a class of generators")
    if not issubclass(spec, GeneratorSpec) or not issubclass(generator, MotionGenerator):
        raise ArgumentError(
            f"expected subclasses of GeneratorSpec and MotionGenerator, got {spec.__name__} and {generator.__name__}"
        )
    GENERATOR_SPECS.add(spec)
    GENERATORS[next(kind for kind, one in GENERATOR_SPECS.models.items() if one is spec)] = generator


def make_generator(name: str, spec: GeneratorSpec, scenario: Scenario) -> MotionGenerator:
    """Create a generator of a scenario."""
    kind = next(kind for kind, one in GENERATOR_SPECS.models.items() if one is type(spec))
    found = GENERATORS[kind]
    if isinstance(found, str):
        module, _, class_name = found.partition(":")
        found = GENERATORS[kind] = getattr(import_module(module), class_name)
    return found(name, spec, scenario)


def pose_reference(position: Array, rotation: Array, velocity: Array = _REST6, acceleration: Array = _REST6) -> Array:
    """Return the reference of a pose task, (24,).

    Args:
        position: in the world or in the frame that the task is relative to, (3,) [m].
        rotation: (3, 3).
        velocity: linear, then angular, in the same axes, (6,).
        acceleration: the same, (6,).
    """
    return PoseSample.of(position, rotation, velocity, acceleration).numbers


def heading_reference(
    yaw: float, rate: float = 0.0, acceleration: float = 0.0, pitch: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> Array:
    """Return the reference of a pose task on an orientation with a heading [rad], [rad/s], [rad/s²], (24,).

    `pitch` is the angle by which it leans ahead, its rate and second derivative; 0 is upright. Products of the rates
    are left out.
    """
    numbers = np.zeros(24)
    across = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    numbers[3:12] = (pin.utils.rotate("z", yaw) @ pin.utils.rotate("y", pitch[0])).ravel()
    numbers[15:18], numbers[21:24] = pitch[1] * across, pitch[2] * across
    numbers[17] += rate
    numbers[23] += acceleration
    return numbers


def com_reference(position: Array, velocity: Array = _REST3, acceleration: Array = _REST3) -> Array:
    """Return the reference of a task on a centre of mass, from three vectors in the world, (3,) each; (9,)."""
    return np.array([position, velocity, acceleration]).T.ravel()


def posture_reference(angles: Array, rates: Array | float = 0.0, accelerations: Array | float = 0.0) -> Array:
    """Return the reference of a posture task from three vectors in the order of its joints, (k,) each; (3 k,)."""
    numbers = np.empty((len(angles), 3))
    numbers[:, 0], numbers[:, 1], numbers[:, 2] = angles, rates, accelerations
    return numbers.ravel()


def momentum_reference(momentum: Array, rate: Array = _REST6) -> Array:
    """Return the reference of a momentum task from momentum and its rate, (6,) each; (12,)."""
    return np.concatenate([momentum, rate])
