"""Convex hull of few points, and the nearest point in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def hull_of(points: Array) -> Array:
    """Return the convex hull of points, (k, 2), counter-clockwise, (n, 2)."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) <= 2:
        return np.array(ordered)

    def chain(sequence: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for point in sequence:
            while len(kept) > 1 and _side(kept[-2], kept[-1], point) <= 0.0:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _side(a: tuple[float, float], b: tuple[float, float], p: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def clipped_to(polygon: Array, point: Array) -> Array:
    """Return the point of a convex polygon, (n, 2), that is nearest to a point, (2,)."""
    n = len(polygon)
    if n == 1:
        return polygon[0].copy()
    edges = np.roll(polygon, -1, axis=0) - polygon
    to_point = point - polygon
    if n > 2 and (edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= 0.0).all():
        return np.array(point)
    share = np.clip((to_point * edges).sum(axis=1) / (edges * edges).sum(axis=1), 0.0, 1.0)
    nearest = polygon + share[:, None] * edges
    return nearest[((nearest - point) ** 2).sum(axis=1).argmin()]
