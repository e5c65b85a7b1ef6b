"""What can be seen of a controller from outside, and what a user may change while it runs."""

from __future__ import annotations

from numpy import bool_, float64
from numpy.typing import NDArray

from multi_qp_controller.activity import Activity
from multi_qp_controller.constraints import CollisionConstraint, PairDistance
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.fsm import StateMachine, commands_in
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.ladder import Ladder
from multi_qp_controller.progress import Progress
from multi_qp_controller.qp import Explanation, Problem, explain_infeasibility
from multi_qp_controller.statement import Statement
from multi_qp_controller.tasks import CoMTask, PoseTask, Task

Array = NDArray[float64]
Flags = NDArray[bool_]


class ControllerView:
    """The part of `Controller` that does not take part in a tick.

    Attributes:
        kinematics: of the last step.
        machine: the state machine.
        statement: the QP.
        reactions: of the last tick, one a no-slip row: wrenches, then forces of couplings; None in a fallback.
    """

    kinematics: Kinematics
    machine: StateMachine
    statement: Statement
    reactions: Array | None
    _activity: Activity
    _collisions: CollisionConstraint
    _ladder: Ladder
    _progress: Progress

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
    def closest(self) -> float:
        """The least distance of the watched pairs that no contact holds together, at the last step [m]."""
        return self._collisions.closest

    def least_distance(self, which: Flags) -> float:
        """Return the least distance at the last step of some of the watched pairs, (pairs,); inf if none was near."""
        return self._collisions.least(which)

    @property
    def failed_problem(self) -> Problem | None:
        """The QP that began the present (or the last) failure, to explain, save or replay; None if there was none."""
        return self._ladder.failed_problem

    def explain_failure(self) -> Explanation | None:
        """Return which rows of the failed QP cannot be reconciled; slow, so never called within `step`."""
        return None if self.failed_problem is None else explain_infeasibility(self.failed_problem)

    @property
    def forces(self) -> dict[str, Array]:
        """Multipliers Λ ≥ 0 that make the last tick's wrenches, by contact: the smallest such; computed when asked."""
        rows = self.statement.contacts
        if self.reactions is None:
            return {}
        multipliers = rows.multipliers(self.reactions)
        return {c.name: multipliers[where] for c, where in zip(rows.contacts, rows.lambda_slices, strict=True)}

    def add_task(self, task: Task) -> None:
        """Add a task of the user's own; it stays through all states until it is removed.

        Raises:
            ValueError: when a task of that name is running.
        """
        self._activity.add(task)
        if self._progress.started:
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
