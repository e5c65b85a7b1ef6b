"""Contact planning in a background thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from motion_generation.planning import make_planner
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario

if TYPE_CHECKING:
    from contact_planner.problem import PlanningGoal
    from contact_planner.stance import ContactPlan


@dataclass(frozen=True, eq=False)
class PlanResult:
    """Result of a request.

    Attributes:
        plan: possibly incomplete; None if there is none.
        failure: reason why it does not reach the goal; empty if it does.
    """

    plan: ContactPlan | None
    failure: str


class PlanWorker:
    """Contact planner of a scenario in a background thread, one request after the other.

    A plan takes at most the budget plus the time to place the scene; newer requests are queued.
    """

    def __init__(self, scenario: Scenario, *, budget: float | None = None) -> None:
        """Start the thread with one discarded step, so that compilation and sampling do not use up a budget.

        Args:
            scenario: has a `plan`.
            budget: time limit of a plan [s]; the scenario's if None.
        """
        self._scenario, self._budget = scenario, budget
        self._requests: queue.SimpleQueue[tuple[Sequence[PlanningGoal], Array]] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[PlanResult] = queue.SimpleQueue()
        self._requested = self._received = 0
        threading.Thread(target=self._work, name="contact planner", daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether a result is pending."""
        return self._received < self._requested

    def request(self, goal: Sequence[PlanningGoal], q: Array) -> None:
        """Queue a plan to a goal, or several in sequence, from a configuration of the whole scene, (nq,)."""
        self._requested += 1
        self._requests.put((goal, q))

    def result(self) -> PlanResult | None:
        """Return the next result, or None if there is none yet."""
        try:
            result = self._results.get_nowait()
        except queue.Empty:
            return None
        self._received += 1
        return result

    def _work(self) -> None:
        self._warm_up()
        while True:
            goal, q = self._requests.get()
            try:
                planner = make_planner(self._scenario, q=q, budget=self._budget)
                plan = planner.plan(goal)
                result = PlanResult(plan, "" if plan.complete else plan.reason)
            except Exception as error:  # any error fails this request only
                message = str(error) if isinstance(error, MultiQpError) else f"{type(error).__name__}: {error}"
                result = PlanResult(None, message)
            self._results.put(result)

    def _warm_up(self) -> None:
        try:
            planner = make_planner(self._scenario)
            stance = planner.start_stance()
            planner.step_to(stance, next(iter(stance.contacts)))
        except MultiQpError:
            return  # reported by the first request
