"""What a goal is: it looks at every tick, and at the end says how it went."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

from multi_qp_controller.controller import Controller
from multi_qp_scene.scene import State


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
        return {name: _finite(value) for name, value in asdict(self).items()}


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Moment:
    """What a goal looks at: one tick.

    Attributes:
        controller: after its step.
        state: the true state.
        time: [s].
        phase: name of the FSM state.
        since: how long it has lasted [s].
    """

    controller: Controller
    state: State
    time: float
    phase: str
    since: float


class Goal(ABC):
    """One goal while it is watched."""

    def observe(self, moment: Moment) -> None:  # noqa: B027  (many goals only look at the end)
        """Take in one tick."""

    @abstractmethod
    def results(self, state: State, visited: list[str]) -> dict[str, GoalResult]:
        """Return the verdicts, by part; "" for the goal as a whole."""
