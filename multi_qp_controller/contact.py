"""A contact while it is made: its no-slip rows and its wrench."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.memory import Memory, pose_memory, pose_of
from multi_qp_controller.relative_motion import RelativeMotion, relative_motion
from multi_qp_scene.surfaces import Surface

Array = NDArray[np.float64]

#: Turns the axes of a surface into those of one that it touches flush.
_FLUSH = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class ContactFeedback:
    """How a contact is held where the world answers for itself, in place of (20).

    Attributes:
        stiffness: on its pose error [1/s²].
        damping: on its velocity [1/s].
        friction: share of the contact's friction that is counted on.
    """

    stiffness: float
    damping: float
    friction: float = 1.0


class ActiveContact:
    """Two surfaces that touch, from the moment they do.

    The contact is held at the relative pose at which it was made. Its wrench acts on the body of the first surface, at
    that surface's origin and in its frame; the second body receives the opposite one. The friction cone of a point,
    which may turn, stands on the second surface and does not turn with it.

    Attributes:
        name: the scenario's name of it.
        first: the surface that gives the contact points.
        second: the other one.
        friction: Coulomb coefficient that is counted on.
        W: generators of the wrench cone, (6, nλ); those of a point change from tick to tick.
        F: facets of the same cone, F w ≥ 0, (facets, rows); those of a point change as well.
        rows: no-slip rows: 6, or 3 for a point.
        feedback: how it is held where the world answers for itself, or None.
        frames: of the two surfaces, by index.
        key: what its rows depend on, besides where it is.
        price: factor on the cost of its wrench.
    """

    def __init__(
        self,
        name: str,
        first: Surface,
        second: Surface,
        *,
        friction: float,
        kinematics: Kinematics,
        feedback: ContactFeedback | None = None,
    ) -> None:
        self.name = name
        self.first = first
        self.second = second
        self.friction = friction if feedback is None else friction * feedback.friction
        self.W = first.generators(self.friction)
        self.rows = first.equality_rows
        X_second_first = kinematics.pose(second.frame_id).actInv(kinematics.pose(first.frame_id))
        self._X_second_first: pin.SE3 | None = X_second_first
        self._memory: Memory | None = None
        self.feedback = feedback
        self.price = 1.0
        self.F = first.facets(self.friction).copy()
        self._W_in_second = _FLUSH @ self.W[:3] if self.rows == 3 else None
        self._F_in_second = self.F @ _FLUSH if self.rows == 3 else None
        self.frames: tuple[int, int] = (first.frame_id, second.frame_id)
        self.key = name, self.frames, self.friction, feedback
        self._kinematics = kinematics
        self._motion: RelativeMotion | None = None
        self.update(kinematics)

    def made_anew(self) -> ActiveContact:
        """Return the same contact as one that is not held yet."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._X_second_first, new._memory, new.price = None, None, 1.0
        if self.rows == 3:
            new.W, new.F = self.W.copy(), self.F.copy()
        return new

    def hold(self) -> None:
        """Be made where the surfaces are at this tick, if it has not been."""
        if self._X_second_first is None:
            self._X_second_first = self.motion.X_B_A

    @property
    def is_held(self) -> bool:
        """Whether it is made: it is in its first tick."""
        return self._X_second_first is not None

    @property
    def X_second_first(self) -> pin.SE3:
        """Pose of the first surface in the second's frame as made; where it is now, before that."""
        return self.motion.X_B_A if self._X_second_first is None else self._X_second_first

    @property
    def motion(self) -> RelativeMotion:
        """Relative motion at this tick."""
        if self._motion is None:
            self._motion = relative_motion(self._kinematics, *self.frames)
        return self._motion

    def memory(self) -> Memory | None:
        """Return the relative pose at which it was made, None before that."""
        if self._memory is None and self._X_second_first is not None:
            self._memory = pose_memory(self._X_second_first)
        return self._memory

    def resume(self, memory: Memory | None) -> None:
        """Be the contact that was made at a relative pose, or is not made yet."""
        self._X_second_first, self._memory = None if memory is None else pose_of(memory), memory

    def update(self, kinematics: Kinematics) -> None:
        """Take note of a new tick."""
        self._kinematics, self._motion = kinematics, None
        if self._W_in_second is not None and self._F_in_second is not None:
            R = self.motion.X_B_A.rotation
            np.matmul(R.T, self._W_in_second, out=self.W[:3])
            np.matmul(self._F_in_second, R, out=self.F)

    def pose_error(self) -> Array:
        """Return the twist that would bring the contact back, times 1 s, in the first surface's frame, (6,)."""
        back = self.motion.X_B_A.actInv(self.X_second_first)
        if self.rows == 3:
            return np.concatenate([back.translation, np.zeros(3)])
        return pin.log6(back).vector

    def slip(self) -> tuple[float, float]:
        """Return how far the contact has moved since it was made: (distance [m], angle [rad]); a point may turn."""
        now, then = self.motion.X_B_A, self.X_second_first
        distance = math.dist(now.translation.tolist(), then.translation.tolist())
        if self.rows == 3:
            return distance, 0.0
        # the Frobenius norm of R₁ - R₂ is 2√2 sin(angle/2), exact where an arc cosine of the trace is not
        apart = math.dist(now.rotation.ravel().tolist(), then.rotation.ravel().tolist())
        return distance, 2.0 * math.asin(min(1.0, apart / (2.0 * math.sqrt(2.0))))

    def no_slip(self, dt: float) -> tuple[Array, Array]:
        """Return (J, rhs) of J q̈ = rhs: the velocity after the step undoes the pose error, (rows, nv), (rows,).

        With feedback, the pose error is undone as by a spring and the velocity as by a damper: a foot on ground that
        gives way is never where it was made to the last tenth of a millimetre, and one period is too short to bring it
        there by torques.

        Source: [Vaillant2015] (18), (20).
        """
        motion = self.motion
        if self.feedback is not None:
            return motion.J[: self.rows], self.held(motion.twist, motion.drift)
        rhs = (self.pose_error() / dt - motion.twist) / dt - motion.drift
        return motion.J[: self.rows], rhs[: self.rows]

    def held(self, twist: Array, drift: Array) -> Array:
        """Return the right-hand side of no slip with feedback, from relative twist and drift, (rows,)."""
        feedback = self.feedback
        if feedback is None:
            raise ValueError(f"contact '{self.name}' is held without feedback")
        rhs = -feedback.damping * twist - drift
        if feedback.stiffness:
            rhs += feedback.stiffness * self.pose_error()
        return rhs[: self.rows]
