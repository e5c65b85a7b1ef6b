"""The run loop: a controller, a world, and everybody who watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, sleep
from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.audit import Audit
from multi_qp_simulator.backend import Backend
from multi_qp_simulator.goals import GoalKeeper
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.log import Log, LogRecorder
from multi_qp_simulator.report import Ledger

BACKENDS: dict[str, Callable[[Scenario], Backend]] = {"integrator": Integrator}

#: Sees every tick: the controller after its step, and the command.
Observer = Callable[[Controller, Command], None]
#: What the controller gets to see of the true state, at a time [s].
Sensor = Callable[[State, float], State]


def make_backend(name: str, scenario: Scenario) -> Backend:
    """Make a backend by name.

    Raises:
        MultiQpError: naming the valid ones.
    """
    if name not in BACKENDS:
        raise MultiQpError(f"unknown backend '{name}' (backends: {', '.join(BACKENDS)})")
    return BACKENDS[name](scenario)


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        report: as `--report` writes it.
        log: every tick.
    """

    report: dict[str, Any]
    log: Log

    @property
    def succeeded(self) -> bool:
        """Whether the run came to its end and reached all its goals."""
        return bool(self.report["completed"] and all(goal["reached"] for goal in self.report["goals"].values()))


class Run:
    """One run of a scenario.

    Attributes:
        controller: what decides.
        backend: the world.
        time: [s].
        result: how it ended, None before that.
    """

    def __init__(
        self,
        scenario: Scenario,
        controller: Controller,
        backend: Backend,
        *,
        backend_name: str = "integrator",
        duration: float | None = None,
        observers: Sequence[Observer] = (),
        sensor: Sensor | None = None,
        real_time: bool = False,
        attended: bool = False,
    ) -> None:
        """Prepare a run.

        Args:
            scenario: what is run.
            controller: what decides.
            backend: the world.
            backend_name: for the report.
            duration: longest simulated time [s]; the scenario's if None.
            observers: called after every tick.
            sensor: what the controller sees of the state; the truth if None.
            real_time: whether to wait so that simulated time does not run ahead of the clock.
            attended: whether somebody is there to interact; phases with targets to move, or that wait for a command,
                then last as long as the user likes.
        """
        self.scenario = scenario
        self.controller = controller
        self.backend = backend
        self.time = 0.0
        self._duration = scenario.spec.duration if duration is None else duration
        self._observers = list(observers)
        self._sensor = sensor
        self._real_time = real_time
        controller.attended = attended
        self._stopped = False
        self._started = perf_counter()
        self.result: RunResult | None = None
        self._recorder = LogRecorder(scenario, controller.dt)
        self._audit = Audit(scenario.scene)
        self._goals = GoalKeeper(scenario)
        self._ledger = Ledger(scenario, controller, backend_name)

    def stop(self) -> None:
        """End the run after the present tick."""
        self._stopped = True

    def execute(self, progress: Callable[[float, str], None] | None = None) -> RunResult:
        """Run to the end.

        Args:
            progress: told the fraction of the duration that has passed, and the state, after every tick.
        """
        self._started, tick = perf_counter(), 0
        ended = None
        while ended is None:
            self.time = tick * self.controller.dt
            command = self._tick()
            tick += 1
            ended = self._why_ended(command)
            if progress is not None:
                progress(min(1.0, self.time / self._duration), command.diagnostics.state)
            if self._real_time:
                sleep(max(0.0, self._started + self.time - perf_counter()))
        return self._end(ended)

    def interrupted(self) -> RunResult:
        """Return the result of a run that an interrupt cut short."""
        return self._end("stopped by the user")

    def _tick(self) -> Command:
        state, controller = self.backend.state, self.controller
        self.scenario.scene.loads.advance(self.time)
        seen = state if self._sensor is None else self._sensor(state, self.time)
        command = controller.step(seen, self.time)
        self._ledger.count(command)
        if command.diagnostics.status is not Status.OK and self._ledger.unexplained:
            self._ledger.explain(controller, command)
        self._audit.observe(state, command, controller)
        if command.diagnostics.status is not Status.FALLBACK:
            self._goals.observe(controller, state, self.time)
        for observer in self._observers:
            observer(controller, command)
        outcome = self.backend.step(command, controller.dt)
        self._recorder.record(state, command, outcome)
        return command

    def _why_ended(self, command: Command) -> str | None:
        """Return why the run ends now, None if it goes on; "completed" is the good reason."""
        diagnostics, machine = command.diagnostics, self.controller.machine
        if self._stopped:
            return "stopped by the user"
        if not self.backend.state.is_finite:
            return "the state of the world is not finite"
        if self._ledger.failures_in_a_row * self.controller.dt >= self.scenario.spec.fallback.give_up_after:
            return f"no QP could be solved as stated for {self.scenario.spec.fallback.give_up_after:g} s"
        if self.controller.attended and (self.controller.targets or self.controller.awaited_commands):
            return None
        if diagnostics.finished and self.time - machine.entered >= machine.phase.spec.hold - 1e-9:
            return "completed"
        if machine.timed_out(self.time):
            return f"state '{machine.phase.name}' took longer than its timeout of {machine.phase.spec.timeout:g} s"
        if self.time + self.controller.dt >= self._duration - 1e-9:
            return f"the duration of {self._duration:g} s is over"
        return None

    def _end(self, ended: str) -> RunResult:
        goals = self._goals.results(self.backend.state, self.controller.machine.visited)
        report = self._ledger.report(
            ended=ended,
            sim_time=self.time + self.controller.dt,
            wall_time=perf_counter() - self._started,
            worst=self._audit.worst(),
            goals={name: goal.as_dict() for name, goal in goals.items()},
        )
        self.result = RunResult(report, self._recorder.finish())
        return self.result


def run_scenario(
    scenario: Scenario,
    *,
    backend: str = "integrator",
    solver: str | None = None,
    formulation: str | None = None,
    dt: float | None = None,
    duration: float | None = None,
    initial_state: State | None = None,
    sensor: Sensor | None = None,
    observers: Sequence[Observer] = (),
) -> RunResult:
    """Run a scenario to its end, headless; the short way for scripts and tests.

    Args:
        scenario: what to run.
        backend: name of the world.
        solver: name of the QP solver.
        formulation: name of the formulation.
        dt: control period [s].
        duration: longest simulated time [s].
        initial_state: where to start, instead of the scenario's; integrator only.
        sensor: what the controller sees of the state.
        observers: called after every tick.
    """
    controller = Controller(scenario, dt=dt, solver=solver, formulation=formulation)
    world = make_backend(backend, scenario)
    if initial_state is not None:
        if not isinstance(world, Integrator):
            raise MultiQpError("only the integrator can start from a given state")
        world.state = replace(initial_state, q=np.array(initial_state.q), v=np.array(initial_state.v))
    run = Run(
        scenario,
        controller,
        world,
        backend_name=backend,
        duration=duration,
        observers=observers,
        sensor=sensor,
    )
    return run.execute()
