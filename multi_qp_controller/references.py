"""Reference trajectories that tasks follow: rest, minimum jerk, smooth random paths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

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

    @abstractmethod
    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""


class RestingPose(PoseReference):
    """A pose that does not move."""

    def __init__(self, pose: pin.SE3) -> None:
        self._sample = PoseSample(pose.translation.copy(), pose.rotation.copy(), np.zeros(6), np.zeros(6))

    def sample(self, time: float) -> PoseSample:
        """Return the pose."""
        return self._sample


class MinimumJerkPose(PoseReference):
    """A straight minimum-jerk path from one pose to another; the rotation turns about one axis."""

    def __init__(self, start: pin.SE3, end: pin.SE3, duration: float) -> None:
        self.duration = duration
        self._start = start.copy()
        self._step = np.concatenate([end.translation - start.translation, pin.log3(start.rotation.T @ end.rotation)])
        self._rate = self._step.copy()
        self._rate[3:] = start.rotation @ self._step[3:]

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        s, ds, dds = minimum_jerk(time, self.duration)
        return PoseSample(
            self._start.translation + s * self._step[:3],
            self._start.rotation @ pin.exp3(s * self._step[3:]),
            self._rate * ds,
            self._rate * dds,
        )


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
        knots = max(2, round(duration / knots_every))
        random = np.random.default_rng(seed)
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
