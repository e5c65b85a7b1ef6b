"""A contact while it is made: its no-slip rows and its wrench."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.relative_motion import RelativeMotion, relative_motion
from multi_qp_scene.surfaces import Surface

Array = NDArray[np.float64]


class ActiveContact:
    """Two surfaces that touch, from the moment they do.

    The contact is held at the relative pose at which it was made. Its wrench acts on the body of the first surface, at
    that surface's origin and in its frame; the second body receives the opposite one.

    Attributes:
        name: the scenario's name of it.
        first: the surface that gives the contact points.
        second: the other one.
        friction: Coulomb coefficient.
        W: generators of the wrench cone, (6, nλ).
        rows: no-slip rows: 6, or 3 for a point.
        X_second_first: pose of the first surface in the second's frame, as made.
        motion: relative motion at this tick.
    """

    def __init__(self, name: str, first: Surface, second: Surface, *, friction: float, kinematics: Kinematics) -> None:
        self.name = name
        self.first = first
        self.second = second
        self.friction = friction
        self.W = first.generators(friction)
        self.rows = first.equality_rows
        self.X_second_first = kinematics.pose(second.frame_id).actInv(kinematics.pose(first.frame_id))
        self.motion: RelativeMotion
        self.update(kinematics)

    def update(self, kinematics: Kinematics) -> None:
        """Compute its relative motion at this tick."""
        self.motion = relative_motion(kinematics, self.first.frame_id, self.second.frame_id)

    def pose_error(self) -> Array:
        """Return the twist that would bring the contact back, times 1 s, in the first surface's frame, (6,)."""
        back = self.motion.X_B_A.actInv(self.X_second_first)
        if self.rows == 3:
            return np.concatenate([back.translation, np.zeros(3)])
        return pin.log6(back).vector

    def slip(self) -> tuple[float, float]:
        """Return how far the contact has moved since it was made: (distance [m], angle [rad]); a point may turn."""
        back = self.motion.X_B_A.actInv(self.X_second_first)
        angle = 0.0 if self.rows == 3 else float(np.linalg.norm(pin.log3(back.rotation)))
        return float(np.linalg.norm(back.translation)), angle

    def no_slip(self, dt: float) -> tuple[Array, Array]:
        """Return (J, rhs) of J q̈ = rhs: the velocity after the step undoes the pose error, (rows, nv), (rows,).

        Source: [Vaillant2015] (18), (20).
        """
        motion = self.motion
        rhs = (self.pose_error() / dt - motion.twist) / dt - motion.drift
        return motion.J[: self.rows], rhs[: self.rows]
