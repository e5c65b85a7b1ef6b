"""Rows of collision dampers, compiled where numba is installed; plain Python runs the same code else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def near_pairs(
    poses: Array,
    last: Array,
    travelled: Array,
    centres: Array,
    radii: Array,
    first: Indices,
    second: Indices,
    reach: Array,
    safe_until: Array,
    out: Indices,
) -> int:
    """Write the indices of the pairs that may be within reach, and return how many there are.

    A pair is passed over while its bounding spheres are apart, and while its pieces together have not travelled as far
    as it was out of reach when it was measured last: no point of a piece moves further than its centre does and its
    radius times the norm of the change of its rotation.

    Args:
        poses: X_world_piece, (g, 4, 4).
        last: those of the last tick, to overwrite, (g, 4, 4).
        travelled: most that any point of each piece has moved so far, to add to, (g,) [m].
        centres: of the bounding spheres, in the pieces' frames, (g, 3) [m].
        radii: of the bounding spheres, (g,) [m].
        first: index of the first piece of each pair, (p,).
        second: index of the second piece, (p,).
        reach: largest gap of interest of each pair, (p,) [m].
        safe_until: what the two have to travel together before the pair can be within reach, (p,) [m].
        out: to fill, (p,).
    """
    count = len(radii)
    world = np.empty((count, 3))
    for k in range(count):
        turned, moved = 0.0, 0.0
        for i in range(3):
            before = last[k, i, 3]
            world[k, i] = poses[k, i, 3]
            for j in range(3):
                world[k, i] += poses[k, i, j] * centres[k, j]
                before += last[k, i, j] * centres[k, j]
                turned += (poses[k, i, j] - last[k, i, j]) ** 2
            moved += (world[k, i] - before) ** 2
        travelled[k] += np.sqrt(moved) + radii[k] * np.sqrt(turned)
        last[k] = poses[k]
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
def add_side(
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
        pose: X_world_joint of its joint, (4, 4).
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
        arm[i] = point[i] - pose[i, 3]
        w[i] = pose[i, 0] * twist[3] + pose[i, 1] * twist[4] + pose[i, 2] * twist[5]
        v[i] = pose[i, 0] * twist[0] + pose[i, 1] * twist[1] + pose[i, 2] * twist[2]
        moved[i] = pose[i, 0] * drift[3] + pose[i, 1] * drift[4] + pose[i, 2] * drift[5]
    total = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        v[i] += w[j] * arm[k] - w[k] * arm[j]
        total += normal[i] * (pose[i, 0] * drift[0] + pose[i, 1] * drift[1] + pose[i, 2] * drift[2])
        total += normal[i] * (moved[j] * arm[k] - moved[k] * arm[j])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        velocity[i] += sign * v[i]
        # classical acceleration of the point: spatial acceleration plus ω × v
        total += normal[i] * (w[j] * v[k] - w[k] * v[j])
    return sign * total
