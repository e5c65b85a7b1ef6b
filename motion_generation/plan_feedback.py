"""Accelerations that bring a character back to a refined motion."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pinocchio as pin

from contact_invariant.timed_plan import TimedPlan
from contact_invariant.whole_body import WholeBodyMotion
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.vectors import cross
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene

#: Contacts may change this much earlier or later than in the motion: gains are those of its contacts there [s].
AROUND = 0.3


class PlanFeedback:
    """q̈ = q̈_ref + K δx, with the gains of the plan, as accelerations of what tasks follow.

    K is that of the contacts that hold. All of these accelerations obey the dynamics together, as far as those are
    linear: tasks with them do not contradict each other, as tasks with constant gains do.

    Attributes:
        acceleration: of the whole scene in the last tick, zero but for the character, (nv,).
    """

    def __init__(self, scene: Scene, name: str, plan: TimedPlan) -> None:
        """Prepare for a plan with gains, of the subsystem `name`."""
        self._scene, self._body, self._group = scene, scene.subsystems[name], (name,)
        self._motion = WholeBodyMotion(plan.times, plan.postures, plan.touched)
        self._span, self._knots = (float(plan.times[0]), float(plan.times[-1])), plan.knots
        nv = self._body.v_slice.stop - self._body.v_slice.start
        self._gains = plan.gains.reshape(len(plan.knots), nv, 2 * nv).astype(float)
        self._contacts = [frozenset(np.flatnonzero(row != "").tolist()) for row in plan.touched]
        self._deviation, self.acceleration = np.zeros(2 * nv), np.zeros(scene.nv)
        self._reference, self._J = scene.q0.copy(), np.zeros((3, scene.nv))

    def update(self, kinematics: Kinematics, t: float, row: int, touching: Collection[int], *, moving: bool) -> None:
        """Compute the accelerations of this tick.

        Args:
            kinematics: at the present state.
            t: time of the motion [s].
            row: of the plan's knots.
            touching: effectors that are in contact.
            moving: whether the motion goes on.
        """
        body = self._body
        nv = len(self._deviation) // 2
        q, v, a = (one[0] for one in self._motion.at(np.array([np.clip(t, *self._span)])))
        self._reference[:] = kinematics.q
        self._reference[body.q_slice] = q
        self._deviation[:nv] = pin.difference(self._scene.model, self._reference, kinematics.q)[body.v_slice]
        self._deviation[nv:] = kinematics.v[body.v_slice] - moving * v
        gains = self._gains[self._row(t, row, frozenset(touching))]
        self.acceleration[body.v_slice] = moving * a + gains @ self._deviation

    def _row(self, t: float, row: int, touching: frozenset[int]) -> int:
        """Return the row with these contacts that is nearest in time, `row` if there is none."""
        if touching == self._contacts[row]:
            return row
        first, end = np.searchsorted(self._knots, [t - AROUND, t + AROUND])
        alike = [k for k in range(first, end) if self._contacts[k] == touching]
        return min(alike, key=lambda k: abs(self._knots[k] - t), default=row)

    def of_com(self, kinematics: Kinematics) -> Array:
        """Return the acceleration of the centre of mass, (3,) [m/s²]."""
        group = kinematics.group(self._group)
        group.com_jacobian(kinematics, self._J)
        return np.asarray(self._J @ self.acceleration + group.com_drift(kinematics))

    def of_frame(self, kinematics: Kinematics, frame_id: int) -> Array:
        """Return that of a frame's origin and its angular acceleration, along the axes of the world, (6,)."""
        twist = kinematics.twist(frame_id)
        local = kinematics.jacobian(frame_id) @ self.acceleration + kinematics.drift(frame_id)
        local[:3] += cross(twist[3:], twist[:3])
        return (kinematics.pose(frame_id).rotation @ local.reshape(2, 3).T).T.ravel()
