"""Where each microsecond of the tick goes: stopwatches around the parts of one controller."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from multi_qp_controller.controller import Controller

#: Parts of the tick, in their order; bookkeeping is what no stopwatch saw.
PARTS = ("dynamics", "contacts", "collision", "limits", "tasks", "condense", "solve", "bookkeeping", "settling")


class Profile:
    """Times of the parts of each tick of one controller [µs].

    Attributes:
        ticks: one dictionary a tick.
    """

    def __init__(self, controller: Controller) -> None:
        self.ticks: list[dict[str, float]] = []
        self._now = dict.fromkeys(PARTS, 0.0)
        self._controller = controller
        self._watch(controller.kinematics, "update", "dynamics")
        self._watch(controller._progress, "advance", "settling")
        statement, ladder = controller.statement, controller._ladder
        self._watch(statement.collisions, "update", "collision")
        self._watch(statement.joint_limits, "update", "limits")
        self._watch(ladder, "solve", "solve")
        blocks = getattr(ladder._formulation, "blocks", None)
        self._watch(blocks or ladder._formulation, "build" if blocks is None else "eliminate", "condense")
        # these two are made anew whenever the state changes
        self._watch_maker(statement, "set_contacts", "contacts")
        self._watch_maker(statement, "set_tasks", "tasks")

    def end_tick(self, milliseconds: float) -> None:
        """Take in one tick that took so long."""
        parts = dict(self._now)
        parts["solve"] -= parts["condense"]  # which happens within it
        parts["bookkeeping"] = max(0.0, 1e3 * milliseconds - sum(parts.values()))
        self.ticks.append(parts)
        self._now = dict.fromkeys(PARTS, 0.0)

    def medians(self) -> dict[str, float]:
        """Return the median of each part [µs]."""
        return {part: float(np.median([tick[part] for tick in self.ticks])) for part in PARTS}

    def _watch(self, owner: Any, method: str, part: str) -> None:
        setattr(owner, method, self._timed(getattr(owner, method), part))

    def _watch_maker(self, statement: Any, method: str, attribute: str) -> None:
        make = getattr(statement, method)

        def made(*arguments: Any) -> None:
            make(*arguments)
            self._watch(getattr(statement, attribute), "update", attribute)

        setattr(statement, method, made)

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def call(*arguments: Any, **settings: Any) -> Any:
            begun = perf_counter()
            try:
                return function(*arguments, **settings)
            finally:
                self._now[part] += 1e6 * (perf_counter() - begun)

        return call
