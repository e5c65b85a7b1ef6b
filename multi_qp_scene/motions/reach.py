"""By how much a body has to be lower, so that its legs reach their footholds."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from multi_qp_scene.arrays import Array

#: Largest distance of hip and ankle beside the length of the leg: near it, knees would have to turn too fast.
REACH = 0.97
#: Time before and after over which the body is lower [s].
AROUND = 0.1


def lowered(hips: Array, ankles: Array, leg: float, dt: float) -> Array:
    """Return by how much the hips have to be lower, smooth over time, (n,) [m].

    The soles of a robot are flat while a person's heel has risen already.

    Args:
        hips: places of the hips, (n, legs, 3) [m].
        ankles: places of the ankles that they are to reach, (n, legs, 3) [m].
        leg: length of a leg [m].
        dt: time between two samples [s].
    """
    way = hips - ankles
    reach = np.sqrt(np.maximum(0.0, (REACH * leg) ** 2 - (way[..., :2] ** 2).sum(axis=-1)))
    found = np.maximum(0.0, (way[..., 2] - reach).max(axis=1))
    width = round(AROUND / dt)
    return np.asarray(gaussian_filter1d(maximum_filter1d(found, 2 * width + 1), 0.5 * width))
