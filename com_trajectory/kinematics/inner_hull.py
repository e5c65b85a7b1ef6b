"""Inner approximation of a convex hull with few faces."""

from __future__ import annotations

import heapq

import numpy as np
from scipy.spatial import ConvexHull

from multi_qp_scene.arrays import Array


def hull_points(points: Array) -> Array:
    """Return the corners of the convex hull of points, (k, 3), in their order in `points`."""
    return np.asarray(points[np.sort(ConvexHull(points).vertices)])


def inner_hull(corners: Array, *, max_faces: int) -> tuple[Array, float]:
    """Select corners whose hull has at most `max_faces` faces and fills most of the volume.

    The result lies inside the hull. Corners are added greedily by added volume, with lazy evaluation: the volume that a
    corner adds hardly ever grows as others are added.

    Args:
        corners: corners of the convex hull, (k, 3).
        max_faces: at least 4; triangles are counted, of which n corners have 2 n − 4.

    Returns:
        The selected corners, (n, 3), and the fraction of the hull's volume that is lost.
    """
    whole = ConvexHull(corners).volume
    wanted = min(len(corners), (max_faces + 4) // 2)
    chosen = _first_four(corners)
    hull = ConvexHull(corners[chosen], incremental=False)
    heap = [(-np.inf, k) for k in range(len(corners)) if k not in chosen]
    heapq.heapify(heap)
    fresh: dict[int, int] = {}
    while len(chosen) < wanted and heap:
        _, k = heapq.heappop(heap)
        if fresh.get(k) == len(chosen):
            chosen.append(k)
            hull = ConvexHull(corners[chosen])
            continue
        gain = ConvexHull(corners[[*chosen, k]]).volume - hull.volume
        fresh[k] = len(chosen)
        heapq.heappush(heap, (-gain, k))
    return corners[sorted(chosen)], 1.0 - hull.volume / whole


def _first_four(corners: Array) -> list[int]:
    """Return four corners that span a large tetrahedron."""
    first = int(np.argmin(corners[:, 0]))
    second = int(np.argmax(np.linalg.norm(corners - corners[first], axis=1)))
    along = (corners[second] - corners[first]) / np.linalg.norm(corners[second] - corners[first])
    away = corners - corners[first]
    third = int(np.argmax(np.linalg.norm(away - np.outer(away @ along, along), axis=1)))
    normal = np.cross(along, corners[third] - corners[first])
    fourth = int(np.argmax(np.abs(away @ normal)))
    return [first, second, third, fourth]
