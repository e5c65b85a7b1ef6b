"""Timing of a retargeted motion: it begins and ends at rest, and is slower where joints would be too fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from multi_qp_scene.arrays import Array
from multi_qp_scene.motions.contacts import GRAVITY, Flags, airborne, intervals

#: Time at rest before and after the motion, and in which it begins to move [s].
REST, EASE = 0.6, 0.4
#: Largest ratio of durations.
SLOWEST = 8.0
#: Time over which a change of the speed extends [s].
AROUND = 0.12


@dataclass(frozen=True)
class Clip:
    """A recorded motion at equal steps of time.

    Attributes:
        points: places of the landmarks, (n, 3) each [m].
        rests: when the feet of the person are at rest on the ground, (n, 2).
        planted: when the robot plants its own, (n, 2).
        source: index of the recorded sample that each comes from, (n,).
    """

    points: Mapping[str, Array]
    rests: Flags
    planted: Flags
    source: Array


class Timing:
    """Duration of each step of a recording, relative to the recorded one.

    Attributes:
        factors: (n,).
    """

    def __init__(self, points: Mapping[str, Array], rests: Flags, planted: Flags, dt: float) -> None:
        """Begin with the recorded timing, except that both ends are at rest.

        Args:
            points: places of the landmarks, (n, 3) each [m].
            rests: see `Clip`.
            planted: see `Clip`.
            dt: time between two samples [s].
        """
        self._points, self._rests, self._planted, self._dt = points, rests, planted, dt
        n = len(planted)
        along = dt * (np.arange(n) + 0.5)
        ends = np.minimum(along, along[::-1])
        self.factors = np.clip(np.sqrt(0.5 * EASE / ends), 1.0, SLOWEST)

    def shorten_flights(self, take_off: float) -> None:
        """Make the flights as short as the robot can jump, by its largest velocity at the take-off [m/s]."""
        longest = 2.0 * take_off / GRAVITY
        for first, last in intervals(airborne(self._planted)):
            self.factors[first:last] = min(1.0, longest / ((last - first) * self._dt))

    def slow_down(self, clip: Clip, excess: Array) -> None:
        """Slow down where velocities are too large, except in flights.

        Args:
            clip: the motion.
            excess: largest ratio of a velocity to its limit at each of its samples, (n,).
        """
        found = np.ones(len(self.factors))
        np.maximum.at(found, np.rint(clip.source).astype(int), excess)
        width = round(AROUND / self._dt)
        found = gaussian_filter1d(maximum_filter1d(found, 2 * width + 1), 0.5 * width)
        flight = airborne(self._planted)
        self.factors = np.where(flight, self.factors, np.minimum(self.factors * found, SLOWEST))

    def clip(self) -> Clip:
        """Return the motion with this timing."""
        n, dt = len(self.factors), self._dt
        ends = np.concatenate([[0.0], np.cumsum(0.5 * dt * (self.factors[:-1] + self.factors[1:]))])
        pause = round(REST / dt)
        source = np.interp(dt * np.arange(-pause, round(ends[-1] / dt) + pause + 1), ends, np.arange(n))
        nearest = np.rint(source).astype(int)
        rests, planted = self._rests[nearest], self._planted[nearest]
        planted[:pause] = planted[-pause:] = True
        rests[:pause], rests[-pause:] = True, True
        points = {name: CubicSpline(np.arange(n), places)(source) for name, places in self._points.items()}
        return Clip(points, rests, planted, source)
