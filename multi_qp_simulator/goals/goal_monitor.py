"""Monitor of a scenario's goals along a run."""

from __future__ import annotations

from typing import assert_never

from multi_qp_controller.controller import Controller
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema import states as st
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal
from multi_qp_simulator.goals.joints import JointAngle, JointVelocity
from multi_qp_simulator.goals.places import Balance, MinimumDistance, Pose, Tilt
from multi_qp_simulator.goals.progress import Points, Tracking, Visited


class GoalMonitor:
    """Observes the goals of one run."""

    def __init__(self, scenario: Scenario) -> None:
        self._goals = {name: _make(goal, scenario.scene) for name, goal in scenario.spec.goals.items()}

    def observe(self, controller: Controller, state: State, time: float) -> None:
        """Process one tick."""
        machine = controller.machine
        moment = Moment(controller, state, time, machine.phase.name, time - machine.entered)
        for goal in self._goals.values():
            goal.observe(moment)

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate every goal at the final state; a tracking goal has one result for each quantity it bounds."""
        results: dict[str, GoalResult] = {}
        for name, goal in self._goals.items():
            for part, result in goal.results(state, visited).items():
                results[f"{name}_{part}" if part else name] = result
        return results


def _make(goal: st.GoalSpec, scene: Scene) -> MonitoredGoal:
    match goal:
        case st.TrackingGoal():
            return Tracking(goal)
        case st.PoseGoal():
            return Pose(goal, scene)
        case st.StateGoal():
            return Visited(goal)
        case st.PointsGoal():
            return Points(goal)
        case st.JointGoal():
            return JointAngle(goal, scene)
        case st.JointVelocityGoal():
            return JointVelocity(goal, scene)
        case st.TiltGoal():
            return Tilt(goal, scene)
        case st.BalanceGoal():
            return Balance(goal, scene)
        case st.ClearanceGoal():
            return MinimumDistance(goal)
        case _:
            assert_never(goal)
