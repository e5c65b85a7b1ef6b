"""Motion of one frame relative to another or to the world, used by contacts and pose tasks."""

from __future__ import annotations

from dataclasses import dataclass

import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array


@dataclass(frozen=True)
class RelativeMotion:
    """Motion of frame A relative to frame B.

    Attributes:
        X_B_A: pose of A in B.
        J: Jacobian of the twist of A relative to B, in A: linear rows, then angular, (6, nv).
        twist: that twist, (6,) [m/s, rad/s].
        drift: its time derivative at q̈ = 0 (of its components in A), (6,).
    """

    X_B_A: pin.SE3
    J: Array
    twist: Array
    drift: Array


def relative_motion(kinematics: Kinematics, frame_a: int, frame_b: int | None) -> RelativeMotion:
    """Return the motion of A relative to B, both given by frame index; B = None is the world.

    If the pair is in the motion table, the arrays are views of it and change at the next tick.

    With v_A, v_B the spatial velocities of both in A's frame: v = v_A - X v_B and, as the adjoint X of the relative
    pose changes at the rate -v ×, v̇ = a_A - X a_B + v × X v_B. With the relative Jacobian J_A - X J_B one wrench acts
    on both bodies with opposite signs: F2 = Φ F1 in [Vaillant2015] (12), (15).
    """
    table = kinematics.motions
    k = -1 if table is None else table.index.get((frame_a, frame_b), -1)
    if table is not None and k >= 0:
        return RelativeMotion(pin.SE3(table.X[k]), table.J[6 * k : 6 * k + 6], table.twist[k], table.drift[k])
    return single_motion(kinematics, frame_a, frame_b)


def single_motion(kinematics: Kinematics, frame_a: int, frame_b: int | None) -> RelativeMotion:
    """Return the motion of A relative to B from pinocchio's data, without the table."""
    J, twist, drift = kinematics.jacobian(frame_a), kinematics.twist(frame_a), kinematics.drift(frame_a)
    if frame_b is None:
        return RelativeMotion(kinematics.pose(frame_a).copy(), J, twist, drift)
    X_b_a = kinematics.pose(frame_b).actInv(kinematics.pose(frame_a))
    if kinematics.model.frames[frame_b].parentJoint == 0:
        return RelativeMotion(X_b_a, J, twist, drift)
    X = X_b_a.toActionMatrixInverse()
    twist_b = X @ kinematics.twist(frame_b)
    twist = twist - twist_b
    drift = drift - X @ kinematics.drift(frame_b) + pin.Motion(twist).cross(pin.Motion(twist_b)).vector
    return RelativeMotion(X_b_a, J - X @ kinematics.jacobian(frame_b), twist, drift)
