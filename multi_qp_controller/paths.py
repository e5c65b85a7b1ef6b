"""Minimum-jerk paths of numbers, which references are made of: many are gone along by one kernel."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: What numbers follow: s, ṡ, s̈ of the path 0 → 1, sin and 1 − cos of the angle turned so far.
SHARES = 5
# columns of how paths are timed, one line a path; one that has come to its end, and whose end is written, is settled
START, DURATION, ANGLE, APEX, SETTLED = range(5)
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
    """Numbers as a function of time: first + change · (s, ṡ, s̈, sin sα, 1 − cos sα), with s by minimum jerk.

    With an apex h, the numbers are a pose's, and 64 s³(1 − s)³ h is added to the third, with its rates.

    Attributes:
        timing: when it starts [s], how long it takes [s], α [rad], h [m], 0.
        first: (k,).
        change: (k, 5).
    """

    __slots__ = ("change", "first", "timing")

    def __init__(
        self, first: Array, change: Array, *, start: float, duration: float, angle: float = 0.0, apex: float = 0.0
    ) -> None:
        self.timing = start, duration, angle, apex, 0.0
        self.first, self.change = first, change

    @classmethod
    def straight(cls, first: Array, step: Array, *, start: float, duration: float) -> Path:
        """Make one of values (k,), their rates and their accelerations, 3 k numbers value by value.

        One that takes no time is at its end from the beginning on.
        """
        numbers, change = np.zeros(3 * len(first)), np.zeros((3 * len(first), SHARES))
        lay_straight(first, step, bool(duration), numbers, change)
        return cls(numbers, change, start=start, duration=duration)

    def begun(self, start: float, shift: Array) -> Path:
        """Return the same from another time on [s], its first three numbers shifted."""
        _, duration, angle, apex, _ = self.timing
        first = self.first.copy()
        first[:3] += shift
        return Path(first, self.change, start=start, duration=duration, angle=angle, apex=apex)

    def at(self, time: float) -> Array:
        """Return the numbers at a time [s], (k,)."""
        numbers, places = np.empty(len(self.first)), np.array([[0, len(self.first)]], dtype=np.intp)
        numbers_at(time, np.array([self.timing]), places, self.first, self.change, numbers)
        return numbers


@compiled
def lay_straight(first: Array, step: Array, moves: bool, numbers: Array, change: Array) -> None:
    """Write a path of values, (k,), with their rates and accelerations, (3 k,) and (3 k, 5), zero on entry."""
    for k in range(len(first)):
        numbers[3 * k] = first[k] if moves else first[k] + step[k]
        if moves:
            for i in range(3):
                change[3 * k + i, i] = step[k]


@compiled_part
def go_along(time: float, timing: Array, places: Indices, first: Array, change: Array, numbers: Array) -> None:
    """Write the numbers of paths at a time.

    Args:
        time: [s].
        timing: of each path, see `Path`; a path whose duration is negative is passed over, (p, 5).
        places: where the numbers of each begin and end, (p, 2).
        first: see `Path`, of all, (n,).
        change: (n, 5).
        numbers: to fill, (n,).
    """
    for p in range(len(timing)):
        elapsed, duration = time - timing[p, START], timing[p, DURATION]
        if duration < 0.0 or (elapsed >= duration and timing[p, SETTLED] > 0.0):
            continue
        timing[p, SETTLED] = 1.0 if elapsed >= duration else 0.0
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
    """Write the numbers of paths at a time, as `go_along`."""
    go_along(time, timing, places, first, change, numbers)
