"""Pose references of tasks: constant, interactive and minimum-jerk; random ones are in `random`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.rotation_kernel import turn_between
from multi_qp_controller.references.minimum_jerk import SHARES, Path
from multi_qp_scene.arrays import Array

#: Coefficients of the path of a constant pose.
_STILL = np.zeros((24, SHARES))


class PoseSample:
    """A reference pose and its motion, in the frame B that the task is expressed in.

    Attributes:
        numbers: position, rotation row by row, velocity and acceleration, (24,); read-only.
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers

    @classmethod
    def of(cls, position: Array, rotation: Array, velocity: Array, acceleration: Array) -> PoseSample:
        """Create it from its parts."""
        return cls(np.concatenate([position, np.asarray(rotation).ravel(), velocity, acceleration]))

    @classmethod
    def resting(cls, position: Array, rotation: Array) -> PoseSample:
        """Create one with zero velocity and acceleration."""
        numbers = np.zeros(24)
        numbers[:3], numbers[3:12].reshape(3, 3)[:] = position, rotation
        return cls(numbers)

    @property
    def position(self) -> Array:
        """Position of A in B, (3,) [m]."""
        return self.numbers[:3]

    @property
    def rotation(self) -> Array:
        """R_B_A, (3, 3)."""
        return self.numbers[3:12].reshape(3, 3)

    @property
    def velocity(self) -> Array:
        """Velocity: linear, then angular, in B's axes, (6,)."""
        return self.numbers[12:18]

    @property
    def acceleration(self) -> Array:
        """Acceleration: linear, then angular, in B's axes, (6,)."""
        return self.numbers[18:]


class PoseReference(ABC):
    """A pose as a function of the time since its start: a dataclass whose fields are constant.

    Attributes:
        duration: duration of the motion [s].
        path: minimum-jerk path of its samples, or None where it is of another form.
    """

    duration: float
    path: Path | None = None
    kinds: ClassVar[dict[str, type[PoseReference]]] = {}

    def __init_subclass__(cls) -> None:
        """Register the class by its name, which saved states contain."""
        super().__init_subclass__()
        cls.kinds[cls.__name__] = cls

    @abstractmethod
    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the fields; the path is computed again."""
        return _rebuilt, (type(self), {one.name: getattr(self, one.name) for one in fields(self)})  # type: ignore[arg-type]


def _rebuilt(kind: type[PoseReference], arguments: dict[str, Any]) -> PoseReference:
    return kind(**arguments)


@dataclass(eq=False)
class RestingPose(PoseReference):
    """A constant pose.

    Attributes:
        pose: X_B_A.
    """

    pose: pin.SE3

    def __post_init__(self) -> None:
        """Compute the sample."""
        self._sample = PoseSample.resting(self.pose.translation, self.pose.rotation)
        self.duration = 0.0
        self.path = Path(self._sample.numbers, _STILL, start=0.0, duration=0.0)

    def sample(self, time: float) -> PoseSample:
        """Return the pose."""
        return self._sample


class MovablePose(RestingPose):
    """An interactive set-point: `PoseTask.move_target` replaces it."""


@dataclass(eq=False)
class MinimumJerkPose(PoseReference):
    """A minimum-jerk path from one pose to another; the rotation is about one axis.

    The path is straight; with an `apex` h [m], 64 s³(1 − s)³ h is added along B's z axis, with s from 0 to 1.
    """

    start: pin.SE3
    end: pin.SE3
    duration: float
    apex: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Compute the path."""
        first, change = np.zeros(24), np.zeros((24, SHARES))
        angle = turn_between(self.start.homogeneous, self.end.homogeneous, first, change)
        self.path = self._path = Path(first, change, start=0.0, duration=self.duration, angle=angle, apex=self.apex)

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        return PoseSample(self._path.at(time))
