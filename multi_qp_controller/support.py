"""Support polygons: where the weight can rest, seen from above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.support_kernel import convex_hull, least_distance
from multi_qp_scene.surfaces import Surface

Array = NDArray[np.float64]


def contact_points(kinematics: Kinematics, surface: Surface) -> Array:
    """Return the contact points of a surface in the world frame, (k, 3) [m]."""
    X = kinematics.pose(surface.frame_id)
    return surface.points @ X.rotation.T + X.translation


def support_polygon(kinematics: Kinematics, surfaces: list[Surface]) -> Array:
    """Return the convex hull of the surfaces' points, counter-clockwise from above, world frame, (k, 3) [m]."""
    points = np.concatenate([contact_points(kinematics, surface) for surface in surfaces])
    corners = hull_corners(points)
    return points[corners] if len(corners) >= 3 else points


def hull_corners(points: Array) -> NDArray[np.intp]:
    """Return which points (n, 2 or 3) are the hull's corners from above, counter-clockwise; two if all are in a row."""
    corners = np.empty(2 * len(points), dtype=np.intp)
    return corners[: convex_hull(points, corners)]


def centroid(polygon: Array) -> Array:
    """Return the centre of area of a polygon seen from above (its mean point if it has no area), (3,) [m]."""
    corners = polygon.tolist()
    area = centre_x = centre_y = 0.0
    for (x, y, _), (x_next, y_next, _) in zip(corners, [*corners[1:], *corners[:1]], strict=True):
        cross = x * y_next - x_next * y
        area += cross / 2.0
        centre_x += (x + x_next) * cross
        centre_y += (y + y_next) * cross
    if len(polygon) < 3 or abs(area) < 1e-12:
        return polygon.mean(axis=0)
    height = sum(z for _, _, z in corners) / len(corners)
    return np.array([centre_x / (6.0 * area), centre_y / (6.0 * area), height])


def distance_inside(polygon: Array, point: Array) -> float:
    """Return how far a point is inside a counter-clockwise polygon seen from above [m]; negative outside."""
    if len(polygon) < 3:
        return -float(np.linalg.norm(polygon[:, :2].mean(axis=0) - point[:2]))
    return least_distance(polygon, point)
