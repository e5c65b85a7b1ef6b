"""Compiled kernels for Bézier curves: subdivision, states, and the wrench along a centre-of-mass curve."""

from __future__ import annotations

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part


@compiled_part
def cut_out(points: Array, first: float, last: float, part: Array) -> None:
    """Write the control points of the part between two fractions of a curve, by de Casteljau's scheme, (n + 1, d)."""
    n, d = len(points) - 1, points.shape[1]
    for i in range(n + 1):
        for j in range(d):
            part[i, j] = points[i, j]
    for k in range(n):  # from the start to `last`
        for i in range(n, k, -1):
            for j in range(d):
                part[i, j] = (1.0 - last) * part[i - 1, j] + last * part[i, j]
    share = first / last
    for k in range(n):  # then from `first`
        for i in range(n - k):
            for j in range(d):
                part[i, j] = (1.0 - share) * part[i, j] + share * part[i + 1, j]


@compiled
def fill_parts(points: Array, first: float, last: float, parts: Array) -> None:
    """Write the control points of equal parts between two fractions of a curve, (parts, n + 1, d)."""
    count = len(parts)
    step = (last - first) / count
    for k in range(count):
        cut_out(points, first + k * step, first + (k + 1) * step, parts[k])


@compiled
def fill_state(points: Array, share: float, duration: float, work: Array, state: Array) -> None:
    """Write position, velocity and acceleration at a fraction of a curve with a duration [s], (3, d).

    `work` is a buffer for the points, (n + 1, d); n ≥ 2.
    """
    n, d = len(points) - 1, points.shape[1]
    for i in range(n + 1):
        for j in range(d):
            work[i, j] = points[i, j]
    for k in range(n - 2):
        for i in range(n - k):
            for j in range(d):
                work[i, j] = (1.0 - share) * work[i, j] + share * work[i + 1, j]
    for j in range(d):
        a, b, c = work[0, j], work[1, j], work[2, j]
        state[2, j] = (c - 2.0 * b + a) * (n * (n - 1) / duration**2)
        a, b = (1.0 - share) * a + share * b, (1.0 - share) * b + share * c
        state[1, j] = (b - a) * (n / duration)
        state[0, j] = (1.0 - share) * a + share * b


@compiled_part
def write_wrench(points: Array, rate: float, origin: Array, weights: Array, resting: Array, moving: Array) -> None:
    """Write the control points of the wrench along one curve; see `fill_wrenches`."""
    n = len(points) - 1
    for i in range(2 * n - 1):
        for j in range(6):
            resting[i, j], moving[i, j] = 0.0, 0.0
        resting[i, 2] = 1.0
    for j in range(n - 1):
        u = (points[j + 2, 0] - 2.0 * points[j + 1, 0] + points[j, 0]) * rate
        v = (points[j + 2, 1] - 2.0 * points[j + 1, 1] + points[j, 1]) * rate
        w = (points[j + 2, 2] - 2.0 * points[j + 1, 2] + points[j, 2]) * rate
        for i in range(n + 1):
            weight = weights[i, j]
            x, y, z = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
            resting[i + j, 3] += weight * y
            resting[i + j, 4] -= weight * x
            moving[i + j, 0] += weight * u
            moving[i + j, 1] += weight * v
            moving[i + j, 2] += weight * w
            moving[i + j, 3] += weight * (y * w - z * v)
            moving[i + j, 4] += weight * (z * u - x * w)
            moving[i + j, 5] += weight * (x * v - y * u)


@compiled
def fill_wrenches(points: Array, rate: float, origin: Array, weights: Array, resting: Array, moving: Array) -> None:
    """Write the control points of the wrench at rest and of the part due to acceleration, about an origin.

    Args:
        points: control points of curves, (k, n + 1, 3) [m].
        rate: n (n − 1) / (g T²) for their duration T [1/m].
        origin: (3,) [m].
        weights: see `bezier.product_weights`, (n + 1, n − 1).
        resting: output, wrench at rest, (k, 2 n − 1, 6).
        moving: output, part due to acceleration, likewise.
    """
    for k in range(len(points)):
        write_wrench(points[k], rate, origin, weights, resting[k], moving[k])


@compiled
def fill_balanced_wrenches(
    points: Array,
    first: float,
    last: float,
    A: Array,
    a: Array,
    rate: float,
    origin: Array,
    weights: Array,
    part: Array,
    resting: Array,
    moving: Array,
) -> int:
    """Write the wrenches of those parts of a curve whose control points are in static equilibrium.

    Args:
        points: of the curve, (n + 1, 3) [m].
        first: fraction of the curve at which the parts begin.
        last: fraction at which they end.
        A: unit normals of the region, (m, 3).
        a: offsets, (m,) [m].
        rate: of a part; see `fill_wrenches`.
        origin: see `fill_wrenches`.
        weights: see `fill_wrenches`.
        part: buffer, (n + 1, 3).
        resting: output buffer for all parts, (parts, 2 n − 1, 6).
        moving: output, part due to acceleration, likewise.

    Returns:
        Number of parts whose wrenches were written.
    """
    count, written = len(resting), 0
    step = (last - first) / count
    for k in range(count):
        cut_out(points, first + k * step, first + (k + 1) * step, part)
        balanced = True
        for i in range(len(a)):
            for j in range(len(part)):
                height = A[i, 0] * part[j, 0] + A[i, 1] * part[j, 1] + A[i, 2] * part[j, 2] - a[i]
                balanced = balanced and height <= 1e-9
        if balanced:
            write_wrench(part, rate, origin, weights, resting[written], moving[written])
            written += 1
    return written
