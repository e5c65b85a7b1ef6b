"""Bézier references: of a centre of mass, and of a swinging end effector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.references.references import PoseReference, PoseSample
from multi_qp_scene.arrays import Array

#: Time for which motion goes on after the end of the last curve [s]. A transition at the end is taken a tick later;
#: a reference at rest would demand that the velocity vanishes within that tick.
CONTINUED = 0.02


class Curves:
    """Sequence of Bézier curves, [Tonneau2018] (7); at rest from `CONTINUED` after the end of the last one.

    Attributes:
        duration: total duration [s].
    """

    def __init__(self, curves: Sequence[tuple[ArrayLike, float]]) -> None:
        """Create it from the control points, (n + 1, 3) [m], and the duration [s] of each curve."""
        self._ends = np.cumsum([duration for _, duration in curves])
        self.duration = float(self._ends[-1])
        starts = self._ends - [duration for _, duration in curves]
        from scipy.interpolate import BPoly  # slow to import, and rarely used

        self._curves: list[tuple[BPoly, BPoly, BPoly]] = []
        for (points, duration), start in zip(curves, starts, strict=True):
            coefficients = np.asarray(points, dtype=float)[:, None, :]
            curve = BPoly(coefficients, [start, start + duration])
            rate = curve.derivative()
            self._curves.append((curve, rate, rate.derivative()))
        self._last = np.asarray(curves[-1][0], dtype=float)[-1].copy()
        curve, rate, second = self._curves[-1]
        self._rate, self._second = np.asarray(rate(curve.x[-1])), np.asarray(second(curve.x[-1]))

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration at `time` [s], (3,) each."""
        if time >= self.duration + CONTINUED:
            return self._last, np.zeros(3), np.zeros(3)
        if time >= self.duration:
            over = time - self.duration
            rate = self._rate + over * self._second
            return self._last + over * (self._rate + 0.5 * over * self._second), rate, self._second
        time = max(time, 0.0)
        k = min(int(np.searchsorted(self._ends, time, side="right")), len(self._curves) - 1)
        curve, rate, second = self._curves[k]
        return curve(time), rate(time), second(time)


@dataclass(eq=False)
class BezierPose(PoseReference):
    """Bézier path between two poses, at rest at both ends; the rotation is about one axis.

    The first three control points are the start and the last three are the end, so that velocity and acceleration
    vanish there.
    """

    start: pin.SE3
    end: pin.SE3
    via: Annotated[Array, None, 3]
    duration: float

    def __post_init__(self) -> None:
        """Compute the curve; `via` are the control points between the ends, (k, 3) [m]."""
        self.via = np.reshape(np.asarray(self.via, dtype=float), (-1, 3))
        points = np.vstack([[self.start.translation] * 3, self.via, [self.end.translation] * 3])
        self._curve = Curves([(points, self.duration)])
        self._turn = pin.log3(self.start.rotation.T @ self.end.rotation)
        self._rate = self.start.rotation @ self._turn

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        s, ds, dds = minimum_jerk(time, self.duration)
        position, velocity, acceleration = self._curve.sample(time)
        return PoseSample.of(
            np.array(position),
            self.start.rotation @ pin.exp3(s * self._turn),
            np.concatenate([velocity, self._rate * ds]),
            np.concatenate([acceleration, self._rate * dds]),
        )
