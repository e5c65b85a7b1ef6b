"""The controller: from the state of the scene to the torques of its motors, once per tick."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.activity import Activity
from multi_qp_controller.command import Command, Diagnostics, Status
from multi_qp_controller.conditions import Situation
from multi_qp_controller.constraints import (
    BalanceConstraint,
    CollisionConstraint,
    JointLimitConstraint,
    PairDistance,
)
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.fallback import Fallback
from multi_qp_controller.formulations import QpSize, make_formulation
from multi_qp_controller.formulations.base import PhysicalSolution
from multi_qp_controller.fsm import StateMachine, commands_in
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.ladder import Answer, Ladder
from multi_qp_controller.qp import Explanation, Problem, Solution, explain_infeasibility, make_solver
from multi_qp_controller.statement import Statement
from multi_qp_controller.tasks import CoMTask, PoseTask, Task
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

Array = NDArray[np.float64]

#: Solver of each formulation, unless the scenario or the user chooses: the fastest that was measured.
DEFAULT_SOLVERS = {"full": "daqp", "reduced": "daqp"}


class Controller:
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
        attended: whether somebody is there to interact; else phases for the user are passed over.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        dt: float | None = None,
        solver: str | None = None,
        formulation: str | None = None,
    ) -> None:
        """Prepare everything that does not change from tick to tick.

        Args:
            scenario: what to control.
            dt: control period [s]; the scenario's if None.
            solver: name of the backend; the scenario's, else the fastest, if None.
            formulation: name of the formulation; the scenario's if None.

        Raises:
            MultiQpError: when dt is not positive, or there is no such solver or formulation.
        """
        spec, scene = scenario.spec, scenario.scene
        self.scenario = scenario
        self.dt = spec.dt if dt is None else dt
        if not (np.isfinite(self.dt) and self.dt > 0.0):
            raise MultiQpError(f"the time step must be a positive number of seconds, got {self.dt}")
        self.formulation_name = formulation or spec.formulation
        self.solver_name = solver or spec.solver or DEFAULT_SOLVERS.get(self.formulation_name, "daqp")
        self.kinematics = Kinematics(scene)
        self.machine = StateMachine(scenario)
        self.pairs = watched_pairs(scene, spec.collisions)
        self._collisions = CollisionConstraint(scene, self.pairs, dt=self.dt)
        limits = spec.joint_limits
        self.statement = Statement(
            scene,
            cost=spec.regularisation,
            joint_limits=JointLimitConstraint(
                scene.limits,
                scene.nv,
                dt=self.dt,
                influence=limits.influence,
                security=limits.security,
                damping=limits.damping,
            ),
            collisions=self._collisions,
            balance=None if spec.balance is None else BalanceConstraint(scene, spec.balance),
        )
        try:
            written = make_formulation(self.formulation_name, self.statement)
            self._ladder = Ladder(written, make_solver(self.solver_name))
        except ValueError as error:
            raise MultiQpError(str(error)) from None
        self._activity = Activity(scenario)
        self._fallback = Fallback(scene, spec.fallback)
        self._started = False
        self.forces: dict[str, Array] = {}
        self.attended = False

    @property
    def tasks(self) -> dict[str, Task]:
        """The running tasks by name."""
        return self._activity.tasks

    @property
    def contacts(self) -> dict[str, ActiveContact]:
        """The active contacts by name."""
        return self._activity.contacts

    @property
    def pair_distances(self) -> list[PairDistance]:
        """The watched pairs as measured at the last step."""
        return self._collisions.pairs

    @property
    def failed_problem(self) -> Problem | None:
        """The QP that began the present (or the last) failure, to explain, save or replay; None if there was none."""
        return self._ladder.failed_problem

    def explain_failure(self) -> Explanation | None:
        """Return which rows of the failed QP cannot be reconciled; slow, so never called within `step`."""
        return None if self.failed_problem is None else explain_infeasibility(self.failed_problem)

    def add_task(self, task: Task) -> None:
        """Add a task of the user's own; it stays through all states until it is removed.

        Raises:
            ValueError: when a task of that name is running.
        """
        self._activity.add(task)
        if self._started:
            task.start(self.kinematics, self.machine.entered)
            self.statement.set_tasks(tuple(self.tasks.values()))

    def remove_task(self, name: str) -> None:
        """Remove a task that `add_task` added.

        Raises:
            KeyError: when there is none.
        """
        self._activity.remove(name)
        self.statement.set_tasks(tuple(self.tasks.values()))

    @property
    def targets(self) -> dict[str, Task]:
        """The targets that a user may move now: name of each -> the task that follows it."""
        return self._activity.targets

    @property
    def awaited_commands(self) -> tuple[str, ...]:
        """The commands that the transitions of the present state wait for."""
        return commands_in(self.machine.phase.spec)

    def set_target(self, name: str, position: Array, rotation: Array | None = None) -> None:
        """Move an interactive target: position (3,) [m] and rotation (3, 3), in the world.

        However far it is put, the task approaches it no faster than its `max_speed`.

        Raises:
            KeyError: when the present state has no such target.
            ValueError: when a number is not finite.
        """
        task = self.targets[name]
        if isinstance(task, PoseTask | CoMTask):
            task.move_target(self.kinematics, position, rotation)

    def command(self, name: str) -> None:
        """Give a user's command to the state machine."""
        self.machine.command(name)

    def step(self, state: State, time: float) -> Command:
        """Answer one state with a command.

        Args:
            state: of the whole scene.
            time: [s]; of the state machine and of moving references.
        """
        started = perf_counter()
        if state.q.shape != (self.scenario.scene.nq,) or state.v.shape != (self.scenario.scene.nv,):
            return self._fall_back(state, time, started, "the state has the wrong size")
        if not state.is_finite:
            return self._fall_back(state, time, started, _describe_nan(self.scenario, state))
        try:
            self.kinematics.update(state)
            self._advance(time)
            self.statement.update(self.kinematics, time, self.dt)
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
        now = Situation(
            self.scenario,
            self.kinematics,
            self.tasks,
            time,
            self.machine.entered,
            self.machine.commands,
            self.machine.visited,
            self.attended,
        )
        if self.machine.update(now):
            self._enter_phase(time)

    def _enter_phase(self, time: float) -> None:
        """Take up the contacts and tasks of the present state."""
        self._activity.enter(self.machine.phase, self.kinematics, time)
        if not self._started:
            self._activity.start_user_tasks(self.kinematics, time)
        self.statement.set_tasks(tuple(self.tasks.values()))
        self.statement.set_contacts(tuple(self.contacts.values()), self.kinematics)
        self._ladder.prepare()

    def _solve(self, state: State, time: float, started: float) -> Command:
        answer = self._ladder.solve()
        physical = answer.physical
        if physical is None:
            return self._fall_back(state, time, started, answer.message, answer.solution)
        self._fallback.recovered(physical.torque, self.statement.M)
        return self._command(time, started, answer, physical)

    def _command(self, time: float, started: float, answer: Answer, physical: PhysicalSolution) -> Command:
        size = QpSize.of(self.statement)
        rows = self.statement.contacts
        self.forces = {
            contact.name: physical.forces[where]
            for contact, where in zip(rows.contacts, rows.lambda_slices, strict=True)
        }
        wrenches = rows.wrenches(physical.forces)
        diagnostics = Diagnostics(
            status=answer.status,
            message=answer.message,
            state=self.machine.phase.name,
            finished=self.machine.finished,
            solver_status=answer.solution.status,
            iterations=answer.solution.iterations,
            solve_ms=answer.solution.solve_time * 1e3,
            dynamics_residual=self.statement.dynamics_residual(physical.acceleration, physical.torque, physical.forces),
            variables=size.variables,
            equalities=size.equalities,
            inequalities=size.inequalities,
            slack=answer.slack,
            tick_ms=(perf_counter() - started) * 1e3,
        )
        couplings = rows.coupling_forces(physical.forces)
        return Command(time, physical.torque, physical.acceleration, wrenches, diagnostics, couplings)

    def _fall_back(
        self, state: State, time: float, started: float, message: str, solution: Solution | None = None
    ) -> Command:
        self._ladder.forget()
        self._collisions.reset()
        self.forces = {}
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


def _describe_nan(scenario: Scenario, state: State) -> str:
    """Say where a state is not finite."""
    scene = scenario.scene
    bad = [scene.velocity_names[k] for k in np.flatnonzero(~np.isfinite(state.v))]
    for name, joint in zip(scene.joint_names, list(scene.model.joints)[1:], strict=True):
        if not np.isfinite(state.q[joint.idx_q : joint.idx_q + joint.nq]).all():
            bad.append(name)
    unique = list(dict.fromkeys(bad))
    more = f" and {len(unique) - 5} more" if len(unique) > 5 else ""
    return f"the state is not finite: {', '.join(unique[:5])}{more}"
