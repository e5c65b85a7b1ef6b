"""Support polygons: where the weight can rest, seen from above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_scene.surfaces import Surface

Array = NDArray[np.float64]

#: Digits of a metre that count: what differs by rounding alone, as corners of feet that stand abreast, is abreast.
DIGITS = 9
#: Corners that span with their neighbours a parallelogram of no more than this are none [m²].
FLAT = 1e-12


def contact_points(kinematics: Kinematics, surface: Surface) -> Array:
    """Return the contact points of a surface in the world frame, (k, 3) [m]."""
    X = kinematics.pose(surface.frame_id)
    return surface.points @ X.rotation.T + X.translation


def support_polygon(kinematics: Kinematics, surfaces: list[Surface]) -> Array:
    """Return the convex hull of the surfaces' points, counter-clockwise from above, world frame, (k, 3) [m]."""
    points = np.concatenate([contact_points(kinematics, surface) for surface in surfaces])
    corners = _corners(points[:, 0].tolist(), points[:, 1].tolist())
    return points[corners] if len(corners) >= 3 else points


def _corners(x: list[float], y: list[float]) -> list[int]:
    """Return the corners of the convex hull of points in the plane, counter-clockwise; two where they are in a row.

    By Andrew's monotone chain: qhull takes ten times as long for a dozen points, and this is wanted several times a
    tick.
    """
    # points abreast must be in order: of a row whose order is that of rounding errors, ends would be dropped
    x, y = [round(value, DIGITS) for value in x], [round(value, DIGITS) for value in y]
    order = sorted(range(len(x)), key=lambda k: (x[k], y[k]))
    hull: list[int] = []
    for along in (order, order[::-1]):
        first = len(hull)
        for k in along:
            while len(hull) - first >= 2:
                a, b = hull[-2], hull[-1]
                if (x[b] - x[a]) * (y[k] - y[a]) - (y[b] - y[a]) * (x[k] - x[a]) > FLAT:
                    break
                hull.pop()
            hull.append(k)
        hull.pop()  # the next chain begins with it
    return hull


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
    edges = np.roll(polygon, -1, axis=0)[:, :2] - polygon[:, :2]
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return float(np.min(((point[:2] - polygon[:, :2]) * normals).sum(axis=1)))
