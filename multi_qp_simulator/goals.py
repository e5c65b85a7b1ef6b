"""Goals of a scenario: measured while it runs, judged at its end."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from multi_qp_controller.controller import Controller
from multi_qp_controller.tasks import PoseTask
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.states import PoseGoal, StateGoal, TrackingGoal


@dataclass(frozen=True)
class GoalResult:
    """How a goal ended: `value` against `target`, `error` against `tolerance` [SI units]."""

    value: Any
    target: Any
    error: float | None
    tolerance: float | None
    reached: bool

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; a number that is not finite becomes None, for JSON has none."""
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()}


class GoalKeeper:
    """Watches the goals of one run."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._tracking = {
            name: _Tracking(goal) for name, goal in scenario.spec.goals.items() if isinstance(goal, TrackingGoal)
        }

    def observe(self, controller: Controller) -> None:
        """Take in one tick."""
        for tracking in self._tracking.values():
            task = controller.tasks.get(tracking.goal.task)
            if isinstance(task, PoseTask):
                tracking.add(task)

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Judge every goal at the final state; a tracking goal gives one result for each quantity it bounds."""
        results: dict[str, GoalResult] = {}
        for name, goal in self._scenario.spec.goals.items():
            match goal:
                case TrackingGoal():
                    results |= {
                        f"{name}_{quantity}": result for quantity, result in self._tracking[name].results().items()
                    }
                case PoseGoal():
                    results[name] = self._pose(goal, state)
                case StateGoal():
                    reached = goal.state in visited
                    results[name] = GoalResult(visited[-1], goal.state, None, None, reached)
        return results

    def _pose(self, goal: PoseGoal, state: State) -> GoalResult:
        place = self._place(goal.frame, state.q)
        wanted = self._place(goal.frame, self._scenario.scene.q0) if goal.target == "initial" else np.array(goal.target)
        error = float(np.linalg.norm(place - wanted))
        return GoalResult(place.tolist(), wanted.tolist(), error, goal.tolerance, error <= goal.tolerance)

    def _place(self, frame: str, q: np.ndarray) -> np.ndarray:
        model = self._scenario.scene.model
        data = model.createData()
        pin.framesForwardKinematics(model, data, q)
        return np.array(data.oMf[self._scenario.scene.frame_id(frame)].translation)


class _Tracking:
    """Mean squares of a pose task's errors."""

    def __init__(self, goal: TrackingGoal) -> None:
        self.goal = goal
        self._count = 0
        self._squares = {"position": 0.0, "rotation": 0.0}

    def add(self, task: PoseTask) -> None:
        self._count += 1
        self._squares["position"] += task.position_error**2
        self._squares["rotation"] += task.rotation_error**2

    def results(self) -> dict[str, GoalResult]:
        bounds = {"position": self.goal.position, "rotation": self.goal.rotation}
        results = {}
        for quantity, tolerance in bounds.items():
            if tolerance is None:
                continue
            rms = math.sqrt(self._squares[quantity] / self._count) if self._count else math.inf
            results[quantity] = GoalResult(rms, 0.0, rms, tolerance, rms <= tolerance)
        return results
