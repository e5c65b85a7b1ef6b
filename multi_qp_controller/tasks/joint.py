"""Tasks on the angle or the velocity of one joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.references.minimum_jerk import Path
from multi_qp_controller.tasks.base import Gains, Task
from multi_qp_scene.arrays import Array
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.tasks import JointAngleTaskSpec, JointVelocityTaskSpec


class JointAngleTask(Task):
    """x = one joint's angle [rad] or position [m]; the joint may be unactuated, such as a door's hinge.

    Attributes:
        start_angle: angle at the start [rad] or [m].
    """

    Spec = JointAngleTaskSpec

    @dataclass
    class Checkpoint(Task.Checkpoint):
        """Angle at the start."""

        start_angle: float

    unit = "rad"
    dim = 1

    def __init__(
        self,
        name: str,
        *,
        joint: ScalarJoint,
        goal: float,
        duration: float | None = None,
        **gains: Unpack[Gains],
    ) -> None:
        """Create the task.

        Args:
            name: unique in the scene.
            joint: the joint; a continuous one takes the shorter direction.
            goal: goal angle [rad] or position [m].
            duration: duration of a minimum-jerk path to the goal [s]; a set-point if None.
            gains: weight, stiffness and damping, see `Task`.
        """
        super().__init__(name, **gains)
        self.goal = goal
        self._joint = joint
        self._duration = duration or 0.0
        self.start_angle = goal

    @classmethod
    def of(cls, name: str, spec: JointAngleTaskSpec, scenario: Scenario) -> JointAngleTask:
        """Return the task of a specification."""
        joint = ScalarJoint.of(scenario.scene.model, spec.joint)
        return cls(name, joint=joint, goal=spec.target, duration=spec.duration, **spec.gains)

    @property
    def duration(self) -> float:
        """Duration of the reference motion [s]."""
        return self._duration

    def start(self, kinematics: Kinematics, time: float) -> None:
        """Start at the present angle."""
        super().start(kinematics, time)
        self.start_angle = self._joint.angle(kinematics.q)
        self._update_path()

    def restored(self, kinematics: Kinematics) -> None:
        """Compute the path."""
        self._update_path()

    def _update_path(self) -> None:
        first, step = np.array([self.start_angle]), np.array([self._joint.difference(self.goal, self.start_angle)])
        self.path = Path.straight(first, step, start=self.started_at, duration=self._duration)

    def places(self, scene: Scene) -> list[tuple[int, int]] | None:
        """Return the entries of q and v of the row, or None where q represents the angle by two numbers."""
        return None if self._joint.continuous else [(self._joint.q_index, self._joint.v_index)]

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return the entry of v of the joint."""
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

    Spec = JointVelocityTaskSpec
    unit = "rad/s"
    dim = 1

    def __init__(self, name: str, *, v_index: int, goal: float, weight: float = 1.0, stiffness: float = 10.0) -> None:
        """Create the task for the joint at `v_index` of v."""
        super().__init__(name, weight=weight, stiffness=stiffness)
        self.goal = goal
        self._v_index = v_index

    @classmethod
    def of(cls, name: str, spec: JointVelocityTaskSpec, scenario: Scenario) -> JointVelocityTask:
        """Return the task of a specification."""
        v_index = ScalarJoint.of(scenario.scene.model, spec.joint).v_index
        return cls(name, v_index=v_index, goal=spec.target, weight=spec.weight, stiffness=spec.stiffness)

    def columns(self, scene: Scene) -> NDArray[np.intp]:
        """Return the entry of v of the joint."""
        return np.array([self._v_index], dtype=np.intp)

    def compute(self, kinematics: Kinematics, time: float, J: Array, b: Array) -> None:
        """Write the row of this tick."""
        self._speed = kinematics.v[self._v_index : self._v_index + 1]
        self._error = self._speed - self.goal
        J[0, self._v_index] = 1.0
        b[:] = -self.stiffness * self._error
