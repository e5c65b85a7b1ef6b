"""Goals on joint angles and velocities."""

from __future__ import annotations

import math

from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema import goals
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal


class JointAngle(MonitoredGoal):
    """Angle of a joint at the last exit from a state."""

    def __init__(self, goal: goals.JointGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._joint = ScalarJoint.of(scenario.scene.model, goal.joint)
        self._angle = math.inf

    def observe(self, moment: Moment) -> None:
        """Record the angle."""
        if self._goal.state in (None, moment.phase):
            self._angle = self._joint.angle(moment.state.q)

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate the angle, by the shortest rotation."""
        goal = self._goal
        angle = self._joint.angle(state.q) if goal.state in (None, visited[-1]) else self._angle
        # the state may never have been entered
        error = abs(self._joint.difference(angle, goal.target)) if math.isfinite(angle) else math.inf
        return {"": GoalResult(angle, goal.target, error, goal.tolerance, error <= goal.tolerance)}


class JointVelocity(MonitoredGoal):
    """Worst velocity of a joint in a state; the error is relative."""

    def __init__(self, goal: goals.JointVelocityGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._v_index = ScalarJoint.of(scenario.scene.model, goal.joint).v_index
        self._worst: float | None = None

    def observe(self, moment: Moment) -> None:
        """Record the velocity furthest from the target."""
        if moment.phase != self._goal.state or moment.since < self._goal.after:
            return
        speed, target = float(moment.state.v[self._v_index]), self._goal.target
        if self._worst is None or abs(speed - target) > abs(self._worst - target):
            self._worst = speed

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate the worst velocity."""
        goal = self._goal
        error = math.inf if self._worst is None else abs(self._worst - goal.target) / abs(goal.target)
        return {"": GoalResult(self._worst, goal.target, error, goal.tolerance, error <= goal.tolerance)}
