"""Profile of the parts of a tick, by timers around methods of one controller."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from multi_qp_controller.constraints import CollisionConstraint
from multi_qp_controller.controller import Controller

#: Parts of the tick in order; bookkeeping is the untimed remainder.
PARTS = ("dynamics", "contacts", "collision", "limits", "tasks", "condense", "solve", "bookkeeping", "post_update")


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
        self._watch(controller._state_manager, "advance", "post_update")
        qp_data, cascade = controller.qp_data, controller.cascade
        for constraint in (*qp_data.rows, *qp_data.bounds):
            self._watch(constraint, "update", "collision" if isinstance(constraint, CollisionConstraint) else "limits")
        self._watch(cascade, "solve", "solve")
        self._watch(cascade.block_solver, "eliminate", "condense")
        # created again at each state transition
        self._watch_maker(qp_data, "set_contacts", "contacts")
        self._watch_maker(qp_data, "set_tasks", "tasks")

    def end_tick(self, milliseconds: float) -> None:
        """Store the profile of a tick with its total time [ms]."""
        parts = dict(self._now)
        parts["solve"] -= parts["condense"]  # which is part of it
        parts["bookkeeping"] = max(0.0, 1e3 * milliseconds - sum(parts.values()))
        self.ticks.append(parts)
        self._now = dict.fromkeys(PARTS, 0.0)

    def medians(self) -> dict[str, float]:
        """Return the median of each part [µs]."""
        return {part: float(np.median([tick[part] for tick in self.ticks])) for part in PARTS}

    def _watch(self, owner: Any, method: str, part: str) -> None:
        setattr(owner, method, self._timed(getattr(owner, method), part))

    def _watch_maker(self, qp_data: Any, method: str, attribute: str) -> None:
        make = getattr(qp_data, method)

        def made(*arguments: Any) -> None:
            make(*arguments)
            self._watch(getattr(qp_data, attribute), "update", attribute)

        setattr(qp_data, method, made)

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def call(*arguments: Any, **settings: Any) -> Any:
            begun = perf_counter()
            try:
                return function(*arguments, **settings)
            finally:
                self._now[part] += 1e6 * (perf_counter() - begun)

        return call
