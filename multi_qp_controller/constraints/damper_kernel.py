"""Rows of collision dampers, compiled where numba is installed; plain Python runs the same code else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.bundles import unbundled
from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


#: What `near_pairs` is given as a bundle.
NEAR_KINDS = "immvmviivvi"


@compiled
def near_pairs(bundle: Any) -> int:
    """Write the indices of the pairs that may be within reach, and return how many there are.

    A pair is passed over while its bounding spheres are apart, and while its pieces together have not travelled as far
    as it was out of reach when it was measured last: no point of a piece moves further than its centre does and its
    radius times the norm of the change of its rotation.

    Args:
        bundle: of `NEAR_KINDS`: all that follows.
        pieces: which of all pieces these are, (g,).
        poses: X_world_piece of all pieces, as in `JointViews`, (all, 12).
        last: those of the last tick, to overwrite, (g, 12).
        travelled: most that any point of each piece has moved so far, to add to, (g,) [m].
        centres: of the bounding spheres, in the pieces' frames, (g, 3) [m].
        radii: of the bounding spheres, (g,) [m].
        first: index of the first piece of each pair, (p,).
        second: index of the second piece, (p,).
        reach: largest gap of interest of each pair, (p,) [m].
        safe_until: what the two have to travel together before the pair can be within reach, (p,) [m].
        out: to fill, (p,).
    """
    (
        pieces, poses, last, travelled, centres, radii, first, second, reach, safe_until, out,
    ) = unbundled(bundle, NEAR_KINDS)  # fmt: skip
    count = len(radii)
    world = np.empty((count, 3))
    for k in range(count):
        turned, moved = 0.0, 0.0
        for i in range(3):
            before = last[k, 9 + i]
            world[k, i] = poses[pieces[k], 9 + i]
            for j in range(3):
                now = poses[pieces[k], 3 * j + i]
                world[k, i] += now * centres[k, j]
                before += last[k, 3 * j + i] * centres[k, j]
                turned += (now - last[k, 3 * j + i]) ** 2
            moved += (world[k, i] - before) ** 2
        travelled[k] += np.sqrt(moved) + radii[k] * np.sqrt(turned)
        for i in range(12):
            last[k, i] = poses[pieces[k], i]
    found = 0
    for k in range(len(first)):
        a, b = first[k], second[k]
        if travelled[a] + travelled[b] < safe_until[k]:
            continue
        limit = reach[k] + radii[a] + radii[b]
        square = 0.0
        for i in range(3):
            square += (world[a, i] - world[b, i]) ** 2
        if square <= limit * limit:
            out[found] = k
            found += 1
    return found


@compiled
def least_distance(found: Array, near: Indices, count: int, which: NDArray[np.bool_]) -> float:
    """Return the least distance of some pairs; inf if none of them was measured [m].

    Args:
        found: distance, then more, of each pair, (pairs, 10).
        near: index of the pairs that were measured, (pairs,).
        count: how many these are.
        which: the pairs that are asked for, (pairs,).
    """
    least = np.inf
    for k in near[:count]:
        if which[k]:
            least = min(least, found[k, 0])
    return least


#: What `damper_rows` is given as a bundle.
DAMPER_KINDS = "isiiivvtiimmmvi"


@compiled
def damper_rows(
    count: int,
    J_world: Array,
    poses: Array,
    twists: Array,
    drifts: Array,
    D: Array,
    d: Array,
    bundle: Any,
) -> int:
    """Write the damper row of each pair within reach, [Vaillant2015] (24), and return how many; `CollisionConstraint`.

    Args:
        count: how many these are.
        J_world: pinocchio's `data.J`, (6, nv).
        poses: of all joints, see `JointViews`, (joints, 12).
        twists: of all joints, (joints, 6).
        drifts: of all joints, (joints, 6).
        D: to fill, (rows, nv).
        d: to fill, (rows,).
        bundle: of `DAMPER_KINDS`: all that follows.
        near: index of the pairs that were measured, (pairs,).
        found: distance, normal from the first piece to the second, and witness points of each pair, (pairs, 10).
        first: index of the first piece of each pair, (pairs,).
        second: index of the second piece, (pairs,).
        watched: whether a pair may be a row now, (pairs,).
        travelled: see `near_pairs`.
        safe_until: to fill where a pair is out of reach; see `near_pairs`.
        joints: that move the two bodies of each pair; 0 for the environment, (pairs, 2).
        starts: where the columns of each joint begin, (joints + 1,).
        columns: of v that move each joint.
        parameters: δ_i, δ_s and ξ of each pair, (pairs, 3).
        normals: u of each pair at the last tick, NaN where there was none, to overwrite, (pairs, 3).
        last_normals: to fill with those of the last tick, (pairs, 3).
        limits: period of the rate of u, horizon of the row, fastest way apart, longest step of u.
        active: to fill: the pair of each row, (rows,).
    """
    (
        near, found, first, second, watched, travelled, safe_until, joints, starts, columns, parameters, normals,
        last_normals, limits, active,
    ) = unbundled(bundle, DAMPER_KINDS)  # fmt: skip
    velocity, row = np.zeros(3), 0
    for k in range(len(normals)):
        for i in range(3):
            last_normals[k, i] = normals[k, i]
            normals[k, i] = np.nan
    for n in range(count):
        k = near[n]
        if found[k, 0] >= parameters[k, 0]:
            safe_until[k] = travelled[first[k]] + travelled[second[k]] + found[k, 0] - parameters[k, 0]
            continue
        u = normals[k]
        for i in range(3):  # coal's normal goes from the first body to the second and stays defined in contact
            u[i] = -found[k, 1 + i]
            velocity[i] = 0.0
        if not watched[k]:
            continue
        for c in range(D.shape[1]):
            D[row, c] = 0.0
        drift = 0.0
        for side in range(2):
            j = joints[k, side]
            if j > 0:
                moving = columns[starts[j] : starts[j + 1]]
                sign = 1.0 if side == 0 else -1.0
                point = found[k, 4 + 3 * side : 7 + 3 * side]
                drift += _add_side(sign, u, point, moving, J_world, poses[j], twists[j], drifts[j], D[row], velocity)
        rate, turning, step = 0.0, 0.0, 0.0
        for i in range(3):
            change = u[i] - last_normals[k, i]
            rate += u[i] * velocity[i]
            turning += change * velocity[i]
            step += change * change
        if not step <= limits[3] * limits[3]:
            turning = 0.0
        room = (found[k, 0] - parameters[k, 1]) / (parameters[k, 0] - parameters[k, 1])
        allowed = min(-parameters[k, 2] * room, limits[2])
        d[row] = (allowed - rate) / limits[1] - drift - turning / limits[0]
        active[row] = k
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
        columns: of v that move the body.
        J_world: pinocchio's `data.J`, (6, nv).
        pose: of its joint, see `JointViews`, (12,).
        twist: of the joint, in its frame, (6,).
        drift: spatial acceleration of the joint at q̈ = 0, in its frame, (6,).
        row: to add to, (nv,).
        velocity: to add to, (3,).
    """
    lever = np.empty(3)
    lever[0] = point[1] * normal[2] - point[2] * normal[1]
    lever[1] = point[2] * normal[0] - point[0] * normal[2]
    lever[2] = point[0] * normal[1] - point[1] * normal[0]
    for c in columns:
        push = 0.0
        for i in range(3):
            push += normal[i] * J_world[i, c] + lever[i] * J_world[3 + i, c]
        row[c] += sign * push
    # velocity and acceleration of the point relative to the joint's origin, in its axes, turned into the world's
    arm, moved, v, w = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for i in range(3):
        arm[i] = point[i] - pose[9 + i]
        w[i] = pose[i] * twist[3] + pose[3 + i] * twist[4] + pose[6 + i] * twist[5]
        v[i] = pose[i] * twist[0] + pose[3 + i] * twist[1] + pose[6 + i] * twist[2]
        moved[i] = pose[i] * drift[3] + pose[3 + i] * drift[4] + pose[6 + i] * drift[5]
    total = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        v[i] += w[j] * arm[k] - w[k] * arm[j]
        total += normal[i] * (pose[i] * drift[0] + pose[3 + i] * drift[1] + pose[6 + i] * drift[2])
        total += normal[i] * (moved[j] * arm[k] - moved[k] * arm[j])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        velocity[i] += sign * v[i]
        # classical acceleration of the point: spatial acceleration plus ω × v
        total += normal[i] * (w[j] * v[k] - w[k] * v[j])
    return sign * total
