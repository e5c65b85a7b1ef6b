"""One joint: its angle or its velocity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.paths import Path
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]


class JointAngleTask(Task):
    """x = one joint's angle [rad] or position [m]; the joint may be nobody's motor, as a door's hinge."""

    dim = 1

    def __init__(
        self,
        name: str,
        *,
        joint: ScalarJoint,
        goal: float,
        duration: float | None = None,
        weight: float = 1.0,
        stiffness: float = 10.0,
        damping: float | None = None,
    ) -> None:
        """Make the task.

        Args:
            name: unique in the scene.
            joint: which; a continuous one goes the short way round.
            goal: angle [rad] or position [m].
            duration: of a minimum-jerk path to the goal [s]; a set-point if None.
            weight: w of (32).
            stiffness: k of (33).
            damping: 2√k if None.
        """
        super().__init__(name, weight=weight, stiffness=stiffness, damping=damping)
        self.goal = goal
        self._joint = joint
        self._duration = duration or 0.0
        self._from = goal

    @property
    def duration(self) -> float:
        """Time that the reference moves for [s]."""
        return self._duration

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Begin at the present angle."""
        super().start(kinematics, time)
        self._from = self._joint.angle(kinematics.q)
        self._note_path()

    def memory(self) -> Memory:
        """Return also the angle at which it began."""
        return super().memory() | {"from": self._from}

    def resume(self, memory: Memory, kinematics: Kinematics) -> None:
        """Go on from a memory."""
        super().resume(memory, kinematics)
        self._from = memory["from"]
        self._note_path()

    def _note_path(self) -> None:
        first, step = np.array([self._from]), np.array([self._joint.difference(self.goal, self._from)])
        self.path = Path.straight(first, step, start=self.started_at, duration=self._duration)

    def places(self, scene: Scene) -> list[tuple[int, int]] | None:
        """Return the entries of q and of v of the row, or None where the angle is not a single number."""
        return None if self._joint.continuous else [(self._joint.q_index, self._joint.v_index)]

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return the joint."""
        return np.array([self._joint.v_index], dtype=np.intp)

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the row of this tick."""
        angle, rate, acceleration = self.sample(time)
        joint = self._joint
        self._error = np.array([joint.difference(joint.angle(kinematics.q), angle)])
        self._speed = kinematics.v[joint.v_index : joint.v_index + 1]
        J[0, joint.v_index] = 1.0
        b[:] = self.feedback(self._error, self._speed - rate) + acceleration


class JointVelocityTask(Task):
    """x = one joint's velocity [rad/s] or [m/s]: ẍᵈ = −k(q̇ − q̇_ref), with k in 1/s."""

    dim = 1

    def __init__(self, name: str, *, v_index: int, goal: float, weight: float = 1.0, stiffness: float = 10.0) -> None:
        """Make the task for the joint at `v_index` of v."""
        super().__init__(name, weight=weight, stiffness=stiffness)
        self.goal = goal
        self._v_index = v_index

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return the joint."""
        return np.array([self._v_index], dtype=np.intp)

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the row of this tick."""
        self._speed = kinematics.v[self._v_index : self._v_index + 1]
        self._error = self._speed - self.goal
        J[0, self._v_index] = 1.0
        b[:] = -self.stiffness * self._error
