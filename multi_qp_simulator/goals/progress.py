"""Goals on tracking errors, visited states and reached points."""

from __future__ import annotations

import math

from multi_qp_controller.references.random import RandomPoints
from multi_qp_controller.tasks import PoseTask
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema import goals
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal


class Tracking(MonitoredGoal):
    """RMS errors of a pose task."""

    def __init__(self, goal: goals.TrackingGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._count = 0
        self._squares = {"position": 0.0, "rotation": 0.0}

    def observe(self, moment: Moment) -> None:
        """Accumulate the squares."""
        task = moment.controller.tasks.get(self._goal.task)
        if isinstance(task, PoseTask):
            self._count += 1
            self._squares["position"] += task.position_error**2
            self._squares["rotation"] += task.rotation_error**2

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate the RMS, one result for each bounded quantity."""
        bounds = {"position": self._goal.position, "rotation": self._goal.rotation}
        results = {}
        for quantity, tolerance in bounds.items():
            if tolerance is None:
                continue
            rms = math.sqrt(self._squares[quantity] / self._count) if self._count else math.inf
            results[quantity] = GoalResult(rms, 0.0, rms, tolerance, rms <= tolerance)
        return results


class Visited(MonitoredGoal):
    """Number of visits of a state."""

    def __init__(self, goal: goals.StateGoal, scenario: Scenario) -> None:
        self._goal = goal

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Count the visits."""
        count = visited.count(self._goal.state)
        if self._goal.visits == 1:
            return {"": GoalResult(visited[-1], self._goal.state, None, None, count >= 1)}
        missing = float(max(0, self._goal.visits - count))
        return {"": GoalResult(count, self._goal.visits, missing, 0.0, missing == 0)}


class Points(MonitoredGoal):
    """Number of random points missed; the error is the largest distance at which one was left."""

    def __init__(self, goal: goals.PointsGoal, scenario: Scenario) -> None:
        self._goal = goal
        self._reference: RandomPoints | None = None

    def observe(self, moment: Moment) -> None:
        """Record the reference, which counts the reached points."""
        task = moment.controller.tasks.get(self._goal.task)
        if isinstance(task, PoseTask) and isinstance(task.reference, RandomPoints):
            self._reference = task.reference

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Count the misses."""
        points = self._reference
        if points is None:
            return {"": GoalResult(0, None, None, None, False)}
        reached, worst = sum(points.reached), max(points.misses, default=math.inf)
        good = points.finished and len(points.reached) - reached <= self._goal.misses
        return {"": GoalResult(reached, points.count, worst, points.tolerance, good)}
