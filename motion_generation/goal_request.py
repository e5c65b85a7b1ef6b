"""Goal of a contact planner on a ROS graph, with the status of its plan and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from motion_generation.plan_following import PlanStatus

if TYPE_CHECKING:
    from contact_planner.problem import PlanningGoal

#: Number of plans for one goal after refusals by the controller.
ATTEMPTS = 3


class NextStep(Enum):
    """Next step for the goal."""

    NOTHING = "nothing"
    HALT = "stop the controller at the next stance"
    PLAN = "plan"


@dataclass
class GoalRequest:
    """The current goal, the plan sent for it, and its outcome.

    The first goal is activated when a controller waits for its first plan, so that a restart of the planner during a
    plan does not redirect the character. A goal set later is activated at once. When a controller restarts, the goal is
    planned again.

    Attributes:
        first: initial goal, if any; it may have several parts in sequence.
        goal: current goal; None if there is none.
        sent: stamp of the plan sent for it [ns]; 0 if there is none, or it was refused.
        outcome: result of the goal, in plain English; empty while pending.
        reached: whether the outcome is success.
        number: index of the goal, from 1.
    """

    first: Sequence[PlanningGoal] | None
    goal: Sequence[PlanningGoal] | None = None
    sent: int = 0
    outcome: str = ""
    reached: bool = False
    number: int = 0
    _last: int = 0
    _refusals: int = 0
    _active: bool = False
    _status: PlanStatus = PlanStatus()

    def set_goal(self, goal: Sequence[PlanningGoal]) -> None:
        """Replace the goal."""
        self.goal, self.sent, self._last, self._refusals = goal, 0, 0, 0
        self.outcome, self.reached = "", False
        self.number += 1

    def plan_sent(self, stamp: int) -> None:
        """Record the stamp of a plan sent for the goal [ns]."""
        self.sent = self._last = stamp

    def conclude(self, outcome: str, *, reached: bool = False) -> None:
        """Set the outcome of the goal, which ends its processing."""
        self.outcome, self.reached = outcome, reached

    def update(self, status: PlanStatus, *, active: bool) -> None:
        """Process a controller's plan status."""
        begins = active and status.waiting and not (self._active and self._status.waiting)
        self._status, self._active = status, active
        goal = self.first if self.goal is None else self.goal
        if begins and goal is not None:
            last = self._last
            self.set_goal(goal)
            self._last = last
        if not active or self.outcome:
            return
        if self._last and status.plan == self._last:  # accepted, possibly by a restarted controller
            self.sent = self._last
        if self.sent and status.refused == self.sent:
            self._refused(status.reason)
        if self.sent and status.plan == self.sent and status.standing:
            self.conclude("the plan is carried out", reached=True)

    def _refused(self, reason: str) -> None:
        self.sent = 0
        self._refusals += 1
        if self._refusals >= ATTEMPTS:
            self.conclude(f"the controller refused {ATTEMPTS} plans, the last one because {reason}")

    @property
    def next_step(self) -> NextStep:
        """Next step for the goal."""
        if self.goal is None or self.outcome or self.sent or not self._active:
            return NextStep.NOTHING
        return NextStep.PLAN if self._status.standing else NextStep.HALT

    @property
    def waits_for_controller(self) -> bool:
        """Whether no controller is active."""
        return not self._active
