"""Reference trajectories that tasks follow: rest, minimum jerk, smooth random paths."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.memory import Memory, pose_memory, pose_of

Array = NDArray[np.float64]


def minimum_jerk(time: float, duration: float) -> tuple[float, float, float]:
    """Return (s, ṡ, s̈) of the path 0 → 1 that starts and ends at rest without acceleration; clamped outside."""
    if time <= 0.0:
        return 0.0, 0.0, 0.0
    if time >= duration:
        return 1.0, 0.0, 0.0
    x = time / duration
    return (
        x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        30.0 * x**2 * (1.0 - x) ** 2 / duration,
        60.0 * x * (1.0 - 3.0 * x + 2.0 * x**2) / duration**2,
    )


@dataclass(frozen=True)
class PoseSample:
    """A reference pose and its motion, in the frame B that the task is expressed in.

    Attributes:
        position: (3,) [m].
        rotation: R_B_A, (3, 3).
        velocity: linear, then angular, in B's axes, (6,).
        acceleration: linear, then angular, in B's axes, (6,).
    """

    position: Array
    rotation: Array
    velocity: Array
    acceleration: Array


class PoseReference(ABC):
    """A pose as a function of the time since its start."""

    duration: float = 0.0
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
        self._memory = {"kind": type(self).__name__, **pose_memory(pose)}
        self._sample = PoseSample(pose.translation.copy(), pose.rotation.copy(), np.zeros(6), np.zeros(6))

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
        self._apex = apex
        self._end: PoseSample | None = None
        self._memory = {
            "kind": type(self).__name__,
            "start": pose_memory(start),
            "end": pose_memory(end),
            "duration": duration,
            "apex": apex,
        }
        # position, rotation, velocity and acceleration in one: at s = 0, and by (s, ṡ, s̈, sin, 1 − cos) of the angle
        turn = pin.log3(start.rotation.T @ end.rotation)
        self._angle = float(np.linalg.norm(turn))
        about = pin.skew(turn / self._angle) if self._angle else np.zeros((3, 3))
        rate = np.concatenate([end.translation - start.translation, start.rotation @ turn])
        self._first, self._change = np.zeros(24), np.zeros((24, 5))
        self._first[:3], self._first[3:12] = start.translation, start.rotation.ravel()
        self._change[:3, 0] = self._change[12:15, 1] = self._change[18:21, 2] = rate[:3]
        self._change[15:18, 1] = self._change[21:, 2] = rate[3:]
        self._change[3:12, 3] = (start.rotation @ about).ravel()
        self._change[3:12, 4] = (start.rotation @ about @ about).ravel()

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        if self._end is not None and time >= self.duration:
            return self._end
        s, ds, dds = minimum_jerk(time, self.duration)
        angle = s * self._angle
        all_of_it = self._first + self._change @ (s, ds, dds, math.sin(angle), 1.0 - math.cos(angle))
        sample = PoseSample(all_of_it[:3], all_of_it[3:12].reshape(3, 3), all_of_it[12:18], all_of_it[18:])
        if self._apex:
            r = s * (1.0 - s)
            slope = 192.0 * self._apex * r**2 * (1.0 - 2.0 * s)
            curvature = 384.0 * self._apex * r * ((1.0 - 2.0 * s) ** 2 - r)
            sample.position[2] += 64.0 * self._apex * r**3
            sample.velocity[2] += slope * ds
            sample.acceleration[2] += curvature * ds**2 + slope * dds
        if time >= self.duration:
            self._end = sample
        return sample

    def memory(self) -> Memory:
        """Return both ends."""
        return self._memory

    @classmethod
    def of(cls, memory: Memory) -> MinimumJerkPose:
        """Make it again."""
        return cls(pose_of(memory["start"]), pose_of(memory["end"]), memory["duration"], apex=memory["apex"])


class MovablePose(PoseReference):
    """A set-point that a user may move at any time."""

    def __init__(self, pose: pin.SE3) -> None:
        self._sample = PoseSample(pose.translation.copy(), pose.rotation.copy(), np.zeros(6), np.zeros(6))

    def move(self, position: Array, rotation: Array | None = None) -> None:
        """Put the set-point at `position` [m], turned by `rotation`, both in B.

        Raises:
            ValueError: when a number is not finite.
        """
        if not np.isfinite(position).all() or (rotation is not None and not np.isfinite(rotation).all()):
            raise ValueError("a target must be finite")
        turned = self._sample.rotation if rotation is None else np.array(rotation)
        self._sample = PoseSample(np.array(position, dtype=float), turned, np.zeros(6), np.zeros(6))

    def sample(self, time: float) -> PoseSample:
        """Return the set-point."""
        return self._sample

    def memory(self) -> Memory:
        """Return the set-point."""
        return {
            "kind": type(self).__name__,
            "position": self._sample.position,
            "rotation": self._sample.rotation,
        }

    @classmethod
    def of(cls, memory: Memory) -> MovablePose:
        """Make it again."""
        return cls(pose_of(memory))


class RandomPoints(PoseReference):
    """Random points in a box, one after the other.

    Attributes:
        misses: distance at which each point so far was left [m].
        reached: whether each of them was reached.
        tolerance: distance at which a point is reached [m].
    """

    def __init__(
        self,
        start: pin.SE3,
        *,
        count: int,
        seed: int,
        size: Array,
        centre: Array,
        tolerance: float,
        hold: float,
        timeout: float,
        speed: float | None = None,
    ) -> None:
        """Draw the points.

        Args:
            start: pose at the beginning; its rotation is kept.
            count: number of points.
            seed: of the random numbers.
            size: of the box [m].
            centre: of the box, from the start [m].
            tolerance: distance at which a point is reached [m].
            hold: time it must then be held for [s].
            timeout: after which the next point comes all the same [s].
            speed: largest speed of minimum-jerk paths from point to point [m/s]; None for set-points that jump.
        """
        self._arguments = {
            "start": pose_memory(start),
            "count": count,
            "seed": seed,
            "size": np.array(size),
            "centre": np.array(centre),
            "tolerance": tolerance,
            "hold": hold,
            "timeout": timeout,
            "speed": speed,
        }
        random = np.random.default_rng(seed)
        middle = start.translation + centre
        self._points = middle + (random.random((count, 3)) - 0.5) * size
        self.tolerance = tolerance
        self._hold, self._timeout, self._speed = hold, timeout, speed
        self._near_since: float | None = None
        self.misses: list[float] = []
        self.reached: list[bool] = []
        self._rotation = start.rotation.copy()
        self._go(start.translation.copy(), self._points[0], 0.0)

    @property
    def count(self) -> int:
        """Number of points."""
        return len(self._points)

    @property
    def point(self) -> Array:
        """The point that is to be reached now, (3,) [m]."""
        return self._to

    @property
    def finished(self) -> bool:
        """Whether all points are done."""
        return len(self.reached) == len(self._points)

    def sample(self, time: float) -> PoseSample:
        """Return the way to the present point at `time` [s] after the start."""
        step = self._to - self._from
        s, ds, dds = minimum_jerk(time - self._since, self._length) if self._length else (1.0, 0.0, 0.0)
        velocity, acceleration = np.zeros(6), np.zeros(6)
        velocity[:3], acceleration[:3] = ds * step, dds * step
        return PoseSample(self._from + s * step, self._rotation, velocity, acceleration)

    def observe(self, time: float, position: Array) -> None:
        """Take in where the frame is at `time` [s] after the start, (3,) [m]; go on to the next point when due."""
        if self.finished:
            return
        error = float(np.linalg.norm(position - self._to))
        if error > self.tolerance:
            self._near_since = None
        elif self._near_since is None:
            self._near_since = time
        held = self._near_since is not None and time - self._near_since >= self._hold
        if not held and time - self._since < self._timeout:
            return
        self.misses.append(error)
        self.reached.append(held)
        self._near_since = None
        if not self.finished:
            self._go(self.sample(time).position, self._points[len(self.reached)], time)

    def _go(self, start: Array, end: Array, time: float) -> None:
        self._from, self._to, self._since = start, end, time
        # a minimum-jerk path is fastest in its middle, by 15/8 of its mean
        self._length = 1.875 * float(np.linalg.norm(end - start)) / self._speed if self._speed else 0.0

    def memory(self) -> Memory:
        """Return what the points were drawn from, and how far they are."""
        return {
            "kind": type(self).__name__,
            "arguments": self._arguments,
            "from": self._from,
            "since": self._since,
            "near_since": self._near_since,
            "misses": list(self.misses),
            "reached": list(self.reached),
        }

    @classmethod
    def of(cls, memory: Memory) -> RandomPoints:
        """Draw the points again, and go on where they were."""
        arguments = memory["arguments"]
        points = cls(**{**arguments, "start": pose_of(arguments["start"])})
        points._near_since = memory["near_since"]
        points.misses, points.reached = list(memory["misses"]), list(memory["reached"])
        present = min(len(points.reached), points.count - 1)
        points._go(np.array(memory["from"]), points._points[present], memory["since"])
        return points


class RandomPose(PoseReference):
    """A smooth random path around a pose: quintic splines through random knots, at rest at both ends."""

    def __init__(
        self,
        centre: pin.SE3,
        *,
        duration: float,
        position: Array,
        angle: Array,
        seed: int,
        knots_every: float,
    ) -> None:
        """Draw the path.

        Args:
            centre: pose at the start and at the end.
            duration: [s].
            position: the knots lie within ± this, along B's axes, (3,) [m].
            angle: the knots' rotation vectors lie within ± this, in A's axes, (3,) [rad].
            seed: of the random numbers.
            knots_every: time between knots [s].
        """
        self.duration = duration
        self._centre = centre.copy()
        self._arguments = {
            "centre": pose_memory(centre),
            "duration": duration,
            "position": np.array(position),
            "angle": np.array(angle),
            "seed": seed,
            "knots_every": knots_every,
        }
        knots = max(2, round(duration / knots_every))
        random = np.random.default_rng(seed)
        from scipy.interpolate import make_interp_spline  # takes long to import, and few scenes need it

        values = np.zeros((knots + 1, 6))
        values[1:-1] = random.uniform(-1.0, 1.0, (knots - 1, 6)) * np.concatenate([position, angle])
        rest = [(1, np.zeros(6)), (2, np.zeros(6))]
        self._spline = make_interp_spline(np.linspace(0.0, duration, knots + 1), values, k=5, bc_type=(rest, rest))
        self._velocity = self._spline.derivative(1)
        self._acceleration = self._spline.derivative(2)

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        t = min(max(time, 0.0), self.duration)
        x, dx, ddx = self._spline(t), self._velocity(t), self._acceleration(t)
        rotation = self._centre.rotation @ pin.exp3(x[3:])
        jacobian = pin.Jexp3(x[3:])
        h = 1e-6
        jacobian_rate = (pin.Jexp3(x[3:] + h * dx[3:]) - pin.Jexp3(x[3:] - h * dx[3:])) / (2.0 * h)
        omega = rotation @ (jacobian @ dx[3:])
        alpha = rotation @ (jacobian @ ddx[3:] + jacobian_rate @ dx[3:])
        return PoseSample(
            self._centre.translation + x[:3],
            rotation,
            np.concatenate([dx[:3], omega]),
            np.concatenate([ddx[:3], alpha]),
        )

    def memory(self) -> Memory:
        """Return what the path was drawn from."""
        return {"kind": type(self).__name__, "arguments": self._arguments}

    @classmethod
    def of(cls, memory: Memory) -> RandomPose:
        """Draw the path again."""
        arguments = memory["arguments"]
        return cls(**{**arguments, "centre": pose_of(arguments["centre"])})


def reference_of(memory: Memory) -> PoseReference:
    """Return the reference that a memory is of.

    Raises:
        KeyError: when it is none of ours.
    """
    return PoseReference.kinds[memory["kind"]].of(memory)
