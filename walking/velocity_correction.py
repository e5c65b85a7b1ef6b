"""Correction of the commanded velocity, so that the mean velocity of the robot is the commanded one."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array
from walking.gait_state import DOUBLE, SWING, URGENT, Measured, Walk, turned, wrapped

#: Integral gain on the error of vx, vy [1/s], and largest correction under one command [m/s].
OFFSET_GAIN, LARGEST_OFFSET = 0.5, 0.06
#: Integral gain of the factors at the largest command [1/s], and their largest deviation from 1.
FACTOR_GAIN, LARGEST_FACTOR = 0.3, 0.25
#: Time since the last change of the command, or the last reaction to a push, from which both are adapted [s].
SETTLING = 0.8


def corrected(walk: Walk, now: Measured, velocity: Array, *, limits: Array, elapsed: float) -> Array:
    """Return the velocity that the gait is planned for, (3,), from the commanded velocity c of the base.

    It is that of the centre of mass, c + wz × (its place relative to the base), with two integrals of the velocity
    error e: an offset, for as long as the robot walks, and a factor for each axis that is kept when the command
    changes, as models are wrong in proportion to it: (1 + f) c + offset, ḟ = k e c / limit².

    Args:
        walk: state of the gait; the fields of the correction are updated.
        now: measured state.
        velocity: commanded, (3,).
        limits: largest commands, (3,).
        elapsed: time since the last tick [s].
    """
    heading, before = now.base[2], walk.base
    walk.base = now.base
    if (velocity != walk.commanded).any() or walk.recovering or walk.error > URGENT:
        walk.commanded, walk.constant_since = velocity.copy(), now.time
    if walk.phase not in (SWING, DOUBLE) or not velocity.any():
        walk.offset = np.zeros(2)
        return velocity
    if now.time - walk.constant_since > SETTLING:
        # time integral of the error in this tick
        ahead, aside = turned(now.base[:2] - before[:2], -heading)
        error = elapsed * velocity - np.array([ahead, aside, wrapped(heading - before[2])])
        walk.offset = _clipped(walk.offset + OFFSET_GAIN * error[:2], LARGEST_OFFSET)
        walk.factors = _clipped(walk.factors + FACTOR_GAIN * error * velocity / limits**2, LARGEST_FACTOR)
    wanted = velocity * (1.0 + walk.factors)
    x, y = turned(now.com[:2] - now.base[:2], -heading)
    wanted[:2] += walk.offset + wanted[2] * np.array([-y, x])
    return wanted


def _clipped(values: Array, bound: float) -> Array:
    return np.maximum(np.minimum(values, bound), -bound)
