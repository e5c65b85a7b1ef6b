"""What is going on in the present state: the contacts that are made, and the tasks that run."""

from __future__ import annotations

from multi_qp_controller.contact import ActiveContact, ContactFeedback
from multi_qp_controller.fsm import Phase
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.tasks import Task
from multi_qp_controller.tasks.factory import TaskFactory
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.tasks import CoMTaskSpec, PoseTaskSpec, TaskSpec

#: Wrenches of contacts cost so many times more where they are just made or about to be broken.
DEAREST = 1e4


class Activity:
    """The contacts and tasks of the present state, and the tasks that a user added.

    With a ramp, forces come up where a contact is made and go down before it is broken: by their price, which falls
    and rises exponentially, for no bound on a force is sure to leave a solution.

    Attributes:
        contacts: the active contacts by name.
        tasks: the running tasks by name.
    """

    def __init__(self, scenario: Scenario, feedback: ContactFeedback | None = None, *, ramp: float = 0.0) -> None:
        self._scenario = scenario
        self._feedback = feedback
        self._ramp = ramp
        self._made_at: dict[str, float] = {}
        self._left_at: dict[str, float] = {}
        self._patterns: dict[str, ActiveContact] = {}
        self._factory = TaskFactory(scenario)
        self._known: dict[tuple[str, int], tuple[TaskSpec, Task, tuple[float, float, float]]] = {}
        self._state_tasks: dict[str, tuple[TaskSpec, Task]] = {}
        self._user_tasks: dict[str, Task] = {}
        self.contacts: dict[str, ActiveContact] = {}
        self.tasks: dict[str, Task] = {}

    def _list_tasks(self) -> None:
        self.tasks = {name: task for name, (_, task) in self._state_tasks.items()} | self._user_tasks

    @property
    def targets(self) -> dict[str, Task]:
        """The targets that a user may move now: name of each -> the task that follows it."""
        return {
            interactive: task
            for spec, task in self._state_tasks.values()
            if isinstance(spec, PoseTaskSpec | CoMTaskSpec) and (interactive := spec.target.interactive) is not None
        }

    def add(self, task: Task) -> None:
        """Add a task of the user's own.

        Raises:
            ValueError: when a task of that name is running.
        """
        if task.name in self.tasks:
            raise ValueError(f"there is a task '{task.name}' already")
        self._user_tasks[task.name] = task
        self._list_tasks()

    def remove(self, name: str) -> None:
        """Remove a task of the user's own.

        Raises:
            KeyError: when there is none.
        """
        del self._user_tasks[name]
        self._list_tasks()

    def start_user_tasks(self, kinematics: Kinematics, time: float) -> None:
        """Start the tasks that a user added before the first tick."""
        for task in self._user_tasks.values():
            task.start(kinematics, time)

    def enter(self, phase: Phase, kinematics: Kinematics, time: float) -> None:
        """Take up the contacts and tasks of a state; those that were on before go on undisturbed."""
        # both are made before either is taken up: a failure on the way leaves the old ones
        contacts = {name: self.contacts.get(name) or self._made(name, kinematics) for name in phase.contacts}
        self._note_changes(contacts, time)
        tasks = {name: self._running(name, spec, kinematics, time) for name, spec in phase.tasks.items()}
        self.contacts, self._state_tasks = contacts, tasks
        self._list_tasks()

    def foreseen(
        self, phase: Phase, before: Phase | None, kinematics: Kinematics
    ) -> tuple[list[ActiveContact], list[Task]]:
        """Return contacts and tasks as a state that follows another will have them, made here and not started.

        The tasks are those of whenever the state is entered.
        """
        names = list(phase.contacts)
        if before is not None and self._ramp:
            names += [name for name in before.contacts if name not in phase.contacts]
        tasks = [self._task(name, spec) for name, spec in phase.tasks.items()]
        return [self._made(name, kinematics) for name in names], [*tasks, *self._user_tasks.values()]

    def rehearse(self, phase: Phase, kinematics: Kinematics, time: float) -> tuple[ActiveContact, ...]:
        """Make the contacts and start the tasks of a coming state as `enter` will, and take none of them up.

        What is running goes on undisturbed; what is started here is started again when the state comes.
        """
        names = list(phase.contacts)
        if self._ramp:
            names += [name for name in self.contacts if name not in phase.contacts]
        contacts = tuple([self.contacts.get(name) or self._made(name, kinematics) for name in names])
        for name, spec in phase.tasks.items():
            self._running(name, spec, kinematics, time)
        return contacts

    def _note_changes(self, contacts: dict[str, ActiveContact], time: float) -> None:
        """Begin the ramps of what is made and of what goes, which stays until its ramp is over."""
        if not self._ramp:
            return
        for name in contacts:
            self._left_at.pop(name, None)
            if name not in self.contacts and self.contacts:  # those of the very beginning carry weight already
                self._made_at[name] = time
        for name, contact in self.contacts.items():
            if name not in contacts:
                self._left_at.setdefault(name, time)
                contacts[name] = contact

    def advance(self, time: float) -> bool:
        """Move the ramps on; return whether a contact has gone."""
        if not self._made_at and not self._left_at:
            return False
        for name, made in list(self._made_at.items()):
            share = (time - made) / self._ramp
            if share >= 1.0 - 1e-9 or name not in self.contacts:
                del self._made_at[name]
            if name in self.contacts:
                self.contacts[name].price = DEAREST ** max(0.0, 1.0 - share)
        gone = []
        for name, left in self._left_at.items():
            share = (time - left) / self._ramp
            self.contacts[name].price = DEAREST ** min(1.0, share)
            if share >= 1.0 - 1e-9:
                gone.append(name)
        for name in gone:
            del self._left_at[name], self.contacts[name]
        return bool(gone)

    def memory(self) -> Memory:
        """Return how the contacts were made and how far the tasks are."""
        return {
            "contacts": {name: contact.memory() for name, contact in self.contacts.items()},
            "prices": {name: contact.price for name, contact in self.contacts.items()},
            "tasks": {name: task.memory() for name, (_, task) in self._state_tasks.items()},
            "user_tasks": {name: task.memory() for name, task in self._user_tasks.items()},
            "made_at": dict(self._made_at),
            "left_at": dict(self._left_at),
        }

    def resume(self, memory: Memory, phase: Phase, kinematics: Kinematics) -> None:
        """Go on from a memory, in a state.

        Raises:
            MultiQpError: when it has a task of the user's own that was not added here.
        """
        missing = memory["user_tasks"].keys() - self._user_tasks.keys()
        if missing:
            raise MultiQpError(f"the task '{min(missing)}' was added by a program, which has to add it here too")
        self.contacts = {name: self._made(name, kinematics) for name in memory["contacts"]}
        for name, contact in self.contacts.items():
            contact.resume(memory["contacts"][name])
            contact.price = memory.get("prices", {}).get(name, contact.price)
        self._made_at, self._left_at = dict(memory.get("made_at", {})), dict(memory.get("left_at", {}))
        specs = {name: phase.tasks[name] for name in memory["tasks"]}
        self._state_tasks = {name: (spec, self._task(name, spec)) for name, spec in specs.items()}
        self._list_tasks()
        for kind in ("tasks", "user_tasks"):
            for name, kept in memory[kind].items():
                self.tasks[name].resume(kept, kinematics)

    def _made(self, name: str, kinematics: Kinematics) -> ActiveContact:
        """Return a contact that will be made where its surfaces are in its first tick."""
        if name not in self._patterns:
            spec, surfaces = self._scenario.spec.contacts[name], self._scenario.scene.surfaces
            first, second = (surfaces[surface] for surface in spec.surfaces)
            self._patterns[name] = ActiveContact(
                name, first, second, friction=spec.friction, kinematics=kinematics, feedback=self._feedback
            )
        return self._patterns[name].made_anew()

    def _running(self, name: str, spec: TaskSpec, kinematics: Kinematics, time: float) -> tuple[TaskSpec, Task]:
        running = self._state_tasks.get(name)
        if running is not None and running[0] is spec:
            return running
        task = self._task(name, spec)
        task.start(kinematics, time)
        return spec, task

    def _task(self, name: str, spec: TaskSpec) -> Task:
        """Return the task of a specification, to be started, with the gains that the specification has."""
        key = name, id(spec)
        if key not in self._known:
            task = self._factory.make(name, spec)
            self._known[key] = spec, task, (task.weight, task.stiffness, task.damping)
        _, task, gains = self._known[key]
        task.weight, task.stiffness, task.damping = gains
        return task
