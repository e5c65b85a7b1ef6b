"""Compiled kernels for collision avoidance: broad phase, and velocity-damper rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.kernel_data import IndexMatrix, IndexVector, Matrix, Strided, Vector, unpack

#: Deceleration of bodies that approach beyond δ_i, if the damper's at δ_i is not larger [m/s²].
BRAKING = 5.0
#: Largest distance beyond δ_i at which a pair has a row: enough for 2.2 m/s [m].
BRAKING_DISTANCE = 0.5
#: Largest acceleration that a row asks for, unless bodies need more to stop in time [m/s²].
MAX_ACCELERATION = 10.0
#: Largest acceleration that a row asks for in any case: where bodies need more, they collide [m/s²].
HARDEST_BRAKING = 50.0
#: Pairs beyond δ_i have a row while they are slower than their bound by less than this [m/s].
SPEED_MARGIN = 0.2

Triple = tuple[float, float, float]


class NearPairData(NamedTuple):
    """Arrays of `near_pairs`.

    Attributes:
        pieces: index of each watched piece among all pieces, (g,).
        poses: X_world_piece of all pieces, as in `JointViews`, (all, 12).
        last: poses at the last tick, to overwrite, (g, 12).
        travelled: bound on the distance that any point of each piece has moved so far, to increase, (g,) [m].
        joints: joint that moves each piece; 0 for the environment, (g,).
        centres: centres of the bounding spheres, in the pieces' frames, (g, 3) [m].
        radii: radii of the bounding spheres, (g,) [m].
        first: index of the first piece of each pair, (p,).
        second: index of the second piece, (p,).
        parameters: δ_i, δ_s and ξ of each pair, (p, 3).
        safe_until: total travel of both pieces before the pair can touch, (p,) [m].
        out: to fill, (p,).
    """

    pieces: IndexVector
    poses: Matrix
    last: Matrix
    travelled: Vector
    joints: IndexVector
    centres: Matrix
    radii: Vector
    first: IndexVector
    second: IndexVector
    parameters: Matrix
    safe_until: Vector
    out: IndexVector


@compiled
def near_pairs(poses: Array, twists: Array, table: Any) -> int:
    """Write the indices of the pairs that may be within reach, and return their number.

    The reach of a pair is δ_i plus the distance in which its present speed can be braked. A pair is skipped while its
    bounding spheres are farther apart, and while its pieces together have travelled less than its excess over the reach
    at the last measurement: no point of a piece moves farther than its centre plus its radius times the norm of the
    change of its rotation matrix.

    Args:
        poses: poses of all joints, see `JointViews`, (joints, 12).
        twists: twists of all joints, (joints, 6).
        table: address table of `NearPairData`.
    """
    data = unpack(table, NearPairData)
    count = len(data.radii)
    world, velocity, spin = np.empty((count, 3)), np.empty((count, 3)), np.empty(count)
    for k in range(count):
        turned, moved = 0.0, 0.0
        for i in range(3):
            before = data.last[k, 9 + i]
            world[k, i] = data.poses[data.pieces[k], 9 + i]
            for j in range(3):
                now = data.poses[data.pieces[k], 3 * j + i]
                world[k, i] += now * data.centres[k, j]
                before += data.last[k, 3 * j + i] * data.centres[k, j]
                turned += (now - data.last[k, 3 * j + i]) ** 2
            moved += (world[k, i] - before) ** 2
        data.travelled[k] += np.sqrt(moved) + data.radii[k] * np.sqrt(turned)
        for i in range(12):
            data.last[k, i] = data.poses[data.pieces[k], i]
        joint = data.joints[k]
        w, arm = _rotated(poses[joint], twists[joint], 3), _arm(world[k], poses[joint])
        v = _plus(_rotated(poses[joint], twists[joint], 0), _cross(w, arm))
        velocity[k, 0], velocity[k, 1], velocity[k, 2] = v  # a tuple for a row compiles numba's formatted errors
        spin[k] = data.radii[k] * math.sqrt(_dot(w, w))
    found = 0
    for k in range(len(data.first)):
        a, b = data.first[k], data.second[k]
        square, speed = 0.0, 0.0
        for i in range(3):
            square += (world[a, i] - world[b, i]) ** 2
            speed += (velocity[a, i] - velocity[b, i]) ** 2
        fastest = np.sqrt(speed) + spin[a] + spin[b] + SPEED_MARGIN
        reach = _reach(fastest, data.parameters[k])
        if data.travelled[a] + data.travelled[b] + reach < data.safe_until[k]:
            continue
        limit = reach + data.radii[a] + data.radii[b]
        if square <= limit * limit:
            data.out[found] = k
            found += 1
    return found


@compiled_part
def _rotated(pose: Array, motion: Array, start: int) -> Triple:
    """Return three entries of a motion, from `start` on, in the axes of the world; see `JointViews` for the pose."""
    x, y, z = motion[start], motion[start + 1], motion[start + 2]
    return (
        pose[0] * x + pose[3] * y + pose[6] * z,
        pose[1] * x + pose[4] * y + pose[7] * z,
        pose[2] * x + pose[5] * y + pose[8] * z,
    )


@compiled_part
def _arm(point: Array, pose: Array) -> Triple:
    """Return a point relative to the origin of a joint, both in the world frame [m]."""
    return point[0] - pose[9], point[1] - pose[10], point[2] - pose[11]


@compiled_part
def _cross(a: Any, b: Any) -> Triple:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled_part
def _dot(a: Any, b: Any) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled_part
def _plus(a: Any, b: Any) -> Triple:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@compiled_part
def _braking(parameters: Array) -> float:
    """Return the deceleration beyond δ_i [m/s²]: not less than that of the damper at δ_i, ξ²/(δ_i − δ_s)."""
    return max(BRAKING, parameters[2] * parameters[2] / (parameters[0] - parameters[1]))


@compiled_part
def _reach(speed: float, parameters: Array) -> float:
    """Return the distance at which bodies that approach at a speed [m/s] begin to brake, to be at ξ at δ_i [m]."""
    excess = speed * speed - parameters[2] * parameters[2]
    return parameters[0] + min(max(0.0, excess) / (2.0 * _braking(parameters)), BRAKING_DISTANCE)


@compiled_part
def separation(distance: float, rate: float, parameters: Array, recovery: float, horizon: float) -> float:
    """Return the least second derivative of a distance [m/s²].

    Within δ_i the next rate is at least that of the damper, [Vaillant2015] (22); beyond, that from which a constant
    deceleration leads to −ξ at δ_i. A pair that approaches faster than that, after a push or a change of its closest
    features, brakes within the acceleration that stops it in half of the distance left, since stopping it in one period
    has often no solution.

    Args:
        distance: d [m].
        rate: ḋ [m/s].
        parameters: δ_i, δ_s and ξ.
        recovery: largest speed at which bodies closer than δ_s separate [m/s].
        horizon: time after which the rate is bounded [s].
    """
    influence, security, damping = parameters[0], parameters[1], parameters[2]
    if distance > influence:
        allowed = -math.sqrt(damping * damping + 2.0 * _braking(parameters) * (distance - influence))
    else:
        allowed = min(-damping * (distance - security) / (influence - security), recovery)
    wanted = (allowed - rate) / horizon
    if wanted <= MAX_ACCELERATION:
        return wanted
    most = MAX_ACCELERATION
    if rate < 0.0:
        left = max(distance - 0.5 * security, 0.5 * distance)  # to half of δ_s, or of what is left of it
        most = max(most, min(rate * rate / left, HARDEST_BRAKING)) if left > 0.0 else HARDEST_BRAKING
    return min(wanted, most)


@compiled
def least_distance(found: Array, near: Indices, count: int, which: NDArray[np.bool_]) -> float:
    """Return the smallest distance of masked pairs [m]; inf if none of them was measured.

    Args:
        found: measurements of each pair, distance first, (pairs, 10).
        near: indices of the measured pairs, (pairs,).
        count: number of measured pairs.
        which: mask of pairs, (pairs,).
    """
    least = np.inf
    for k in near[:count]:
        if which[k]:
            least = min(least, found[k, 0])
    return least


class DamperData(NamedTuple):
    """Arrays of `damper_rows`.

    Attributes:
        near: indices of the measured pairs, (pairs,).
        found: distance, normal from the first piece to the second, and witness points of each pair, (pairs, 10).
        first: index of the first piece of each pair, (pairs,).
        second: index of the second piece, (pairs,).
        watched: whether a pair may have a row at this tick, (pairs,).
        travelled: see `near_pairs`.
        safe_until: to fill where a pair is out of reach; see `near_pairs`.
        joints: joints that move the two bodies of each pair; 0 for the environment, (pairs, 2).
        starts: first index in `columns` of each joint, (joints + 1,).
        columns: entries of v that move each joint.
        parameters: δ_i, δ_s and ξ of each pair, (pairs, 3).
        normals: u of each pair at the last tick, NaN where there was none, to overwrite, (pairs, 3).
        last_normals: to fill with those of the last tick, (pairs, 3).
        limits: period of the rate of u, horizon of the row, largest recovery speed, largest step of u.
        active: to fill: the pair of each row, (rows,).
    """

    near: IndexVector
    found: Strided
    first: IndexVector
    second: IndexVector
    watched: IndexVector
    travelled: Vector
    safe_until: Vector
    joints: IndexMatrix
    starts: IndexVector
    columns: IndexVector
    parameters: Matrix
    normals: Matrix
    last_normals: Matrix
    limits: Vector
    active: IndexVector


@compiled
def damper_rows(
    count: int,
    J_world: Array,
    poses: Array,
    twists: Array,
    drifts: Array,
    D: Array,
    d: Array,
    table: Any,
) -> int:
    """Write the damper row of each pair within reach, [Vaillant2015] (24), and return their number.

    Beyond δ_i a pair has a row if it approaches nearly as fast as `separation` allows there.

    Args:
        count: number of measured pairs.
        J_world: pinocchio's `data.J`, (6, nv).
        poses: poses of all joints, see `JointViews`, (joints, 12).
        twists: twists of all joints, (joints, 6).
        drifts: drifts of all joints, (joints, 6).
        D: to fill, (rows, nv).
        d: to fill, (rows,).
        table: address table of `DamperData`.
    """
    data = unpack(table, DamperData)
    velocity, row = np.zeros(3), 0
    for k in range(len(data.normals)):
        for i in range(3):
            data.last_normals[k, i] = data.normals[k, i]
            data.normals[k, i] = np.nan
    for n in range(count):
        k = data.near[n]
        distance, beyond = data.found[k, 0], data.found[k, 0] >= data.parameters[k, 0]
        if beyond:
            data.safe_until[k] = data.travelled[data.first[k]] + data.travelled[data.second[k]] + distance
        u = data.normals[k]
        for i in range(3):  # coal's normal points from the first body to the second and remains defined in penetration
            u[i] = -data.found[k, 1 + i]
            velocity[i] = 0.0
        if not data.watched[k]:
            continue
        for c in range(D.shape[1]):
            D[row, c] = 0.0
        drift = 0.0
        for side in range(2):
            j = data.joints[k, side]
            if j > 0:
                moving = data.columns[data.starts[j] : data.starts[j + 1]]
                sign = 1.0 if side == 0 else -1.0
                point = data.found[k, 4 + 3 * side : 7 + 3 * side]
                drift += _add_side(sign, u, point, moving, J_world, poses[j], twists[j], drifts[j], D[row], velocity)
        rate, turning, step = 0.0, 0.0, 0.0
        for i in range(3):
            change = u[i] - data.last_normals[k, i]
            rate += u[i] * velocity[i]
            turning += change * velocity[i]
            step += change * change
        if not step <= data.limits[3] * data.limits[3]:
            turning = 0.0
        if beyond and distance >= _reach(max(SPEED_MARGIN - rate, 0.0), data.parameters[k]):
            continue
        needed = separation(distance, rate, data.parameters[k], data.limits[2], data.limits[1])
        d[row] = needed - drift - turning / data.limits[0]
        data.active[row] = k
        row += 1
    return row


@compiled_part
def _add_side(
    sign: float,
    normal: Array,
    point: Array,
    columns: Indices,
    J_world: Array,
    pose: Array,
    twist: Array,
    drift: Array,
    row: Array,
    velocity: Array,
) -> float:
    """Add one body's share to a row uᵀ(p̈₁ − p̈₂) and to ṗ₁ − ṗ₂; return its share of the row's drift.

    Args:
        sign: 1 for the first body, −1 for the second.
        normal: u, (3,).
        point: witness point, world frame, (3,) [m].
        columns: entries of v that move the body.
        J_world: pinocchio's `data.J`, (6, nv).
        pose: pose of its joint, see `JointViews`, (12,).
        twist: twist of the joint, in its frame, (6,).
        drift: spatial acceleration of the joint at q̈ = 0, in its frame, (6,).
        row: to add to, (nv,).
        velocity: to add to, (3,).
    """
    lever = _cross(point, normal)
    for c in columns:
        push = 0.0
        for i in range(3):
            push += normal[i] * J_world[i, c] + lever[i] * J_world[3 + i, c]
        row[c] += sign * push
    arm, w = _arm(point, pose), _rotated(pose, twist, 3)
    v = _plus(_rotated(pose, twist, 0), _cross(w, arm))
    for i in range(3):
        velocity[i] += sign * v[i]
    # classical acceleration of the point: spatial acceleration plus ω × v
    spatial = _plus(_rotated(pose, drift, 0), _cross(_rotated(pose, drift, 3), arm))
    return sign * _dot(normal, _plus(spatial, _cross(w, v)))
