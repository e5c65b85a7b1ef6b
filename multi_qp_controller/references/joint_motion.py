"""Motion of joints over time, interpolated between samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array


class JointMotion:
    """Cubic spline through samples of joint angles; at rest before the first and after the last.

    Attributes:
        duration: time of the last sample [s].
    """

    def __init__(self, times: Array, angles: NDArray[np.float64]) -> None:
        """Create it from times, increasing from 0 on, (n,) [s], and angles, (n, k) [rad] or [m]."""
        from scipy.interpolate import CubicSpline  # slow to import, and rarely used

        self.duration = float(times[-1])
        self._angles = CubicSpline(times, angles)
        self._rest = np.zeros(angles.shape[1])

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Return angles, rates and accelerations at `time` [s], (k,) each."""
        if not 0.0 <= time < self.duration:
            return self._angles(min(max(time, 0.0), self.duration)), self._rest, self._rest
        return self._angles(time), self._angles(time, 1), self._angles(time, 2)
