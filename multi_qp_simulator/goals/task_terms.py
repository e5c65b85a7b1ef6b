"""Goal on the task terms of a behaviour, at their times."""

from __future__ import annotations

import math
from pathlib import Path

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema import goals
from multi_qp_scene.schema.generators import MotionPlaybackSpec
from multi_qp_simulator.goals.base import GoalResult, Moment, MonitoredGoal


class TaskTermErrors(MonitoredGoal):
    """Largest distance, angle and difference in velocity of the task terms at the ends of the phases."""

    def __init__(self, goal: goals.TaskTermsGoal, scenario: Scenario) -> None:
        """Read the ends of the phases from the motion that is played.

        Raises:
            MultiQpError: no motion is played, or its file cannot be read.
        """
        self._goal, self._scenario, self._began = goal, scenario, math.nan
        self._ends, self._states = _ends(scenario), list[State]()

    def observe(self, moment: Moment) -> None:
        """Record the state of the first tick after the end of each phase."""
        if math.isnan(self._began):
            self._began = moment.time
        ended, t = len(self._states), moment.time - self._began
        if ended < len(self._ends) and t >= self._ends[ended] - 1e-9:
            self._states.append(State(moment.state.q.copy(), moment.state.v.copy()))

    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Evaluate them, those of the last phase in the final state as well, with the name of the largest error.

        Unknown if the run ended before the motion.

        Raises:
            MultiQpError: CasADi is missing.
        """
        values = None
        if len(self._states) == len(self._ends):
            from contact_invariant.task_measurement import measured_terms  # imports CasADi

            values = measured_terms(self._scenario, self._states)
            final = measured_terms(self._scenario, [*self._states[:-1], state])
            values += [(f"{name}, at rest", unit, v) for name, unit, v in final if unit in ("m", "rad")]
        found = {}
        for part, unit in (("distance", "m"), ("angle", "rad"), ("speed", "m/s")):
            error, name, bound = math.inf, None, getattr(self._goal, part)
            if values is not None:
                error, name = max(((abs(v), n) for n, u, v in values if u == unit), default=(0.0, None))
            found[part] = GoalResult(name, None, error, bound, bound is None or error <= bound)
        return found


def _ends(scenario: Scenario) -> list[float]:
    """Return the ends of the phases of the motion that a scenario plays, (phases,) [s]."""
    from contact_invariant.timed_plan import TimedPlan  # slow to import, and used by few scenes

    for state in scenario.spec.states.values():
        for spec in state.generators.values():
            if isinstance(spec, MotionPlaybackSpec):
                return TimedPlan.load(scenario.path.parent / Path(spec.file)).ends.tolist()
    raise MultiQpError("a goal of type `task_terms` needs a state with a generator `motion_playback`")
