"""Paths of level soles: at rest on the ground while planted, near the recorded path in the air."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from multi_qp_scene.arrays import Array
from multi_qp_scene.motions.contacts import Flags, intervals

#: Time in which a foot leaves its place for the recorded path, and reaches the next one [s]; part of the swing at most.
BLEND, PART = 0.15, 0.45
#: Least height of the middle of a swing of a robot over the ground [m].
CLEARANCE = 0.03
#: Width of the smoothing of the displacement of the body with its feet [s].
FOLLOWING = 0.15


def sole_path(
    recorded: Array, planted: Flags, rests: Flags, height: float, dt: float, *, carried: bool = True
) -> Array:
    """Return the path of one foot, (n, 4): x, y, z of the ankle [m], yaw of the sole [rad].

    While the foot is planted, it is at the median of the places at which the person's rests. It leaves and reaches the
    ground at rest.

    Args:
        recorded: path, (n, 4).
        planted: when the robot plants the foot, (n,).
        rests: when the person's foot rests on the ground, (n,).
        height: of the ankle of a planted foot [m].
        dt: time between two samples [s].
        carried: whether swings are displaced as the places before and after them are, as a body is that stands there.
    """
    found = recorded.copy()
    stances = intervals(planted)
    places = []
    for first, last in stances:
        own = rests[first:last] if rests[first:last].any() else np.ones(last - first, dtype=bool)
        place = np.median(recorded[first:last][own], axis=0)
        place[2] = height
        found[first:last] = place
        places.append(place)
    ends = [0, *(last for _, last in stances)], [*(first for first, _ in stances), len(planted)]
    for lifted, landed, before, after in zip(*ends, [None, *places], [*places, None], strict=True):
        if lifted == landed:
            continue
        found[lifted:landed] = _swing(recorded, lifted, landed, before, after, dt, carried)
        share = np.arange(1, landed - lifted + 1) / (landed - lifted + 1)
        least = height + (CLEARANCE if carried else 0.0) * np.sin(np.pi * share) ** 2
        found[lifted:landed, 2] = np.maximum(found[lifted:landed, 2], least)
    return found


def displacement(recorded: Array, planned: Array, resting: Flags, dt: float) -> Array:
    """Return how far a body that stands on planned footholds is beside the recorded one, smooth over time, (n, 2) [m].

    Args:
        recorded: places of the ankles, (n, feet, 2) [m].
        planned: those of the robot, (n, feet, 2) [m].
        resting: which feet rest on the ground for person and robot, (n, feet).
        dt: time between two samples [s].
    """
    count = resting.sum(axis=1)
    known = np.flatnonzero(count)
    if not len(known):
        return np.zeros(recorded[:, 0].shape)
    mean = ((planned - recorded) * resting[..., None]).sum(axis=1)[known] / count[known, None]
    every = np.arange(len(resting))
    filled = np.column_stack([np.interp(every, known, column) for column in mean.T])
    return np.asarray(gaussian_filter1d(filled, FOLLOWING / dt, axis=0, mode="nearest"))


def _swing(
    recorded: Array, lifted: int, landed: int, before: Array | None, after: Array | None, dt: float, carried: bool
) -> Array:
    """Return the path of a swing between two places; from or to nowhere at the ends of the motion."""
    count = landed - lifted
    share = _ramp(np.arange(1, count + 1) / (count + 1))[:, None]
    path, here = recorded[lifted:landed], ((before, lifted - 1), (after, landed))
    beside = [place - recorded[k] for place, k in here if place is not None]
    if carried and beside:
        path = path + (1.0 - share) * beside[0] + share * beside[-1]
    width = max(1.0, min(BLEND / dt, PART * (count + 1)))
    leaves = _ramp(np.arange(1, count + 1) / width)[:, None]
    if before is not None:
        path = before + leaves * (path - before)
    if after is not None:
        path = after + leaves[::-1] * (path - after)
    return np.asarray(path)


def _ramp(share: Array) -> Array:
    """Return a path from 0 to 1 with rates of 0 at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return np.asarray(s**3 * (10.0 - 15.0 * s + 6.0 * s**2))
