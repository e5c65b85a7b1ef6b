"""One run of the controller on a graph, from the first state to its end, without ROS messages."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from multi_qp_controller.closed_loop.delay_prediction import Predictor
from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_ros.contact_forces import ContactForces, measured_contacts
from multi_qp_ros.state_assembly import StateAssembler
from multi_qp_ros.timing import ArrivalClock, CatchUpWindow, RateController
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

#: Longest prediction of a state [periods], [s]: robots without commands for longer brake by their watchdog.
LONGEST_PREDICTION, LONGEST_SILENCE = 3.0, 0.05
#: Upper and lower bound of the watchdog's time [periods], as in `SimulatedRobot`.
WATCHDOG_PERIODS, SHORTEST_PATIENCE = 5.0, 1.5


class Monitor(Protocol):
    """Monitor that determines the end of a run; see `multi_qp_simulator.run_monitor.RunMonitor`."""

    ended: str | None

    def observe(self, state: State, command: Command) -> None:
        """Process one tick."""

    def report(self) -> dict[str, Any]:
        """Return the report of the run so far."""


class ControlRun:
    """All data of one run; a new run shares none with an earlier one.

    Attributes:
        scenario: the controlled scenario.
        controller: its controller.
        assembler: assembles the measured state.
        monitor: monitor of the run.
        arrivals: times of measurement of the states, in real-time mode.
        rate_controller: times at which commands are due, in real-time mode.
        catch_up: window in which queued messages are processed before a late command.
        prediction_time: duration of the prediction for the last command [s].
        end_reported: whether the end of the run has been reported.
        begun: whether a command was computed.
        contact_forces: measured forces of the contacts.
    """

    def __init__(
        self, scenario: Scenario, settings: dict[str, Any], make_monitor: Callable[[Scenario, Controller], Monitor]
    ) -> None:
        """Create the controller and the monitor.

        Args:
            scenario: the scenario to control; its loads are reset.
            settings: the parameters of the controller node, and "period", the control period [s].
            make_monitor: creates the monitor of this run.

        Raises:
            MultiQpError: when the settings are inconsistent with the scenario.
        """
        scenario.scene.loads.reset()
        self._settings = settings
        dt, closed_loop = settings["period"], settings["closed_loop"]
        self.scenario = scenario
        self.controller = self.make_controller(scenario)
        self.reset_states()
        self._make_monitor = make_monitor
        self.monitor = make_monitor(scenario, self.controller)
        self.end_reported = self.begun = False
        self.prediction_time = 0.0
        self.rate_controller = RateController(dt)
        self.catch_up = CatchUpWindow(dt, len(self.assembler.topics))
        self._predictor = Predictor(scenario.scene) if settings["compensate_delay"] else None
        if self._predictor is not None and not settings["lock_step"]:
            self._predictor.warm_up(scenario)
        # in closed loop the controller itself predicts the state by half a period
        self._hold = 0.0 if closed_loop else 0.5 * dt
        self._reach = min(LONGEST_PREDICTION * dt, LONGEST_SILENCE)
        self._patience = min(WATCHDOG_PERIODS * dt, max(LONGEST_SILENCE, SHORTEST_PATIENCE * dt))
        self._last: Command | None = None
        self._zero: float | None = None

    def reset_states(self) -> None:
        """Discard all received states."""
        settings, simulated = self._settings, self._settings["use_sim_time"]
        period = settings["period"]
        oldest = settings["max_state_age"] * period
        self.assembler = StateAssembler(self.scenario.scene, max_age=oldest, period=period, one_clock=simulated)
        self.arrivals = ArrivalClock(stamps=not simulated, most_ahead=oldest)
        self.contact_forces = ContactForces(measured_contacts(self.scenario), max_age=oldest)

    def make_controller(self, scenario: Scenario) -> Controller:
        """Return a controller of a scenario, with the settings of this run.

        Raises:
            MultiQpError: when the settings are inconsistent with the scenario.
        """
        settings = self._settings
        deadline = None if settings["lock_step"] else settings["max_state_age"] * settings["period"]
        return self._make(scenario, deadline=deadline)

    def _make(self, scenario: Scenario, *, deadline: float | None) -> Controller:
        settings = self._settings
        controller = Controller(
            scenario,
            dt=settings["period"],
            solver=settings["solver"] or None,
            formulation=settings["formulation"] or None,
            closed_loop=scenario.spec.closed_loop if settings["closed_loop"] else None,
            deadline=deadline,
        )
        controller.interactive = settings["interactive"]
        return controller

    def go_on_as(self, controller: Controller, make_monitor: Callable[[Scenario, Controller], Monitor]) -> None:
        """Continue with another controller of the same scene, whose state machine starts with the next command."""
        self.scenario, self.controller = controller.scenario, controller
        self.monitor = make_monitor(controller.scenario, controller)
        self.end_reported, self._zero = False, None
        self._last = None  # no prediction before the first command: the contacts to predict with are not known yet

    def warm_up(self) -> None:
        """Execute all code once, so that nothing is compiled or loaded in the loop; the run is unusable afterwards."""
        self.controller.warm_up()
        # without a deadline: compilation would exceed it, and the monitor must observe a solved tick
        self.go_on_as(self._make(self.scenario, deadline=None), self._make_monitor)
        state = self.scenario.scene.initial_state()
        self.monitor.observe(state, self._step(state, 0.0))
        _ = self.controller.forces  # used by the monitor and the markers

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the active contacts."""
        return tuple(self.controller.contacts)

    @property
    def complete(self) -> bool:
        """Whether a new state is complete: all topics have a new message, of one instant if they are synchronised.

        A command computed from two different instants must not be followed by others: the first topic would be one
        period ahead of the others each time.
        """
        assembler = self.assembler
        return assembler.fresh and (assembler.together or not assembler.of_one_clock)

    def silent(self, now: float) -> bool:
        """Return whether no command is to be sent at `now` by the steady clock [s].

        This is the case when no message is newer than the last command and the state is too old for a prediction: a
        command would keep the robots, whose watchdog brakes them otherwise, under torques for a state that they may be
        far from; a stalled robot process would apply the last such command when it resumes. From the largest age of a
        state on, the fallback is sent.
        """
        age = now + self.rate_controller.latency - self.assembler.measured
        return not self.assembler.updated and self._reach < age and not self.assembler.outdated(now)

    def lock_step_command(self, time: float) -> tuple[State, Command, list[str]]:
        """Compute the command for a simulator that waits for it (lock-step).

        Args:
            time: simulated time [s].

        Returns:
            The state, its command, and the faults of the state.
        """
        state, faults = self.assembler.state(self.assembler.clock)
        self.controller.measure_forces(self.contact_forces.forces(self.assembler.newest * 1e-9))
        return state, self._step(state, time), faults

    def wall_clock_command(self, now: float) -> tuple[State, Command, list[str]]:
        """Compute the command in real-time mode, at `now` by the steady clock [s].

        The command is computed for the predicted state at the time when it takes effect: after the delay of the
        messages and of the computation, plus half a period on average, as it is then held for a period.
        """
        self.catch_up.end()
        state, faults = self.assembler.state(now)
        expected = state
        last, predictor = self._last, self._predictor
        began = monotonic()
        # not after a fallback: the state predicted under its torques may be unrecoverable, tick after tick
        chosen = last is not None and last.diagnostics.status is not Status.FALLBACK
        check = self.controller.check
        if predictor is not None and last is not None and chosen and not (checked := check(state))[1]:
            delay = max(0.0, now + self.rate_controller.latency - self.assembler.measured)
            delay = min(delay, self._reach)
            hold = self._hold
            if now - self.rate_controller.sent > self._patience:  # the watchdog brakes, by unknown torques
                delay, hold = 0.0, delay + hold
            contacts = self.controller.contacts.values()
            ahead = predictor.predict(checked[0], last.tau, contacts, delay, hold=hold)
            expected = state if check(ahead)[1] else ahead
        self.prediction_time = monotonic() - began
        self.controller.measure_forces(self.contact_forces.forces(now))
        self._last = self._step(expected, now)
        return state, self._last, faults

    def _step(self, state: State, now: float) -> Command:
        self.begun = True
        if self._zero is None:
            self._zero = now
        time = now - self._zero
        self.scenario.scene.loads.advance(time)
        return self.controller.step(state, time)
