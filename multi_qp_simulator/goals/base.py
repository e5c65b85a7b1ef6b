"""Base class of goals, with their input and result."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

from multi_qp_controller.controller import Controller
from multi_qp_scene.scene import State


@dataclass(frozen=True)
class GoalResult:
    """Result of a goal: `value` against `target`, `error` against `tolerance` [SI units]."""

    value: Any
    target: Any
    error: float | None
    tolerance: float | None
    reached: bool

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; non-finite numbers become None, since JSON has none."""
        return {name: _finite(value) for name, value in asdict(self).items()}


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Moment:
    """Input of goals: one tick.

    Attributes:
        controller: after its step.
        state: the true state.
        time: [s].
        phase: name of the FSM state.
        since: time since its entry [s].
    """

    controller: Controller
    state: State
    time: float
    phase: str
    since: float


class MonitoredGoal(ABC):
    """A goal evaluated along a run."""

    def observe(self, moment: Moment) -> None:  # noqa: B027  (many goals depend on the final state only)
        """Process one tick."""

    @abstractmethod
    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Return the results by part; "" for the goal as a whole."""
