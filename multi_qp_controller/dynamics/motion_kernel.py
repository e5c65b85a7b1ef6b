"""Compiled kernels for relative motions of pairs of frames and for no-slip rows; see also `relative_motion`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.kernel_data import ColumnMajor, IndexVector, Matrix, Stack, Vector, unpack


class MotionData(NamedTuple):
    """Arrays of `relative_motions`.

    Attributes:
        joints: parent joint of each frame, (f,).
        places: placement of each frame in its joint, (f, 3, 4).
        joint_poses: of all joints, see `JointViews`, (joints, 12).
        joint_twists: of all joints, (joints, 6).
        joint_drifts: spatial acceleration at q̈ = 0 of all joints, (joints, 6).
        first: index of A in the arrays of frames, (k,).
        second: index of B, (k,).
        poses: output, X_world_frame, (f, 4, 4).
        twists: output, of each frame, in itself, (f, 6).
        drifts: output, spatial acceleration at q̈ = 0 of each frame, in itself, (f, 6).
        starts: first index in `columns` of each frame, (f + 1,).
        columns: entries of v that move each frame.
        J_world: pinocchio's `data.J`, (6, nv).
        J: output, rows 6 k to 6 k + 5 for pair k, (6 k, nv).
        X: output, X_B_A, (k, 4, 4).
        twist: output, (k, 6).
        drift: output, (k, 6).
    """

    joints: IndexVector
    places: Stack
    joint_poses: Matrix
    joint_twists: Matrix
    joint_drifts: Matrix
    first: IndexVector
    second: IndexVector
    poses: Stack
    twists: Matrix
    drifts: Matrix
    starts: IndexVector
    columns: IndexVector
    J_world: ColumnMajor
    J: Matrix
    X: Stack
    twist: Matrix
    drift: Matrix


@compiled
def relative_motions(table: Any) -> None:
    """Write the motion of frame `first[k]` relative to `second[k]` (-1: the world) for every pair k.

    Args:
        table: of `MotionData`.
    """
    data = unpack(table, MotionData)
    for f in range(len(data.joints)):
        place_frame(data.joint_poses[data.joints[f]], data.places[f], data.poses[f])
        into_frame(data.places[f], data.joint_twists[data.joints[f]], data.twists[f])
        into_frame(data.places[f], data.joint_drifts[data.joints[f]], data.drifts[f])
    for k in range(len(data.first)):
        a, b = data.first[k], data.second[k]
        R, p = data.poses[a, :3, :3], data.poses[a, :3, 3]
        for i in range(6 * k, 6 * k + 6):  # other columns stay zero
            for c in data.columns[data.starts[a] : data.starts[a + 1]]:
                data.J[i, c] = 0.0
            if b >= 0:
                for c in data.columns[data.starts[b] : data.starts[b + 1]]:
                    data.J[i, c] = 0.0
        _add_columns(
            1.0, R, p, data.columns[data.starts[a] : data.starts[a + 1]], data.J_world, data.J[6 * k : 6 * k + 6]
        )
        for i in range(6):
            data.twist[k, i] = data.twists[a, i]
            data.drift[k, i] = data.drifts[a, i]
        if b < 0:
            for i in range(4):
                for j in range(4):
                    data.X[k, i, j] = data.poses[a, i, j]
            continue
        S, s = data.poses[b, :3, :3], data.poses[b, :3, 3]
        for i in range(3):
            data.X[k, 3, i] = 0.0
            data.X[k, i, 3] = S[0, i] * (p[0] - s[0]) + S[1, i] * (p[1] - s[1]) + S[2, i] * (p[2] - s[2])
            for j in range(3):
                data.X[k, i, j] = S[0, i] * R[0, j] + S[1, i] * R[1, j] + S[2, i] * R[2, j]
        data.X[k, 3, 3] = 1.0
        if data.starts[b + 1] > data.starts[b]:
            _add_columns(
                -1.0, R, p, data.columns[data.starts[b] : data.starts[b + 1]], data.J_world, data.J[6 * k : 6 * k + 6]
            )
            _subtract_motion(data.X[k], data.twists[b], data.drifts[b], data.twist[k], data.drift[k])


@compiled_part
def place_frame(joint: Array, place: Array, pose: Array) -> None:
    """Write X_world_frame, (4, 4), of a frame with placement `place`, (3, 4), in its joint."""
    for i in range(3):
        for j in range(4):
            pose[i, j] = joint[i] * place[0, j] + joint[3 + i] * place[1, j] + joint[6 + i] * place[2, j]
        pose[i, 3] += joint[9 + i]
        pose[3, i] = 0.0
    pose[3, 3] = 1.0


@compiled_part
def _add_columns(sign: float, R: Array, p: Array, columns: Indices, J_world: Array, J: Array) -> None:
    """Add the columns of the twist at a frame (R, p), in its axes."""
    for c in columns:
        w0, w1, w2 = J_world[3, c], J_world[4, c], J_world[5, c]
        v0 = J_world[0, c] + w1 * p[2] - w2 * p[1]
        v1 = J_world[1, c] + w2 * p[0] - w0 * p[2]
        v2 = J_world[2, c] + w0 * p[1] - w1 * p[0]
        for i in range(3):
            J[i, c] += sign * (R[0, i] * v0 + R[1, i] * v1 + R[2, i] * v2)
            J[3 + i, c] += sign * (R[0, i] * w0 + R[1, i] * w1 + R[2, i] * w2)


@compiled_part
def _subtract_motion(X: Array, twist_b: Array, drift_b: Array, twist: Array, drift: Array) -> None:
    """Change twist and drift of A to those relative to B: v − X v_B and v̇ = a_A − X a_B + v × X v_B."""
    t, d = np.empty(6), np.empty(6)
    into_frame(X, twist_b, t)
    into_frame(X, drift_b, d)
    for i in range(6):
        twist[i] -= t[i]
        drift[i] -= d[i]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        drift[i] += twist[3 + j] * t[k] - twist[3 + k] * t[j] + twist[j] * t[3 + k] - twist[k] * t[3 + j]
        drift[3 + i] += twist[3 + j] * t[3 + k] - twist[3 + k] * t[3 + j]


@compiled_part
def into_frame(X: Array, motion: Array, out: Array) -> None:
    """Express a twist, given in B, at A and in its axes, with X = X_B_A."""
    p = X[:3, 3]
    w = motion[3:]
    v0 = motion[0] + w[1] * p[2] - w[2] * p[1]
    v1 = motion[1] + w[2] * p[0] - w[0] * p[2]
    v2 = motion[2] + w[0] * p[1] - w[1] * p[0]
    for i in range(3):
        out[i] = X[0, i] * v0 + X[1, i] * v1 + X[2, i] * v2
        out[3 + i] = X[0, i] * w[0] + X[1, i] * w[1] + X[2, i] * w[2]


class NoSlipData(NamedTuple):
    """Arrays of `no_slip_rows`.

    Attributes:
        made: reference X_B_A of each contact, (k, 4, 4).
        X: present X_B_A, (k, 4, 4).
        twist: relative, (k, 6).
        drift: relative, (k, 6).
        rows: number of rows of each contact: 6, or 3 for a point, (k,).
        starts: first index in `columns` of each contact, (k + 1,).
        columns: entries of v that move each contact.
        J: relative Jacobians, (6 k, nv).
        J_out: output, (Σ rows, nv).
        rhs: output, (Σ rows,).
    """

    made: Stack
    X: Stack
    twist: Matrix
    drift: Matrix
    rows: IndexVector
    starts: IndexVector
    columns: IndexVector
    J: Matrix
    J_out: Matrix
    rhs: Vector


@compiled
def no_slip_rows(dt: float, table: Any) -> None:
    """Write the stacked no-slip rows of all contacts, [Vaillant2015] (18), (20).

    Args:
        dt: control period [s].
        table: of `NoSlipData`.
    """
    data = unpack(table, NoSlipData)
    row = 0
    back = np.empty((3, 4))
    error = np.empty(6)
    for k in range(len(data.rows)):
        A, B = data.X[k], data.made[k]
        for i in range(3):
            for j in range(3):
                back[i, j] = A[0, i] * B[0, j] + A[1, i] * B[1, j] + A[2, i] * B[2, j]
            back[i, 3] = A[0, i] * (B[0, 3] - A[0, 3]) + A[1, i] * (B[1, 3] - A[1, 3]) + A[2, i] * (B[2, 3] - A[2, 3])
        if data.rows[k] == 3:
            for i in range(3):
                error[i] = back[i, 3]
        else:
            _log6(back, error)
        for i in range(data.rows[k]):
            data.rhs[row] = (error[i] / dt - data.twist[k, i]) / dt - data.drift[k, i]
            for c in data.columns[data.starts[k] : data.starts[k + 1]]:
                data.J_out[row, c] = data.J[6 * k + i, c]
            row += 1


@compiled_part
def _log6(X: Array, out: Array) -> None:
    """Write the twist whose exponential is (R, p) = X, for angles below π: linear, then angular."""
    s0, s1, s2 = 0.5 * (X[2, 1] - X[1, 2]), 0.5 * (X[0, 2] - X[2, 0]), 0.5 * (X[1, 0] - X[0, 1])
    sine = math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    angle = math.atan2(sine, 0.5 * (X[0, 0] + X[1, 1] + X[2, 2] - 1.0))
    scale = angle / sine if sine > 1e-8 else 1.0
    w0, w1, w2 = scale * s0, scale * s1, scale * s2
    if angle > 1e-4:
        beta = 1.0 / angle**2 - math.cos(0.5 * angle) / (2.0 * angle * math.sin(0.5 * angle))
    else:
        beta = 1.0 / 12.0 + angle**2 / 720.0
    p0, p1, p2 = X[0, 3], X[1, 3], X[2, 3]
    c0, c1, c2 = w1 * p2 - w2 * p1, w2 * p0 - w0 * p2, w0 * p1 - w1 * p0
    out[0] = p0 - 0.5 * c0 + beta * (w1 * c2 - w2 * c1)
    out[1] = p1 - 0.5 * c1 + beta * (w2 * c0 - w0 * c2)
    out[2] = p2 - 0.5 * c2 + beta * (w0 * c1 - w1 * c0)
    out[3], out[4], out[5] = w0, w1, w2
