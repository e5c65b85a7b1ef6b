"""Run loop of controller, simulator backend and observers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

from multi_qp_controller.closed_loop.decentralised import DecentralisedController
from multi_qp_controller.command import Command
from multi_qp_controller.contacts.contact_gap import check_start
from multi_qp_controller.controller import Controller
from multi_qp_scene.arguments import check_type, number
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.jit import COMPILED
from multi_qp_scene.limits import check
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Backend, MeasuredBackend, TouchingBackend
from multi_qp_simulator.forces import ForceCheck
from multi_qp_simulator.garbage import collected_between_ticks
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.log import Log, LogRecorder
from multi_qp_simulator.lost_contacts import LostContacts
from multi_qp_simulator.needed_friction import needed_friction
from multi_qp_simulator.run_monitor import RunMonitor, succeeded


def _mujoco(scenario: Scenario) -> Backend:
    from multi_qp_simulator.mujoco_world import MujocoBackend  # slow import, needed by this backend only

    return MujocoBackend(scenario)


BACKENDS: dict[str, Callable[[Scenario], Backend]] = {"integrator": Integrator, "mujoco": _mujoco}

#: Backends with sensors and their own dynamics; the controller then uses the scenario's `closed_loop`.
MEASURED = frozenset({"mujoco"})

STOPPED = "stopped by the user"

#: Called after every tick with the controller and the command.
Observer = Callable[[Controller, Command], None]
#: Maps the true state at a time [s] to the measured one.
Sensor = Callable[[State, float], State]


def make_backend(name: str, scenario: Scenario) -> Backend:
    """Make a backend by name.

    Raises:
        MultiQpError: naming the valid ones.
    """
    if name not in BACKENDS:
        raise MultiQpError(f"unknown backend '{name}' (backends: {', '.join(BACKENDS)})")
    return BACKENDS[name](scenario)


def make_controller(
    scenario: Scenario,
    backend: str,
    *,
    dt: float | None = None,
    solver: str | None = None,
    formulation: str | None = None,
) -> Controller:
    """Make a controller with the settings for a backend."""
    if backend not in MEASURED:
        return Controller(scenario, dt=dt, solver=solver, formulation=formulation)
    spec = scenario.spec
    settings: dict[str, Any] = {"dt": dt, "solver": solver, "formulation": formulation, "closed_loop": spec.closed_loop}
    if spec.mismatch.knowledge_delay > 0.0:
        return DecentralisedController(scenario, delay=spec.mismatch.knowledge_delay, **settings)
    return Controller(scenario, **settings)


@dataclass(frozen=True)
class RunResult:
    """Result of a run.

    Attributes:
        report: as written by `--report`.
        log: every tick.
    """

    report: dict[str, Any]
    log: Log

    @property
    def succeeded(self) -> bool:
        """Whether the run completed, reached all its goals and was healthy."""
        return succeeded(self.report)


#: Scenario files, solvers and formulations already warmed up in this process.
_warmed_up: set[tuple[str, str, str]] = set()


def warm_up(controller: Controller) -> None:
    """Warm up a controller with equal settings, once a process.

    Kernels are compiled at their first use, which takes many seconds on a new machine and must not delay a tick.
    """
    scenario = controller.scenario
    like = (str(scenario.path), controller.solver_name, controller.formulation_name)
    if not COMPILED or type(controller) is not Controller or like in _warmed_up:
        return
    _warmed_up.add(like)
    Controller(
        scenario, dt=controller.dt, solver=controller.solver_name, formulation=controller.formulation_name
    ).warm_up()


class Run:
    """One run of a scenario.

    Attributes:
        controller: the controller.
        backend: the simulator backend.
        time: [s].
        recorder: of the log.
        result: result, None before the end.
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
        interactive: bool = False,
        logged: bool = True,
    ) -> None:
        """Prepare a run.

        Args:
            scenario: the scenario.
            controller: the controller.
            backend: the simulator backend.
            backend_name: for the report.
            duration: time limit in simulated time [s]; the scenario's if None.
            observers: called after every tick.
            sensor: maps the true state to the measured one; identity if None.
            real_time: whether to limit the simulated time to the wall clock.
            interactive: whether a user interacts; phases with movable targets, or that wait for a command, then have no
                time limit but a given `duration`.
            logged: whether ticks are logged; if not, the log of the result is empty.

        Raises:
            MultiQpError: if an argument is invalid, or in the backend's state a contact of the initial state is open,
                or bodies overlap.
        """
        check_type("scenario", scenario, Scenario, "a Scenario, as `load_scenario` returns it")
        check_type("controller", controller, Controller, "a Controller")
        check_type("backend", backend, Backend, "a simulator backend, as `make_backend` returns it")
        if duration is not None:
            number("duration", duration, unit="s", least=0.0)
        if sensor is not None:
            check_type("sensor", sensor, Callable, "a function of state and time")
        longest = scenario.spec.duration if duration is None else duration
        check("ticks", longest / controller.dt, f"{longest:g} s in periods of {controller.dt:g} s")
        self.scenario = scenario
        self.controller = controller
        self.backend = backend
        self.time = 0.0
        check_type("observers", observers, Iterable, "a list of functions")
        self._observers: list[Observer] = []
        for observer in observers:
            self.observe(observer)
        self._sensor = sensor
        self._real_time = real_time
        controller.interactive = interactive
        check_start(scenario, backend.state)
        self._stopped = False
        self._started = perf_counter()
        self.result: RunResult | None = None
        self.recorder, self._logged = LogRecorder(scenario, controller.dt), logged
        self._measure = backend.measure if isinstance(backend, MeasuredBackend) else None
        self._forces = ForceCheck() if backend_name in MEASURED else None
        self._lost = LostContacts(scenario) if backend_name in MEASURED else None
        self._monitor = RunMonitor(scenario, controller, backend=backend_name, duration=duration)
        self._monitor.check_start(backend.state)

    def observe(self, observer: Observer) -> None:
        """Add an observer.

        Raises:
            ArgumentError: when it is not a function.
        """
        check_type("an observer", observer, Callable, "a function of controller and command")
        self._observers.append(observer)

    def stop(self) -> None:
        """End the run after the current tick."""
        self._stopped = True

    def execute(self, progress: Callable[[float, str], None] | None = None) -> RunResult:
        """Run to the end.

        Args:
            progress: called after every tick with the elapsed fraction of the duration and the state.
        """
        warm_up(self.controller)
        self._started, tick = perf_counter(), 0
        ended = None
        with collected_between_ticks() as collect:
            while ended is None:
                self.time = tick * self.controller.dt
                command = self._tick()
                tick += 1
                ended = self._why_ended()
                if progress is not None:
                    progress(self._monitor.progress, command.diagnostics.state)
                collect()
                if self._real_time:
                    sleep(max(0.0, self._started + self.time - perf_counter()))
        return self._end(ended)

    def interrupted(self) -> RunResult:
        """Return the result of an interrupted run."""
        return self._end(STOPPED)

    def _tick(self) -> Command:
        state, controller = self.backend.state, self.controller
        self.scenario.scene.loads.advance(self.time)
        if self._sensor is not None:
            seen = self._sensor(state, self.time)
        else:
            seen = state if self._measure is None else self._measure()
        command = controller.step(seen, self.time)
        self._monitor.observe(state, command)
        for observer in self._observers:
            observer(controller, command)
        outcome = self.backend.step(command, controller.dt)
        if self._measure is not None:
            controller.measure_forces({name: -float(wrench[2]) for name, wrench in outcome.wrenches.items()})
        if self._logged:
            active = [task for task in controller.last_tasks.values() if task.weight > 0.0]  # else without a reference
            errors = {name: e for task in active for name, e in task.errors().items()}
            self.recorder.record(state, command, outcome, errors)
        if self._forces is not None:
            self._forces.observe(state, command, outcome)
        if self._lost is not None:
            self._lost.observe(command, outcome, controller.dt)
        controller.post_update()
        return command

    def _why_ended(self) -> str | None:
        """Return the reason to end the run now, None to continue."""
        if self._stopped:
            return STOPPED
        if not self.backend.state.is_finite:
            return "the state of the world is not finite"
        return self._monitor.ended

    def _end(self, ended: str) -> RunResult:
        forces = self.backend.touch_forces() if isinstance(self.backend, TouchingBackend) else ()
        lost = () if self._lost is None else self._lost.report()
        report = self._monitor.report(final=self.backend.state, ended=ended, touch_forces=forces, lost_contacts=lost)
        if self._forces is not None:
            report["contact_forces"] = self._forces.report()
            report["unplanned_forces"] = self._forces.unplanned()
        log = self.recorder.log()
        report["task_errors"] = log.task_errors()
        report["friction"] = needed_friction(log, self.scenario.scene)
        self.result = RunResult(report, log)
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
    """Run a scenario to its end, headless; for scripts and tests.

    Args:
        scenario: the scenario.
        backend: name of the backend.
        solver: name of the QP solver.
        formulation: name of the formulation.
        dt: control period [s].
        duration: time limit in simulated time [s].
        initial_state: start state, instead of the scenario's; integrator only.
        sensor: maps the true state to the measured one.
        observers: called after every tick.

    Raises:
        MultiQpError: if an argument is invalid.
    """
    controller = make_controller(scenario, backend, dt=dt, solver=solver, formulation=formulation)
    world = make_backend(backend, scenario)
    if initial_state is not None:
        if not isinstance(world, Integrator):
            raise MultiQpError("only the integrator can start from a given state")
        check_type("initial_state", initial_state, State, "a State")
        world.state = initial_state
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
