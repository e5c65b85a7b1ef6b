"""The controller: computes motor torques from the state of the scene, once per tick."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from time import perf_counter
from typing import Any

import numpy as np

from multi_qp_controller.closed_loop.closed_loop import ClosedLoop
from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.constraints import CollisionConstraint, make_constraints
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.contacts.rows import multipliers
from multi_qp_controller.controller_parts import check_arguments, make_cascade
from multi_qp_controller.controller_state import ControllerState, TickInput
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.incidents import IncidentLog, described
from multi_qp_controller.lost_subsystems import LostSubsystems, replace_lost
from multi_qp_controller.motion_generator import GeneratorInput, MotionGenerator
from multi_qp_controller.qp import Explanation, QPProblem, Solution, explain_infeasibility
from multi_qp_controller.qp.choice import choose
from multi_qp_controller.qp.formulations import QpSize
from multi_qp_controller.qp.physical_solution import PhysicalSolution
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.safe_torques import SafeTorques
from multi_qp_controller.qp.solve_cascade import SolveResult
from multi_qp_controller.state_check import StateCheck, as_recorded
from multi_qp_controller.state_machine.active_setup import ActiveSetup
from multi_qp_controller.state_machine.state_manager import StateManager
from multi_qp_controller.tasks import Task
from multi_qp_controller.tasks.given_up import GivenUpTasks
from multi_qp_controller.threads import use_one_thread
from multi_qp_controller.uncontrolled_subsystems import UncontrolledSubsystems
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.control import ClosedLoopSpec
from multi_qp_scene.stateful import conformed


class Controller:
    """One QP over all subsystems of a scenario, [Vaillant2015] (35), driven by its state machine.

    A tick has two parts. `step` computes the command for a state; it raises no exception because of the state: where
    no command can be computed, it returns the fallback command and reports the cause. `post_update` then evaluates the
    transitions, outside the latency-critical path. The first step starts the state machine at the given state.

    Attributes:
        scenario: the scenario, with all subsystems.
        controlled: the same without the subsystems that are not controlled; what the QP consists of.
        surroundings: the subsystems that are not controlled at the last step; None if there are none.
        dt: control period [s].
        kinematics: kinematics and dynamics at the last step.
        collisions: collision constraint: the watched pairs and their distances at the last step.
        check: state check; returns the state to compute with and what is invalid. `step` begins with it.
        machine: the state machine.
        solver_name: name of the solver backend.
        formulation_name: name of the QP formulation.
        qp_data: the QP.
        cascade: its solvers.
        reactions: reactions of the last tick, one for each no-slip row: wrenches, then coupling forces; None in a
            fallback.
        incidents: log of faults, one line for each cause.
        landing: landing detection from measured contact forces; None where contacts are detected geometrically.
        interactive: whether a user is present; otherwise states for interaction are skipped.
        records_input: whether each step stores its input and the controller state before it, for a recorder.
        last_input: input of the last step, where stored.
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
        """Allocate and precompute everything that is constant over ticks.

        Args:
            scenario: the scenario to control.
            dt: control period [s]; the scenario's if None.
            solver: name of the solver backend; if None, the scenario's where it fits, else the fastest.
            formulation: name of the formulation; if None, the scenario's where it fits, else the fastest.
            deadline: largest duration of a tick [s]; a longer one returns the fallback, as its command would be
                outdated. None where the simulator waits for the command.
            closed_loop: filters and feedback for a simulator or robot that has its own dynamics; None where q̈ is
                integrated directly.

        Raises:
            MultiQpError: when an argument is invalid, the solver or formulation does not exist, they do not fit, or the
                scenario has no states because its plan has not been computed.
        """
        check_arguments(scenario, dt, solver, formulation, deadline, closed_loop)
        use_one_thread()
        self.scenario, controlled = scenario, scenario.controlled
        spec, scene = scenario.spec, controlled.scene
        self.controlled = controlled
        self.surroundings = None if controlled is scenario else UncontrolledSubsystems(scenario.scene, scene)
        self.closed_loop = closed_loop
        own = spec.dt if closed_loop is None or closed_loop.dt is None else closed_loop.dt
        self.dt = float(own if dt is None else dt)
        self.formulation_name, self.solver_name = choose((formulation, solver), (spec.formulation, spec.solver))
        self.kinematics = Kinematics(scene)
        self.horizon = self.dt if closed_loop is None else max(self.dt, closed_loop.horizon)
        constraints = make_constraints(controlled, self.dt, self.horizon)
        self.collisions = next(one for one in constraints if isinstance(one, CollisionConstraint))
        self.qp_data = QPData(scene, constraints, cost=spec.regularisation, relax=spec.fallback.relax)
        self.cascade = make_cascade(self.qp_data, self.formulation_name, self.solver_name, deadline)
        self._loop = ClosedLoop(controlled, closed_loop, dt=self.dt)
        self.landing = self._loop.landing
        ramp = 0.0 if closed_loop is None else closed_loop.force_ramp
        self.incidents = IncidentLog()
        self._active_setup = ActiveSetup(controlled, self._loop.contact_feedback, incidents=self.incidents, ramp=ramp)
        self._last_setup: tuple[dict[str, ActiveContact], dict[str, Task]] | None = None
        self._fallback = SafeTorques(scene, spec.fallback)
        self._given_up = GivenUpTasks(spec.fallback.restore_after)
        self.check = StateCheck(scenario.scene, spec.state_check)
        parts = self._active_setup, self.kinematics, self.qp_data, self.cascade, self.landing
        self._state_manager = StateManager(controlled, *parts, self.incidents)
        self._forces: dict[str, float] | None = None  # measured normal force of each contact [N]
        self.machine = self._state_manager.machine
        self._sized, self._size = self.qp_data.contacts, QpSize.of(self.qp_data)
        self._time = 0.0  # of the last step [s]
        self._to_update: float | None = None  # time of a tick whose `post_update` is due [s]
        self._fault = ""
        self._post_update_ms = 0.0
        self._deadline = np.inf if deadline is None else deadline
        self._valid_q: Array | None = None
        self._lost: frozenset[str] = frozenset()  # subsystems whose state was invalid in the last step
        self.reactions: Array | None = None
        self.interactive = False
        self.records_input = False
        self.last_input: TickInput | None = None

    def get_state(self) -> ControllerState:
        """Return everything that the next step depends on besides its arguments.

        A due `post_update` runs first. The state of the scene's loads is included; q and v of the last step are not,
        and matter only to a target that is moved between `set_state` and the first step after it.
        """
        self.post_update()
        return ControllerState(
            time=self._time,
            fault=self._fault,
            interactive=self.interactive,
            state_manager=self._state_manager.get_state(),
            safe_torques=self._fallback.get_state(),
            given_up=self._given_up.get_state(),
            closed_loop=self._loop.get_state(),
            loads=self.scenario.scene.loads.get_state(),
            forces=None if self._forces is None else dict(self._forces),
            valid_q=self._valid_q,  # never written to
            lost=sorted(self._lost),
        )

    def set_state(self, saved: ControllerState | dict[str, Any]) -> None:
        """Restore a saved state: the next step returns the command that the original controller would have returned.

        The controller must be of the same scenario, parameters, seed and time step. Plain data are accepted as well.

        Raises:
            MultiQpError: when the saved state does not fit the scenario.
        """
        try:
            state = conformed(ControllerState, saved, self.controlled.scene)
            self.scenario.scene.loads.set_state(state.loads)
            self._fallback.set_state(state.safe_torques)
            self._given_up.set_state(state.given_up)
            self._loop.set_state(state.closed_loop)
            self._state_manager.set_state(state.state_manager)
            self._forces, self._valid_q, self._lost = state.forces, state.valid_q, frozenset(state.lost)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise MultiQpError(f"the saved state does not fit this scenario: {type(error).__name__}: {error}") from None
        self._time, self._fault, self.interactive = state.time, state.fault, state.interactive
        self._to_update, self._last_setup = None, None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by scenario, settings and saved state: the copy returns the same commands, bit for bit.

        `copy.copy` shares the scenario, and with it the present masses of its loads; the others copy it.

        Raises:
            MultiQpError: when user tasks have been added.
        """
        if added := self._active_setup.added:
            raise MultiQpError(
                f"a Controller with user tasks ({', '.join(added)}) cannot be copied or pickled: create another one "
                "of the same scenario, add the tasks there, and pass this one's `get_state()` to its `set_state`"
            )
        settings = {
            "dt": self.dt,
            "solver": self.solver_name,
            "formulation": self.formulation_name,
            "deadline": None if np.isinf(self._deadline) else self._deadline,
            "closed_loop": self.closed_loop,
        }
        return _restored, (self.scenario, settings, self.get_state())

    def measure_forces(self, forces: Mapping[str, float] | None) -> None:
        """Update the measured normal force of each contact [N], for motion generators and landing detection.

        Without measurement, None, both use the positions of the limbs.
        """
        self._forces = None if forces is None else dict(forces)
        if self.landing is not None:
            self.landing.update_forces(forces)

    @property
    def measured_forces(self) -> Mapping[str, float]:
        """Measured normal force of each contact [N]; empty without measurement."""
        return self._forces or {}

    @property
    def generators(self) -> Mapping[str, MotionGenerator]:
        """The motion generators of the present state by name."""
        return self._state_manager.generators.of_states[self.machine.present.name]

    def generator(self, name: str) -> MotionGenerator:
        """Return a motion generator: of the present state, else of the first state that declares one of this name.

        Raises:
            ArgumentError: when no state has a generator of this name.
        """
        return self.generators.get(name) or self._state_manager.generators.named(name)[0]

    def adjust(self, generator: str, setting: str, value: float) -> None:
        """Change a setting of the motion generators of a name, from the next tick on; see `MotionGenerator.settings`.

        Raises:
            ArgumentError: when there is no such generator or setting, or the value is outside its range.
        """
        self._state_manager.generators.adjust(generator, setting, value)

    def warm_up(self) -> None:
        """Step once at the initial configuration in each state of the state machine, and warm up its generators.

        Compiled kernels, imported modules and cached surface data are then available to all other controllers of this
        process: without it the first tick of a process takes a hundred times as long as the second. Discard this
        controller afterwards.
        """
        self.incidents.enabled = False
        state = self.scenario.scene.initial_state()
        self.step(state, 0.0)
        generators = self._state_manager.generators
        for name in self.scenario.spec.states:
            self.post_update()  # otherwise the next step would call it, and leave the state again
            try:
                self._state_manager.enter_state(name, 0.0)
            except (MultiQpError, KeyError, ValueError):  # a target may refer to a frame that does not exist yet
                continue
            self.step(state, 0.0)
            generators.warm_up(GeneratorInput(0.0, self.dt, self.kinematics, None, self.surroundings))

    def step(self, state: State, time: float) -> Command:
        """Compute the command for a state.

        No exception is raised, whatever the arguments: for an invalid state or time, the fallback command is returned,
        with the cause in its diagnostics. Where the state of some subsystems only is invalid, they and those that
        contacts, couplings, tasks or constraints connect with them get safe torques, all others the solution of the QP.

        Args:
            state: state of the whole scene; it is copied. Lists, and arrays of any real type, are converted.
            time: time of the state machine and of moving references [s].
        """
        started = perf_counter()
        self.post_update()
        usable, fault = self.check(state)
        now, time_fault = self._checked_time(time)
        if self.records_input:
            self.last_input = self._input(state, np.nan if time_fault else now)
        self._time = now
        if self.surroundings is not None:
            usable, fault = self.surroundings.split(usable, fault)
        scene = self.controlled.scene
        lost = LostSubsystems.of(scene, usable, fault) if fault else None
        if time_fault or (lost is not None and (lost.entries[scene.actuated_v].all() or self._valid_q is None)):
            return self._fall_back(usable, now, started, fault or time_fault)
        return self._compute(usable, now, started, lost)

    def _use(self, measured: State, lost: LostSubsystems | None) -> State:
        """Return the state to compute with: lost subsystems are at rest where they were seen last."""
        names = frozenset() if lost is None else lost.names
        if not self._lost <= names:  # the filters of a subsystem that is back start anew
            self._loop.reset()
        self._lost = names
        state = (
            measured if lost is None or self._valid_q is None else lost.bridged(self.controlled.scene, self._valid_q)
        )
        self._valid_q = state.q
        return self._loop.measured(state)

    def _input(self, state: Any, time: float) -> TickInput | None:
        """Return the input of a step for a recorder; None where `get_state` fails, as that of a user task may."""
        try:
            return TickInput(as_recorded(self.scenario.scene, state), time, self.get_state())
        except Exception as error:
            self.incidents.warn(f"a tick cannot be recorded: {described(error)}")
            return None

    def _checked_time(self, time: Any) -> tuple[float, str]:
        """Return the time [s] and the reason why it is invalid; then one period after the last step is returned."""
        try:
            if isfinite(time):
                return float(time), ""
            fault = f"the time is {time}"
        except Exception:  # an object's own conversion may raise anything
            fault = f"the time is a {type(time).__name__}, expected a number of seconds"
        return self._time + self.dt, fault

    def _compute(self, measured: State, time: float, started: float, lost: LostSubsystems | None) -> Command:
        state = measured
        try:
            state = self._use(measured, lost)
            self.kinematics.update(state)
            self._loop.disturb(self.kinematics)
            if self._fault:
                fault, self._fault, self._to_update = self._fault, "", time
                return self._fall_back(measured, time, started, fault)
            if not self._state_manager.started:
                self._state_manager.start(time)
            self._to_update = time if lost is None else None  # no transition by the state of a lost subsystem
            if self._state_manager.generators.present:
                external = self._loop.external
                now = GeneratorInput(time, self.dt, self.kinematics, self._forces, self.surroundings, external)
                self._state_manager.update_generators(now)
            if self.landing is not None and self.landing.update(self.kinematics, time):
                self.qp_data.allow_touching(self.landing.pending)
            self.qp_data.given_up = tuple(self._given_up.names)
            self.qp_data.update(self.kinematics, time, self.horizon)
            return self._solve(state if lost is None else measured, time, started, lost)
        except Exception as error:  # no fault of one tick ends the control loop
            return self._fall_back(state if lost is None else measured, time, started, described(error))

    def post_update(self) -> None:
        """Take the transition that is due after the last step, outside the latency-critical path.

        Call it after the command has been sent; otherwise the next `step` begins with it and takes longer. Until then,
        contacts, tasks and QP data are those of the last step. A failure is reported by the next step, which returns
        the fallback.
        """
        if self._to_update is None:
            return
        begun, time, self._to_update = perf_counter(), self._to_update, None
        try:
            self._state_manager.advance(time, interactive=self.interactive)
        except Exception as error:
            self._fault = described(error)
        self._post_update_ms = (perf_counter() - begun) * 1e3

    def _solve(self, state: State, time: float, started: float, lost: LostSubsystems | None) -> Command:
        answer = self.cascade.solve()
        if answer.physical is None and self.qp_data.tasks.leave_out_invalid():
            answer = self.cascade.solve()
        if self.qp_data.tasks.left_out or self._state_manager.generators.faults:
            self._report_left_out(answer)
        physical = answer.physical
        if physical is None:
            return self._fall_back(state, time, started, answer.message, answer.solution)
        if answer.infeasible is not None:
            self._given_up.give_up(self.qp_data.tasks, answer.infeasible, physical.acceleration, time)
        elif self._given_up.failing or self._given_up.names:
            self._given_up.restore(self.qp_data.tasks, time)
        took = perf_counter() - started
        if took > self._deadline:
            message = f"the tick took {took * 1e3:.0f} ms, longer than its deadline of {self._deadline * 1e3:.0f} ms"
            return self._fall_back(state, time, started, message, answer.solution)
        if lost is not None:
            return self._command_of_others(lost, time, started, answer, physical)
        self._fallback.record(physical.torque, self.qp_data.M)
        return self._command(time, started, answer, physical)

    def _command_of_others(
        self, lost: LostSubsystems, time: float, started: float, answer: SolveResult, physical: PhysicalSolution
    ) -> Command:
        """Return the command with safe torques for lost subsystems and those that are connected with them."""
        entries, scene = lost.connected(self.qp_data), self.controlled.scene
        failing = entries[scene.actuated_v]
        if failing.all():
            return self._fall_back(lost.measured, time, started, lost.fault, answer.solution)
        self._fallback.record(physical.torque, self.qp_data.M, failing)
        safe = self._fallback.torque(lost.measured, time, failing)
        self.incidents.warn(f"in state '{self.machine.present.name}': {lost.fault}")
        command = self._command(time, started, answer, physical)
        return replace_lost(command, lost, entries, safe, scene, self.qp_data.contacts)

    def _report_left_out(self, answer: SolveResult) -> None:
        """Report tasks and generators whose computation failed, in the log and in the status of the solution."""
        found = [f"task '{name}' is left out: {reason}" for name, reason in self.qp_data.tasks.left_out.items()]
        for message in found:
            self.incidents.warn(message)
        found += self._state_manager.generators.faults.values()
        if answer.status is Status.OK:
            answer.status = Status.REDUCED
        answer.message = "; ".join([answer.message, *found] if answer.message else found)

    def _command(self, time: float, started: float, answer: SolveResult, physical: PhysicalSolution) -> Command:
        rows = self.qp_data.contacts
        if self._sized is not rows:
            self._sized, self._size = rows, QpSize.of(self.qp_data)
        size = self._size
        acceleration, torque, reactions = physical
        self.reactions, self._last_setup = reactions, (self._active_setup.contacts, self._active_setup.tasks)
        drive = self._loop.commanded(acceleration, self.qp_data.M)
        diagnostics = Diagnostics(
            status=answer.status,
            message=answer.message,
            state=self.machine.present.name,
            finished=self.machine.finished,
            solver_status=answer.solution.status,
            iterations=answer.solution.iterations,
            solve_ms=answer.solution.solve_time * 1e3,
            dynamics_residual=answer.dynamics_residual,
            variables=size.variables,
            equalities=size.equalities,
            inequalities=size.inequalities + self.qp_data.row_count,
            slack=answer.slack,
            given_up=self.qp_data.given_up,
            tick_ms=(perf_counter() - started) * 1e3,
            post_update_ms=self._post_update_ms,
        )
        wrenches, couplings = rows.wrenches(reactions), rows.coupling_forces(reactions)
        return Command(time, torque, acceleration, wrenches, diagnostics, couplings, drive)

    def _fall_back(
        self, state: State, time: float, started: float, message: str, solution: Solution | None = None
    ) -> Command:
        self.cascade.reset()
        self.qp_data.reset()
        self.reactions, self._last_setup = None, (self._active_setup.contacts, self._active_setup.tasks)
        self._loop.reset()
        self.incidents.warn(f"fallback in state '{self.machine.present.name}': {message}")
        torque = self._fallback.torque(state, time)
        diagnostics = Diagnostics(
            status=Status.FALLBACK,
            message=message,
            state=self.machine.present.name,
            finished=self.machine.finished,
            solver_status=solution.status if solution else "",
            iterations=solution.iterations if solution else 0,
            solve_ms=solution.solve_time * 1e3 if solution else 0.0,
            tick_ms=(perf_counter() - started) * 1e3,
            post_update_ms=self._post_update_ms,
        )
        return Command(time, torque, np.full(self.controlled.scene.nv, np.nan), {}, diagnostics)

    @property
    def tasks(self) -> dict[str, Task]:
        """The active tasks by name."""
        return self._active_setup.tasks

    @property
    def contacts(self) -> dict[str, ActiveContact]:
        """The active contacts of the last step by name, also after `post_update`; initially the first state's."""
        return self._active_setup.contacts if self._last_setup is None else self._last_setup[0]

    @property
    def last_tasks(self) -> dict[str, Task]:
        """The tasks of the last step by name, also after `post_update`."""
        return self._active_setup.tasks if self._last_setup is None else self._last_setup[1]

    @property
    def failed_problem(self) -> QPProblem | None:
        """The QP at the start of the present (or last) failure, to explain, save or replay; None if there was none."""
        return self.cascade.failed_problem

    def explain_failure(self) -> Explanation | None:
        """Return an infeasible subset of the rows of the failed QP; slow, never called within `step`."""
        return None if self.failed_problem is None else explain_infeasibility(self.failed_problem)

    @property
    def forces(self) -> dict[str, Array]:
        """Multipliers Λ ≥ 0 of least norm for the wrenches of the last tick, by contact; computed on access."""
        return {} if self.reactions is None else multipliers(self.contacts.values(), self.reactions)

    def add_task(self, task: Task) -> None:
        """Add a user task; it is active in all states until it is removed.

        Raises:
            ArgumentError: when the task is invalid in this scene, or a task of that name is active.
        """
        self._active_setup.check_new(task)
        if self._state_manager.started:
            task.start(self.kinematics, self.machine.entered)
        self._active_setup.add(task)
        if self._state_manager.started:
            self.qp_data.set_tasks(tuple(self.tasks.values()))

    def remove_task(self, name: str) -> None:
        """Remove a task that `add_task` added.

        Raises:
            ArgumentError: when no added task has that name.
        """
        self._active_setup.remove(name)
        self.qp_data.set_tasks(tuple(self.tasks.values()))

    @property
    def targets(self) -> dict[str, Task]:
        """The interactive targets of the present state: name -> task that follows the target."""
        return self._active_setup.targets

    @property
    def awaited_commands(self) -> tuple[str, ...]:
        """The commands that the transitions of the present state wait for."""
        return self.machine.present.spec.commands

    def set_target(self, name: str, position: Array, rotation: Array | None = None) -> None:
        """Move an interactive target: position (3,) [m] and rotation (3, 3), in the world.

        The task approaches it no faster than its `max_speed`, however far away the target is.

        Raises:
            ArgumentError: when the present state has no such target, or position or rotation is invalid.
        """
        self._state_manager.set_target(name, position, rotation)

    def command(self, name: str) -> None:
        """Pass a user command to the state machine; it stays pending until a state has a transition for it.

        Raises:
            ArgumentError: when no state has such a transition.
        """
        self.machine.command(name)


def _restored(scenario: Scenario, settings: dict[str, Any], saved: ControllerState) -> Controller:
    """Return a controller that continues from a saved state."""
    controller = Controller(scenario, **settings)
    controller.set_state(saved)
    return controller
