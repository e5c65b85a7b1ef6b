"""Base class of tasks: a feature x(q) with Jacobian J and desired acceleration ẍᵈ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.motion_table import Pair
from multi_qp_controller.references.minimum_jerk import Path
from multi_qp_controller.snapshot import TargetSnapshot
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import TaskBase
from multi_qp_scene.stateful import Stateful

_AXES = ("x", "y", "z", "roll", "pitch", "yaw")


#: Largest speeds of approach of tasks from files that give none: of a position [m/s], of an orientation [rad/s]. A task
#: whose target is out of reach demands at most 2√k v_max; without a limit it throws a standing robot off its balance.
DEFAULT_SPEEDS = 0.5, 1.0
#: Time in which a far target is approached at full speed [s].
ACCELERATION_TIME = 0.5


def limit_share(error: Array, speed: Array, *, stiffness: float, damping: float, max_speed: float) -> float:
    """Return the factor on an error with which the feedback approaches at most at `max_speed` v_max: k e = 2√k v.

    v is the present speed of approach plus v_max / (2√k T), but at most v_max, so that a far target is approached with
    an acceleration of v_max / T, T = `ACCELERATION_TIME`. A task whose target is out of reach demands no more than
    this, for as long as it cannot move.

    The factor also applies to velocity and acceleration of the reference: one that a frame cannot follow becomes a
    set-point.
    """
    length = math.sqrt(error @ error)
    if stiffness == 0.0 or length == 0.0 or max_speed == math.inf:
        return 1.0
    damping = max(damping, 2.0 * math.sqrt(stiffness))
    approach = max(0.0, -float(error @ speed) / length)
    longest = damping * min(max_speed, approach + max_speed / (damping * ACCELERATION_TIME)) / stiffness
    return 1.0 if length <= longest else longest / length


def axis_indices(axes: Sequence[str]) -> list[int]:
    """Return the rows of axes by name, sorted."""
    return sorted(_AXES.index(axis) for axis in axes)


class Gains(TypedDict, total=False):
    """Weight and gains of a task, as `Task` describes them: 1, 10 and 2√k where left out."""

    weight: float
    stiffness: float
    damping: float | None


class Task(Stateful, ABC):
    """One term w‖J q̈ + J̇v − ẍᵈ‖² of the cost (32), with ẍᵈ = −k(x − x_ref) − 2√k(ẋ − ẋ_ref) + ẍ_ref (33).

    `start` is called when a state of the FSM activates the task, `compute` at every tick after that.

    Attributes:
        name: unique in the scene.
        weight: w of (32).
        stiffness: k of (33) [1/s²].
        damping: coefficient of the velocity error, 2√k unless given [1/s].
        dim: number of rows of J.
        selects: for a J that selects entries of q̈, the entry of each row, (dim,); else None.
        row_weights: weight of each row relative to `weight`, (dim,), or None where all are 1.
        speeds: bounds on the speeds at which a far position and orientation are approached [m/s], [rad/s].
        path: minimum-jerk path of the reference since the start, or None where it is of another form.
        given: numbers of the reference that a motion generator gives at each tick, see `sample`; None without one.
        pairs: pairs of frames whose relative motions the task uses.
        importance: order in which tasks are given up while the QP has no solution, smallest first; None: never.
        unit: unit of `error`, empty if it has none.
        started_at: time of the start [s].
        Spec: class of its specification in a scenario file, where it can be used in one.
    """

    @dataclass
    class Checkpoint:
        """State of a task beyond its specification; a task with more of it extends this dataclass."""

        weight: float
        stiffness: float
        damping: float
        started_at: float
        _error: Array
        _speed: Array
        given: Array | None

    Spec: ClassVar[type[TaskBase]]
    dim: int
    row_weights: Array | None = None
    selects: Sequence[int] | None = None
    speeds: tuple[float, float] = (math.inf, math.inf)
    path: Path | None = None
    given: Array | None = None
    pairs: tuple[Pair, ...] = ()
    importance: int | None = 1
    unit: str = ""

    def __init__(
        self, name: str, *, weight: float = 1.0, stiffness: float = 10.0, damping: float | None = None
    ) -> None:
        self.name = name
        self.weight = weight
        self.stiffness = stiffness
        self.damping = 2.0 * math.sqrt(stiffness) if damping is None else damping
        self.started_at = 0.0
        self._error: Array = np.zeros(0)
        self._speed: Array = np.zeros(0)

    @classmethod
    def of(cls, name: str, spec: Any, scenario: Scenario) -> Task:
        """Return the task of a specification of type `Spec`, whose names have been checked."""
        raise NotImplementedError(f"{cls.__name__} cannot be used in a scenario file")

    @property
    def error(self) -> float:
        """Norm of x - x_ref at the last `compute`, in the feature's unit."""
        return math.sqrt(self._error @ self._error)

    def errors(self) -> dict[str, tuple[float, str]]:
        """Return the norm of the error of each part of the feature with its unit, by name, for logs and plots."""
        return {self.name: (self.error, self.unit)}

    @property
    def speed(self) -> float:
        """Norm of ẋ at the last `compute`, in the feature's unit per second."""
        return math.sqrt(self._speed @ self._speed)

    @property
    def duration(self) -> float:
        """Duration of the reference motion [s]; 0 for a set-point."""
        return 0.0

    def reference_done(self, time: float) -> bool:
        """Return whether the reference has ended."""
        return time - self.started_at >= self.duration - 1e-9

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Start the task at `time` [s]; the reference begins at the present value."""
        self.started_at, self.given = time, None

    @property
    def reference_size(self) -> int:
        """Length of the array that `give` accepts as a reference; 0 where references cannot be given."""
        return 0

    def give(self, numbers: Array) -> None:
        """Follow this reference, (reference_size,), until the next one is given; the array is not copied."""
        self.given, self.path = numbers, None

    def at_rest(self, numbers: Array) -> Array:
        """Return a given reference with zero velocity and acceleration; by default one of value, rate, acceleration."""
        held = numbers.copy()
        held.reshape(-1, 3)[:, 1:] = 0.0
        return held

    def restored(self, kinematics: Kinematics) -> None:  # noqa: B027
        """Compute what follows from a restored state; called after `set_state`, instead of `start`."""

    def bind(self, error: Array, speed: Array) -> None:
        """Use these arrays for x − x_ref and ẋ, (dim,) each; a `TaskTable` writes them instead of `compute`."""
        self._error, self._speed = error, speed

    @abstractmethod
    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of J q̈ = b for ẍ = ẍᵈ: b = ẍᵈ − J̇v.

        Args:
            kinematics: kinematics at this tick.
            time: present time [s].
            J: to fill, (dim, nv); zero on entry wherever the task never writes.
            b: to fill, (dim,).
        """

    def columns(self, scene: Scene) -> NDArray[np.intp] | None:
        """Return the entries of q̈ with nonzero columns in J, or None where they are unknown."""
        return None if self.selects is None else np.array(self.selects, dtype=np.intp)

    def target(self, kinematics: Kinematics) -> TargetSnapshot | None:
        """Return the present reference for viewers, None where it is not a point or pose."""
        return None

    def sample(self, time: float, position: Array | None = None) -> Array:
        """Return the reference at a time, as the numbers of its path.

        Args:
            time: present time [s].
            position: position of the tasked frame, which advances random points, (3,) [m].

        Raises:
            RuntimeError: when the task has not been started.
        """
        if self.given is not None:
            return self.given
        if self.path is None:
            raise RuntimeError(f"task '{self.name}' has not been started")
        return self.path.at(time)

    def feedback(self, error: Array, velocity_error: Array) -> Array:
        """Return −k (x − x_ref) − d (ẋ − ẋ_ref); the damping d is 2√k by default."""
        return -self.stiffness * error - self.damping * velocity_error
