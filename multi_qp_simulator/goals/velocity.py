"""Goal on the mean velocity of a walking robot."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema import goals
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal
from walking.generator import WalkingGenerator

#: Mean square of a command below which its axis is not evaluated [m²/s²], [rad²/s²].
LEAST = 1e-4


class MeanVelocity(MonitoredGoal):
    """Velocity of the base relative to the command, over whole strides in which the command is constant.

    For each of vx, vy, wz the gain Σ c v / Σ c², with c the command and v the velocity of the base in its heading: 1
    where the mean velocity is the commanded one.
    """

    def __init__(self, goal: goals.VelocityGoal, scenario: Scenario) -> None:
        self._goal, self._scene = goal, scenario.scene
        self._command, self._since = np.zeros(3), 0.0
        self._steps: int | None = None  # at the beginning of the stride
        self._last = 0
        self._stride, self._total = np.zeros((2, 3)), np.zeros((2, 3))  # sums of c v, c²
        self._ticks, self._count = 0, 0

    def observe(self, moment: Moment) -> None:
        """Accumulate the products of command and velocity, by stride."""
        walking = moment.controller.generators.get(self._goal.generator)
        if not isinstance(walking, WalkingGenerator):
            return
        command, steps = walking.velocity.velocity, walking.stepper.walk.steps
        if not np.array_equal(command, self._command):
            self._command, self._since, self._steps = command.copy(), moment.time, None
        began, self._last = steps != self._last, steps
        if moment.time - self._since < self._goal.after:
            self._steps = None
            return
        if began and (self._steps is None or steps == self._steps + 2):
            if self._steps is not None:
                self._total += self._stride
                self._count += self._ticks
            self._steps, self._stride, self._ticks = steps, np.zeros((2, 3)), 0
        if self._steps is not None:
            velocity = self._velocity(moment.state, walking.subsystem)
            self._stride += np.array([command * velocity, command * command])
            self._ticks += 1

    def _velocity(self, state: State, subsystem: str) -> Array:
        """Return vx, vy [m/s] of the base in its heading and its wz [rad/s], (3,)."""
        joint = self._scene.model.joints[self._scene.subsystems[subsystem].root_joints[0]]
        q, v = state.q[joint.idx_q : joint.idx_q + 7], state.v[joint.idx_v : joint.idx_v + 6]
        R = pin.Quaternion(q[3:7]).toRotationMatrix()
        linear, yaw = R @ v[:3], math.atan2(R[1, 0], R[0, 0])
        c, s = math.cos(yaw), math.sin(yaw)
        return np.array([c * linear[0] + s * linear[1], c * linear[1] - s * linear[0], (R @ v[3:])[2]])

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate the gain of the axis that is furthest from 1."""
        products, squares = self._total
        used = squares > LEAST * max(self._count, 1)
        gains = products / np.where(used, squares, 1.0)
        error = float(np.abs(gains[used] - 1.0).max()) if used.any() else math.inf
        value = [float(gain) if on else None for gain, on in zip(gains, used, strict=True)]
        return {"": GoalResult(value, 1.0, error, self._goal.tolerance, error <= self._goal.tolerance)}
