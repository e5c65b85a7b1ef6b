"""From state to state: which transition is due after a tick, and what the next tick takes up."""

from __future__ import annotations

from multi_qp_controller.activity import Activity
from multi_qp_controller.conditions import Situation
from multi_qp_controller.foresight import lay_out_states, pairs_of
from multi_qp_controller.formulations import Formulation
from multi_qp_controller.fsm import StateMachine
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.ladder import Ladder
from multi_qp_controller.landing import Landing
from multi_qp_controller.memory import Memory
from multi_qp_controller.statement import Statement
from multi_qp_scene.scenario import Scenario


class Progress:
    """Moves the state machine on, and has contacts, tasks and QP follow it.

    Attributes:
        machine: the state machine.
        activity: contacts and tasks of its present state.
        started: whether the first state has been taken up.
    """

    def __init__(
        self,
        scenario: Scenario,
        activity: Activity,
        kinematics: Kinematics,
        statement: Statement,
        formulation: Formulation,
        ladder: Ladder,
        landing: Landing | None,
        *,
        dt: float,
        horizon: float,
    ) -> None:
        """Lay out the QP of every state; limits look `horizon` [s] ahead, a tick is `dt` [s] long."""
        self.machine = StateMachine(scenario)
        self.activity = activity
        self.started = False
        self._kinematics, self._statement, self._ladder, self._landing = kinematics, statement, ladder, landing
        self._horizon = horizon
        self._now = Situation(scenario, kinematics, {}, 0.0, 0.0, frozenset())
        laid_out = self.machine.phases, self._now, activity, kinematics, statement, formulation
        self._rehearsal = lay_out_states(*laid_out, dt=dt)

    def memory(self) -> Memory:
        """Return where it stands."""
        return {
            "started": self.started,
            "machine": self.machine.memory(),
            "activity": self.activity.memory(),
            "watched": self._kinematics.watched,
            "statement": self._statement.memory(),
            "qp": self._ladder.memory(),
            "rehearsal": self._rehearsal.memory(),
        }

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self.started = memory["started"]
        self.machine.resume(memory["machine"])
        self.activity.resume(memory["activity"], self.machine.phase, self._kinematics)
        if self.started:
            self._kinematics.update(self._kinematics.scene.initial_state())  # places what does not move
            self._kinematics.watch([(a, b) for a, b in memory["watched"]])
            self._statement.set_tasks(tuple(self.activity.tasks.values()))
            self._statement.resume(memory["statement"], tuple(self.activity.contacts.values()))
            self._ladder.prepare()
            self._ladder.resume(memory["qp"])
        self._now.entered, self._now.tasks = self.machine.entered, self.activity.tasks
        if "rehearsal" in memory:  # what was recorded before there were any goes on without
            self._rehearsal.resume(memory["rehearsal"], self.machine.phase, self.machine.named)
        if self._landing is not None:
            self._landing.enter(self.machine.phase, self.activity.tasks)

    def start(self, time: float) -> None:
        """Take up the first state, at the state of the scene that its first tick answers."""
        self.machine.entered = time
        self.take_up_state(time, starting=True)
        self.started = True

    def advance(self, time: float, *, attended: bool) -> None:
        """Take the transition that is due after the tick of this `time` [s]: its state is in force from the next on.

        Where none is due, go through a part of the state that comes next.
        """
        now, machine = self._now, self.machine
        now.time, now.entered, now.commands, now.visited = time, machine.entered, machine.commands, machine.visited
        now.tasks, now.attended = self.activity.tasks, attended
        now.felt = None if self._landing is None else self._landing.felt
        due = machine.due(now)
        if due is not None:
            before = machine.memory()
            machine.enter(due, time)
            try:
                self.take_up_state(time)
            except Exception:
                machine.resume(before)  # what cannot be taken up is tried again after the next tick
                raise
            return
        if self.activity.advance(time):
            self._take_up()
        self._rehearsal.update(now, self._horizon)

    def take_up_state(self, time: float, *, starting: bool = False) -> None:
        """Take up the contacts and tasks of the machine's present state."""
        phase, activity = self.machine.phase, self.activity
        activity.enter(phase, self._kinematics, time)
        if starting:
            activity.start_user_tasks(self._kinematics, time)
        if self._landing is not None:
            self._landing.enter(phase, activity.tasks)
            self._statement.let_touch(self._landing.sought)
        activity.advance(time)
        self._take_up()
        self._ladder.begin_with(self._rehearsal.found(phase))
        self._now.entered, self._now.tasks = time, activity.tasks
        self._rehearsal.enter(phase, self.machine.named)

    def _take_up(self) -> None:
        """State the QP with the present contacts and tasks."""
        contacts, tasks = tuple(self.activity.contacts.values()), tuple(self.activity.tasks.values())
        # the contacts first: they are written from the table all at once
        self._kinematics.watch(pairs_of(contacts, tasks))
        self._statement.set_tasks(tasks)
        self._statement.set_contacts(contacts, self._kinematics)
        self._ladder.prepare()
