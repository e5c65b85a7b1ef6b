"""Random references: sequences of points, and smooth paths."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import pinocchio as pin

from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.references.minimum_jerk_kernel import pose_on_path
from multi_qp_controller.references.references import PoseReference, PoseSample
from multi_qp_scene.arrays import Array

#: Largest number of points or knots.
_MOST_POINTS = 100_000


@dataclass(eq=False, kw_only=True)
class RandomPoints(PoseReference):
    """Sequence of random points in a box.

    Attributes:
        start: initial pose; its rotation is maintained.
        count: number of points.
        seed: seed of the random numbers.
        size: dimensions of the box, (3,) [m].
        centre: centre of the box relative to the start, (3,) [m].
        tolerance: distance at which a point is reached [m].
        hold: time within the tolerance until a point counts as reached [s].
        timeout: time after which the next point follows in any case [s].
        speed: largest speed of minimum-jerk paths from point to point [m/s]; None for stepwise set-points.
        misses: final distance to each point so far [m].
        reached: whether each point so far was reached.
        since: start of the path to the present point [s].
        came_from: start of that path, (3,) [m]; None for the initial position.
        near_since: time since which the position is within the tolerance [s], or None.
    """

    start: pin.SE3 = field(kw_only=False)
    count: int
    seed: int
    size: Annotated[Array, 3]
    centre: Annotated[Array, 3]
    tolerance: float
    hold: float
    timeout: float
    speed: float | None = None
    misses: tuple[float, ...] = ()
    reached: tuple[bool, ...] = ()
    since: float = 0.0
    came_from: Annotated[Array, 3] | None = None
    near_since: float | None = None

    def __post_init__(self) -> None:
        """Draw the points."""
        if self.count > _MOST_POINTS:
            raise ValueError(f"more than {_MOST_POINTS} points")
        self.duration = 0.0
        points = self.start.translation + self.centre + (_uniform(self.count, self.seed) - 0.5) * self.size
        self._to = points[min(len(self.reached), self.count - 1)]
        self._from = self.start.translation.copy() if self.came_from is None else self.came_from
        # a minimum-jerk path is fastest in its middle, by 15/8 of its mean
        distance = float(np.linalg.norm(self._to - self._from))
        self._length = 1.875 * distance / self.speed if self.speed else 0.0

    @property
    def point(self) -> Array:
        """The present point, (3,) [m]."""
        return self._to

    @property
    def finished(self) -> bool:
        """Whether all points have been reached or timed out."""
        return len(self.reached) == self.count

    def sample(self, time: float) -> PoseSample:
        """Return the reference towards the present point at `time` [s] after the start."""
        step = self._to - self._from
        s, ds, dds = minimum_jerk(time - self.since, self._length) if self._length else (1.0, 0.0, 0.0)
        velocity, acceleration = np.zeros(6), np.zeros(6)
        velocity[:3], acceleration[:3] = ds * step, dds * step
        return PoseSample.of(self._from + s * step, self.start.rotation, velocity, acceleration)

    def observed(self, time: float, position: Array) -> RandomPoints:
        """Return the reference after the frame's position at `time` [s] after the start, (3,) [m]; itself if equal."""
        if self.finished:
            return self
        error = float(np.linalg.norm(position - self._to))
        near_since = None if error > self.tolerance else time if self.near_since is None else self.near_since
        held = near_since is not None and time - near_since >= self.hold
        if not held and time - self.since < self.timeout:
            return self if near_since == self.near_since else replace(self, near_since=near_since)
        passed: dict[str, Any] = {"misses": (*self.misses, error), "reached": (*self.reached, held), "near_since": None}
        if len(self.reached) + 1 < self.count:
            passed |= {"came_from": self.sample(time).position, "since": time}
        return replace(self, **passed)


@lru_cache(maxsize=16)
def _uniform(count: int, seed: int) -> Array:
    """Return random numbers in [0, 1), (count, 3)."""
    return np.random.default_rng(seed).random((count, 3))


@dataclass(eq=False)
class RandomPose(PoseReference):
    """A smooth random path around a pose: quintic splines through random knots, at rest at both ends.

    Attributes:
        centre: pose at the start and at the end.
        duration: duration of the path [s].
        position: bound ± on the positions of the knots, along B's axes, (3,) [m].
        angle: bound ± on the rotation vectors of the knots, in A's axes, (3,) [rad].
        seed: seed of the random numbers.
        knots_every: time between knots [s].
    """

    centre: pin.SE3
    duration: float = field(kw_only=True)
    position: Annotated[Array, 3] = field(kw_only=True)
    angle: Annotated[Array, 3] = field(kw_only=True)
    seed: int = field(kw_only=True)
    knots_every: float = field(kw_only=True)

    def __post_init__(self) -> None:
        """Draw the path."""
        if self.duration > _MOST_POINTS * self.knots_every:
            raise ValueError(f"more than {_MOST_POINTS} knots")
        self._around = np.concatenate([self.centre.translation, self.centre.rotation.ravel()])
        self._breaks, self._pieces = self.draw(self.duration, self.position, self.angle, self.seed, self.knots_every)

    @staticmethod
    def draw(duration: float, position: Array, angle: Array, seed: int, knots_every: float) -> tuple[Array, Array]:
        """Draw a path, or return the cached one: drawing takes longer than a tick and does not depend on the centre.

        Returns:
            `breaks` and `pieces` of `pose_on_path`.
        """
        return _drawn(duration, (*map(float, position), *map(float, angle)), seed, knots_every)

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        numbers = np.empty(24)
        pose_on_path(time, self._breaks, self._pieces, self._around, numbers)
        return PoseSample(numbers)


@lru_cache(maxsize=64)
def _drawn(duration: float, extent: tuple[float, ...], seed: int, knots_every: float) -> tuple[Array, Array]:
    from scipy.interpolate import make_interp_spline  # slow to import, and rarely used

    knots = max(2, round(duration / knots_every))
    values = np.zeros((knots + 1, 6))
    values[1:-1] = np.random.default_rng(seed).uniform(-1.0, 1.0, (knots - 1, 6)) * np.array(extent)
    rest = [(1, np.zeros(6)), (2, np.zeros(6))]
    spline = make_interp_spline(np.linspace(0.0, duration, knots + 1), values, k=5, bc_type=(rest, rest))
    breaks = np.unique(spline.t)
    pieces = np.stack([spline(breaks[:-1], nu=k) / math.factorial(k) for k in range(5, -1, -1)], axis=1)
    pose_on_path(0.0, breaks, pieces, np.zeros(12), np.empty(24))  # compile before the first tick
    return breaks, pieces
