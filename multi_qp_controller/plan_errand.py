"""Which goal a contact planner on a graph works for, and what is to be done for it next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from multi_qp_controller.plan_following import PlanStatus

if TYPE_CHECKING:
    from contact_planner.problem import Goal

#: How often a goal is planned for anew after a controller has refused the plan.
ATTEMPTS = 3


class Todo(Enum):
    """What is to be done for the goal now."""

    NOTHING = "nothing"
    HALT = "have the controller stop at the next stance"
    PLAN = "plan"


@dataclass
class Errand:
    """Keeps the goal, what was planned for it, and what became of that.

    The first goal counts when a controller begins to wait for its first plan: whoever starts this again in the middle
    of a plan does not send the character somewhere else. A goal that somebody gives counts at once. When a controller
    begins anew, the goal is planned for anew.

    Attributes:
        first: goal to begin with, if there is one; it may have several parts, one after the other.
        goal: that was given last; None if there is none.
        sent: stamp of the plan that was sent for it [ns]; 0 if there is none, or it was not taken.
        outcome: what became of the goal, in plain English; empty while that is open.
        reached: whether that is good.
        number: of the goal, counted from 1.
    """

    first: Sequence[Goal] | None
    goal: Sequence[Goal] | None = None
    sent: int = 0
    outcome: str = ""
    reached: bool = False
    number: int = 0
    _last: int = 0
    _refusals: int = 0
    _active: bool = False
    _status: PlanStatus = PlanStatus()

    def give(self, goal: Sequence[Goal]) -> None:
        """Take a goal, in the place of the one before."""
        self.goal, self.sent, self._last, self._refusals = goal, 0, 0, 0
        self.outcome, self.reached = "", False
        self.number += 1

    def planned(self, stamp: int) -> None:
        """Take note of a plan for the goal that was sent."""
        self.sent = self._last = stamp

    def conclude(self, outcome: str, *, reached: bool = False) -> None:
        """Take note of what became of the goal; nothing more is done for it."""
        self.outcome, self.reached = outcome, reached

    def heard(self, status: PlanStatus, *, active: bool) -> None:
        """Take note of what a controller makes of plans."""
        begins = active and status.waiting and not (self._active and self._status.waiting)
        self._status, self._active = status, active
        goal = self.first if self.goal is None else self.goal
        if begins and goal is not None:
            last = self._last
            self.give(goal)
            self._last = last
        if not active or self.outcome:
            return
        if self._last and status.plan == self._last:  # taken, though maybe by one that began anew
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
    def todo(self) -> Todo:
        """What is to be done now."""
        if self.goal is None or self.outcome or self.sent or not self._active:
            return Todo.NOTHING
        return Todo.PLAN if self._status.standing else Todo.HALT

    @property
    def waits_for_controller(self) -> bool:
        """Whether no controller is active."""
        return not self._active
