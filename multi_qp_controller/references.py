"""Reference trajectories that tasks follow: at rest, moved by a user, minimum jerk; random ones have their own file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.memory import Memory, pose_memory, pose_of
from multi_qp_controller.paths import SHARES, Path
from multi_qp_controller.rotation_kernel import turn_between

Array = NDArray[np.float64]

#: How the numbers of a pose that rests change.
_STILL = np.zeros((24, SHARES))


class PoseSample:
    """A reference pose and its motion, in the frame B that the task is expressed in.

    Attributes:
        numbers: position, rotation row by row, velocity and acceleration, (24,); not to be written to.
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers

    @classmethod
    def of(cls, position: Array, rotation: Array, velocity: Array, acceleration: Array) -> PoseSample:
        """Make one of its parts."""
        return cls(np.concatenate([position, np.asarray(rotation).ravel(), velocity, acceleration]))

    @classmethod
    def resting(cls, position: Array, rotation: Array) -> PoseSample:
        """Make one that does not move."""
        numbers = np.zeros(24)
        numbers[:3], numbers[3:12].reshape(3, 3)[:] = position, rotation
        return cls(numbers)

    @property
    def position(self) -> Array:
        """Of A in B, (3,) [m]."""
        return self.numbers[:3]

    @property
    def rotation(self) -> Array:
        """R_B_A, (3, 3)."""
        return self.numbers[3:12].reshape(3, 3)

    @property
    def velocity(self) -> Array:
        """Linear, then angular, in B's axes, (6,)."""
        return self.numbers[12:18]

    @property
    def acceleration(self) -> Array:
        """Linear, then angular, in B's axes, (6,)."""
        return self.numbers[18:]


class PoseReference(ABC):
    """A pose as a function of the time since its start.

    Attributes:
        duration: time that it moves for [s].
        path: the numbers of its samples, where they are such a path, else None.
    """

    duration: float = 0.0
    path: Path | None = None
    kinds: ClassVar[dict[str, type[PoseReference]]] = {}

    def __init_subclass__(cls) -> None:
        """Know every kind by the name of its class, so that memories can be read."""
        super().__init_subclass__()
        cls.kinds[cls.__name__] = cls

    @abstractmethod
    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""

    def memory(self) -> Memory:
        """Return what it is made of, and how far it is; "kind" is the name of its class."""
        return {"kind": type(self).__name__}

    @classmethod
    def of(cls, memory: Memory) -> PoseReference:
        """Make it again."""
        raise KeyError(f"a reference of the kind '{memory['kind']}' cannot be made again")


class RestingPose(PoseReference):
    """A pose that does not move."""

    def __init__(self, pose: pin.SE3) -> None:
        self._sample = PoseSample.resting(pose.translation, pose.rotation)
        self._memory = _memory_of(self, self._sample)
        self.path = _resting(self._sample)

    def sample(self, time: float) -> PoseSample:
        """Return the pose."""
        return self._sample

    def memory(self) -> Memory:
        """Return the pose."""
        return self._memory

    @classmethod
    def of(cls, memory: Memory) -> RestingPose:
        """Make it again."""
        return cls(pose_of(memory))


class MinimumJerkPose(PoseReference):
    """A minimum-jerk path from one pose to another; the rotation turns about one axis.

    It is straight, but for `apex` [m]: with s going from 0 to 1, 64 s³(1 − s)³ of it is added along B's z axis.
    """

    def __init__(self, start: pin.SE3, end: pin.SE3, duration: float, *, apex: float = 0.0) -> None:
        self.duration = duration
        first, change = np.zeros(24), np.zeros((24, SHARES))
        angle = turn_between(start.homogeneous, end.homogeneous, first, change)
        self.path = self._path = Path(first, change, start=0.0, duration=duration, angle=angle, apex=apex)
        self._ends, self._apex = (start, end), apex
        self._memory: Memory | None = None  # written when a recorder asks

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        return PoseSample(self._path.at(time))

    def memory(self) -> Memory:
        """Return both ends."""
        if self._memory is None:
            start, end = map(pose_memory, self._ends)
            self._memory = super().memory() | {
                "start": start,
                "end": end,
                "duration": self.duration,
                "apex": self._apex,
            }
        return self._memory

    @classmethod
    def of(cls, memory: Memory) -> MinimumJerkPose:
        """Make it again."""
        return cls(pose_of(memory["start"]), pose_of(memory["end"]), memory["duration"], apex=memory["apex"])


class MovablePose(PoseReference):
    """A set-point that a user may move at any time."""

    def __init__(self, pose: pin.SE3) -> None:
        self._rest(PoseSample.resting(pose.translation, pose.rotation))

    def _rest(self, sample: PoseSample) -> None:
        self._sample, self._memory = sample, _memory_of(self, sample)
        self.path = _resting(sample)

    def move(self, position: Array, rotation: Array | None = None) -> None:
        """Put the set-point at `position` [m], turned by `rotation`, both in B.

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

    def memory(self) -> Memory:
        """Return the set-point."""
        return self._memory

    @classmethod
    def of(cls, memory: Memory) -> MovablePose:
        """Make it again."""
        return cls(pose_of(memory))


def _memory_of(reference: PoseReference, sample: PoseSample) -> Memory:
    """Return the memory of a pose that rests, the same one each time: what was passed on is not passed on again."""
    return {"kind": type(reference).__name__, "position": sample.position, "rotation": sample.rotation}


def _resting(sample: PoseSample) -> Path:
    return Path(sample.numbers, _STILL, start=0.0, duration=0.0)


def reference_of(memory: Memory) -> PoseReference:
    """Return the reference that a memory is of.

    Raises:
        KeyError: when it is none of ours.
    """
    return PoseReference.kinds[memory["kind"]].of(memory)
