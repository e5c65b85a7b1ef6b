"""Watches a run that others drive: counts, audits, judges its goals, and says when it has ended."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.audit import Audit
from multi_qp_simulator.goals import GoalKeeper
from multi_qp_simulator.report import Ledger


class Referee:
    """Sees every tick of a run, on the states that were measured.

    Attributes:
        ended: why the run has ended, None while it goes on; "completed" is the good reason.
    """

    def __init__(
        self, scenario: Scenario, controller: Controller, *, backend: str, duration: float | None = None
    ) -> None:
        """Begin.

        Args:
            scenario: what is run.
            controller: what decides.
            backend: name of the world, for the report.
            duration: longest time from the first tick on [s]; the scenario's if None.
        """
        self._scenario, self._controller = scenario, controller
        self._duration = scenario.spec.duration if duration is None else duration
        self._ledger = Ledger(scenario, controller, backend)
        self._audit = Audit(scenario.scene)
        self._goals = GoalKeeper(scenario)
        self._state = scenario.scene.initial_state()
        self._began: float | None = None
        self._time = 0.0
        self._wall = perf_counter()
        self.ended: str | None = None

    def observe(self, state: State, command: Command) -> None:
        """Take in one tick."""
        if self.ended is not None:
            return
        self._time = command.time
        if self._began is None:
            self._began, self._wall = command.time, perf_counter()
        self._ledger.count(command)
        if state.is_finite:
            self._state = state
            self._audit.observe(state, command, self._controller)
        if command.diagnostics.status is not Status.FALLBACK:
            self._goals.observe(self._controller, state, command.time)
        self.ended = self._why_ended(command)

    def _why_ended(self, command: Command) -> str | None:
        controller = self._controller
        machine = controller.machine
        if controller.attended and controller.targets:
            return None
        if command.diagnostics.finished and self._time - machine.entered >= machine.phase.spec.hold - 1e-9:
            return "completed"
        if machine.timed_out(self._time):
            return f"state '{machine.phase.name}' took longer than its timeout of {machine.phase.spec.timeout:g} s"
        if self._time - (self._began or 0.0) + controller.dt >= self._duration - 1e-9:
            return f"the duration of {self._duration:g} s is over"
        return None

    def report(self) -> dict[str, Any]:
        """Return the report of the run as it stands."""
        goals = self._goals.results(self._state, self._controller.machine.visited)
        return self._ledger.report(
            ended=self.ended or "stopped by the user",
            sim_time=self._time - (self._began or 0.0) + self._controller.dt,
            wall_time=max(perf_counter() - self._wall, 1e-9),
            worst=self._audit.worst(),
            goals={name: goal.as_dict() for name, goal in goals.items()},
        )

    @property
    def succeeded(self) -> bool:
        """Whether the run came to its end and reached all its goals."""
        return self.ended == "completed" and all(goal["reached"] for goal in self.report()["goals"].values())
