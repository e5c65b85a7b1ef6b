"""State manager: evaluates transitions after a tick and activates contacts and tasks for the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multi_qp_controller.contacts.landing import LandingDetection
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.incidents import IncidentLog
from multi_qp_controller.motion_generator import GeneratorInput
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.solve_cascade import SolveCascade
from multi_qp_controller.state_check import FARTHEST
from multi_qp_controller.state_machine.active_setup import ActiveSetup
from multi_qp_controller.state_machine.precompute import pairs_of, precompute_plans
from multi_qp_controller.state_machine.running_generators import RunningGenerators
from multi_qp_controller.state_machine.state_machine import MachineState, StateMachine
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_controller.tasks import CoMTask, PoseTask
from multi_qp_scene.arguments import array, rotation_matrix
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.stateful import Stateful
from multi_qp_scene.suggestions import unknown_name


class StateManager(Stateful):
    """Advances the state machine and updates contacts, tasks and QP data with it.

    Attributes:
        machine: the state machine.
        generators: the motion generators.
        active_setup: contacts and tasks of its present state.
        started: whether the first state has been entered.
        qp_data: the QP.
        cascade: its solvers.
    """

    @dataclass
    class Checkpoint:
        """State of the state machine, and of everything that depends on its present state."""

        started: bool
        machine: StateMachine.Checkpoint
        active_setup: ActiveSetup.Checkpoint
        generators: dict[str, RunningGenerators.Checkpoint]
        watched: list[tuple[int, int | None]]
        constraints: dict[str, Any]
        cascade: SolveCascade.Checkpoint

    def __init__(
        self,
        scenario: Scenario,
        active_setup: ActiveSetup,
        kinematics: Kinematics,
        qp_data: QPData,
        cascade: SolveCascade,
        landing: LandingDetection | None,
        incidents: IncidentLog,
    ) -> None:
        """Build the plan of the QP of every state."""
        self.generators = RunningGenerators(scenario, incidents)
        self.machine = StateMachine(scenario, self.generators)
        self.active_setup = active_setup
        self.started = False
        self.qp_data, self.cascade, self._kinematics, self._landing = qp_data, cascade, kinematics, landing
        self._now = TransitionContext(scenario, kinematics, {}, 0.0, 0.0, frozenset())
        kinematics.update(kinematics.scene.initial_state())
        if cascade.block_solver is not None:
            setups = active_setup, self.generators
            precompute_plans(self.machine.states, self._now, *setups, kinematics, qp_data, cascade.block_solver)

    def set_target(self, name: str, position: Array, rotation: Array | None) -> None:
        """Move an interactive target of the present state, see `Controller.set_target`."""
        targets = self.active_setup.targets
        task = targets.get(name) if isinstance(name, str) else None
        if task is None:
            raise ArgumentError(unknown_name(f"target in state '{self.machine.present.name}'", name, targets))
        position = array(f"position of target '{name}'", position, (3,), unit="m", most=FARTHEST)
        rotation = None if rotation is None else rotation_matrix(f"rotation of target '{name}'", rotation)
        if isinstance(task, PoseTask | CoMTask):
            task.move_target(self._kinematics, position, rotation)

    @property
    def watched(self) -> list[tuple[int, int | None]]:
        """The watched pairs of frames."""
        return list(self._kinematics.watched)

    @property
    def constraints(self) -> dict[str, Any]:
        """The states of the constraints."""
        return self.qp_data.get_state()

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state."""
        self.started = saved.started
        self.machine.set_state(saved.machine)
        self.active_setup.restore(saved.active_setup, self.machine.present, self._kinematics)
        self.generators.restore(saved.generators, self.machine.present.name)
        if self.started:
            self._kinematics.update(self._kinematics.scene.initial_state())  # placements of fixed frames
            frames = {None, *range(self._kinematics.model.nframes)}
            if not frames.issuperset(frame for pair in saved.watched for frame in pair):
                raise ValueError("a watched frame is not in the model")
            frames_in_contact = [contact.frames for contact in self.active_setup.contacts.values()]
            if saved.watched[: len(frames_in_contact)] != frames_in_contact:
                raise ValueError("the watched pairs of frames do not begin with those of the contacts")
            self._kinematics.watch(saved.watched)
            self.qp_data.set_tasks(tuple(self.active_setup.tasks.values()))
            self.qp_data.restore(saved.constraints, tuple(self.active_setup.contacts.values()))
            self.cascade.prepare()
            self.cascade.set_state(saved.cascade)
        self._now.entered, self._now.tasks = self.machine.entered, self.active_setup.tasks
        if self._landing is not None:
            self._landing.enter(self.machine.present, self.active_setup.tasks)

    def start(self, time: float) -> None:
        """Set up the first state, at the state of the scene in the first tick."""
        self.machine.entered = time
        self._set_up(self.machine.present, time, starting=True)
        self.started = True

    def update_generators(self, now: GeneratorInput) -> None:
        """Update the motion generators; their contacts and references apply in this tick."""
        setup = self.active_setup
        contacts = self.generators.update(now, setup.tasks)
        if setup.change_generated(self.machine.present, contacts, self._kinematics):
            self._activate()

    def advance(self, time: float, *, interactive: bool) -> None:
        """Take the transition that is due after the tick at `time` [s]; it takes effect in the next tick."""
        now, machine = self._now, self.machine
        now.time, now.entered, now.commands, now.visited = time, machine.entered, machine.commands, machine.visited
        now.tasks, now.interactive, now.done = self.active_setup.tasks, interactive, self.generators.done
        now.measured_contacts = None if self._landing is None else self._landing.measured_contacts
        due = machine.due(now)
        if due is not None:
            self.enter_state(due, time)
        elif self.active_setup.advance(time):
            self._activate()

    def enter_state(self, name: str, time: float) -> None:
        """Enter a state, with its contacts and tasks; after an exception, the state machine is in the present one."""
        self._set_up(self.machine.named[name], time)
        self.machine.enter(name, time)

    def _set_up(self, state: MachineState, time: float, *, starting: bool = False) -> None:
        """Activate the contacts and tasks of a state."""
        active_setup = self.active_setup
        active_setup.enter(state, self._kinematics, time)
        self.generators.enter(state.name)
        if starting:
            active_setup.start_user_tasks(self._kinematics, time)
        if self._landing is not None:
            self._landing.enter(state, active_setup.tasks)
            self.qp_data.allow_touching(self._landing.pending)
        active_setup.advance(time)
        self._activate()
        self._now.entered, self._now.tasks = time, active_setup.tasks

    def _activate(self) -> None:
        """Update relative motions, QP data and solver with the present contacts and tasks."""
        contacts, tasks = tuple(self.active_setup.contacts.values()), tuple(self.active_setup.tasks.values())
        # contacts first: their rows are written from the motion table by one kernel
        self._kinematics.watch(pairs_of(contacts, tasks))
        self.qp_data.set_tasks(tasks)
        self.qp_data.set_contacts(contacts, self._kinematics)
        self.cascade.prepare()
