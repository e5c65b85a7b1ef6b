"""Watches a run, whoever drives it: counts, audits, judges its goals, and says when it has ended."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.unmet import waited_for
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.audit import Audit
from multi_qp_simulator.goals import GoalKeeper
from multi_qp_simulator.report import Ledger

#: The good reason for the end of a run.
COMPLETED = "completed"


class Referee:
    """Sees every tick of a run: of a `Run`, or of a controller's node on the states that were measured.

    Attributes:
        ended: why the run has ended, None while it goes on; "completed" is the good reason.
    """

    def __init__(
        self,
        scenario: Scenario,
        controller: Controller,
        *,
        backend: str,
        duration: float | None = None,
        patient: bool = False,
    ) -> None:
        """Begin.

        Args:
            scenario: what is run.
            controller: what decides.
            backend: name of the world, for the report.
            duration: longest time from the first tick on [s]; the scenario's if None.
            patient: whether to wait for as long as it takes while no QP can be solved, as on a graph, where the cause
                may go away; else the scenario's `fallback.give_up_after` ends the run, and its first failure is
                explained at once, which takes long.
        """
        self._scenario, self._controller, self._patient = scenario, controller, patient
        self._duration = scenario.spec.duration if duration is None else duration
        self._ledger = Ledger(scenario, controller, backend)
        self._audit = Audit(scenario.scene)
        self._goals = GoalKeeper(scenario)
        self._state = scenario.scene.initial_state()
        self._began: float | None = None
        self._time = 0.0
        self._wall = perf_counter()
        self._waited_for: str | None = None
        self.ended: str | None = None

    def observe(self, state: State, command: Command) -> None:
        """Take in one tick: the state that was answered, and the answer."""
        if self.ended is not None:
            return
        controller, status = self._controller, command.diagnostics.status
        self._time = command.time
        if self._began is None:
            self._began, self._wall = command.time, perf_counter() - command.diagnostics.tick_ms * 1e-3
        self._ledger.count(command)
        if status is not Status.OK and self._ledger.unexplained and not self._patient:
            self._ledger.explain(controller, command)
        if state.is_finite:
            self._state = state
            self._audit.observe(state, command, controller)
        if status is not Status.FALLBACK:
            self._goals.observe(controller, state, command.time)
        self.ended = self._why_ended(command)

    def _why_ended(self, command: Command) -> str | None:
        controller, give_up_after = self._controller, self._scenario.spec.fallback.give_up_after
        machine = controller.machine
        if not self._patient and self._ledger.failures_in_a_row * controller.dt >= give_up_after:
            return f"no QP could be solved as stated for {give_up_after:g} s"
        if controller.attended and (controller.targets or controller.awaited_commands):
            return None
        if command.diagnostics.finished and self._time - machine.entered >= machine.phase.spec.hold - 1e-9:
            return COMPLETED
        if machine.timed_out(self._time):
            self._waited_for = self._missing()
            return f"state '{machine.phase.name}' took longer than its timeout of {machine.phase.spec.timeout:g} s"
        if self.sim_time >= self._duration - 1e-9:
            return f"the duration of {self._duration:g} s is over"
        return None

    def _missing(self) -> str:
        """Say what the present state waits for."""
        controller, machine = self._controller, self._controller.machine
        felt = None if controller.landing is None else controller.landing.felt
        seen = controller.kinematics, controller.tasks
        return waited_for(self._scenario, machine, *seen, time=self._time, felt=felt)

    @property
    def sim_time(self) -> float:
        """How long the run has lasted, to the end of the present period [s]."""
        return self._time - (self._began or 0.0) + self._controller.dt

    @property
    def progress(self) -> float:
        """The fraction of the duration that has passed."""
        return min(1.0, (self._time - (self._began or 0.0)) / self._duration)

    def report(self, *, final: State | None = None, ended: str | None = None) -> dict[str, Any]:
        """Return the report of the run as it stands.

        Args:
            final: the state in which the goals are judged; the last one that was observed if None.
            ended: why the run ends, if somebody else decided so.
        """
        goals = self._goals.results(self._state if final is None else final, self._controller.machine.visited)
        return self._ledger.report(
            ended=ended or self.ended or "stopped by the user",
            waited_for=self._waited_for or None,
            sim_time=self.sim_time,
            wall_time=max(perf_counter() - self._wall, 1e-9),
            worst=self._audit.worst(),
            goals={name: goal.as_dict() for name, goal in goals.items()},
        )


def succeeded(report: dict[str, Any]) -> bool:
    """Return whether a run of this report came to its end and reached all its goals."""
    return bool(report["completed"] and all(goal["reached"] for goal in report["goals"].values()))
