"""Predicted against simulated contact forces: what the QP said that contacts would carry, and what they did."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome

#: A contact change matters for so long after it [s].
CHANGE = 0.5
#: The scene is at rest while nothing in it moves faster [m/s, rad/s].
REST = 0.2

_NONE = (0.0, 0.0, 0.0)

PHASES = ("static", "moving", "change")


class ForceCheck:
    """Root mean squares of the difference between predicted and simulated forces, by contact and phase.

    Phases: `change` within 0.5 s after contacts were made or broken; else `static` while nothing moves faster than
    0.2 m/s or rad/s, and `moving` the rest.
    """

    def __init__(self) -> None:
        self._made: frozenset[str] = frozenset()
        self._changed = -math.inf
        # by phase and contact: squares of the error, squares of the simulated force, ticks
        self._sums: dict[str, dict[str, list[float]]] = {phase: {} for phase in PHASES}

    def observe(self, state: State, command: Command, outcome: Outcome) -> None:
        """Take in one tick: the state that was answered, the answer, and what the world made of it."""
        if command.diagnostics.status is Status.FALLBACK:
            return
        made = frozenset(command.wrenches)
        if made != self._made:
            # the first contacts of a run are a change too: the world has to settle on them
            self._made, self._changed = made, command.time
        phase = self._phase(state, command.time)
        for name, predicted in command.wrenches.items():
            simulated = outcome.wrenches.get(name)
            fx, fy, fz = _NONE if simulated is None else simulated[:3].tolist()
            px, py, pz = predicted[:3].tolist()
            sums = self._sums[phase].setdefault(name, [0.0, 0.0, 0.0])
            sums[0] += (px - fx) ** 2 + (py - fy) ** 2 + (pz - fz) ** 2
            sums[1] += fx * fx + fy * fy + fz * fz
            sums[2] += 1.0

    def _phase(self, state: State, time: float) -> str:
        if time - self._changed < CHANGE:
            return "change"
        return "static" if float(np.abs(state.v).max(initial=0.0)) < REST else "moving"

    def report(self) -> dict[str, Any]:
        """Return the root mean squares [N] by phase: of all contacts together, and of each."""
        report: dict[str, Any] = {}
        for phase, contacts in self._sums.items():
            total = np.sum(list(contacts.values()), axis=0) if contacts else np.zeros(3)
            report[phase] = _rms(total.tolist()) | {"contacts": {n: _rms(sums) for n, sums in contacts.items()}}
        return report


def _rms(sums: list[float]) -> dict[str, float | None]:
    """Return error and force [N], and the one relative to the other; None where there is nothing to compare."""
    squares, forces, count = sums
    if not count or not forces:
        return {"rms_error_n": None, "rms_force_n": None, "relative": None}
    return {
        "rms_error_n": math.sqrt(squares / count),
        "rms_force_n": math.sqrt(forces / count),
        "relative": math.sqrt(squares / forces),
    }
