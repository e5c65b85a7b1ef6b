"""When the feet of a recorded person are on the ground, and when a robot with flat feet plants its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, median_filter

from multi_qp_scene.arrays import Array

Flags = NDArray[np.bool_]
SIDES = "left", "right"
#: Height over its lowest places, and speed, relative to a leg's length, below which an ankle or a toe is on the ground.
LOW, SLOW = 0.06, 0.35
#: Part of the places of an ankle or toe that are lower than the ground of the recording.
LOWEST = 0.05
#: Shortest contact, and width of the median filter that removes shorter ones [s].
SHORTEST = 0.1
#: Shortest swing of a foot: a shorter one is no step [s].
SWING = 0.2
#: Shortest time with both feet planted between two steps of different feet [s].
DOUBLE = 0.1
#: A time without contacts is a flight if it is as long [s], and if the mean vertical acceleration of the pelvis in its
#: middle, relative to gravity, is below.
FLIGHT, FALLING = 0.2, -0.7
GRAVITY = 9.81


def detected(points: Mapping[str, Array], leg: float, dt: float) -> Flags:
    """Return when each foot of a person rests on the ground: its ankle or, where there is one, its toe, (n, 2).

    Args:
        points: places of the landmarks, (n, 3) each, z up [m].
        leg: length of a leg [m].
        dt: time between two frames [s].
    """
    width = 2 * max(1, round(0.5 * SHORTEST / dt)) + 1
    found = []
    for side in SIDES:
        parts = [points[name] for name in (f"{side}_ankle", f"{side}_toe") if name in points]
        on = np.any([_rests(part, leg, dt) for part in parts], axis=0)
        found.append(median_filter(on.astype(int), width).astype(bool))
    return np.column_stack(found)


def planted(rests: Flags, pelvis: Array, dt: float) -> Flags:
    """Return when a robot plants its feet, (n, 2).

    In a time without contacts that is no flight, the foot that left last stays until one lands: a person then rolls
    over the toes or slides, and the robot's feet are flat.

    Args:
        rests: of `detected`.
        pelvis: places of the pelvis, (n, 3), z up [m].
        dt: time between two frames [s].
    """
    found = rests.copy()
    rate = np.gradient(gaussian_filter1d(pelvis[:, 2], 0.02 / dt), dt)
    for first, last in intervals(airborne(rests)):
        if not _falls(rate, first, last, dt):
            _bridge(found, first, last)
    for j in range(2):
        for first, last in intervals(~found[:, j]):
            if 0 < first and last < len(found) and (last - first) * dt < SWING and found[first:last, 1 - j].all():
                found[first:last, j] = True
    return _with_double_supports(found, round(0.5 * DOUBLE / dt))


def airborne(planted: Flags) -> Flags:
    """Return when no foot is planted, (n,)."""
    return np.asarray(~planted.any(axis=1), dtype=bool)


def intervals(flags: Flags) -> list[tuple[int, int]]:
    """Return first and end of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _rests(part: Array, leg: float, dt: float) -> Flags:
    smooth = gaussian_filter1d(part, 0.02 / dt, axis=0)
    speed = np.linalg.norm(np.gradient(smooth, dt, axis=0), axis=1)
    height = part[:, 2] - np.quantile(part[:, 2], LOWEST)
    return np.asarray((height < LOW * leg) & (speed < SLOW * leg), dtype=bool)


def _falls(rate: Array, first: int, last: int, dt: float) -> bool:
    """Return whether the pelvis falls in a time without contacts, by its vertical velocity."""
    begin, end = first + (last - first) // 4, last - 1 - (last - first) // 4
    if (last - first) * dt < FLIGHT or end <= begin:
        return False
    return bool((rate[end] - rate[begin]) / (dt * (end - begin)) < FALLING * GRAVITY)


def _bridge(found: Flags, first: int, last: int) -> None:
    """Let the foot that left last stay planted until one lands; before the first contact, that which lands."""
    side = found[first - 1] if first > 0 else found[last] if last < len(found) else np.ones(2, dtype=bool)
    found[first:last] |= side


def _with_double_supports(found: Flags, half: int) -> Flags:
    """Return contacts in which the next foot has landed before the last one leaves."""
    result = found.copy()
    for j in range(2):
        for first, last in intervals(found[:, j]):
            if last < len(found) and found[last, 1 - j] and not found[max(0, last - 2 * half) : last, 1 - j].all():
                result[last : last + half, j] = True
            if first > 0 and found[first - 1, 1 - j] and not found[first : first + 2 * half, 1 - j].all():
                result[first - half : first, j] = True
    return result
