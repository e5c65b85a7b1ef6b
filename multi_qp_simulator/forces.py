"""Comparison of predicted (QP) and simulated contact forces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome

#: Duration of the transient after a contact change [s].
CHANGE = 0.5
#: Velocity below which the scene is at rest [m/s, rad/s].
REST = 0.2

_NONE = np.zeros(6)

PHASES = ("static", "moving", "change")


class ForceCheck:
    """RMS difference between predicted and simulated forces, by contact and phase, and forces that none predicts.

    Phases: `change` within 0.5 s after contacts were made or broken; else `static` while all velocities are below
    0.2 m/s or rad/s, and `moving` otherwise.
    """

    def __init__(self) -> None:
        self._made: tuple[str, ...] = ()
        self._changed = -math.inf
        # by phase and set of contacts: squared error, squared simulated force, tick count; a row for each contact
        self._sums: dict[str, dict[tuple[str, ...], Array]] = {phase: {} for phase in PHASES}
        self._unplanned: dict[str, dict[str, Any]] = {}

    def observe(self, state: State, command: Command, outcome: Outcome) -> None:
        """Add one tick: state, command and simulation result."""
        if command.diagnostics.status is Status.FALLBACK:
            return
        made = tuple(command.wrenches)
        if made != self._made and set(made) != set(self._made):
            # the first contacts of a run are a change too, with a transient
            self._made, self._changed = made, command.time
        for name in outcome.wrenches.keys() - set(made):
            self._count_unplanned(name, outcome.wrenches[name], command)
        if not made:
            return
        of_phase = self._sums[self._phase(state, command.time)]
        sums = of_phase.get(made)
        if sums is None:
            sums = of_phase[made] = np.zeros((len(made), 3))
        simulated = np.array([outcome.wrenches.get(name, _NONE) for name in made])
        _add_squares(np.array(list(command.wrenches.values())), simulated, sums)

    def _count_unplanned(self, name: str, wrench: Array, command: Command) -> None:
        """Add one tick of a force that the QP does not know."""
        force = float(np.linalg.norm(wrench[:3]))
        found = self._unplanned.setdefault(name, {"force_n": 0.0, "ticks": 0})
        found["ticks"] += 1
        if force > found["force_n"]:
            found |= {"force_n": force, "force_time": command.time, "force_state": command.diagnostics.state}

    def unplanned(self) -> dict[str, dict[str, Any]]:
        """Return, by contact, the largest simulated force [N] while it is not active, its time [s], and its ticks."""
        return dict(sorted(self._unplanned.items(), key=lambda item: -item[1]["force_n"]))

    def _phase(self, state: State, time: float) -> str:
        if time - self._changed < CHANGE:
            return "change"
        return "static" if _largest(state.v) < REST else "moving"

    def report(self) -> dict[str, Any]:
        """Return the RMS values [N] by phase: of all contacts together, and of each."""
        report: dict[str, Any] = {}
        for phase, together in self._sums.items():
            contacts: dict[str, Array] = {}
            for made, sums in together.items():
                for name, own in zip(made, sums, strict=True):
                    contacts[name] = contacts.get(name, 0.0) + own
            total = np.sum(list(contacts.values()), axis=0) if contacts else np.zeros(3)
            report[phase] = _rms(total) | {"contacts": {n: _rms(own) for n, own in contacts.items()}}
        return report


@compiled
def _add_squares(predicted: Array, simulated: Array, sums: Array) -> None:
    """Add the squared error and squared simulated force of one tick to the row of each contact.

    Args:
        predicted: wrenches, force first, (n, 6).
        simulated: the same, (n, 6).
        sums: accumulated in place, (n, 3).
    """
    for c in range(len(sums)):
        for i in range(3):
            sums[c, 0] += (predicted[c, i] - simulated[c, i]) ** 2
            sums[c, 1] += simulated[c, i] ** 2
        sums[c, 2] += 1.0


@compiled
def _largest(v: Array) -> float:
    """Return the largest absolute entry, 0 if there is none."""
    largest = 0.0
    for entry in v:
        largest = max(largest, abs(entry))
    return largest


def _rms(sums: Array) -> dict[str, float | None]:
    """Return RMS error and force [N], and their ratio; None without data."""
    squares, forces, count = sums.tolist()
    if not count or not forces:
        return {"rms_error_n": None, "rms_force_n": None, "relative": None}
    return {
        "rms_error_n": math.sqrt(squares / count),
        "rms_force_n": math.sqrt(forces / count),
        "relative": math.sqrt(squares / forces),
    }
