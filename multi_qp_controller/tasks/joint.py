"""One joint: its angle or its velocity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.references import minimum_jerk
from multi_qp_controller.tasks.base import Task

Array = NDArray[np.float64]


class JointAngleTask(Task):
    """x = one joint's angle [rad] or position [m]; the joint may be nobody's motor, as a door's hinge."""

    dim = 1

    def __init__(
        self,
        name: str,
        *,
        v_index: int,
        q_index: int,
        goal: float,
        continuous: bool = False,
        duration: float | None = None,
        weight: float = 1.0,
        stiffness: float = 10.0,
        damping: float | None = None,
    ) -> None:
        """Make the task.

        Args:
            name: unique in the scene.
            v_index: of the joint in v.
            q_index: of the joint in q.
            goal: angle [rad] or position [m].
            continuous: whether q holds (cos, sin) of the angle; the joint then goes the short way round.
            duration: of a minimum-jerk path to the goal [s]; a set-point if None.
            weight: w of (32).
            stiffness: k of (33).
            damping: 2√k if None.
        """
        super().__init__(name, weight=weight, stiffness=stiffness, damping=damping)
        self.goal = goal
        self._v_index = v_index
        self._q_index = q_index
        self._continuous = continuous
        self._duration = duration or 0.0
        self._from = goal

    @property
    def duration(self) -> float:
        """Time that the reference moves for [s]."""
        return self._duration

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Begin at the present angle."""
        super().start(kinematics, time)
        self._from = self._angle(kinematics)

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the row of this tick."""
        step = self._difference(self.goal, self._from)
        s, ds, dds = minimum_jerk(time - self.started_at, self._duration) if self._duration else (1.0, 0.0, 0.0)
        self._error = np.array([self._difference(self._angle(kinematics), self._from + s * step)])
        self._speed = kinematics.v[self._v_index : self._v_index + 1]
        J[0, self._v_index] = 1.0
        b[:] = self.feedback(self._error, self._speed - ds * step) + dds * step

    def _angle(self, kinematics: Kinematics) -> float:
        q, k = kinematics.q, self._q_index
        return math.atan2(q[k + 1], q[k]) if self._continuous else float(q[k])

    def _difference(self, angle: float, other: float) -> float:
        return math.remainder(angle - other, math.tau) if self._continuous else angle - other


class JointVelocityTask(Task):
    """x = one joint's velocity [rad/s] or [m/s]: ẍᵈ = −k(q̇ − q̇_ref), with k in 1/s."""

    dim = 1

    def __init__(self, name: str, *, v_index: int, goal: float, weight: float = 1.0, stiffness: float = 10.0) -> None:
        """Make the task for the joint at `v_index` of v."""
        super().__init__(name, weight=weight, stiffness=stiffness)
        self.goal = goal
        self._v_index = v_index

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the row of this tick."""
        self._speed = kinematics.v[self._v_index : self._v_index + 1]
        self._error = self._speed - self.goal
        J[0, self._v_index] = 1.0
        b[:] = -self.stiffness * self._error
