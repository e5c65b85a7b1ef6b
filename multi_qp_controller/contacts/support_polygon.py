"""Support polygons: convex hulls of contact points, projected onto the ground."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array
from multi_qp_scene.surfaces import Surface

#: Decimals of a metre that coordinates are rounded to, so that collinear points remain collinear.
DECIMALS = 9
#: Points that span with their neighbours a parallelogram of at most this area are not corners [m²].
MIN_AREA = 1e-12


def support_polygon(kinematics: Kinematics, surfaces: Sequence[Surface]) -> Array:
    """Return the convex hull of the surfaces' points, counter-clockwise from above, world frame, (k, 3) [m].

    Of collinear points it is their two ends.
    """
    joints, points = kinematics.points_on(tuple(surfaces))
    poses = kinematics.views.poses[joints]
    world = np.einsum("kji,kj->ki", poses[:, :9].reshape(-1, 3, 3), points) + poses[:, 9:]
    return world[hull_corners(world)]


def support_centre(kinematics: Kinematics, surfaces: Sequence[Surface]) -> Array:
    """Return the area centroid of the support polygon of surfaces, world frame, (3,) [m]."""
    return centroid(support_polygon(kinematics, surfaces))


def margin_inside(kinematics: Kinematics, surfaces: Sequence[Surface], point: Array) -> float:
    """Return the horizontal distance of a point inside the support polygon of surfaces [m]; negative outside."""
    return distance_inside(support_polygon(kinematics, surfaces), point)


def hull_corners(points: Array) -> NDArray[np.intp]:
    """Return the indices of the hull's corners of points (n, 2 or 3), counter-clockwise; two if collinear.

    Andrew's monotone chain; scipy's hull takes several times as long for a dozen points, and refuses collinear ones.
    """
    # coordinates are rounded: with an order that depends on rounding errors, ends of collinear rows would be dropped
    placed = np.round(points[:, :2], DECIMALS).tolist()
    order = sorted(range(len(placed)), key=placed.__getitem__)
    corners: list[int] = []
    for chain in (order, order[::-1])[: len(order)]:
        first = len(corners)
        for k in chain:
            while len(corners) - first >= 2 and _area(placed[corners[-2]], placed[corners[-1]], placed[k]) <= MIN_AREA:
                corners.pop()
            corners.append(k)
        if len(order) > 1:
            corners.pop()  # the next chain starts with it
    return np.array(corners, dtype=np.intp)


def _area(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> float:
    """Return the area of the parallelogram that a-b and a-c span, positive if c is to the left of a-b [m²]."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def centroid(polygon: Array) -> Array:
    """Return the area centroid of a polygon seen from above (its mean point if it has no area), (3,) [m]."""
    centre: Array = polygon.mean(axis=0)
    if len(polygon) < 3:
        return centre
    corners = polygon[:, :2] - centre[:2]
    after = _after(corners)
    cross = corners[:, 0] * after[:, 1] - after[:, 0] * corners[:, 1]
    area = 0.5 * cross.sum()
    if abs(area) >= MIN_AREA:
        centre[:2] += cross @ (corners + after) / (6.0 * area)
    return centre


def distance_inside(polygon: Array, point: Array) -> float:
    """Return the horizontal distance of a point inside a counter-clockwise polygon [m]; negative outside."""
    if len(polygon) < 3:
        return -math.dist(polygon[:, :2].mean(axis=0), point[:2])
    normals, offsets = inward_edges(polygon)
    return float((normals @ point[:2] - offsets).min())


def inward_edges(polygon: Array) -> tuple[Array, Array]:
    """Return the inward unit normals of the edges of a counter-clockwise polygon, (k, 2), and their offsets, (k,) [m].

    An edge's offset is its distance from the origin along its normal.
    """
    corners = polygon[:, :2]
    along = _after(corners) - corners
    normals = along[:, ::-1] * (-1.0, 1.0) / np.hypot(along[:, 0], along[:, 1])[:, None]
    return normals, np.einsum("ij,ij->i", normals, corners)


def _after(corners: Array) -> Array:
    """Return the next corner of each."""
    return np.concatenate([corners[1:], corners[:1]])
