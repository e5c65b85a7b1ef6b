"""Motion of one frame relative to another, or to the world: the geometry under contacts and pose tasks alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RelativeMotion:
    """Frame A seen from frame B.

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

    Where the controller has it in its table, the arrays are views of that and change with the next tick.

    With v_A, v_B the spatial velocities of both in A's frame: v = v_A - X v_B and, as the adjoint X of the relative
    pose changes at the rate -v ×, v̇ = a_A - X a_B + v × X v_B. The relative Jacobian J_A - X J_B is what lets one
    wrench act on both bodies with opposite signs: F2 = Φ F1 in [Vaillant2015] (12), (15).
    """
    table = kinematics.motions
    k = -1 if table is None else table.index.get((frame_a, frame_b), -1)
    if table is not None and k >= 0:
        return RelativeMotion(pin.SE3(table.X[k]), table.J[6 * k : 6 * k + 6], table.twist[k], table.drift[k])
    return single_motion(kinematics, frame_a, frame_b)


def relative_twist(kinematics: Kinematics, frame_a: int, frame_b: int) -> tuple[pin.SE3, Array]:
    """Return the pose of A in B and the twist of A relative to B, in A, of `relative_motion` and nothing else."""
    table = kinematics.motions
    k = -1 if table is None else table.index.get((frame_a, frame_b), -1)
    if table is not None and k >= 0:
        return pin.SE3(table.X[k]), table.twist[k]
    X_b_a, twist, _ = _pose_and_twist(kinematics, frame_a, frame_b)
    return X_b_a, twist


def single_motion(kinematics: Kinematics, frame_a: int, frame_b: int | None) -> RelativeMotion:
    """Return the motion of A relative to B from pinocchio's data, without the table."""
    J, drift = kinematics.jacobian(frame_a), kinematics.drift(frame_a)
    if frame_b is None:
        return RelativeMotion(kinematics.pose(frame_a).copy(), J, kinematics.twist(frame_a), drift)
    X_b_a, twist, X = _pose_and_twist(kinematics, frame_a, frame_b)
    if X is None:
        return RelativeMotion(X_b_a, J, twist, drift)
    twist_b = X @ kinematics.twist(frame_b)
    drift = drift - X @ kinematics.drift(frame_b) + pin.Motion(twist).cross(pin.Motion(twist_b)).vector
    return RelativeMotion(X_b_a, J - X @ kinematics.jacobian(frame_b), twist, drift)


def _pose_and_twist(kinematics: Kinematics, frame_a: int, frame_b: int) -> tuple[pin.SE3, Array, Array | None]:
    """Return the pose of A in B, the twist of A relative to B, in A, and what takes twists from B to A if B moves."""
    X_b_a = kinematics.pose(frame_b).actInv(kinematics.pose(frame_a))
    twist = kinematics.twist(frame_a)
    if kinematics.model.frames[frame_b].parentJoint == 0:
        return X_b_a, twist, None
    X = X_b_a.toActionMatrixInverse()
    return X_b_a, twist - X @ kinematics.twist(frame_b), X
