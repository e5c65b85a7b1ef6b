"""Active contact: no-slip rows and wrench cone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.relative_motion import RelativeMotion, relative_motion
from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful
from multi_qp_scene.surfaces import Surface

#: Groups of joints that contacts fix relative to each other, by index; 0: the environment.
JointGroups = frozenset[frozenset[int]]

#: Rotation from the axes of a surface to those of the aligned surface in contact with it.
_OPPOSED = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class ContactFeedback:
    """Feedback on the pose error of a contact in closed loop, in place of (20).

    Attributes:
        stiffness: gain on the pose error [1/s²].
        damping: gain on the relative velocity [1/s].
        friction: factor on the friction coefficient, as a safety margin.
    """

    stiffness: float
    damping: float
    friction: float = 1.0


class ActiveContact(Stateful):
    """Contact between two surfaces, held at the relative pose at which it was made.

    The wrench acts on the body of the first surface, at that surface's origin and in its frame; the second body
    receives the opposite one. The friction cone of a point contact, which may rotate, is fixed to the second surface.

    Attributes:
        name: name of the contact in the scenario.
        first: surface with the contact points.
        second: the other surface.
        friction: Coulomb coefficient used in the cone.
        W: rays of the wrench cone, (6, nλ); those of a point contact change from tick to tick.
        F: facets of the same cone, F w ≥ low, (facets, rows); those of a point contact change as well.
        least: least multiplier of a ray: 0, or below it if the first surface grips, since rays add up to normal forces.
        low: lower sides of the facets, 0 without a grip, (facets,).
        rows: number of no-slip rows: 6, or 3 for a point contact.
        feedback: closed-loop feedback, or None.
        frames: frame indices of the two surfaces.
        key: everything that its rows depend on, besides its pose.
        effort: factor on the cost of its wrench.
        penalty: a further one, which changes while its force rises or falls.
        held_at: held pose of the first surface in the second's frame, (4, 4), never written to; None before the contact
            is held, in its first tick.
    """

    @dataclass
    class Checkpoint:
        """Held pose and penalty."""

        held_at: Annotated[Array, 4, 4] | None
        penalty: float

    def __init__(
        self,
        name: str,
        first: Surface,
        second: Surface,
        *,
        friction: float,
        kinematics: Kinematics,
        feedback: ContactFeedback | None = None,
        effort: float = 1.0,
        grip: float = 0.0,
    ) -> None:
        self.name = name
        self.first = first
        self.second = second
        self.friction = friction if feedback is None else friction * feedback.friction
        self.W = first.rays(self.friction)
        self.rows = first.equality_rows
        X_second_first = kinematics.pose(second.frame_id).actInv(kinematics.pose(first.frame_id))
        self.held_at: Array | None = X_second_first.homogeneous
        self.feedback = feedback
        self.effort, self.penalty = effort, 1.0
        self.F = first.facets(self.friction).copy()
        pulling = first.kind != "grasp"
        self.least = -grip * math.hypot(1.0, self.friction) / self.W.shape[1] if pulling else 0.0
        self.low = self.F @ self.W[: self.rows].sum(axis=1) * self.least
        self._W_in_second = _OPPOSED @ self.W[:3] if self.rows == 3 else None
        self._F_in_second = self.F @ _OPPOSED if self.rows == 3 else None
        self.frames: tuple[int, int] = (first.frame_id, second.frame_id)
        self.key = name, self.frames, self.friction, feedback, effort, grip
        self._kinematics = kinematics
        self._motion: RelativeMotion | None = None
        self.update(kinematics)

    def as_new(self) -> ActiveContact:
        """Return a copy of the contact that is not held yet."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.held_at, new.penalty = None, 1.0
        if self.rows == 3:
            new.W, new.F = self.W.copy(), self.F.copy()
        return new

    @property
    def X_second_first(self) -> pin.SE3:
        """Held pose of the first surface in the second's frame; the present pose before the contact is held."""
        return self.motion.X_B_A if self.held_at is None else pin.SE3(self.held_at)

    @property
    def motion(self) -> RelativeMotion:
        """Relative motion at this tick."""
        if self._motion is None:
            self._motion = relative_motion(self._kinematics, *self.frames)
        return self._motion

    def update(self, kinematics: Kinematics) -> None:
        """Update with the kinematics of a new tick."""
        self._kinematics, self._motion = kinematics, None
        if self._W_in_second is not None and self._F_in_second is not None:
            R = self.motion.X_B_A.rotation
            np.matmul(R.T, self._W_in_second, out=self.W[:3])
            np.matmul(self._F_in_second, R, out=self.F)

    def pose_error(self) -> Array:
        """Return the pose error: the twist that corrects it within 1 s, in the first surface's frame, (6,)."""
        back = self.motion.X_B_A.actInv(self.X_second_first)
        if self.rows == 3:
            return np.concatenate([back.translation, np.zeros(3)])
        return pin.log6(back).vector

    def slip(self) -> tuple[float, float]:
        """Return linear [m] and angular [rad] slip since the contact was made; a point contact may rotate."""
        now, then = self.motion.X_B_A, self.X_second_first
        distance = math.dist(now.translation.tolist(), then.translation.tolist())
        if self.rows == 3:
            return distance, 0.0
        # the Frobenius norm of R₁ - R₂ is 2√2 sin(angle/2), exact where an arc cosine of the trace is not
        apart = math.dist(now.rotation.ravel().tolist(), then.rotation.ravel().tolist())
        return distance, 2.0 * math.asin(min(1.0, apart / (2.0 * math.sqrt(2.0))))

    def feedback_rhs(self, twist: Array, drift: Array) -> Array:
        """Return the right-hand side of no slip with feedback (Baumgarte), from relative twist and drift, (rows,).

        A spring acts on the pose error and a damper on the velocity: a foot on compliant ground is never exactly at the
        held pose, and one period is too short to correct the error by torques, as (20) would.
        """
        feedback = self.feedback
        if feedback is None:
            raise ValueError(f"contact '{self.name}' has no feedback")
        rhs = -feedback.damping * twist - drift
        if feedback.stiffness:
            rhs += feedback.stiffness * self.pose_error()
        return rhs[: self.rows]
