"""Run monitor: tick counts, audit, goals, and end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.state_machine.unmet_conditions import describe_unmet_conditions
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.audit import RunAudit
from multi_qp_simulator.backend import TouchForce
from multi_qp_simulator.goals import GoalMonitor
from multi_qp_simulator.health import health_of
from multi_qp_simulator.report import ReportBuilder
from multi_qp_simulator.touches import TouchMonitor

#: Reason of a successful end.
COMPLETED = "completed"


class RunMonitor:
    """Observer of a run, either of `Run` or of a controller node with measured states.

    Attributes:
        ended: reason of the end, None during the run; "completed" means success.
    """

    def __init__(
        self,
        scenario: Scenario,
        controller: Controller,
        *,
        backend: str,
        duration: float | None = None,
        wait_for_recovery: bool = False,
    ) -> None:
        """Set up.

        Args:
            scenario: the scenario.
            controller: the controller.
            backend: name of the backend, for the report.
            duration: time limit from the first tick [s]. None: the scenario's, which is suspended in phases that wait
                for a user, like their timeouts.
            wait_for_recovery: whether to continue while no QP can be solved, as on a ROS graph, where the cause may
                disappear; else the scenario's `fallback.give_up_after` ends the run, its first failure is explained
                at once, and touches are measured, which are slow.
        """
        self._scenario, self._controller, self._wait_for_recovery = scenario, controller, wait_for_recovery
        self._duration = scenario.spec.duration if duration is None else duration
        self._waits_for_user = duration is None
        self._report_builder = ReportBuilder(scenario, controller, backend)
        self._audit = RunAudit(scenario.controlled.scene)
        self._touches = None if wait_for_recovery else TouchMonitor(scenario)
        self._goals = GoalMonitor(scenario)
        self._state = scenario.scene.initial_state()
        self._began: float | None = None
        self._time = 0.0
        self._wall = perf_counter()
        self._waited_for: str | None = None
        self.ended: str | None = None

    def check_start(self, state: State) -> None:
        """Check that no bodies are inside of each other at the start.

        Raises:
            MultiQpError: naming them.
        """
        if self._touches is not None:
            self._touches.check_start(state)

    def observe(self, state: State, command: Command) -> None:
        """Process one tick: state and command."""
        if self.ended is not None:
            return
        controller, status = self._controller, command.diagnostics.status
        self._time = command.time
        if self._began is None:
            self._began, self._wall = command.time, perf_counter() - command.diagnostics.tick_ms * 1e-3
        self._report_builder.count(command)
        if status.failed and self._report_builder.unexplained and not self._wait_for_recovery:
            self._report_builder.explain(controller, command)
        # measured states may be invalid; a simulated state is the state
        if not controller.check(state)[1] if self._wait_for_recovery else state.is_finite:
            self._state = state
            self._audit.observe(state, command, controller)
            if self._touches is not None:
                self._touches.observe(state, command.time, command.diagnostics.state, controller.contacts)
        if status is not Status.FALLBACK:
            self._goals.observe(controller, state, command.time)
        self.ended = self._why_ended(command)

    def _why_ended(self, command: Command) -> str | None:
        controller, give_up_after = self._controller, self._scenario.spec.fallback.give_up_after
        machine = controller.machine
        if not self._wait_for_recovery and self._report_builder.failures_in_a_row * controller.dt >= give_up_after:
            return f"no QP could be solved as stated for {give_up_after:g} s"
        if controller.interactive and (controller.targets or controller.awaited_commands):
            if self._waits_for_user:
                return None
        elif command.diagnostics.finished and self._time - machine.entered >= machine.present.spec.hold - 1e-9:
            return COMPLETED
        elif machine.timed_out(self._time):
            self._waited_for = self._missing()
            return f"state '{machine.present.name}' took longer than its timeout of {machine.present.spec.timeout:g} s"
        if self.sim_time >= self._duration - 1e-9:
            return f"the duration of {self._duration:g} s is over"
        return None

    def _missing(self) -> str:
        """Describe the unmet conditions of the current state."""
        controller, machine = self._controller, self._controller.machine
        measured_contacts = None if controller.landing is None else controller.landing.measured_contacts
        seen = controller.kinematics, controller.tasks
        return describe_unmet_conditions(
            self._scenario, machine, *seen, time=self._time, measured_contacts=measured_contacts
        )

    @property
    def sim_time(self) -> float:
        """Simulated time to the end of the current period [s]."""
        return self._time - (self._began or 0.0) + self._controller.dt

    @property
    def progress(self) -> float:
        """Elapsed fraction of the duration."""
        return min(1.0, (self._time - (self._began or 0.0)) / self._duration)

    def report(
        self,
        *,
        final: State | None = None,
        ended: str | None = None,
        touch_forces: Sequence[TouchForce] = (),
        lost_contacts: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Return the current report of the run.

        Args:
            final: state in which the goals are evaluated; the last observed one if None.
            ended: reason of the end, if decided elsewhere.
            touch_forces: simulated forces between bodies that no contact of the scenario connects.
            lost_contacts: of `LostContacts.report`.
        """
        goals = self._goals.results(self._state if final is None else final, self._controller.machine.visited)
        report = self._report_builder.report(
            ended=ended or self.ended or "stopped by the user",
            waited_for=self._waited_for or None,
            sim_time=self.sim_time,
            wall_time=max(perf_counter() - self._wall, 1e-9),
            worst=self._audit.worst(),
            touches=[] if self._touches is None else self._touches.report(touch_forces),
            goals={name: goal.as_dict() for name, goal in goals.items()},
        )
        report["lost_contacts"] = list(lost_contacts)
        bounds = self._scenario.spec.health
        if self._wait_for_recovery:  # on a graph, faults of others from which the controller recovers count as failures
            bounds = bounds.model_copy(update={"qp_failures": report["qp_failures"]})
        report["health"] = health_of(report, bounds, outside_at_start=self._audit.outside_at_start)
        return report


def succeeded(report: dict[str, Any]) -> bool:
    """Return whether the run of a report completed, reached all its goals and was healthy."""
    return reached_goals(report) and bool(report["health"]["healthy"])


def reached_goals(report: dict[str, Any]) -> bool:
    """Return whether the run of a report completed and reached all its goals, healthy or not."""
    return bool(report["completed"] and all(goal["reached"] for goal in report["goals"].values()))
