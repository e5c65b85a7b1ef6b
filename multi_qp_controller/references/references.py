"""Pose references of tasks: constant, interactive and minimum-jerk; random ones are in `random`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.controller_state import SavedState, pose_of, saved_pose
from multi_qp_controller.dynamics.rotation_kernel import turn_between
from multi_qp_controller.references.minimum_jerk import SHARES, Path

Array = NDArray[np.float64]

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
    """A pose as a function of the time since its start.

    Attributes:
        duration: duration of the motion [s].
        path: minimum-jerk path of its samples, or None where it is of another form.
    """

    duration: float = 0.0
    path: Path | None = None
    kinds: ClassVar[dict[str, type[PoseReference]]] = {}

    def __init_subclass__(cls) -> None:
        """Register the class by its name, which saved states contain."""
        super().__init_subclass__()
        cls.kinds[cls.__name__] = cls

    @abstractmethod
    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""

    def get_state(self) -> SavedState:
        """Return its arguments and progress; "kind" is the name of its class."""
        return {"kind": type(self).__name__}

    @classmethod
    def of(cls, saved: SavedState) -> PoseReference:
        """Return the reference of a saved state."""
        raise KeyError(f"a reference of the kind '{saved['kind']}' cannot be restored")


class RestingPose(PoseReference):
    """A constant pose."""

    def __init__(self, pose: pin.SE3) -> None:
        self._sample = PoseSample.resting(pose.translation, pose.rotation)
        self._saved_state = _saved(self, self._sample)
        self.path = _resting(self._sample)

    def sample(self, time: float) -> PoseSample:
        """Return the pose."""
        return self._sample

    def get_state(self) -> SavedState:
        """Return the pose."""
        return self._saved_state

    @classmethod
    def of(cls, saved: SavedState) -> RestingPose:
        """Return the reference of a saved state."""
        return cls(pose_of(saved))


class MinimumJerkPose(PoseReference):
    """A minimum-jerk path from one pose to another; the rotation is about one axis.

    The path is straight; with an `apex` h [m], 64 s³(1 − s)³ h is added along B's z axis, with s from 0 to 1.
    """

    def __init__(self, start: pin.SE3, end: pin.SE3, duration: float, *, apex: float = 0.0) -> None:
        self.duration = duration
        first, change = np.zeros(24), np.zeros((24, SHARES))
        angle = turn_between(start.homogeneous, end.homogeneous, first, change)
        self.path = self._path = Path(first, change, start=0.0, duration=duration, angle=angle, apex=apex)
        self._ends, self._apex = (start, end), apex
        self._saved_state: SavedState | None = None  # computed on the first `get_state`

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        return PoseSample(self._path.at(time))

    def get_state(self) -> SavedState:
        """Return both ends."""
        if self._saved_state is None:
            start, end = map(saved_pose, self._ends)
            self._saved_state = super().get_state() | {
                "start": start,
                "end": end,
                "duration": self.duration,
                "apex": self._apex,
            }
        return self._saved_state

    @classmethod
    def of(cls, saved: SavedState) -> MinimumJerkPose:
        """Return the reference of a saved state."""
        return cls(pose_of(saved["start"]), pose_of(saved["end"]), saved["duration"], apex=saved["apex"])


class MovablePose(PoseReference):
    """An interactive set-point that a user may move at any time."""

    def __init__(self, pose: pin.SE3) -> None:
        self._rest(PoseSample.resting(pose.translation, pose.rotation))

    def _rest(self, sample: PoseSample) -> None:
        self._sample, self._saved_state = sample, _saved(self, sample)
        self.path = _resting(sample)

    def move(self, position: Array, rotation: Array | None = None) -> None:
        """Move the set-point to `position`, (3,) [m], and `rotation`, (3, 3), both in B.

        Raises:
            ValueError: when a number is not finite.
        """
        if not np.isfinite(position).all() or (rotation is not None and not np.isfinite(rotation).all()):
            raise ValueError("a target must be finite")
        turned = self._sample.rotation if rotation is None else rotation
        self._rest(PoseSample.resting(position, turned))

    def sample(self, time: float) -> PoseSample:
        """Return the set-point."""
        return self._sample

    def get_state(self) -> SavedState:
        """Return the set-point."""
        return self._saved_state

    @classmethod
    def of(cls, saved: SavedState) -> MovablePose:
        """Return the reference of a saved state."""
        return cls(pose_of(saved))


def _saved(reference: PoseReference, sample: PoseSample) -> SavedState:
    """Return the state of a constant pose; recorders recognise it as unchanged by its identity."""
    return {"kind": type(reference).__name__, "position": sample.position, "rotation": sample.rotation}


def _resting(sample: PoseSample) -> Path:
    return Path(sample.numbers, _STILL, start=0.0, duration=0.0)


def reference_of(saved: SavedState) -> PoseReference:
    """Return the reference of a saved state.

    Raises:
        KeyError: when its kind is unknown.
    """
    return PoseReference.kinds[saved["kind"]].of(saved)
