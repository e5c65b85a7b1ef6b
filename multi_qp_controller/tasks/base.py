"""What every task is: a feature x(q) with Jacobian J, and the acceleration ẍᵈ that is asked of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.motion_table import Pair
from multi_qp_controller.paths import Path
from multi_qp_controller.snapshot import TargetSnapshot
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]


def limited_error(error: Array, *, stiffness: float, damping: float, max_speed: float | None) -> Array:
    """Shorten an error so that the feedback asks for no more than a speed: at it, k e = 2√k v_max."""
    if max_speed is None or stiffness == 0.0:
        return error
    longest = damping * max_speed / stiffness
    length = math.sqrt(error @ error)
    return error if length <= longest else error * (longest / length)


class Task(ABC):
    """One term w‖J q̈ + J̇v − ẍᵈ‖² of the cost (32), with ẍᵈ = −k(x − x_ref) − 2√k(ẋ − ẋ_ref) + ẍ_ref (33).

    `start` is called when a state of the FSM takes the task up, `compute` at every tick after it.

    Attributes:
        name: unique in the scene.
        weight: w of (32).
        stiffness: k of (33) [1/s²].
        damping: coefficient of the velocity error, 2√k unless given [1/s].
        dim: number of rows of J.
        selects: the entries of q̈ that the rows of J are, where each is a 1 and zeros, else None, (dim,).
        row_weights: weight of each row relative to `weight`, (dim,), or None where all are 1.
        max_speed: the speed with which a far set-point is approached is bounded by this, or None.
        path: the numbers of its reference since it was started, where they are such a path, else None.
        pairs: of frames whose relative motions it needs.
    """

    dim: int
    row_weights: Array | None = None
    selects: Sequence[int] | None = None
    max_speed: float | None = None
    path: Path | None = None
    pairs: tuple[Pair, ...] = ()

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

    @property
    def error(self) -> float:
        """Norm of x - x_ref at the last `compute`, in the feature's unit."""
        return math.sqrt(self._error @ self._error)

    @property
    def speed(self) -> float:
        """Norm of ẋ at the last `compute`, in the feature's unit per second."""
        return math.sqrt(self._speed @ self._speed)

    @property
    def duration(self) -> float:
        """Time that the reference moves for after the start [s]; 0 for a set-point."""
        return 0.0

    def reference_done(self, time: float) -> bool:
        """Return whether the reference has come to its end."""
        return time - self.started_at >= self.duration - 1e-9

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Take the task up at `time` [s]; references begin at the present value."""
        self.started_at = time

    def memory(self) -> Memory:
        """Return what the task knows beyond its specification; its arrays are not written to again."""
        return {
            "weight": self.weight,
            "stiffness": self.stiffness,
            "damping": self.damping,
            "started_at": self.started_at,
            "error": self._error.copy(),
            "speed": self._speed.copy(),
        }

    def resume(self, memory: Memory, kinematics: Kinematics) -> None:
        """Go on from a memory, instead of `start`."""
        self.weight, self.stiffness, self.damping = memory["weight"], memory["stiffness"], memory["damping"]
        self.started_at = memory["started_at"]
        self._error, self._speed = memory["error"], memory["speed"]

    def bind(self, error: Array, speed: Array) -> None:
        """Have x − x_ref and ẋ from now on in these arrays, (dim,) each, which a table writes instead of `compute`."""
        self._error, self._speed = error, speed

    @abstractmethod
    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the rows of J q̈ = b that would give ẍ = ẍᵈ: b = ẍᵈ − J̇v.

        Args:
            kinematics: at this tick.
            time: [s].
            J: to fill, (dim, nv); zero on entry wherever the task never writes.
            b: to fill, (dim,).
        """

    def columns(self, scene: Scene) -> NDArray[np.intp] | None:
        """Return the entries of q̈ that the rows may concern, or None where nobody knows."""
        return None if self.selects is None else np.array(self.selects, dtype=np.intp)

    def target(self, kinematics: Kinematics) -> TargetSnapshot | None:
        """Return where the task wants to be, if that is a place."""
        return None

    def sample(self, time: float, position: Array | None = None) -> Array:
        """Return the numbers of the reference.

        Args:
            time: [s].
            position: of the tasked frame, which random points wait for, (3,) [m].

        Raises:
            RuntimeError: when the task has not been started.
        """
        if self.path is None:
            raise RuntimeError(f"task '{self.name}' has not been started")
        return self.path.at(time)

    def feedback(self, error: Array, velocity_error: Array) -> Array:
        """Return −k(x − x_ref) − 2√k(ẋ − ẋ_ref)."""
        return -self.stiffness * error - self.damping * velocity_error
