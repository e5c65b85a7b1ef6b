"""Length of the planning window, from the error of the linear prediction along the motion.

The plan treats rotations of the body as linear: the turn that the angular momentum has to bring about within a window
is taken as the centroidal map at its begin, times the difference of the configurations. Along the motion the integral
of its angular momentum is known; the distance between both, over the inertia, is the error of the prediction. It grows
with the window and with the speed of the joints.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from modal_control.tracked_motion import TrackedMotion
from multi_qp_scene.arrays import Array
from multi_qp_scene.subsystem import Subsystem

#: Lengths for which the error is computed [steps].
LENGTHS = np.array([8, 12, 16, 20, 24, 30, 36])
#: Time between two places of the motion at which it is computed, and between samples of the angular momentum [s].
EVERY, FINE = 0.05, 1.0 / 240.0


class WindowLengths:
    """Longest window at each time of a motion whose error of prediction is within a bound.

    Windows reach at least `LENGTHS[0]` steps beyond a flight that begins within so many steps.

    Attributes:
        errors: of the prediction by place and length, (n, lengths) [rad].
    """

    def __init__(self, model: pin.Model, body: Subsystem, tracked: TrackedMotion, *, step: float, bound: float) -> None:
        """Compute the lengths.

        Args:
            model: of the scene.
            body: the robot.
            tracked: the motion.
            step: duration of a step [s].
            bound: of the error [rad].
        """
        self._times: Array = np.arange(0.0, tracked.duration + EVERY, EVERY, dtype=float)
        fine: Array = np.arange(0.0, tracked.duration + 1.0, FINE, dtype=float)
        rates = np.array([tracked.goal(float(time))[2][3:] for time in fine])
        turned = np.vstack([np.zeros(3), np.cumsum(0.5 * FINE * (rates[1:] + rates[:-1]), axis=0)])
        data, rest, columns = model.createData(), np.zeros(model.nv), body.v_slice
        self.errors = np.zeros((len(self._times), len(LENGTHS)))
        for k, time in enumerate(self._times.tolist()):
            q = tracked.goal(time)[0]
            pin.ccrba(model, data, q, rest)
            for j, later in enumerate((time + LENGTHS * step).tolist()):
                linear = data.Ag[3:, columns] @ pin.difference(model, q, tracked.goal(later)[0])[columns]
                exact = _at(fine, turned, later) - _at(fine, turned, time)
                self.errors[k, j] = np.linalg.norm(np.linalg.solve(data.Ig.inertia, linear - exact))
        self._lengths = np.array([_longest(row, bound) for row in self.errors])
        self._least = [self._beyond_flight(tracked, float(time), step) for time in self._times]

    def at(self, time: float) -> int:
        """Return the length of the window at a time of the motion [steps]."""
        k = int(np.clip(np.searchsorted(self._times, time, side="right") - 1, 0, len(self._times) - 1))
        return int(max(self._lengths[k], self._least[k]))

    @staticmethod
    def _beyond_flight(tracked: TrackedMotion, time: float, step: float) -> int:
        """Return the least length at a time [steps]."""
        flying = [not tracked.surfaces.planted(time + k * step).any() for k in range(LENGTHS[-1])]
        if not any(flying[: LENGTHS[0]]):
            return int(LENGTHS[0])
        return int(min(np.flatnonzero(flying)[-1] + 1 + LENGTHS[0], LENGTHS[-1]))


def _longest(errors: Array, bound: float) -> int:
    """Return the length at which growing errors pass the bound, between the shortest and the longest [steps]."""
    above = np.flatnonzero(errors > bound)
    if not len(above):
        return int(LENGTHS[-1])
    j = int(above[0])
    if j == 0:
        return int(LENGTHS[0])
    share = (bound - errors[j - 1]) / (errors[j] - errors[j - 1])
    return int(LENGTHS[j - 1] + share * (LENGTHS[j] - LENGTHS[j - 1]))


def _at(times: Array, values: Array, time: float) -> Array:
    return np.array([np.interp(time, times, column) for column in values.T])
