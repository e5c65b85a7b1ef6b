"""The controller: from the state of the scene to the torques of its motors, once per tick."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.activity import Activity
from multi_qp_controller.closed_loop import ClosedLoop
from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.conditions import Situation
from multi_qp_controller.constraints import CollisionConstraint
from multi_qp_controller.controller_parts import describe_nan, ladder_of, statement_of
from multi_qp_controller.controller_view import ControllerView
from multi_qp_controller.fallback import Fallback
from multi_qp_controller.foresight import lay_out_states, pairs_of
from multi_qp_controller.formulations import QpSize
from multi_qp_controller.fsm import StateMachine
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.ladder import Answer
from multi_qp_controller.memory import Memory, TickInput
from multi_qp_controller.physical import PhysicalSolution
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

    `step` never raises for what the state holds: where no command can be computed it falls back to a defined one and
    says so. The first step starts the state machine from the state it is given.

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
        self.machine = StateMachine(scenario)
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
        self._now = Situation(scenario, self.kinematics, {}, 0.0, 0.0, frozenset())
        parts = self._activity, self.kinematics, self.statement, self.formulation
        self._rehearsal = lay_out_states(self.machine.phases, self._now, *parts, dt=self.dt)
        self._sized, self._size = self.statement.contacts, QpSize.of(self.statement)
        self._started = False
        self._deadline = np.inf if deadline is None else deadline
        self.reactions: Array | None = None
        self.attended = False
        self.keeps_input = False
        self.last_input: TickInput | None = None

    def memory(self) -> Memory:
        """Return everything that the next step depends on besides its arguments.

        The state of the scene's loads is in it; q and v of the last step are not, and matter only to a target that is
        moved between `resume` and the first step after it.
        """
        return {
            "started": self._started,
            "attended": self.attended,
            "machine": self.machine.memory(),
            "activity": self._activity.memory(),
            "watched": self.kinematics.watched,
            "statement": self.statement.memory(),
            "qp": self._ladder.memory(),
            "rehearsal": self._rehearsal.memory(),
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
            self._resume(memory)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise MultiQpError(f"the memory is not of this scenario: {type(error).__name__}: {error}") from None

    def _resume(self, memory: Memory) -> None:
        self._started, self.attended = memory["started"], memory["attended"]
        self.scenario.scene.loads.resume(memory["loads"])
        self.machine.resume(memory["machine"])
        self._activity.resume(memory["activity"], self.machine.phase, self.kinematics)
        if self._started:
            self.kinematics.update(self.scenario.scene.initial_state())  # places what does not move
            self.kinematics.watch([(a, b) for a, b in memory["watched"]])
            self.statement.set_tasks(tuple(self.tasks.values()))
            self.statement.resume(memory["statement"], tuple(self.contacts.values()))
            self._ladder.prepare()
            self._ladder.resume(memory["qp"])
        self._now.entered, self._now.tasks = self.machine.entered, self._activity.tasks
        if "rehearsal" in memory:  # what was recorded before there were any goes on without
            self._rehearsal.resume(memory["rehearsal"], self.machine.phase, self.machine.named)
        self._fallback.resume(memory["fallback"])
        self._loop.resume(memory)
        if self.landing is not None:
            self.landing.enter(self.machine.phase, self.tasks)

    def rehearse(self) -> None:
        """Answer the initial state once in each state of the state machine, for nobody.

        What is compiled, loaded or computed once a surface is then there for every other controller of this process:
        a first tick takes a hundred times as long as the second, the first grasp ten times. This controller is not to
        be used any more.
        """
        state = self.scenario.scene.initial_state()
        self.step(state, 0.0)
        for name in self.scenario.spec.states:
            self.machine.enter(name, 0.0)
            try:
                self._enter_phase(0.0)
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
        if self.keeps_input:
            self.last_input = TickInput(state, time, self.memory())
        if state.q.shape != self._shapes[0] or state.v.shape != self._shapes[1]:
            return self._fall_back(state, time, started, "the state has the wrong size")
        if not state.is_finite:
            return self._fall_back(state, time, started, describe_nan(self.scenario, state))
        try:
            state = self._loop.measured(state)
            self.kinematics.update(state)
            self._loop.disturb(self.kinematics)
            self._advance(time)
            self.statement.update(self.kinematics, time, self.horizon)
            return self._solve(state, time, started)
        except Exception as error:  # the loop goes on whatever happens in a tick; the message says what did
            return self._fall_back(state, time, started, f"{type(error).__name__}: {error}")

    def _advance(self, time: float) -> None:
        """Start, or take the transition that is due."""
        if not self._started:
            self.machine.entered = time
            self._enter_phase(time)
            self._started = True
            return
        now, machine = self._now, self.machine
        now.time, now.entered, now.commands, now.visited = time, machine.entered, machine.commands, machine.visited
        now.tasks, now.attended = self._activity.tasks, self.attended
        now.felt = None if self.landing is None else self.landing.felt
        if self.machine.update(now):
            self._enter_phase(time)
        else:
            if self._activity.advance(time):
                self._take_up()
            self._rehearsal.update(now, self.horizon)
        if self.landing is not None and self.landing.update(self.kinematics, time):
            self.statement.let_touch(self.landing.sought)

    def _enter_phase(self, time: float) -> None:
        """Take up the contacts and tasks of the present state."""
        self._activity.enter(self.machine.phase, self.kinematics, time)
        if not self._started:
            self._activity.start_user_tasks(self.kinematics, time)
        if self.landing is not None:
            self.landing.enter(self.machine.phase, self.tasks)
            self.statement.let_touch(self.landing.sought)
        self._activity.advance(time)
        self._take_up()
        self._ladder.begin_with(self._rehearsal.found(self.machine.phase))
        self._now.entered, self._now.tasks = time, self._activity.tasks
        self._rehearsal.enter(self.machine.phase, self.machine.named)

    def _take_up(self) -> None:
        """State the QP with the present contacts and tasks."""
        contacts = tuple(self.contacts.values())
        # the contacts first: they are written from the table all at once
        self.kinematics.watch(pairs_of(contacts, self.tasks.values()))
        self.statement.set_tasks(tuple(self.tasks.values()))
        self.statement.set_contacts(contacts, self.kinematics)
        self._ladder.prepare()

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
        )
        return Command(time, torque, np.full(scene.nv, np.nan), {}, diagnostics)
