"""Compiled kernel for the rows of many tasks; equal to `compute` of each task in Python."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.dynamics.rotation_kernel import rotation_vector
from multi_qp_controller.references.minimum_jerk import sample_paths
from multi_qp_controller.tasks.base import ACCELERATION_TIME
from multi_qp_scene.jit import compiled, compiled_part
from multi_qp_scene.kernel_data import ColumnMajor, IndexMatrix, IndexVector, Matrix, Stack, Vector, unpack

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# columns of `gains`, one line a task
STIFFNESS, DAMPING, SPEED, TURN_SPEED = range(4)


class TaskData(NamedTuple):
    """Arrays of `task_rows`.

    Attributes:
        timing: timing of the reference path of each task, see `sample_paths`.
        numbers_at: start and end index of each path in `numbers`.
        firsts: start values of the paths.
        changes: coefficients of the paths.
        numbers: to fill for references that are paths; the references below are views of it.
        gains: stiffness, damping and largest speeds of each task, (tasks, 4) [1/s², 1/s, m/s, rad/s].
        poses: task, first row, rows, axes in `lists` and pair of frames of each pose task, (p, 5).
        pose_references: position, rotation row by row, velocity and acceleration, (p, 24).
        angles: task, row, entry of q and entry of v of each angle row, (a, 4).
        angle_references: value, rate and acceleration, (a, 3).
        centres: task, first row, rows, axes in `lists`, columns and their end, carriers and their end, (c, 8).
        centre_references: position relative to the carriers, velocity and acceleration along each axis, (c, 9).
        centroids: centre of mass, its velocity, its drift, and the mass of each group, (c, 10).
        lists: index lists that the tables above refer to.
        starts: first index in `columns` of each pair of frames, (k + 1,).
        columns: entries of v that move each pair.
        X: X_B_A of each pair, (k, 4, 4).
        twist: relative twist of each pair, (k, 6).
        drift: its drift, (k, 6).
        J_pairs: its Jacobian, (6 k, nv).
        Ag: pinocchio's `data.Ag`, (6, nv).
        pose_errors: to fill: all six errors of each pose task, (p, 6).
        places: to fill: reference of each centre of mass, world frame, (c, 3).
        error: to fill, (rows,).
        speed: to fill, (rows,).
        J: to fill, (rows, nv); angle rows are constant.
        b: to fill, (rows,).
    """

    timing: Matrix
    numbers_at: IndexMatrix
    firsts: Vector
    changes: Matrix
    numbers: Vector
    gains: Matrix
    poses: IndexMatrix
    pose_references: Matrix
    angles: IndexMatrix
    angle_references: Matrix
    centres: IndexMatrix
    centre_references: Matrix
    centroids: Matrix
    lists: IndexVector
    starts: IndexVector
    columns: IndexVector
    X: Stack
    twist: Matrix
    drift: Matrix
    J_pairs: Matrix
    Ag: ColumnMajor
    pose_errors: Matrix
    places: Matrix
    error: Vector
    speed: Vector
    J: Matrix
    b: Vector


@compiled
def task_rows(time: float, q: Array, v: Array, table: Any) -> None:
    """Write J, b, error and speed of pose, angle and centre-of-mass tasks, (33).

    Args:
        time: [s].
        q: (nq,).
        v: (nv,).
        table: of `TaskData`.
    """
    data = unpack(table, TaskData)
    sample_paths(time, data.timing, data.numbers_at, data.firsts, data.changes, data.numbers)
    full, w = np.empty(6), np.empty(6)
    for p in range(len(data.poses)):
        _pose_rows(table, p, full, w)
    for a in range(len(data.angles)):
        task, row = data.angles[a, 0], data.angles[a, 1]
        e, s = q[data.angles[a, 2]] - data.angle_references[a, 0], v[data.angles[a, 3]]
        data.error[row], data.speed[row] = e, s
        feedback = -data.gains[task, STIFFNESS] * e - data.gains[task, DAMPING] * (s - data.angle_references[a, 1])
        data.b[row] = feedback + data.angle_references[a, 2]
    for c in range(len(data.centres)):
        _com_rows(table, c, full, w)


@compiled_part
def _pose_rows(table: Any, p: int, full: Array, w: Array) -> None:
    """Write the rows of one pose task; `full` and `w` are workspace."""
    data = unpack(table, TaskData)
    task, row, rows, axes, k = data.poses[p, 0], data.poses[p, 1], data.poses[p, 2], data.poses[p, 3], data.poses[p, 4]
    _rotation_error(data.X, k, data.pose_references, p, w)
    for i in range(3):
        full[i] = data.X[k, i, 3] - data.pose_references[p, i]
        full[3 + i] = data.X[k, i, 0] * w[0] + data.X[k, i, 1] * w[1] + data.X[k, i, 2] * w[2]
    for i in range(6):
        data.pose_errors[p, i] = full[i]
    for i in range(3):  # the drift in A's axes
        m, n = (i + 1) % 3, (i + 2) % 3
        w[i] = data.drift[k, i] + data.twist[k, 3 + m] * data.twist[k, n] - data.twist[k, 3 + n] * data.twist[k, m]
        w[3 + i] = data.drift[k, 3 + i]
    stiffness, damping = data.gains[task, STIFFNESS], data.gains[task, DAMPING]
    linear = angular = 0.0  # squared norms of the error along the tasked axes
    away = turning_away = 0.0  # half their rates, for a reference at rest
    for r in range(rows):
        axis = data.lists[axes + r]
        i, o = axis % 3, 3 * (axis // 3)
        x, y, z = data.X[k, i, 0], data.X[k, i, 1], data.X[k, i, 2]
        rate = x * data.twist[k, o] + y * data.twist[k, o + 1] + z * data.twist[k, o + 2]
        data.error[row + r], data.speed[row + r] = full[axis], rate
        if axis < 3:
            linear += full[axis] ** 2
            away += full[axis] * rate
        else:
            angular += full[axis] ** 2
            turning_away += full[axis] * rate
    near = (
        _share(linear, away, data.gains, task, SPEED),
        _share(angular, turning_away, data.gains, task, TURN_SPEED),
    )
    for r in range(rows):
        axis, rate = data.lists[axes + r], data.speed[row + r]
        i, o = axis % 3, 3 * (axis // 3)
        x, y, z = data.X[k, i, 0], data.X[k, i, 1], data.X[k, i, 2]
        share = near[0] if o == 0 else near[1]
        desired = (
            share * data.pose_references[p, 18 + axis]
            - stiffness * share * full[axis]
            - damping * (rate - share * data.pose_references[p, 12 + axis])
        )
        data.b[row + r] = desired - (x * w[o] + y * w[o + 1] + z * w[o + 2])
        first = 6 * k + o
        for n in range(data.starts[k], data.starts[k + 1]):
            c = data.columns[n]
            data.J[row + r, c] = (
                x * data.J_pairs[first, c] + y * data.J_pairs[first + 1, c] + z * data.J_pairs[first + 2, c]
            )


@compiled_part
def _com_rows(table: Any, c: int, error_3: Array, moved: Array) -> None:
    """Write the rows of one centre of mass; `error_3` and `moved` (velocity and drift) are workspace."""
    data = unpack(table, TaskData)
    task, row, rows, axes = data.centres[c, 0], data.centres[c, 1], data.centres[c, 2], data.centres[c, 3]
    first, last = data.centres[c, 6], data.centres[c, 7]
    share = 1.0 / (last - first) if last > first else 0.0
    for i in range(3):
        data.places[c, i] = data.centre_references[c, 3 * i]
        moved[i], moved[3 + i] = data.centroids[c, 3 + i], data.centroids[c, 6 + i]
        for n in range(first, last):
            k = data.lists[n]
            data.places[c, i] += share * data.X[k, i, 3]
            for j in range(3):
                m, o = (j + 1) % 3, (j + 2) % 3
                turning = data.twist[k, 3 + m] * data.twist[k, o] - data.twist[k, 3 + o] * data.twist[k, m]
                moved[i] -= share * data.X[k, i, j] * data.twist[k, j]
                moved[3 + i] -= share * data.X[k, i, j] * (data.drift[k, j] + turning)
        error_3[i] = 0.0
    away = 0.0
    for r in range(rows):
        axis = data.lists[axes + r]
        error_3[axis] = data.centroids[c, axis] - data.places[c, axis]
        away += error_3[axis] * moved[axis]
    near = _share(error_3[0] ** 2 + error_3[1] ** 2 + error_3[2] ** 2, away, data.gains, task, SPEED)
    for r in range(rows):
        axis = data.lists[axes + r]
        data.error[row + r], data.speed[row + r] = error_3[axis], moved[axis]
        desired = near * (data.centre_references[c, 3 * axis + 2] - data.gains[task, STIFFNESS] * error_3[axis])
        desired -= data.gains[task, DAMPING] * (moved[axis] - near * data.centre_references[c, 3 * axis + 1])
        data.b[row + r] = desired - moved[3 + axis]
        for n in range(first, last):
            k = data.lists[n]
            for m in range(data.starts[k], data.starts[k + 1]):
                data.J[row + r, data.columns[m]] = 0.0
        for n in range(data.centres[c, 4], data.centres[c, 5]):
            data.J[row + r, data.lists[n]] = data.Ag[axis, data.lists[n]] / data.centroids[c, 9]
        for n in range(first, last):
            k = data.lists[n]
            x, y, z = share * data.X[k, axis, 0], share * data.X[k, axis, 1], share * data.X[k, axis, 2]
            for m in range(data.starts[k], data.starts[k + 1]):
                i = data.columns[m]
                data.J[row + r, i] -= (
                    x * data.J_pairs[6 * k, i] + y * data.J_pairs[6 * k + 1, i] + z * data.J_pairs[6 * k + 2, i]
                )


@compiled_part
def _share(square: float, away: float, gains: Array, task: int, speed: int) -> float:
    """Return the factor that limits an error of this squared norm, and half its rate, as `limit_share` does."""
    stiffness, most, length = gains[task, STIFFNESS], gains[task, speed], math.sqrt(square)
    if stiffness == 0.0 or length == 0.0 or most == math.inf:
        return 1.0
    damping = max(gains[task, DAMPING], 2.0 * math.sqrt(stiffness))
    longest = damping * min(most, max(0.0, -away / length) + most / (damping * ACCELERATION_TIME)) / stiffness
    return 1.0 if length <= longest else longest / length


@compiled_part
def _rotation_error(X: Array, k: int, references: Array, p: int, out: Array) -> None:
    """Write the rotation vector of R_refᵀ R."""
    E = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            E[i, j] = 0.0
            for n in range(3):
                E[i, j] += references[p, 3 + 3 * n + i] * X[k, n, j]
    rotation_vector(E, out)
