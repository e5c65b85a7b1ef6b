"""Compiled kernel for the gap between two surfaces: distance, angle and their rates."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_controller.dynamics.motion_kernel import into_frame, place_frame
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled

#: Kinds of surfaces.
PLANAR, POINT, GRASP = range(3)


@compiled
def alignment_gap(
    joint_a: int,
    place_a: Array,
    joint_b: int,
    place_b: Array,
    poses: Array,
    twists: Array,
    kind: int,
    centre: Array,
    radius: float,
    edges: Array,
) -> tuple[float, float, float, float, float]:
    """Return the gap from surface A to alignment with B: distance [m], angle [rad], the rates of both, overhang [m].

    The overhang is the distance of A's origin from B's edges, 0 inside them.

    Planar and point: aligned with opposed normals, at any angle about them, anywhere on B; a point may rotate, and one
    on a ball is aligned where the ball touches beside the point. Grasp: it may close anywhere around the handle's axis,
    so only the axes must coincide.

    Args:
        joint_a: joint that moves A.
        place_a: placement of A in that joint, (3, 4).
        joint_b: joint that moves B.
        place_b: placement of B in that joint, (3, 4).
        poses: poses of all joints, see `JointViews`, (joints, 12).
        twists: twists of all joints, (joints, 6).
        kind: kind of surface A.
        centre: of the ball on which a point A lies, in A, (3,).
        radius: of that ball, or 0.
        edges: edges of B, n x ≤ d: n and d of each; none where B has no edges, (k, 3).
    """
    A, B, a, b = np.empty((4, 4)), np.empty((4, 4)), np.empty(6), np.empty(6)
    place_frame(poses[joint_a], place_a, A)
    place_frame(poses[joint_b], place_b, B)
    into_frame(place_a, twists[joint_a], a)
    into_frame(place_b, twists[joint_b], b)
    place, velocity, turning, along = np.empty(3), np.empty(3), 0.0, 0.0
    axis = 0 if kind == GRASP else 2
    for i in range(3):  # in B's axes
        place[i], velocity[i], turn = 0.0, -b[i], -b[3 + i]
        for j in range(3):
            place[i] += B[j, i] * (A[j, 3] - B[j, 3])
            for k in range(3):
                velocity[i] += B[j, i] * A[j, k] * a[k]
                turn += B[j, i] * A[j, k] * a[3 + k]
        turning += turn**2
        along += B[i, axis] * A[i, axis]
    speed = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        speed += (velocity[i] - b[3 + j] * place[k] + b[3 + k] * place[j]) ** 2
    distance, angle = abs(place[2]), 0.0
    if kind == GRASP:
        distance, angle = math.sqrt(place[1] ** 2 + place[2] ** 2), math.acos(min(1.0, abs(along)))
    elif kind == PLANAR:
        angle = math.acos(min(1.0, max(-1.0, -along)))
    else:  # a point may rotate
        turning = 0.0
        lowest = place[2] - radius
        for i in range(3):
            for j in range(3):
                lowest += B[i, 2] * A[i, j] * centre[j]
        distance = max(min(lowest, place[2]), -max(lowest, place[2]), 0.0)
    overhang = 0.0
    for i in range(len(edges)):
        overhang = max(overhang, edges[i, 0] * place[0] + edges[i, 1] * place[1] - edges[i, 2])
    return distance, angle, math.sqrt(speed), math.sqrt(turning), overhang
