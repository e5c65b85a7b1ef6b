"""Goal on the task terms of a behaviour, at their times."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema import goals
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal


class TaskTermErrors(MonitoredGoal):
    """Largest distance and angle of the task terms at the ends of the phases."""

    def __init__(self, goal: goals.TaskTermsGoal, scenario: Scenario) -> None:
        self._goal, self._scenario, self._began = goal, scenario, math.nan
        self._postures: list[Array] = []

    def observe(self, moment: Moment) -> None:
        """Record the posture of the first tick after the end of each phase."""
        if math.isnan(self._began):
            self._began = moment.time
        ended, t = len(self._postures), moment.time - self._began
        if ended < len(self._goal.ends) and t >= self._goal.ends[ended] - 1e-9:
            self._postures.append(moment.state.q.copy())

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate them, those of the last phase in the final state as well, with the name of the largest error.

        Unknown if the run ended before the motion.

        Raises:
            MultiQpError: CasADi is missing.
        """
        values = None
        if len(self._postures) == len(self._goal.ends):
            from contact_invariant.task_measurement import measured_terms  # imports CasADi

            postures = np.array(self._postures)
            values = measured_terms(self._scenario, postures)
            postures[-1] = state.q
            values += [(f"{name}, at rest", unit, v) for name, unit, v in measured_terms(self._scenario, postures)]
        found = {}
        for part, unit, bound in (("distance", "m", self._goal.distance), ("angle", "rad", self._goal.angle)):
            error, name = math.inf, None
            if values is not None:
                error, name = max(((abs(v), n) for n, u, v in values if u == unit), default=(0.0, None))
            found[part] = GoalResult(name, None, error, bound, error <= bound)
        return found
