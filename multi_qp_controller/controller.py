"""The controller: from the state of the scene to the torques of its motors, once per tick."""

from __future__ import annotations

from math import isfinite
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.activity import Activity
from multi_qp_controller.closed_loop import ClosedLoop
from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.constraints import CollisionConstraint
from multi_qp_controller.controller_parts import describe_nan, ladder_of, statement_of
from multi_qp_controller.controller_view import ControllerView
from multi_qp_controller.fallback import Fallback
from multi_qp_controller.formulations import QpSize
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.ladder import Answer
from multi_qp_controller.memory import Memory, TickInput
from multi_qp_controller.physical import PhysicalSolution
from multi_qp_controller.progress import Progress
from multi_qp_controller.qp import Solution
from multi_qp_controller.threads import use_one_thread
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.scenario_file import ClosedLoopSpec

Array = NDArray[np.float64]

#: Solver of each formulation, unless the scenario or the user chooses: the fastest that was measured.
DEFAULT_SOLVERS = {"full": "daqp", "reduced": "daqp", "condensed": "active_set"}


class Controller(ControllerView):
    """One QP over all subsystems of a scenario, [Vaillant2015] (35), driven by its state machine.

    A tick has two parts. `step` answers a state; it never raises for what the state holds: where no command can be
    computed it falls back to a defined one and says so. `settle` does what need not wait for the next state: it takes
    the transition that is due. The first step starts the state machine from the state it is given.

    Attributes:
        scenario: what is controlled.
        dt: control period [s].
        kinematics: of the last step.
        machine: the state machine.
        solver_name: the backend.
        formulation_name: how the QP is written.
        formulation: which writes it.
        reactions: of the last tick, one a no-slip row: wrenches, then forces of couplings; None in a fallback.
        landing: takes in what contacts are felt to press with, where that tells that they touch; else None.
        attended: whether somebody is there to interact; else phases for the user are passed over.
        keeps_input: whether each step keeps what it was given and what it remembered, for a recorder.
        last_input: of the last step, where they are kept.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        dt: float | None = None,
        solver: str | None = None,
        formulation: str | None = None,
        deadline: float | None = None,
        closed_loop: ClosedLoopSpec | None = None,
    ) -> None:
        """Prepare everything that does not change from tick to tick.

        Args:
            scenario: what to control.
            dt: control period [s]; the scenario's if None.
            solver: name of the backend; the scenario's, else the fastest, if None.
            formulation: name of the formulation; the scenario's if None.
            deadline: a tick that takes longer falls back, for its answer is too old to be followed [s]; None where the
                world waits for it.
            closed_loop: how to act where the world answers torques for itself; None where q̈ is integrated as it is.

        Raises:
            MultiQpError: when dt is not positive, or there is no such solver or formulation.
        """
        use_one_thread()
        spec, scene = scenario.spec, scenario.scene
        self.scenario = scenario
        self.closed_loop = closed_loop
        own = spec.dt if closed_loop is None or closed_loop.dt is None else closed_loop.dt
        self.dt = own if dt is None else dt
        if not (np.isfinite(self.dt) and self.dt > 0.0):
            raise MultiQpError(f"the time step must be a positive number of seconds, got {self.dt}")
        self.formulation_name = formulation or spec.formulation
        self.solver_name = solver or spec.solver or DEFAULT_SOLVERS.get(self.formulation_name, "daqp")
        self.kinematics = Kinematics(scene)
        self.pairs = watched_pairs(scene, spec.collisions)
        self.horizon = self.dt if closed_loop is None else max(self.dt, closed_loop.horizon)
        self._collisions = CollisionConstraint(scene, self.pairs, dt=self.dt, horizon=self.horizon)
        self.statement = statement_of(scenario, self._collisions, self.horizon)
        self.formulation, self._ladder = ladder_of(self.statement, self.formulation_name, self.solver_name, deadline)
        for contact in spec.contacts.values():  # some 10 ms each, which no change of contacts shall wait for
            scene.surfaces[contact.surfaces[0]].facets(contact.friction)
        self._loop = ClosedLoop(scenario, closed_loop, dt=self.dt)
        self.landing = self._loop.landing
        ramp = 0.0 if closed_loop is None else closed_loop.force_ramp
        self._activity = Activity(scenario, self._loop.contact_feedback, ramp=ramp)
        self._fallback = Fallback(scene, spec.fallback)
        self._shapes = (scene.nq,), (scene.nv,)
        parts = self._activity, self.kinematics, self.statement, self.formulation, self._ladder, self.landing
        self._progress = Progress(scenario, *parts, dt=self.dt, horizon=self.horizon)
        self.machine = self._progress.machine
        self._sized, self._size = self.statement.contacts, QpSize.of(self.statement)
        self._unsettled: float | None = None  # time of the tick that has been answered and not settled [s]
        self._fault = ""
        self._settling_ms = 0.0
        self._deadline = np.inf if deadline is None else deadline
        self.reactions: Array | None = None
        self.attended = False
        self.keeps_input = False
        self.last_input: TickInput | None = None

    def memory(self) -> Memory:
        """Return everything that the next step depends on besides its arguments.

        The tick before is settled first. The state of the scene's loads is in it; q and v of the last step are not, and
        matter only to a target that is moved between `resume` and the first step after it.
        """
        self.settle()
        return {
            "attended": self.attended,
            "fault": self._fault,
            **self._progress.memory(),
            "fallback": self._fallback.memory(),
            **self._loop.memory(),
            "loads": self.scenario.scene.loads.memory(),
        }

    def resume(self, memory: Memory) -> None:
        """Go on from a memory: the next step answers as the controller that it was taken from would have.

        The controller must be of the same scenario, parameters, seed and time step.

        Raises:
            MultiQpError: when the memory does not fit the scenario.
        """
        try:
            self.attended, self._fault, self._unsettled = memory["attended"], memory.get("fault", ""), None
            self.scenario.scene.loads.resume(memory["loads"])
            self._fallback.resume(memory["fallback"])
            self._loop.resume(memory)
            self._progress.resume(memory)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise MultiQpError(f"the memory is not of this scenario: {type(error).__name__}: {error}") from None

    def rehearse(self) -> None:
        """Answer the initial state once in each state of the state machine, for nobody.

        What is compiled, loaded or computed once a surface is then there for every other controller of this process:
        a first tick takes a hundred times as long as the second, the first grasp ten times. This controller is not to
        be used any more.
        """
        state = self.scenario.scene.initial_state()
        self.step(state, 0.0)
        for name in self.scenario.spec.states:
            self.settle()  # else the next step would, and leave the state again
            self.machine.enter(name, 0.0)
            try:
                self._progress.take_up_state(0.0)
            except (MultiQpError, KeyError, ValueError):  # a target may want what is not there yet: no matter
                continue
            self.step(state, 0.0)

    def step(self, state: State, time: float) -> Command:
        """Answer one state with a command.

        Args:
            state: of the whole scene.
            time: [s]; of the state machine and of moving references.
        """
        started = perf_counter()
        self.settle()
        if self.keeps_input:
            self.last_input = TickInput(state, time, self.memory())
        if state.q.shape != self._shapes[0] or state.v.shape != self._shapes[1]:
            return self._fall_back(state, time, started, "the state has the wrong size")
        if not isfinite(time):  # the clock of the first state would be none for ever
            return self._fall_back(state, time, started, f"the time is {time}")
        if not state.is_finite:
            return self._fall_back(state, time, started, describe_nan(self.scenario, state))
        try:
            state = self._loop.measured(state)
            self.kinematics.update(state)
            self._loop.disturb(self.kinematics)
            if self._fault:
                fault, self._fault, self._unsettled = self._fault, "", time
                return self._fall_back(state, time, started, fault)
            if not self._progress.started:
                self._progress.start(time)
            self._unsettled = time
            if self.landing is not None and self.landing.update(self.kinematics, time):
                self.statement.let_touch(self.landing.sought)
            self.statement.update(self.kinematics, time, self.horizon)
            return self._solve(state, time, started)
        except Exception as error:  # the loop goes on whatever happens in a tick; the message says what did
            return self._fall_back(state, time, started, f"{type(error).__name__}: {error}")

    def settle(self) -> None:
        """Do what the next tick needs and what need not wait for its state: take the transition that is due.

        To be called once the answer is on its way; where nobody does, the next `step` begins with it, and its answer
        comes later. Contacts, tasks and the statement are those of the tick before until then. What fails here is told
        by the next step, which falls back.
        """
        if self._unsettled is None:
            return
        begun, time, self._unsettled = perf_counter(), self._unsettled, None
        try:
            self._progress.advance(time, attended=self.attended)
        except Exception as error:
            self._fault = f"{type(error).__name__}: {error}"
        self._settling_ms = (perf_counter() - begun) * 1e3

    def _solve(self, state: State, time: float, started: float) -> Command:
        answer = self._ladder.solve()
        physical = answer.physical
        if physical is None:
            return self._fall_back(state, time, started, answer.message, answer.solution)
        took = perf_counter() - started
        if took > self._deadline:
            message = f"the tick took {took * 1e3:.0f} ms, longer than its deadline of {self._deadline * 1e3:.0f} ms"
            return self._fall_back(state, time, started, message, answer.solution)
        self._fallback.recovered(physical.torque, self.statement.M)
        return self._command(time, started, answer, physical)

    def _command(self, time: float, started: float, answer: Answer, physical: PhysicalSolution) -> Command:
        rows = self.statement.contacts
        if self._sized is not rows:
            self._sized, self._size = rows, QpSize.of(self.statement)
        size = self._size
        acceleration, torque, reactions = physical
        self.reactions = reactions
        drive = self._loop.commanded(acceleration, self.statement.M)
        diagnostics = Diagnostics(
            status=answer.status,
            message=answer.message,
            state=self.machine.phase.name,
            finished=self.machine.finished,
            solver_status=answer.solution.status,
            iterations=answer.solution.iterations,
            solve_ms=answer.solution.solve_time * 1e3,
            dynamics_residual=self.statement.dynamics_residual(acceleration, torque, reactions),
            variables=size.variables,
            equalities=size.equalities,
            inequalities=size.inequalities + self.statement.row_count,
            slack=answer.slack,
            tick_ms=(perf_counter() - started) * 1e3,
            settling_ms=self._settling_ms,
        )
        wrenches, couplings = rows.wrenches(reactions), rows.coupling_forces(reactions)
        return Command(time, torque, acceleration, wrenches, diagnostics, couplings, drive)

    def _fall_back(
        self, state: State, time: float, started: float, message: str, solution: Solution | None = None
    ) -> Command:
        self._ladder.forget()
        self._collisions.reset()
        self.reactions = None
        self._loop.reset()
        scene = self.scenario.scene
        v = state.v if state.v.shape == (scene.nv,) else np.zeros(scene.nv)
        torque = self._fallback.torque(State(state.q, v), time)
        diagnostics = Diagnostics(
            status=Status.FALLBACK,
            message=message,
            state=self.machine.phase.name,
            finished=self.machine.finished,
            solver_status=solution.status if solution else "",
            iterations=solution.iterations if solution else 0,
            solve_ms=solution.solve_time * 1e3 if solution else 0.0,
            tick_ms=(perf_counter() - started) * 1e3,
            settling_ms=self._settling_ms,
        )
        return Command(time, torque, np.full(scene.nv, np.nan), {}, diagnostics)
