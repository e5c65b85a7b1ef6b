"""Read access to a running controller, and the changes that a user can make while it runs."""

from __future__ import annotations

from numpy import bool_, float64
from numpy.typing import NDArray

from multi_qp_controller.constraints import CollisionConstraint, PairDistance
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.contacts.rows import multipliers
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.incidents import IncidentLog
from multi_qp_controller.qp import Explanation, QPProblem, explain_infeasibility
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.solve_cascade import SolveCascade
from multi_qp_controller.state_check import FARTHEST
from multi_qp_controller.state_machine.active_setup import ActiveSetup
from multi_qp_controller.state_machine.state_machine import StateMachine, commands_in
from multi_qp_controller.state_machine.state_manager import StateManager
from multi_qp_controller.tasks import CoMTask, PoseTask, Task
from multi_qp_scene.arguments import array, rotation_matrix
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.suggestions import unknown_name

Array = NDArray[float64]
Flags = NDArray[bool_]


class ControllerView:
    """The part of `Controller` that is not used in a tick: queries, user tasks, targets and commands.

    Attributes:
        kinematics: kinematics and dynamics at the last step.
        machine: the state machine.
        qp_data: the QP.
        incidents: log of faults, one line for each cause.
        reactions: reactions of the last tick, one for each no-slip row: wrenches, then coupling forces; None in a
            fallback.
    """

    kinematics: Kinematics
    machine: StateMachine
    qp_data: QPData
    reactions: Array | None
    incidents: IncidentLog
    _active_setup: ActiveSetup
    _last_setup: tuple[dict[str, ActiveContact], dict[str, Task]] | None
    _collisions: CollisionConstraint
    _cascade: SolveCascade
    _state_manager: StateManager

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
    def pair_distances(self) -> list[PairDistance]:
        """The watched pairs with their distances at the last step."""
        return self._collisions.pairs

    @property
    def closest(self) -> float:
        """Smallest distance at the last step of the watched pairs that are not in contact [m]."""
        return self._collisions.closest

    def least_distance(self, which: Flags) -> float:
        """Return the smallest distance [m] of masked watched pairs, (pairs,), at the last step; inf if none is near."""
        return self._collisions.least(which)

    @property
    def failed_problem(self) -> QPProblem | None:
        """The QP at the start of the present (or last) failure, to explain, save or replay; None if there was none."""
        return self._cascade.failed_problem

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
        return commands_in(self.machine.phase.spec)

    def set_target(self, name: str, position: Array, rotation: Array | None = None) -> None:
        """Move an interactive target: position (3,) [m] and rotation (3, 3), in the world.

        The task approaches it no faster than its `max_speed`, however far away the target is.

        Raises:
            ArgumentError: when the present state has no such target, or position or rotation is invalid.
        """
        targets = self.targets
        task = targets.get(name) if isinstance(name, str) else None
        if task is None:
            raise ArgumentError(unknown_name(f"target in state '{self.machine.phase.name}'", name, targets))
        position = array(f"position of target '{name}'", position, (3,), unit="m", most=FARTHEST)
        rotation = None if rotation is None else rotation_matrix(f"rotation of target '{name}'", rotation)
        if isinstance(task, PoseTask | CoMTask):
            task.move_target(self.kinematics, position, rotation)

    def command(self, name: str) -> None:
        """Pass a user command to the state machine; it stays pending until a state has a transition for it.

        Raises:
            ArgumentError: when no state has such a transition.
        """
        self.machine.command(name)
