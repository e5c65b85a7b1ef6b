"""Bézier curves that references follow: of a centre of mass, and of a swinging effector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from multi_qp_controller.memory import Memory, pose_memory, pose_of
from multi_qp_controller.paths import minimum_jerk
from multi_qp_controller.references import PoseReference, PoseSample

Array = NDArray[np.float64]


class Curves:
    """Bézier curves one after the other, at rest after the end of the last; [Tonneau2018] (7).

    Attributes:
        duration: of all together [s].
    """

    def __init__(self, curves: Sequence[tuple[ArrayLike, float]]) -> None:
        """Take the control points, (n + 1, 3) [m], and the duration [s] of each curve."""
        self._ends = np.cumsum([duration for _, duration in curves])
        self.duration = float(self._ends[-1])
        starts = self._ends - [duration for _, duration in curves]
        from scipy.interpolate import BPoly  # takes long to import, and few scenes need it

        self._curves: list[tuple[BPoly, BPoly, BPoly]] = []
        for (points, duration), start in zip(curves, starts, strict=True):
            coefficients = np.asarray(points, dtype=float)[:, None, :]
            curve = BPoly(coefficients, [start, start + duration])
            rate = curve.derivative()
            self._curves.append((curve, rate, rate.derivative()))
        self._last = np.asarray(curves[-1][0], dtype=float)[-1].copy()

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration at `time` [s], (3,) each."""
        if time >= self.duration:
            return self._last, np.zeros(3), np.zeros(3)
        time = max(time, 0.0)
        k = min(int(np.searchsorted(self._ends, time, side="right")), len(self._curves) - 1)
        curve, rate, second = self._curves[k]
        return curve(time), rate(time), second(time)


class BezierPose(PoseReference):
    """A path between two poses at rest at both ends, drawn towards control points; the rotation turns about one axis.

    Three control points at each end are that end itself, so that velocity and acceleration vanish there.
    """

    def __init__(self, start: pin.SE3, end: pin.SE3, via: ArrayLike, duration: float) -> None:
        """Take the control points between the ends, (k, 3) [m]."""
        self.duration = duration
        ends = [start.translation] * 3, [end.translation] * 3
        self._curve = Curves(
            [(np.vstack([ends[0], np.reshape(np.asarray(via, dtype=float), (-1, 3)), ends[1]]), duration)]
        )
        self._start = start.copy()
        self._turn = pin.log3(start.rotation.T @ end.rotation)
        self._rate = start.rotation @ self._turn
        self._memory = {
            "kind": type(self).__name__,
            "start": pose_memory(start),
            "end": pose_memory(end),
            "via": np.reshape(np.asarray(via, dtype=float), (-1, 3)),
            "duration": duration,
        }

    def memory(self) -> Memory:
        """Return both ends and the control points."""
        return self._memory

    @classmethod
    def of(cls, memory: Memory) -> BezierPose:
        """Make it again."""
        return cls(pose_of(memory["start"]), pose_of(memory["end"]), memory["via"], memory["duration"])

    def sample(self, time: float) -> PoseSample:
        """Return the reference at `time` [s] after its start."""
        s, ds, dds = minimum_jerk(time, self.duration)
        position, velocity, acceleration = self._curve.sample(time)
        return PoseSample.of(
            np.array(position),
            self._start.rotation @ pin.exp3(s * self._turn),
            np.concatenate([velocity, self._rate * ds]),
            np.concatenate([acceleration, self._rate * dds]),
        )
