"""Compiled conversions from MuJoCo's coordinates to pinocchio's."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled


@compiled
def write_state(
    qpos: Array, qvel: Array, scalar: Indices, turning: Indices, free: Indices, dof: Indices, q: Array, v: Array
) -> None:
    """Write configuration and velocity of the scene.

    Quaternions are (w, x, y, z) in MuJoCo, (x, y, z, w) here; linear velocities of free bodies are in the axes of the
    world there, of the body here.

    Args:
        qpos: MuJoCo's.
        qvel: MuJoCo's.
        scalar: index in q and in qpos of each joint with one number, (k, 2).
        turning: of each continuous joint: (cos, sin) in q, an angle in qpos, (k, 2).
        free: index in q, in qpos and in v of each free body, (k, 3).
        dof: index in qvel of each entry of v, (nv,).
        q: to write to, (nq,).
        v: to write to, (nv,).
    """
    for k in range(len(scalar)):
        q[scalar[k, 0]] = qpos[scalar[k, 1]]
    for k in range(len(turning)):
        to, angle = turning[k, 0], qpos[turning[k, 1]]
        q[to], q[to + 1] = math.cos(angle), math.sin(angle)
    for k in range(len(dof)):
        v[k] = qvel[dof[k]]
    for k in range(len(free)):
        to, at, index = free[k, 0], free[k, 1], free[k, 2]
        w, x, y, z = qpos[at + 3], qpos[at + 4], qpos[at + 5], qpos[at + 6]
        norm = math.sqrt(w * w + x * x + y * y + z * z)  # MuJoCo normalises at the next use
        w, x, y, z = w / norm, x / norm, y / norm, z / norm
        for i in range(3):
            q[to + i] = qpos[at + i]
        q[to + 3], q[to + 4], q[to + 5], q[to + 6] = x, y, z, w
        a, b, c = v[index], v[index + 1], v[index + 2]
        v[index] = (1 - 2 * (y * y + z * z)) * a + 2 * (x * y + z * w) * b + 2 * (x * z - y * w) * c
        v[index + 1] = 2 * (x * y - z * w) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z + x * w) * c
        v[index + 2] = 2 * (x * z + y * w) * a + 2 * (y * z - x * w) * b + (1 - 2 * (x * x + y * y)) * c


@compiled
def principal_axes(inertia: Array, moments: Array, quaternion: Array) -> None:
    """Write the principal moments of an inertia, (3, 3), and the rotation from their axes as (w, x, y, z)."""
    found, R = np.linalg.eigh(inertia)
    if np.linalg.det(R) < 0.0:
        R[:, 0] *= -1.0
    moments[:] = found
    # starts with the largest of the four, whose square root is the most accurate
    squares = np.empty(4)
    squares[0] = 1.0 + R[0, 0] + R[1, 1] + R[2, 2]
    for i in range(3):
        squares[1 + i] = 1.0 + 2.0 * R[i, i] - (R[0, 0] + R[1, 1] + R[2, 2])
    k = int(np.argmax(squares))
    if k == 0:
        quaternion[0] = squares[0]
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            quaternion[1 + i] = R[m, j] - R[j, m]
    else:
        i = k - 1
        j, m = (i + 1) % 3, (i + 2) % 3
        quaternion[0] = R[m, j] - R[j, m]
        quaternion[k] = squares[k]
        quaternion[1 + j] = R[j, i] + R[i, j]
        quaternion[1 + m] = R[m, i] + R[i, m]
    quaternion /= np.linalg.norm(quaternion)
