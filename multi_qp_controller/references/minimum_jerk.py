"""Minimum-jerk paths of vectors; one kernel evaluates many of them."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part

#: Number of basis functions of a path: s, ṡ, s̈ of the path 0 → 1, sin and 1 − cos of the rotation angle.
SHARES = 5
# columns of `timing`, one row a path; DONE: the path has ended and its final numbers are written
START, DURATION, ANGLE, APEX, DONE = range(5)
TIMING = 5


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


_minimum_jerk = compiled_part(minimum_jerk)


class Path:
    """Vector as a function of time: first + change · (s, ṡ, s̈, sin sα, 1 − cos sα), with s by minimum jerk.

    With an apex h, the vector is that of a `PoseSample`, and 64 s³(1 − s)³ h is added to z, with its derivatives.

    Attributes:
        timing: start [s], duration [s], α [rad], h [m], and 0 for DONE.
        first: start values, (k,).
        change: coefficients of the basis functions, (k, 5).
    """

    __slots__ = ("change", "first", "timing")

    def __init__(
        self, first: Array, change: Array, *, start: float, duration: float, angle: float = 0.0, apex: float = 0.0
    ) -> None:
        self.timing = start, duration, angle, apex, 0.0
        self.first, self.change = first, change

    @classmethod
    def straight(cls, first: Array, step: Array, *, start: float, duration: float) -> Path:
        """Return a straight path of k values with their rates and accelerations: 3 k numbers, value by value.

        With zero duration, the path is at its end at all times.
        """
        numbers, change = np.zeros(3 * len(first)), np.zeros((3 * len(first), SHARES))
        numbers[::3] = first if duration else first + step
        if duration:
            for i in range(3):
                change[i::3, i] = step
        return cls(numbers, change, start=start, duration=duration)

    def shifted(self, start: float, shift: Array | None = None) -> Path:
        """Return the path with another start time [s], and its first three numbers shifted."""
        _, duration, angle, apex, _ = self.timing
        first = self.first
        if shift is not None:
            first = first.copy()
            first[:3] += shift
        return Path(first, self.change, start=start, duration=duration, angle=angle, apex=apex)

    def at(self, time: float) -> Array:
        """Return the vector at a time [s], (k,)."""
        numbers, places = np.empty(len(self.first)), np.array([[0, len(self.first)]], dtype=np.intp)
        numbers_at(time, np.array([self.timing]), places, self.first, self.change, numbers)
        return numbers


@compiled_part
def sample_paths(time: float, timing: Array, places: Indices, first: Array, change: Array, numbers: Array) -> None:
    """Evaluate paths at a time.

    Args:
        time: [s].
        timing: timing of each path, see `Path`; paths with negative duration are skipped, (p, 5).
        places: start and end index of each path in `numbers`, (p, 2).
        first: start values of all paths, see `Path`, (n,).
        change: coefficients of all paths, (n, 5).
        numbers: to fill, (n,).
    """
    for p in range(len(timing)):
        elapsed, duration = time - timing[p, START], timing[p, DURATION]
        if duration < 0.0 or (elapsed >= duration and timing[p, DONE] > 0.0):
            continue
        timing[p, DONE] = 1.0 if elapsed >= duration else 0.0
        s, ds, dds = _minimum_jerk(elapsed, duration)
        sin, cos = math.sin(s * timing[p, ANGLE]), math.cos(s * timing[p, ANGLE])
        for i in range(places[p, 0], places[p, 1]):
            moved = change[i, 0] * s + change[i, 1] * ds + change[i, 2] * dds
            numbers[i] = first[i] + (moved + change[i, 3] * sin + change[i, 4] * (1.0 - cos))
        apex = timing[p, APEX]
        if apex != 0.0:
            i, r = places[p, 0], s * (1.0 - s)
            slope, curvature = 192.0 * apex * r**2 * (1.0 - 2.0 * s), 384.0 * apex * r * ((1.0 - 2.0 * s) ** 2 - r)
            numbers[i + 2] += 64.0 * apex * r**3
            numbers[i + 14] += slope * ds
            numbers[i + 20] += curvature * ds**2 + slope * dds


@compiled
def numbers_at(time: float, timing: Array, places: Indices, first: Array, change: Array, numbers: Array) -> None:
    """Evaluate paths at a time; entry point of `sample_paths` from Python."""
    sample_paths(time, timing, places, first, change, numbers)
