"""Compiled kernels for horizontal convex hulls, their centroids and the distance to their edges."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part

#: Grid points per metre that coordinates are rounded to, so that collinear points remain collinear.
RESOLUTION = 1e9
#: Points that span with their neighbours a parallelogram of at most this area are not corners [m²].
MIN_AREA = 1e-12


@compiled_part
def _convex_hull(points: Array, corners: Indices) -> int:
    """Write the indices of the hull's corners, counter-clockwise, and return their number; two if collinear.

    Andrew's monotone chain; for a dozen points it is many times faster than qhull.

    Args:
        points: points, of which the first two coordinates are used, (n, ≥ 2) [m].
        corners: to fill, (2 n,).
    """
    n = len(points)
    # coordinates are rounded: with an order that depends on rounding errors, ends of collinear rows would be dropped
    x, y = np.empty(n), np.empty(n)
    order = np.empty(n, dtype=np.intp)
    for k in range(n):
        x[k] = math.floor(points[k, 0] * RESOLUTION + 0.5) / RESOLUTION
        y[k] = math.floor(points[k, 1] * RESOLUTION + 0.5) / RESOLUTION
        at = k
        while at > 0 and (x[k] < x[order[at - 1]] or (x[k] == x[order[at - 1]] and y[k] < y[order[at - 1]])):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    count = 0
    for there in (True, False):
        first = count
        for step in range(n):
            k = order[step] if there else order[n - 1 - step]
            while count - first >= 2:
                a, b = corners[count - 2], corners[count - 1]
                if (x[b] - x[a]) * (y[k] - y[a]) - (y[b] - y[a]) * (x[k] - x[a]) > MIN_AREA:
                    break
                count -= 1
            corners[count] = k
            count += 1
        count -= 1  # the next chain starts with it
    return count


@compiled
def convex_hull(points: Array, corners: Indices) -> int:
    """Write the indices of the hull's corners, counter-clockwise, and return their number; two if collinear.

    Args:
        points: points, of which the first two coordinates are used, (n, ≥ 2) [m].
        corners: to fill, (2 n,).
    """
    return _convex_hull(points, corners)


@compiled_part
def _hull_of(joints: Indices, points: Array, poses: Array, polygon: Array) -> int:
    """Write the corners of the hull of points on bodies, world frame, and return their number; all if collinear.

    Args:
        joints: joints that move the points, (n,).
        points: points in the frames of these joints, (n, 3) [m].
        poses: poses of all joints, see `JointViews`, (joints, 12).
        polygon: to fill, (n, 3) [m].
    """
    n = len(points)
    world, corners = np.empty((n, 3)), np.empty(2 * n, dtype=np.intp)
    for k in range(n):
        X = poses[joints[k]]
        for i in range(3):
            world[k, i] = X[i] * points[k, 0] + X[3 + i] * points[k, 1] + X[6 + i] * points[k, 2] + X[9 + i]
    count = _convex_hull(world, corners)
    if count < 3:
        count = n
        for k in range(n):
            corners[k] = k
    for k in range(count):
        for i in range(3):
            polygon[k, i] = world[corners[k], i]
    return count


@compiled
def hull_of(joints: Indices, points: Array, poses: Array, polygon: Array) -> int:
    """Write the corners of the hull of points on bodies, world frame, and return their number; as `_hull_of`."""
    return _hull_of(joints, points, poses, polygon)


@compiled
def margin_of(joints: Indices, points: Array, poses: Array, point: Array) -> float:
    """Return the distance of a point inside the hull of points on bodies [m]; arguments as of `hull_of`."""
    polygon = np.empty((len(points), 3))
    count = _hull_of(joints, points, poses, polygon)
    if count >= 3:
        return _least_distance(polygon[:count], point)
    x, y = polygon[:count, 0].mean(), polygon[:count, 1].mean()
    return -math.sqrt((x - point[0]) ** 2 + (y - point[1]) ** 2)


@compiled
def centre_of(joints: Indices, points: Array, poses: Array, centre: Array) -> None:
    """Write the area centroid of the hull of points on bodies, (3,) [m]; arguments as of `hull_of`."""
    polygon = np.empty((len(points), 3))
    _area_centre(polygon[: _hull_of(joints, points, poses, polygon)], centre)


@compiled
def edges_of(
    frame_joints: Indices, axes: Array, level: float, joints: Indices, points: Array, poses: Array, edges: Array
) -> tuple[int, float]:  # fmt: skip
    """Write the edges of the hull of points on bodies, counter-clockwise; return their number and mean height [m].

    There are none for fewer than three points, or where one of the surfaces is not level.

    Args:
        frame_joints: joints that move the surfaces, (s,).
        axes: normals of the surfaces in the frames of these joints, (s, 3).
        level: smallest vertical component of the unit normal of a level surface.
        joints: as of `hull_of`.
        points: as of `hull_of`.
        poses: as of `hull_of`.
        edges: to fill: of each edge a point [m], its inward unit normal, and its distance from the origin along the
            normal [m], (n, 5).
    """
    for k in range(len(frame_joints)):
        X = poses[frame_joints[k]]
        if not abs(X[2] * axes[k, 0] + X[5] * axes[k, 1] + X[8] * axes[k, 2]) > level:
            return 0, 0.0
    polygon = np.empty((len(points), 3))
    count, height = _hull_of(joints, points, poses, polygon), 0.0
    if count < 3:
        return 0, 0.0
    for k in range(count):
        after = k + 1 if k + 1 < count else 0
        x, y = polygon[after, 0] - polygon[k, 0], polygon[after, 1] - polygon[k, 1]
        length = math.sqrt(x * x + y * y)
        edges[k, 0], edges[k, 1] = polygon[k, 0], polygon[k, 1]
        edges[k, 2], edges[k, 3] = -y / length, x / length
        edges[k, 4] = edges[k, 0] * edges[k, 2] + edges[k, 1] * edges[k, 3]
        height += polygon[k, 2]
    return count, height / count


@compiled
def area_centre(polygon: Array, centre: Array) -> None:
    """Write the horizontal area centroid of a polygon, (n, 3), or its mean point if it has no area, (3,) [m]."""
    _area_centre(polygon, centre)


@compiled_part
def _area_centre(polygon: Array, centre: Array) -> None:
    """Write the horizontal area centroid of a polygon, (n, 3), or its mean point if it has no area, (3,) [m]."""
    area = along_x = along_y = 0.0
    n = len(polygon)
    centre[:] = 0.0
    for k in range(n):
        after = k + 1 if k + 1 < n else 0
        x, y = polygon[k, 0], polygon[k, 1]
        cross = x * polygon[after, 1] - polygon[after, 0] * y
        area += cross / 2.0
        along_x += (x + polygon[after, 0]) * cross
        along_y += (y + polygon[after, 1]) * cross
        for i in range(3):
            centre[i] += polygon[k, i] / n
    if n >= 3 and abs(area) >= 1e-12:
        centre[0], centre[1] = along_x / (6.0 * area), along_y / (6.0 * area)


@compiled
def least_distance(polygon: Array, point: Array) -> float:
    """Return the horizontal distance of a point inside the nearest edge of a counter-clockwise polygon [m]."""
    return _least_distance(polygon, point)


@compiled_part
def _least_distance(polygon: Array, point: Array) -> float:
    """Return the horizontal distance of a point inside the nearest edge of a counter-clockwise polygon [m]."""
    least = np.inf
    for k in range(len(polygon)):
        after = k + 1 if k + 1 < len(polygon) else 0
        along_x, along_y = polygon[after, 0] - polygon[k, 0], polygon[after, 1] - polygon[k, 1]
        inside = along_x * (point[1] - polygon[k, 1]) - along_y * (point[0] - polygon[k, 0])
        least = min(least, inside / math.sqrt(along_x * along_x + along_y * along_y))
    return least
