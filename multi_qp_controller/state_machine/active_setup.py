"""Contact set and active tasks of the present state, with the force ramps of contact transitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multi_qp_controller.contacts.contact import ActiveContact, ContactFeedback
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.incidents import IncidentLog, described
from multi_qp_controller.state_machine.state_machine import MachineState
from multi_qp_controller.tasks import Task
from multi_qp_controller.tasks.registry import make_task
from multi_qp_scene.arguments import check_type, number, whole_number
from multi_qp_scene.errors import ArgumentError, MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.tasks import CoMTaskSpec, PoseTaskSpec, TaskSpec
from multi_qp_scene.stateful import Stateful, conformed
from multi_qp_scene.suggestions import unknown_name

#: Largest factor on the cost of a contact wrench: just after the contact is made, or just before it is broken.
LARGEST_PENALTY = 1e4
#: Largest number of rows of a user task.
MOST_ROWS = 10_000


class ActiveSetup(Stateful):
    """The contacts and tasks of the present state, and the tasks that a user added.

    With a force ramp, contact forces rise after a contact is made and fall before it is broken. The penalty weight
    of the wrench falls and rises exponentially for this: a bound on the force could make the QP infeasible.

    Attributes:
        contacts: the active contacts by name.
        tasks: the active tasks by name.
        state_tasks: those of the present state.
        user_tasks: those that a user added.
        made_at: start time of the ramp of each new contact [s].
        left_at: start time of the ramp of each ending contact [s].
    """

    @dataclass
    class Checkpoint:
        """States of contacts and tasks by name, and ramps; those of tasks are a `Checkpoint` of their classes."""

        contacts: dict[str, ActiveContact.Checkpoint]
        made_at: dict[str, float]
        left_at: dict[str, float]
        state_tasks: dict[str, Any]
        user_tasks: dict[str, Any]

    def __init__(
        self,
        scenario: Scenario,
        feedback: ContactFeedback | None = None,
        *,
        incidents: IncidentLog | None = None,
        ramp: float = 0.0,
    ) -> None:
        self._scenario = scenario
        self._incidents = incidents or IncidentLog()
        self._feedback = feedback
        self._ramp = ramp
        self.made_at: dict[str, float] = {}
        self.left_at: dict[str, float] = {}
        self._contact_cache: dict[str, ActiveContact] = {}
        self._task_cache: dict[tuple[str, int], tuple[TaskSpec, Task, tuple[float, float, float]]] = {}
        self._specs: dict[str, TaskSpec] = {}
        self.state_tasks: dict[str, Task] = {}
        self.user_tasks: dict[str, Task] = {}
        self.contacts: dict[str, ActiveContact] = {}
        self.tasks: dict[str, Task] = {}
        margin = 1.0 if feedback is None else feedback.friction
        for contact in scenario.spec.contacts.values():  # cached: about 10 ms each, too long for a tick
            scenario.scene.surfaces[contact.surfaces[0]].facets(margin * contact.friction)

    def _list_tasks(self) -> None:
        self.tasks = self.state_tasks | self.user_tasks

    @property
    def targets(self) -> dict[str, Task]:
        """The interactive targets of the present state: name -> task that follows the target."""
        return {
            interactive: self.state_tasks[name]
            for name, spec in self._specs.items()
            if isinstance(spec, PoseTaskSpec | CoMTaskSpec) and (interactive := spec.target.interactive) is not None
        }

    @property
    def added(self) -> tuple[str, ...]:
        """Names of the tasks that a user added."""
        return tuple(self.user_tasks)

    def check_new(self, task: Task) -> None:
        """Check a user task before it is added.

        Raises:
            ArgumentError: when the task is invalid in this scene, or a task of that name is active.
        """
        check_type("task", task, Task, "a Task")
        check_type("name of a task", task.name, str, "text")
        name = task.name
        if name in self.tasks:
            raise ArgumentError(f"there is a task '{name}' already")
        scene, what = self._scenario.scene, f"of task '{name}'"
        whole_number(f"dim {what}", task.dim, least=1, most=MOST_ROWS)
        number(f"weight {what}", task.weight, least=0.0)
        try:
            frames = [frame for pair in task.pairs for frame in pair if frame is not None]
            selected = [] if task.selects is None else list(task.selects)
        except TypeError as error:
            raise ArgumentError(f"pairs or selects {what}: {error}") from None
        for frame in frames:
            whole_number(f"a frame in pairs {what}", frame, least=0, most=scene.model.nframes - 1)
        for entry in selected:
            whole_number(f"an entry of selects {what}", entry, least=0, most=scene.nv - 1)
        if selected and len(selected) != task.dim:
            raise ArgumentError(f"selects {what} has {len(selected)} entries, expected {task.dim}, one a row")

    def add(self, task: Task) -> None:
        """Add a user task that has been checked."""
        self.user_tasks[task.name] = task
        self._list_tasks()

    def remove(self, name: str) -> None:
        """Remove a user task.

        Raises:
            ArgumentError: when no user task has that name.
        """
        if not isinstance(name, str) or name not in self.user_tasks:
            raise ArgumentError(unknown_name("added task", name, self.user_tasks))
        del self.user_tasks[name]
        self._list_tasks()

    def start_user_tasks(self, kinematics: Kinematics, time: float) -> None:
        """Start the user tasks that were added before the first tick."""
        for task in self.user_tasks.values():
            try:
                task.start(kinematics, time)
            except Exception as error:  # `compute` then fails as well, and the task is left out
                self._incidents.warn(f"task '{task.name}' cannot be started: {described(error)}")

    def enter(self, state: MachineState, kinematics: Kinematics, time: float) -> None:
        """Activate the contacts and tasks of a state; those already active continue unchanged."""
        # all are created before any is activated: after an exception the old set-up is still valid
        kept = [name for name in state.owned_contacts if name in self.contacts]  # until their generator is updated
        contacts = {
            name: self.contacts.get(name) or self._new_contact(name, kinematics) for name in (*state.contacts, *kept)
        }
        self._start_ramps(contacts, time)
        tasks = {name: self._running_task(name, spec, kinematics, time) for name, spec in state.tasks.items()}
        self.contacts, self._specs, self.state_tasks = contacts, state.tasks, tasks
        self._list_tasks()

    def change_generated(self, state: MachineState, names: tuple[str, ...], kinematics: Kinematics) -> bool:
        """Activate these contacts of the present state's generators and no others; return whether any has changed.

        They change without ramps: generators decide in the tick in which the limb lands or lifts off.
        """
        owned = state.owned_contacts
        if [name for name in self.contacts if name in owned] == [name for name in owned if name in names]:
            return False
        contacts = {name: contact for name, contact in self.contacts.items() if name not in owned}
        for name in owned:
            if name in names:
                contacts[name] = self.contacts.get(name) or self._new_contact(name, kinematics)
        self.contacts = contacts
        return True

    def expected(
        self, state: MachineState, before: MachineState | None, generated: tuple[str, ...], kinematics: Kinematics
    ) -> tuple[list[ActiveContact], list[Task]]:
        """Return the contacts and tasks that a state will have after another one, not started.

        The task objects are the ones that are used when the state is entered; `generated` are the active contacts of
        its generators.
        """
        names = [*state.contacts, *(name for name in state.owned_contacts if name in generated)]
        if before is not None and self._ramp:
            names += [name for name in before.contacts if name not in state.contacts]
        tasks = [self._task(name, spec) for name, spec in state.tasks.items()]
        return [self._new_contact(name, kinematics) for name in names], [*tasks, *self.user_tasks.values()]

    def _start_ramps(self, contacts: dict[str, ActiveContact], time: float) -> None:
        """Start the ramps of new contacts and of ending ones, which stay active until their ramp ends."""
        if not self._ramp:
            return
        for name in contacts:
            self.left_at.pop(name, None)
            if name not in self.contacts and self.contacts:  # contacts of the first state already carry load
                self.made_at[name] = time
        for name, contact in self.contacts.items():
            if name not in contacts:
                self.left_at.setdefault(name, time)
                contacts[name] = contact

    def advance(self, time: float) -> bool:
        """Advance the ramps to a time [s]; return whether a contact has been removed."""
        if not self.made_at and not self.left_at:
            return False
        for name, made in list(self.made_at.items()):
            share = (time - made) / self._ramp
            if share >= 1.0 - 1e-9 or name not in self.contacts:
                del self.made_at[name]
            if name in self.contacts:
                self.contacts[name].penalty = LARGEST_PENALTY ** max(0.0, 1.0 - share)
        gone = []
        for name, left in self.left_at.items():
            share = (time - left) / self._ramp
            self.contacts[name].penalty = LARGEST_PENALTY ** min(1.0, share)
            if share >= 1.0 - 1e-9:
                gone.append(name)
        for name in gone:
            del self.left_at[name]
        if gone:  # a new mapping: the one of the last tick stays valid
            self.contacts = {name: contact for name, contact in self.contacts.items() if name not in gone}
        return bool(gone)

    def restore(self, saved: Checkpoint, state: MachineState, kinematics: Kinematics) -> None:
        """Restore a saved state, for a state of the state machine.

        Raises:
            MultiQpError: when it contains a user task that has not been added to this controller.
        """
        missing = saved.user_tasks.keys() - self.user_tasks.keys()
        if missing:
            raise MultiQpError(f"the saved state has a user task '{min(missing)}': add it to this controller first")
        self.contacts = {name: self._new_contact(name, kinematics) for name in saved.contacts}
        for name, contact in saved.contacts.items():
            self.contacts[name].set_state(contact)
        self.made_at, self.left_at = saved.made_at, saved.left_at
        self._specs = {name: state.tasks[name] for name in saved.state_tasks}
        self.state_tasks = {name: self._task(name, spec) for name, spec in self._specs.items()}
        self._list_tasks()
        for name, checkpoint in (saved.state_tasks | saved.user_tasks).items():
            task = self.tasks[name]
            task.set_state(conformed(task.Checkpoint, checkpoint, self._scenario.scene))
            task.restored(kinematics)

    def _new_contact(self, name: str, kinematics: Kinematics) -> ActiveContact:
        """Return a contact that is made in its first tick, at the relative pose of its surfaces then."""
        if name not in self._contact_cache:
            spec, surfaces = self._scenario.spec.contacts[name], self._scenario.scene.surfaces
            first, second = (surfaces[surface] for surface in spec.surfaces)
            self._contact_cache[name] = ActiveContact(
                name,
                first,
                second,
                friction=spec.friction,
                kinematics=kinematics,
                feedback=self._feedback,
                effort=spec.effort,
                grip=spec.grip,
            )
        return self._contact_cache[name].as_new()

    def _running_task(self, name: str, spec: TaskSpec, kinematics: Kinematics, time: float) -> Task:
        if self._specs.get(name) is spec:
            return self.state_tasks[name]
        task = self._task(name, spec)
        task.start(kinematics, time)
        return task

    def _task(self, name: str, spec: TaskSpec) -> Task:
        """Return the task of a specification, not started, with the gains of the specification."""
        key = name, id(spec)
        if key not in self._task_cache:
            task = make_task(name, spec, self._scenario)
            self._task_cache[key] = spec, task, (task.weight, task.stiffness, task.damping)
        _, task, gains = self._task_cache[key]
        task.weight, task.stiffness, task.damping = gains
        return task
