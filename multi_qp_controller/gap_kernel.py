"""How far two surfaces are from each other, compiled: transitions ask for it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]

#: Kinds of surfaces.
PLANAR, POINT, GRASP = range(3)


@compiled_part
def _in_world(place: Array, X: Array, twist: Array, out: Array) -> None:
    """Write a frame's axes and origin, then the velocity of its origin and its angular velocity, world frame, (18,).

    Args:
        place: X_joint_frame, (3, 4).
        X: X_world_joint, see `JointViews`, (12,).
        twist: of the joint, in it, (6,).
        out: to fill: the rotation row by row, origin, velocity, angular velocity.
    """
    v = np.empty(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        v[i] = twist[i] + twist[3 + j] * place[k, 3] - twist[3 + k] * place[j, 3]
    for i in range(3):
        for c in range(3):
            out[3 * i + c] = X[i] * place[0, c] + X[3 + i] * place[1, c] + X[6 + i] * place[2, c]
        out[9 + i] = X[i] * place[0, 3] + X[3 + i] * place[1, 3] + X[6 + i] * place[2, 3] + X[9 + i]
        out[12 + i] = X[i] * v[0] + X[3 + i] * v[1] + X[6 + i] * v[2]
        out[15 + i] = X[i] * twist[3] + X[3 + i] * twist[4] + X[6 + i] * twist[5]


@compiled
def gap_between(
    joint_a: int, place_a: Array, joint_b: int, place_b: Array, poses: Array, twists: Array, kind: int
) -> tuple[float, float, float, float]:
    """Return how far surface A is from lying flush on B: distance [m], angle [rad], and the rates of both.

    Planar and point: normals opposed, at any angle about them, anywhere on B; a point may turn. Grasp: it
    closes anywhere around the handle's axis, so only the axes must meet.

    Args:
        joint_a: that moves A.
        place_a: A in that joint, (3, 4).
        joint_b: that moves B.
        place_b: B in that joint, (3, 4).
        poses: of all joints, see `JointViews`, (joints, 12).
        twists: of all joints, (joints, 6).
        kind: of surface A.
    """
    A, B = np.empty(18), np.empty(18)
    _in_world(place_a, poses[joint_a], twists[joint_a], A)
    _in_world(place_b, poses[joint_b], twists[joint_b], B)
    apart, place = np.empty(3), np.empty(3)
    for i in range(3):
        apart[i] = A[9 + i] - B[9 + i]
    speed, turning = 0.0, 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        place[i] = B[i] * apart[0] + B[3 + i] * apart[1] + B[6 + i] * apart[2]
        speed += (A[12 + i] - B[12 + i] - B[15 + j] * apart[k] + B[15 + k] * apart[j]) ** 2
        turning += (A[15 + i] - B[15 + i]) ** 2
    axis = 0 if kind == GRASP else 2
    along = B[axis] * A[axis] + B[3 + axis] * A[3 + axis] + B[6 + axis] * A[6 + axis]
    distance, angle = abs(place[2]), 0.0
    if kind == GRASP:
        distance, angle = math.sqrt(place[1] ** 2 + place[2] ** 2), math.acos(min(1.0, abs(along)))
    elif kind == PLANAR:
        angle = math.acos(min(1.0, max(-1.0, -along)))
    return distance, angle, math.sqrt(speed), math.sqrt(turning)
