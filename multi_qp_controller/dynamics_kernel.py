"""Inertia and centres of mass from what pinocchio computed anyway, compiled; Python runs the same code else."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def joint_space_inertia(
    J: Array, Ag: Array, com: Array, armature: Array, starts: Indices, above: Indices, M: Array
) -> None:
    """Write the entries of the joint-space inertia that are not always zero.

    A column of the centroidal map is the momentum of what its joint carries: M_ij = J_jᵀ h_i for j above i, with h_i
    about the world's origin.

    Args:
        J: pinocchio's `data.J`, (6, nv).
        Ag: pinocchio's `data.Ag`, about `com`, (6, nv).
        com: of the whole scene, (3,) [m].
        armature: inertia of the motors, (nv,).
        starts: where the columns above each column begin, (nv + 1,).
        above: columns that move each column's joint, with its own.
        M: to fill, (nv, nv).
    """
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


@compiled
def nonlinear_effects(
    gravity_and_speed: Array,
    q: Array,
    v: Array,
    q_index: Indices,
    v_index: Indices,
    stiffness: Array,
    rest: Array,
    damping: Array,
    friction: Array,
    continuous: NDArray[np.bool_],
    smoothing: float,
    N: Array,
) -> None:
    """Write N of (12): what gravity and velocities make, and what passive joints oppose to motion.

    Args:
        gravity_and_speed: pinocchio's `data.nle`, (nv,).
        q: (nq,).
        v: (nv,).
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


@compiled
def centroid(
    roots: Indices,
    masses: Array,
    poses: Array,
    coms: Array,
    columns: Indices,
    Ag: Array,
    dAg: Array,
    v: Array,
    out: Array,
) -> None:
    """Write centre of mass, its velocity, its drift and the mass of the bodies below some joints, world frame, (10,).

    Args:
        roots: joints at the roots, (k,).
        masses: that they carry, (k,) [kg].
        poses: of all joints, see `JointViews`, (joints, 12).
        coms: of what each joint carries, in the joint, (joints, 3) [m].
        columns: entries of v of these bodies.
        Ag: pinocchio's `data.Ag`, (6, nv).
        dAg: pinocchio's `data.dAg`, (6, nv).
        v: (nv,).
        out: to fill, (10,).
    """
    total = 0.0
    out[:] = 0.0
    for k in range(len(roots)):
        X, c, share = poses[roots[k]], coms[roots[k]], masses[k]
        total += share
        for i in range(3):
            out[i] += share * (X[i] * c[0] + X[3 + i] * c[1] + X[6 + i] * c[2] + X[9 + i])
    for c in columns:
        for i in range(3):
            out[3 + i] += Ag[i, c] * v[c]
            out[6 + i] += dAg[i, c] * v[c]
    for i in range(9):
        out[i] /= total
    out[9] = total
