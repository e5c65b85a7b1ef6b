"""Cross product of 3-vectors, without the 40 µs overhead of `numpy.cross`."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array


def cross(a: Array, b: Array) -> Array:
    """Return a × b, (3,)."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0))
