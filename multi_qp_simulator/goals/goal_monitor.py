"""Monitor of a scenario's goals along a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multi_qp_controller.controller import Controller
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema import goals
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal
from multi_qp_simulator.goals.joints import JointAngle, JointVelocity
from multi_qp_simulator.goals.places import Balance, MinimumDistance, Passed, Pose, Tilt
from multi_qp_simulator.goals.progress import Points, Tracking, Visited
from multi_qp_simulator.goals.task_terms import TaskTermErrors
from multi_qp_simulator.goals.velocity import MeanVelocity

#: The class that measures each type of goal.
_GOALS: dict[type[goals.GoalBase], Callable[[Any, Scenario], MonitoredGoal]] = {
    goals.TrackingGoal: Tracking,
    goals.PoseGoal: Pose,
    goals.PassGoal: Passed,
    goals.StateGoal: Visited,
    goals.PointsGoal: Points,
    goals.JointGoal: JointAngle,
    goals.JointVelocityGoal: JointVelocity,
    goals.TiltGoal: Tilt,
    goals.BalanceGoal: Balance,
    goals.ClearanceGoal: MinimumDistance,
    goals.VelocityGoal: MeanVelocity,
    goals.TaskTermsGoal: TaskTermErrors,
}
#: Those that are measured on the controller's kinematics, which has the controlled subsystems only.
_BY_CONTROLLER = goals.TiltGoal, goals.BalanceGoal


class GoalMonitor:
    """Observes the goals of one run."""

    def __init__(self, scenario: Scenario) -> None:
        controlled = scenario.controlled
        self._goals = {
            name: _GOALS[type(goal)](goal, controlled if isinstance(goal, _BY_CONTROLLER) else scenario)
            for name, goal in scenario.spec.goals.items()
        }

    def observe(self, controller: Controller, state: State, time: float) -> None:
        """Process one tick."""
        machine = controller.machine
        moment = Moment(controller, state, time, machine.present.name, time - machine.entered)
        for goal in self._goals.values():
            goal.observe(moment)

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate every goal at the final state; a tracking goal has one result for each quantity it bounds."""
        results: dict[str, GoalResult] = {}
        for name, goal in self._goals.items():
            for part, result in goal.results(state, visited).items():
                results[f"{name}_{part}" if part else name] = result
        return results
