"""Inertia and centres of mass from what pinocchio computed anyway, compiled; Python runs the same code else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.bundles import unbundled
from multi_qp_scene.jit import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


#: What `inertia_and_drifts` is given as a bundle.
INERTIA_KINDS = "ffvviimmmvm"


@compiled
def inertia_and_drifts(bundle: Any) -> None:
    """Write the entries of the joint-space inertia that are not always zero, and the accelerations of all joints.

    A column of the centroidal map is the momentum of what its joint carries: M_ij = J_jᵀ h_i for j above i, with h_i
    about the world's origin. Nonlinear effects come by proper accelerations, as an accelerometer feels them: gravity is
    taken from these.

    Args:
        bundle: of `INERTIA_KINDS`: all that follows.
        J: pinocchio's `data.J`, (6, nv).
        Ag: pinocchio's `data.Ag`, about `com`, (6, nv).
        com: of the whole scene, (3,) [m].
        armature: inertia of the motors, (nv,).
        starts: where the columns above each column begin, (nv + 1,).
        above: columns that move each column's joint, with its own.
        M: to fill, (nv, nv).
        poses: of all joints, see `JointViews`, (joints, 12).
        proper: accelerations of all joints at zero q̈, see `JointViews`, (joints, 6).
        gravity: world frame, (3,) [m/s²].
        drifts: to fill, of all joints, see `JointViews`, (joints, 6).
    """
    J, Ag, com, armature, starts, above, M, poses, proper, gravity, drifts = unbundled(bundle, INERTIA_KINDS)
    for i in range(len(starts) - 1):
        x, y, z = Ag[0, i], Ag[1, i], Ag[2, i]
        u = Ag[3, i] + com[1] * z - com[2] * y
        v = Ag[4, i] + com[2] * x - com[0] * z
        w = Ag[5, i] + com[0] * y - com[1] * x
        for k in range(starts[i], starts[i + 1]):
            j = above[k]
            s = J[0, j] * x + J[1, j] * y + J[2, j] * z + J[3, j] * u + J[4, j] * v + J[5, j] * w
            M[i, j] = M[j, i] = s
        M[i, i] += armature[i]
    for k in range(1, len(drifts)):
        X = poses[k]
        for i in range(3):
            drifts[k, i] = proper[k, i] + X[3 * i] * gravity[0] + X[3 * i + 1] * gravity[1] + X[3 * i + 2] * gravity[2]
            drifts[k, 3 + i] = proper[k, 3 + i]


#: What `nonlinear_effects` is given as a bundle.
NONLINEAR_KINDS = "viivvvvbxv"


@compiled
def nonlinear_effects(q: Array, v: Array, bundle: Any) -> None:
    """Write N of (12): what gravity and velocities make, and what passive joints oppose to motion.

    Args:
        q: (nq,).
        v: (nv,).
        bundle: of `NONLINEAR_KINDS`: all that follows.
        gravity_and_speed: pinocchio's `data.nle`, (nv,).
        q_index: of `PassiveJoints`, as all up to `continuous`, (k,).
        v_index: (k,).
        stiffness: (k,).
        rest: (k,).
        damping: (k,).
        friction: (k,).
        continuous: (k,).
        smoothing: speed over which dry friction comes in [rad/s].
        N: to fill, (nv,).
    """
    (
        gravity_and_speed, q_index, v_index, stiffness, rest, damping, friction, continuous, smoothing, N,
    ) = unbundled(bundle, NONLINEAR_KINDS)  # fmt: skip
    for i in range(len(N)):
        N[i] = gravity_and_speed[i]
    for k in range(len(v_index)):
        speed, at = v[v_index[k]], q_index[k]
        if continuous[k]:  # the short way round
            turned = math.atan2(q[at + 1], q[at]) - rest[k]
            stretch = math.atan2(math.sin(turned), math.cos(turned))
        else:
            stretch = q[at] - rest[k]
        N[v_index[k]] += stiffness[k] * stretch + damping[k] * speed + friction[k] * math.tanh(speed / smoothing)


#: What `centroid` is given as a bundle.
CENTROID_KINDS = "imsmvif"


@compiled
def centroid(masses: Array, v: Array, out: Array, bundle: Any) -> None:
    """Write centre of mass, its velocity, its drift and the mass of the bodies below some joints, world frame, (10,).

    Args:
        masses: that they carry, (k,) [kg].
        v: (nv,).
        out: to fill, (10,).
        bundle: of `CENTROID_KINDS`: all that follows.
        roots: joints at the roots, (k,).
        poses: of all joints, see `JointViews`, (joints, 12).
        coms: of what each joint carries, see `JointViews`, (joints, 3) [m].
        forces: on each joint, see `JointViews`, (joints, 6) [N, N m].
        gravity: world frame, (3,) [m/s²].
        columns: entries of v of these bodies.
        Ag: pinocchio's `data.Ag`, (6, nv).
    """
    roots, poses, coms, forces, gravity, columns, Ag = unbundled(bundle, CENTROID_KINDS)
    total = 0.0
    out[:] = 0.0
    for k in range(len(roots)):
        X, c, f, share = poses[roots[k]], coms[roots[k]], forces[roots[k]], masses[k]
        total += share
        for i in range(3):
            out[i] += share * c[i]
            out[6 + i] += X[i] * f[0] + X[3 + i] * f[1] + X[6 + i] * f[2]
    for c in columns:
        for i in range(3):
            out[3 + i] += Ag[i, c] * v[c]
    for i in range(9):
        out[i] /= total
    for i in range(3):
        out[6 + i] += gravity[i]
    out[9] = total
