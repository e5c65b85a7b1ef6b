"""Rows of many tasks at once, compiled; `compute` of each task is the same for one task in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.paths import go_along
from multi_qp_controller.rotation_kernel import rotation_vector
from multi_qp_scene.bundles import unbundled
from multi_qp_scene.jit import compiled, compiled_part

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# columns of `gains`, one line a task
STIFFNESS, DAMPING, MAX_SPEED = range(3)


#: What `task_rows` is given as a bundle.
TASK_KINDS = "mtvmvmtmtmtmmiiicmmmfmmvvmv"


@compiled
def task_rows(time: float, q: Array, v: Array, bundle: Any) -> None:
    """Write J, b, error and speed of pose, angle and centre-of-mass tasks, (33).

    Args:
        time: [s].
        q: (nq,).
        v: (nv,).
        bundle: of `TASK_KINDS`: all that follows.
        timing: of the path of each task's reference, as all up to `numbers`, see `go_along`.
        numbers_at: where the numbers of each are.
        firsts: of these paths.
        changes: of these paths.
        numbers: to fill, where a reference is such a path; the references below are parts of it.
        gains: stiffness, damping and largest speed of each task, (tasks, 3).
        poses: task, first row, rows, axes in `lists` and pair of frames of each pose task, (p, 5).
        pose_references: position, rotation row by row, velocity and acceleration, (p, 24).
        angles: task, row, entry of q and entry of v of each row that is an angle's, (a, 4).
        angle_references: value, rate and acceleration, (a, 3).
        centres: task, first row, rows, axes in `lists`, columns and their end, carriers and their end, (c, 8).
        centre_references: position from the carriers, velocity and acceleration along each axis, (c, 9).
        centroids: centre of mass, its velocity, its drift, and the mass of each group, (c, 10).
        lists: what the lines refer to.
        starts: where the columns of each pair of frames begin, (k + 1,).
        columns: of v that move each pair.
        X: X_B_A of each pair, (k, 4, 4).
        twist: (k, 6).
        drift: (k, 6).
        J_pairs: (6 k, nv).
        Ag: pinocchio's `data.Ag`, (6, nv).
        pose_errors: to fill: all six errors of each pose task, (p, 6).
        places: to fill: reference of each centre of mass, world frame, (c, 3).
        error: to fill, (rows,).
        speed: to fill, (rows,).
        J: to fill, (rows, nv); rows of angles stay as they are.
        b: to fill, (rows,).
    """
    (
        timing, numbers_at, firsts, changes, numbers, gains, poses, pose_references, angles, angle_references,
        centres, centre_references, centroids, lists, starts, columns, X, twist, drift, J_pairs, Ag, pose_errors,
        places, error, speed, J, b,
    ) = unbundled(bundle, TASK_KINDS)  # fmt: skip
    go_along(time, timing, numbers_at, firsts, changes, numbers)
    full, w = np.empty(6), np.empty(6)
    for p in range(len(poses)):
        _pose_rows(p, gains, poses, pose_references, lists, starts, columns, X, twist, drift, J_pairs, pose_errors,
                   full, w, error, speed, J, b)  # fmt: skip
    for a in range(len(angles)):
        task, row = angles[a, 0], angles[a, 1]
        e, s = q[angles[a, 2]] - angle_references[a, 0], v[angles[a, 3]]
        error[row], speed[row] = e, s
        feedback = -gains[task, STIFFNESS] * e - gains[task, DAMPING] * (s - angle_references[a, 1])
        b[row] = feedback + angle_references[a, 2]
    for c in range(len(centres)):
        _centre_rows(c, gains, centres, centre_references, centroids, lists, starts, columns, X, twist, drift, J_pairs,
                     Ag, full, w, places, error, speed, J, b)  # fmt: skip


@compiled_part
def _pose_rows(
    p: int, gains: Array, poses: Indices, references: Array, lists: Indices, starts: Indices, columns: Indices,
    X: Array, twist: Array, drift: Array, J_pairs: Array, pose_errors: Array, full: Array, w: Array, error: Array,
    speed: Array, J: Array, b: Array,
) -> None:  # fmt: skip
    """Write the rows of one pose task; `full` and `w` are for its use."""
    task, row, rows, axes, k = poses[p, 0], poses[p, 1], poses[p, 2], poses[p, 3], poses[p, 4]
    _rotation_error(X, k, references, p, w)
    for i in range(3):
        full[i] = X[k, i, 3] - references[p, i]
        full[3 + i] = X[k, i, 0] * w[0] + X[k, i, 1] * w[1] + X[k, i, 2] * w[2]
    for i in range(6):
        pose_errors[p, i] = full[i]
    for i in range(3):  # the drift in A's axes
        m, n = (i + 1) % 3, (i + 2) % 3
        w[i] = drift[k, i] + twist[k, 3 + m] * twist[k, n] - twist[k, 3 + n] * twist[k, m]
        w[3 + i] = drift[k, 3 + i]
    stiffness, damping = gains[task, STIFFNESS], gains[task, DAMPING]
    near = _share(full, 0, gains, task), _share(full, 3, gains, task)
    for r in range(rows):
        axis = lists[axes + r]
        i, o = axis % 3, 3 * (axis // 3)
        x, y, z = X[k, i, 0], X[k, i, 1], X[k, i, 2]
        rate = x * twist[k, o] + y * twist[k, o + 1] + z * twist[k, o + 2]
        error[row + r], speed[row + r] = full[axis], rate
        shortened = full[axis] * (near[0] if o == 0 else near[1])
        asked = references[p, 18 + axis] - stiffness * shortened - damping * (rate - references[p, 12 + axis])
        b[row + r] = asked - (x * w[o] + y * w[o + 1] + z * w[o + 2])
        first = 6 * k + o
        for n in range(starts[k], starts[k + 1]):
            c = columns[n]
            J[row + r, c] = x * J_pairs[first, c] + y * J_pairs[first + 1, c] + z * J_pairs[first + 2, c]


@compiled_part
def _centre_rows(
    c: int, gains: Array, centres: Indices, references: Array, centroids: Array, lists: Indices, starts: Indices,
    columns: Indices, X: Array, twist: Array, drift: Array, J_pairs: Array, Ag: Array, error_3: Array, moved: Array,
    places: Array, error: Array, speed: Array, J: Array, b: Array,
) -> None:  # fmt: skip
    """Write the rows of one centre of mass; `error_3` and `moved`, velocity and drift, are for its use."""
    task, row, rows, axes = centres[c, 0], centres[c, 1], centres[c, 2], centres[c, 3]
    first, last = centres[c, 6], centres[c, 7]
    share = 1.0 / (last - first) if last > first else 0.0
    for i in range(3):
        places[c, i] = references[c, 3 * i]
        moved[i], moved[3 + i] = centroids[c, 3 + i], centroids[c, 6 + i]
        for n in range(first, last):
            k = lists[n]
            places[c, i] += share * X[k, i, 3]
            for j in range(3):
                m, o = (j + 1) % 3, (j + 2) % 3
                turning = twist[k, 3 + m] * twist[k, o] - twist[k, 3 + o] * twist[k, m]
                moved[i] -= share * X[k, i, j] * twist[k, j]
                moved[3 + i] -= share * X[k, i, j] * (drift[k, j] + turning)
        error_3[i] = 0.0
    for r in range(rows):
        axis = lists[axes + r]
        error_3[axis] = centroids[c, axis] - places[c, axis]
    near = _share(error_3, 0, gains, task)
    for r in range(rows):
        axis = lists[axes + r]
        error[row + r], speed[row + r] = error_3[axis], moved[axis]
        asked = references[c, 3 * axis + 2] - gains[task, STIFFNESS] * near * error_3[axis]
        asked -= gains[task, DAMPING] * (moved[axis] - references[c, 3 * axis + 1])
        b[row + r] = asked - moved[3 + axis]
        for n in range(first, last):
            k = lists[n]
            for m in range(starts[k], starts[k + 1]):
                J[row + r, columns[m]] = 0.0
        for n in range(centres[c, 4], centres[c, 5]):
            J[row + r, lists[n]] = Ag[axis, lists[n]] / centroids[c, 9]
        for n in range(first, last):
            k = lists[n]
            x, y, z = share * X[k, axis, 0], share * X[k, axis, 1], share * X[k, axis, 2]
            for m in range(starts[k], starts[k + 1]):
                i = columns[m]
                J[row + r, i] -= x * J_pairs[6 * k, i] + y * J_pairs[6 * k + 1, i] + z * J_pairs[6 * k + 2, i]


@compiled_part
def _share(error: Array, first: int, gains: Array, task: int) -> float:
    """Return by how much three errors are shortened to ask for no more than the largest speed; see `limited_error`."""
    stiffness = gains[task, STIFFNESS]
    if gains[task, MAX_SPEED] == np.inf or stiffness == 0.0:
        return 1.0
    longest = gains[task, DAMPING] * gains[task, MAX_SPEED] / stiffness
    length = math.sqrt(error[first] ** 2 + error[first + 1] ** 2 + error[first + 2] ** 2)
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
