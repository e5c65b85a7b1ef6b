"""Random references: sequences of points, and smooth paths."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.controller_state import SavedState, pose_of, saved_pose
from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.references.minimum_jerk_kernel import pose_on_path
from multi_qp_controller.references.references import PoseReference, PoseSample

Array = NDArray[np.float64]

#: Largest number of points or knots in a saved state.
_MOST_POINTS = 100_000


class RandomPoints(PoseReference):
    """Sequence of random points in a box.

    Attributes:
        misses: final distance to each point so far [m].
        reached: whether each point so far was reached.
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
            start: initial pose; its rotation is maintained.
            count: number of points.
            seed: seed of the random numbers.
            size: dimensions of the box, (3,) [m].
            centre: centre of the box relative to the start, (3,) [m].
            tolerance: distance at which a point is reached [m].
            hold: time within the tolerance until a point counts as reached [s].
            timeout: time after which the next point follows in any case [s].
            speed: largest speed of minimum-jerk paths from point to point [m/s]; None for stepwise set-points.
        """
        self._arguments = {
            "start": saved_pose(start),
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
        """The present point, (3,) [m]."""
        return self._to

    @property
    def finished(self) -> bool:
        """Whether all points have been reached or timed out."""
        return len(self.reached) == len(self._points)

    def sample(self, time: float) -> PoseSample:
        """Return the reference towards the present point at `time` [s] after the start."""
        step = self._to - self._from
        s, ds, dds = minimum_jerk(time - self._since, self._length) if self._length else (1.0, 0.0, 0.0)
        velocity, acceleration = np.zeros(6), np.zeros(6)
        velocity[:3], acceleration[:3] = ds * step, dds * step
        return PoseSample.of(self._from + s * step, self._rotation, velocity, acceleration)

    def observe(self, time: float, position: Array) -> None:
        """Update with the frame's position at `time` [s] after the start, (3,) [m]; advance the point when due."""
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

    def get_state(self) -> SavedState:
        """Return the arguments that the points were drawn with, and the progress."""
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
    def of(cls, saved: SavedState) -> RandomPoints:
        """Return the reference of a saved state: draw the points again and restore the progress."""
        arguments = saved["arguments"]
        if arguments["count"] > _MOST_POINTS:
            raise ValueError(f"more than {_MOST_POINTS} points")
        points = cls(**{**arguments, "start": pose_of(arguments["start"])})
        points._near_since = saved["near_since"]
        points.misses, points.reached = list(saved["misses"]), list(saved["reached"])
        present = min(len(points.reached), points.count - 1)
        points._go(np.array(saved["from"]), points._points[present], saved["since"])
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
            duration: duration of the path [s].
            position: bound ± on the positions of the knots, along B's axes, (3,) [m].
            angle: bound ± on the rotation vectors of the knots, in A's axes, (3,) [rad].
            seed: seed of the random numbers.
            knots_every: time between knots [s].
        """
        self.duration = duration
        self._arguments = {
            "centre": saved_pose(centre),
            "duration": duration,
            "position": np.array(position),
            "angle": np.array(angle),
            "seed": seed,
            "knots_every": knots_every,
        }
        self._around = np.concatenate([centre.translation, centre.rotation.ravel()])
        self._breaks, self._pieces = self.draw(duration, position, angle, seed, knots_every)

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

    def get_state(self) -> SavedState:
        """Return the arguments that the path was drawn with."""
        return {"kind": type(self).__name__, "arguments": self._arguments}

    @classmethod
    def of(cls, saved: SavedState) -> RandomPose:
        """Return the reference of a saved state: draw the path again."""
        arguments = saved["arguments"]
        if arguments["duration"] > _MOST_POINTS * arguments["knots_every"]:
            raise ValueError(f"more than {_MOST_POINTS} knots")
        return cls(**{**arguments, "centre": pose_of(arguments["centre"])})


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
