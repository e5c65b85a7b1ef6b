"""Compiled kernels for inertia, drifts, nonlinear effects and centres of mass from pinocchio's data."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled
from multi_qp_scene.kernel_data import ColumnMajor, FlagVector, IndexVector, Matrix, Strided, Vector, unpack


class InertiaData(NamedTuple):
    """Arrays of `inertia_and_drifts`.

    Attributes:
        J: pinocchio's `data.J`, (6, nv).
        Ag: pinocchio's `data.Ag`, about `com`, (6, nv).
        com: of the whole scene, (3,) [m].
        armature: inertia of the motors, (nv,).
        starts: first index in `above` of each column, (nv + 1,).
        above: columns that move the joint of each column, itself included.
        M: output, (nv, nv).
        poses: of all joints, see `JointViews`, (joints, 12).
        proper: proper accelerations of all joints at zero q̈, see `JointViews`, (joints, 6).
        gravity: world frame, (3,) [m/s²].
        drifts: output, spatial accelerations of all joints at zero q̈, see `JointViews`, (joints, 6).
    """

    J: ColumnMajor
    Ag: ColumnMajor
    com: Vector
    armature: Vector
    starts: IndexVector
    above: IndexVector
    M: Matrix
    poses: Matrix
    proper: Matrix
    gravity: Vector
    drifts: Matrix


@compiled
def inertia_and_drifts(table: Any) -> None:
    """Write the structurally nonzero entries of the joint-space inertia, and the drifts of all joints.

    A column of the centroidal map is the momentum of the bodies that its joint carries: M_ij = J_jᵀ h_i for j above i,
    with h_i about the world's origin. pinocchio's nonlinear effects use proper accelerations, as an accelerometer
    measures them; gravity is added to these.

    Args:
        table: of `InertiaData`.
    """
    data = unpack(table, InertiaData)
    for i in range(len(data.starts) - 1):
        x, y, z = data.Ag[0, i], data.Ag[1, i], data.Ag[2, i]
        u = data.Ag[3, i] + data.com[1] * z - data.com[2] * y
        v = data.Ag[4, i] + data.com[2] * x - data.com[0] * z
        w = data.Ag[5, i] + data.com[0] * y - data.com[1] * x
        for k in range(data.starts[i], data.starts[i + 1]):
            j = data.above[k]
            s = (
                data.J[0, j] * x
                + data.J[1, j] * y
                + data.J[2, j] * z
                + data.J[3, j] * u
                + data.J[4, j] * v
                + data.J[5, j] * w
            )
            data.M[i, j] = data.M[j, i] = s
        data.M[i, i] += data.armature[i]
    for k in range(1, len(data.drifts)):
        X = data.poses[k]
        for i in range(3):
            data.drifts[k, i] = (
                data.proper[k, i]
                + X[3 * i] * data.gravity[0]
                + X[3 * i + 1] * data.gravity[1]
                + X[3 * i + 2] * data.gravity[2]
            )
            data.drifts[k, 3 + i] = data.proper[k, 3 + i]


class NonlinearData(NamedTuple):
    """Arrays of `nonlinear_effects`.

    Attributes:
        gravity_and_speed: pinocchio's `data.nle`, (nv,).
        q_index: of `PassiveJoints`, as all up to `continuous`, (k,).
        v_index: (k,).
        stiffness: (k,).
        rest: (k,).
        damping: (k,).
        friction: (k,).
        continuous: (k,).
        smoothing: speed over which dry friction is smoothed [rad/s].
        N: output, (nv,).
    """

    gravity_and_speed: Vector
    q_index: IndexVector
    v_index: IndexVector
    stiffness: Vector
    rest: Vector
    damping: Vector
    friction: Vector
    continuous: FlagVector
    smoothing: float
    N: Vector


@compiled
def nonlinear_effects(q: Array, v: Array, table: Any) -> None:
    """Write N of (12): gravity, velocity-dependent terms and passive joint forces.

    Args:
        q: (nq,).
        v: (nv,).
        table: of `NonlinearData`.
    """
    data = unpack(table, NonlinearData)
    for i in range(len(data.N)):
        data.N[i] = data.gravity_and_speed[i]
    for k in range(len(data.v_index)):
        speed, at = v[data.v_index[k]], data.q_index[k]
        if data.continuous[k]:  # shortest rotation
            turned = math.atan2(q[at + 1], q[at]) - data.rest[k]
            stretch = math.atan2(math.sin(turned), math.cos(turned))
        else:
            stretch = q[at] - data.rest[k]
        data.N[data.v_index[k]] += (
            data.stiffness[k] * stretch + data.damping[k] * speed + data.friction[k] * math.tanh(speed / data.smoothing)
        )


class CentroidData(NamedTuple):
    """Arrays of `centroid`.

    Attributes:
        roots: joints at the roots, (k,).
        poses: of all joints, see `JointViews`, (joints, 12).
        coms: of the bodies that each joint carries, see `JointViews`, (joints, 3) [m].
        forces: on each joint, see `JointViews`, (joints, 6) [N, N m].
        gravity: world frame, (3,) [m/s²].
        columns: entries of v of the group.
        Ag: pinocchio's `data.Ag`, (6, nv).
    """

    roots: IndexVector
    poses: Matrix
    coms: Strided
    forces: Matrix
    gravity: Vector
    columns: IndexVector
    Ag: ColumnMajor


@compiled
def centroid(masses: Array, v: Array, out: Array, table: Any) -> None:
    """Write centre of mass, its velocity, its drift and the mass of the bodies below some joints, world frame, (10,).

    Args:
        masses: carried by these joints, (k,) [kg].
        v: (nv,).
        out: output, (10,).
        table: of `CentroidData`.
    """
    data = unpack(table, CentroidData)
    total = 0.0
    out[:] = 0.0
    for k in range(len(data.roots)):
        X, c, f, share = data.poses[data.roots[k]], data.coms[data.roots[k]], data.forces[data.roots[k]], masses[k]
        total += share
        for i in range(3):
            out[i] += share * c[i]
            out[6 + i] += X[i] * f[0] + X[3 + i] * f[1] + X[6 + i] * f[2]
    for c in data.columns:
        for i in range(3):
            out[3 + i] += data.Ag[i, c] * v[c]
    for i in range(9):
        out[i] /= total
    for i in range(3):
        out[6 + i] += data.gravity[i]
    out[9] = total
