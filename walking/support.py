"""Nearest point of a support polygon."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array


def clipped_to(polygon: Array, point: Array) -> Array:
    """Return the point of a convex polygon, (n, 2), n >= 2, that is nearest to a point, (2,); corners may coincide."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    to_point = point - polygon
    if len(polygon) > 2 and (edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= 0.0).all():
        return np.array(point)
    share = np.clip((to_point * edges).sum(axis=1) / np.maximum((edges * edges).sum(axis=1), 1e-18), 0.0, 1.0)
    nearest = polygon + share[:, None] * edges
    return nearest[((nearest - point) ** 2).sum(axis=1).argmin()]
