"""Compiled kernel for the part of a support polygon that legs of limited torque can carry."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part


@compiled
def carried_offsets(
    joints: Indices,
    points: Array,
    starts: Indices,
    columns: Indices,
    effort: Array,
    poses: Array,
    J_world: Array,
    N: Array,
    weight: float,
    normals: Array,
    offsets: Array,
) -> None:
    """Write the least of n·x over the centres of mass x that the feet can carry, for each normal n.

    x = Σ λᵢ pᵢ with Σ λᵢ = 1 and 0 ≤ λᵢ ≤ cᵢ, pᵢ the feet and cᵢ the largest vertical force that the motors of leg i
    can bear, |N − Jᵀf| ≤ τ_max, over the weight. Where all feet together cannot carry it, offsets are not written.

    Args:
        joints: joints that carry the feet, (k,).
        points: the feet in the frames of these joints, (k, 3).
        starts: first index in `columns` of each foot, (k + 1,).
        columns: entries of v of the motors between trunk and foot.
        effort: their torque limits [N m].
        poses: poses of all joints, see `JointViews`, (joints, 12).
        J_world: pinocchio's `data.J`, (6, nv).
        N: nonlinear effects, (nv,).
        weight: of the group [N].
        normals: unit vectors, (r, 2).
        offsets: to fill, (r,) [m].
    """
    n = len(joints)
    place, share, total = np.empty((n, 2)), np.empty(n), 0.0
    for k in range(n):
        X, p = poses[joints[k]], points[k]
        x = X[0] * p[0] + X[3] * p[1] + X[6] * p[2] + X[9]
        y = X[1] * p[0] + X[4] * p[1] + X[7] * p[2] + X[10]
        place[k, 0], place[k, 1] = x, y
        share[k] = 1.0
        for i in range(starts[k], starts[k + 1]):
            c = columns[i]
            lift = J_world[2, c] + J_world[3, c] * y - J_world[4, c] * x
            remaining = effort[i] + N[c] if lift > 0.0 else effort[i] - N[c]
            if abs(lift) * weight * share[k] > remaining:
                share[k] = max(0.0, remaining / (abs(lift) * weight))
        total += share[k]
    if total <= 1.0:
        return
    for r in range(len(normals)):
        offsets[r] = _least(place, share, normals[r])


@compiled_part
def _least(place: Array, share: Array, normal: Array) -> float:
    """Return the least of n·x: the feet that are farthest against n carry what they can."""
    left, least = 1.0, 0.0
    along, used = place @ normal, np.zeros(len(share), dtype=np.bool_)
    while left > 0.0:
        first = -1
        for k in range(len(share)):
            if not used[k] and (first < 0 or along[k] < along[first]):
                first = k
        if first < 0:
            break
        used[first] = True
        part = min(left, share[first])
        least += part * along[first]
        left -= part
    return least
