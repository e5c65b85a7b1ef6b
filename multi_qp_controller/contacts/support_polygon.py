"""Support polygons: convex hulls of contact points, projected onto the ground."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.contacts.support_polygon_kernel import (
    area_centre,
    centre_of,
    convex_hull,
    hull_of,
    least_distance,
    margin_of,
)
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array
from multi_qp_scene.surfaces import Surface


def support_polygon(kinematics: Kinematics, surfaces: Sequence[Surface]) -> Array:
    """Return the convex hull of the surfaces' points, counter-clockwise from above, world frame, (k, 3) [m].

    Collinear points are returned unchanged.
    """
    joints, points = kinematics.points_on(tuple(surfaces))
    polygon = np.empty((len(points), 3))
    return polygon[: hull_of(joints, points, kinematics.views.poses, polygon)]


def support_centre(kinematics: Kinematics, surfaces: Sequence[Surface]) -> Array:
    """Return the area centroid of the support polygon of surfaces, world frame, (3,) [m]."""
    centre = np.empty(3)
    centre_of(*kinematics.points_on(tuple(surfaces)), kinematics.views.poses, centre)
    return centre


def margin_inside(kinematics: Kinematics, surfaces: Sequence[Surface], point: Array) -> float:
    """Return the horizontal distance of a point inside the support polygon of surfaces [m]; negative outside."""
    return float(margin_of(*kinematics.points_on(tuple(surfaces)), kinematics.views.poses, point))


def hull_corners(points: Array) -> NDArray[np.intp]:
    """Return the indices of the hull's corners of points (n, 2 or 3), counter-clockwise; two if collinear."""
    corners = np.empty(2 * len(points), dtype=np.intp)
    return corners[: convex_hull(points, corners)]


def centroid(polygon: Array) -> Array:
    """Return the area centroid of a polygon seen from above (its mean point if it has no area), (3,) [m]."""
    centre = np.empty(3)
    area_centre(polygon, centre)
    return centre


def distance_inside(polygon: Array, point: Array) -> float:
    """Return the horizontal distance of a point inside a counter-clockwise polygon [m]; negative outside."""
    if len(polygon) < 3:
        return -float(np.linalg.norm(polygon[:, :2].mean(axis=0) - point[:2]))
    return least_distance(polygon, point)
