"""Bézier references: of a centre of mass, and of a swinging end effector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from multi_qp_controller.controller_state import SavedState, pose_of, saved_pose
from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.references.references import PoseReference, PoseSample

Array = NDArray[np.float64]


class Curves:
    """Sequence of Bézier curves, at rest after the end of the last one; [Tonneau2018] (7).

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

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration at `time` [s], (3,) each."""
        if time >= self.duration:
            return self._last, np.zeros(3), np.zeros(3)
        time = max(time, 0.0)
        k = min(int(np.searchsorted(self._ends, time, side="right")), len(self._curves) - 1)
        curve, rate, second = self._curves[k]
        return curve(time), rate(time), second(time)


class BezierPose(PoseReference):
    """Bézier path between two poses, at rest at both ends; the rotation is about one axis.

    The first three control points are the start and the last three are the end, so that velocity and acceleration
    vanish there.
    """

    def __init__(self, start: pin.SE3, end: pin.SE3, via: ArrayLike, duration: float) -> None:
        """Create it with the control points between the ends, `via`, (k, 3) [m]."""
        self.duration = duration
        ends = [start.translation] * 3, [end.translation] * 3
        self._curve = Curves(
            [(np.vstack([ends[0], np.reshape(np.asarray(via, dtype=float), (-1, 3)), ends[1]]), duration)]
        )
        self._start = start.copy()
        self._turn = pin.log3(start.rotation.T @ end.rotation)
        self._rate = start.rotation @ self._turn
        self._saved_state = {
            "kind": type(self).__name__,
            "start": saved_pose(start),
            "end": saved_pose(end),
            "via": np.reshape(np.asarray(via, dtype=float), (-1, 3)),
            "duration": duration,
        }

    def get_state(self) -> SavedState:
        """Return both ends and the control points."""
        return self._saved_state

    @classmethod
    def of(cls, saved: SavedState) -> BezierPose:
        """Return the reference of a saved state."""
        return cls(pose_of(saved["start"]), pose_of(saved["end"]), saved["via"], saved["duration"])

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
