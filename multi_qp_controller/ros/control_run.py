"""One run of the controller on a graph, from the first state to its end; knows no messages."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from multi_qp_controller.command import Command, Status
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.controller import Controller
from multi_qp_controller.prediction import Predictor
from multi_qp_controller.ros.state_assembly import StateAssembler
from multi_qp_controller.ros.timing import ArrivalClock, Hearing, Pacer
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

#: A state is predicted no further than this [periods], [s]: robots that hear nothing for longer brake by themselves.
LONGEST_PREDICTION, LONGEST_SILENCE = 3.0, 0.05
#: They do so after so many periods at any rate, and not before so many; as `StandIn`'s watchdog.
WATCHDOG_PERIODS, SHORTEST_PATIENCE = 5.0, 1.5


class Judge(Protocol):
    """Who says when a run has ended; see `multi_qp_simulator.referee.Referee`."""

    ended: str | None

    def observe(self, state: State, command: Command) -> None:
        """Take in one tick."""

    def report(self) -> dict[str, Any]:
        """Return the report of the run as it stands."""


class ControlRun:
    """Everything that belongs to one run: a new one has nothing left of an earlier one.

    Attributes:
        scenario: what is controlled.
        controller: that controls it.
        assembler: of the measured states.
        judge: of the run.
        arrivals: when states were measured, by the wall clock.
        pacer: when to answer, by the wall clock.
        hearing: what is heard before an answer that is late.
        prediction_time: of the last answer [s].
        told_end: whether the end of the run has been told.
    """

    def __init__(
        self, scenario: Scenario, settings: dict[str, Any], make_judge: Callable[[Scenario, Controller], Judge]
    ) -> None:
        """Begin.

        Args:
            scenario: what to control; its loads are reset.
            settings: the parameters of the controller's node, and "period", the control period [s].
            make_judge: makes the judge of this run.

        Raises:
            MultiQpError: when the settings do not fit.
        """
        scenario.scene.loads.reset()
        self._settings = settings
        dt, closed_loop = settings["period"], settings["closed_loop"]
        self.scenario = scenario
        self.controller = self.make_controller(scenario)
        self.assembler = StateAssembler(scenario.scene, max_age=settings["max_state_age"] * dt, period=dt)
        self._make_judge = make_judge
        self.judge = make_judge(scenario, self.controller)
        self.told_end = False
        self.prediction_time = 0.0
        self.arrivals = ArrivalClock(stamps=not settings["use_sim_time"])
        self.pacer = Pacer(dt)
        self.hearing = Hearing(dt, len(self.assembler.topics))
        self._predictor = Predictor(scenario.scene) if settings["compensate_delay"] else None
        if self._predictor is not None and not settings["lock_step"]:
            self._predictor.rehearse(scenario)
        # in a closed loop the controller itself brings the state forward by half a period
        self._hold = 0.0 if closed_loop else 0.5 * dt
        self._reach = min(LONGEST_PREDICTION * dt, LONGEST_SILENCE)
        self._patience = min(WATCHDOG_PERIODS * dt, max(LONGEST_SILENCE, SHORTEST_PATIENCE * dt))
        self._last: Command | None = None
        self._answered_with: tuple[ActiveContact, ...] = ()  # contacts of the last answer: what is settled changes them
        self._zero: float | None = None

    def make_controller(self, scenario: Scenario) -> Controller:
        """Return a controller of a scenario, with the settings of this run.

        Raises:
            MultiQpError: when the settings do not fit.
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
        controller.attended = settings["attended"]
        return controller

    def go_on_as(self, controller: Controller, make_judge: Callable[[Scenario, Controller], Judge]) -> None:
        """Go on with another controller of the same scene, whose state machine begins with the next answer."""
        self.scenario, self.controller = controller.scenario, controller
        self.judge = make_judge(controller.scenario, controller)
        self.told_end, self._zero = False, None
        self._last = None  # this one knows of no contact to predict with before its first answer

    def warm_up(self) -> None:
        """Rehearse, so that nothing is compiled or loaded in the loop; the run is not to be used any more."""
        self.controller.rehearse()
        # in all the time that it takes: what compiles is too late for any deadline, and the judge looks at good answers
        self.go_on_as(self._make(self.scenario, deadline=None), self._make_judge)
        state = self.scenario.scene.initial_state()
        self.judge.observe(state, self._answer(state, 0.0))
        _ = self.controller.forces  # for those who watch

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts that are on."""
        return tuple(self.controller.contacts)

    @property
    def whole(self) -> bool:
        """Whether a new state is there: all have told something new, and of one instant where they use to.

        One answer to states of two instants must not be followed by others: who is first would be a period ahead of the
        rest each time.
        """
        assembler = self.assembler
        return assembler.fresh and (assembler.together or not assembler.of_one_clock)

    def silent(self, now: float) -> bool:
        """Return whether there is nothing to say at `now` by the steady clock [s].

        Nothing is newer than the last answer, and what is known is older than can be predicted from: an answer would
        keep robots, which else brake by themselves, under torques for a state that they may be far from. Who has no
        processor hears the last such answer when it goes on. From its greatest age on the fallback answers.
        """
        age = now + self.pacer.latency - self.assembler.measured
        return not self.assembler.heard and self._reach < age and not self.assembler.outdated(now)

    def answer_in_step(self, time: float) -> tuple[State, Command, list[str]]:
        """Answer the state of a world that waits for the answer.

        Args:
            time: of the world [s].

        Returns:
            The state, its answer, and what is wrong with the state.
        """
        state, faults = self.assembler.state(self.assembler.clock)
        return state, self._answer(state, time), faults

    def answer_now(self, now: float) -> tuple[State, Command, list[str]]:
        """Answer the state of a world that goes on meanwhile, at `now` by the steady clock [s].

        The answer is to the state that will be when it takes effect: after the delay of the messages and the time that
        the answer takes, and on average half a period later, as it is then held for a period.
        """
        self.hearing.end()
        state, faults = self.assembler.state(now)
        expected = state
        last, predictor = self._last, self._predictor
        began = monotonic()
        # not after a fallback: from where its torques lead within the delay there may be no way back, tick after tick
        chosen = last is not None and last.diagnostics.status is not Status.FALLBACK
        if predictor is not None and last is not None and chosen and state.is_finite:
            delay = max(0.0, now + self.pacer.latency - self.assembler.measured)
            delay = min(delay, self._reach)
            hold = self._hold
            if now - self.pacer.sent > self._patience:  # they brake, by torques that nobody here knows
                delay, hold = 0.0, delay + hold
            expected = predictor.ahead(state, last.tau, self._answered_with, delay, hold=hold)
        self.prediction_time = monotonic() - began
        self._last = self._answer(expected, now)
        return state, self._last, faults

    def _answer(self, state: State, now: float) -> Command:
        if self._zero is None:
            self._zero = now
        time = now - self._zero
        self.scenario.scene.loads.advance(time)
        command = self.controller.step(state, time)
        self._answered_with = tuple(self.controller.contacts.values())
        return command
