"""Contact plans made in a thread, so that who asks for them can go on meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.planning import make_planner
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario

if TYPE_CHECKING:
    from contact_planner.problem import Goal
    from contact_planner.stance import Plan

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlanAnswer:
    """What came of a request.

    Attributes:
        plan: as far as it goes; None if there is none at all.
        failure: why it does not reach the goal; empty if it does.
    """

    plan: Plan | None
    failure: str


class PlanWorker:
    """Plans for a scenario in a thread of its own, one request after the other.

    A plan takes no longer than the budget and what it takes to place the scene; a newer request waits for it.
    """

    def __init__(self, scenario: Scenario, *, budget: float | None = None) -> None:
        """Begin, with a step that nobody sees: what is compiled or sampled once is not to use up a budget.

        Args:
            scenario: with a `plan`.
            budget: longest time for a plan [s]; the scenario's if None.
        """
        self._scenario, self._budget = scenario, budget
        self._requests: queue.SimpleQueue[tuple[Sequence[Goal], Array]] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[PlanAnswer] = queue.SimpleQueue()
        self._asked = self._got = 0
        threading.Thread(target=self._work, name="contact planner", daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._got < self._asked

    def ask(self, goal: Sequence[Goal], q: Array) -> None:
        """Ask for a plan to a goal, or several one after the other, from a configuration of the whole scene, (nq,)."""
        self._asked += 1
        self._requests.put((goal, q))

    def answer(self) -> PlanAnswer | None:
        """Return the next answer that has come."""
        try:
            answer = self._answers.get_nowait()
        except queue.Empty:
            return None
        self._got += 1
        return answer

    def _work(self) -> None:
        self._rehearse()
        while True:
            goal, q = self._requests.get()
            try:
                planner = make_planner(self._scenario, q=q, budget=self._budget)
                plan = planner.plan(goal)
                answer = PlanAnswer(plan, "" if plan.complete else plan.reason)
            except Exception as error:  # whatever it is: who asked wants an answer, and the next one may do better
                told = str(error) if isinstance(error, MultiQpError) else f"{type(error).__name__}: {error}"
                answer = PlanAnswer(None, told)
            self._answers.put(answer)

    def _rehearse(self) -> None:
        try:
            planner = make_planner(self._scenario)
            stance = planner.start_stance()
            planner.step_to(stance, next(iter(stance.contacts)))
        except MultiQpError:
            return  # the first request says what is wrong
