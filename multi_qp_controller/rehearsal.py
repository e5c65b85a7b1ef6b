"""The coming state, gone through in the ticks before it: what it would find cold is touched, its active rows found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.activity import Activity
from multi_qp_controller.blocks.direct import BlockSolver, LaidOut
from multi_qp_controller.conditions import Situation, earliest
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.fsm import Phase
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.motion_table import MotionTable
from multi_qp_controller.statement import Statement
from multi_qp_controller.task_rows import TaskRows
from multi_qp_scene.schema.states import Condition

Array = NDArray[np.float64]

#: What of the next state is gone through in each of the ticks before the earliest one in which a state may end.
_STAGES = "beginning", "rows", "search", "search", "search", "search", "search", "beginning"
#: Where the present state goes on, the beginning is gone through again after so many ticks, then after twice as many,
#: and so on up to the second number: what nothing has touched for so long is cold again.
_AGAIN, _SELDOM = 4, 16


class Foreseen(NamedTuple):
    """The QP of a state as it was laid out before the first tick."""

    laid_out: LaidOut
    tasks: TaskRows
    motions: MotionTable | None


class Rehearsal:
    """Goes through the coming state before it comes, a part in each of a few ticks.

    The search for active rows begins in the first tick of a state with the rows that would have been active just
    before it: where it begins makes no difference to what it finds. Nothing of the present state is changed: contacts
    and tasks of the coming one are made and started again when it comes.

    Attributes:
        fault: why a state was not gone through, of the last such; empty where there was none.
    """

    def __init__(
        self,
        activity: Activity,
        kinematics: Kinematics,
        statement: Statement,
        blocks: BlockSolver | None,
        foreseen: Mapping[tuple[str, tuple[str, ...]], Foreseen],
        dt: float,
    ) -> None:
        """Prepare; `foreseen` is by name of the state and names of its contacts, `dt` the length of a tick [s]."""
        self._activity, self._kinematics, self._statement = activity, kinematics, statement
        self._blocks, self._foreseen, self._dt = blocks, foreseen, dt
        self._coming: Phase | None = None
        self._when: Condition | None = None
        self._due, self._next = np.inf, np.inf
        self._stage, self._again, self._over = 0, _AGAIN, False
        self._contacts: tuple[ActiveContact, ...] = ()
        self._written: Foreseen | None = None
        self._found: tuple[str, Array] | None = None
        self.fault = ""

    def memory(self) -> Memory:
        """Return how far it is, and which rows it found."""
        state, rows = (None, None) if self._found is None else self._found
        due = None if np.isinf(self._due) else self._due
        how_far = {"stage": self._stage, "again": self._again, "over": self._over, "due": due}
        return how_far | {"state": state, "rows": rows}

    def resume(self, memory: Memory, phase: Phase, phases: Mapping[str, Phase]) -> None:
        """Go on from a memory."""
        self.enter(phase, phases)
        self._stage, self._again, self._over = memory["stage"], memory["again"], memory["over"]
        self._found = None if memory["state"] is None else (memory["state"], memory["rows"])
        if memory["due"] is not None:
            self._due = memory["due"]
            self._wait()

    def enter(self, phase: Phase, phases: Mapping[str, Phase]) -> None:
        """Take note of a state that is just taken up: where it has several ways on, the first is what may come."""
        self._contacts, self._written = (), None
        self._stage, self._again, self._over = 0, _AGAIN, False
        self._due, self._next, self._coming = np.inf, np.inf, None
        if phase.spec.transitions:
            self._when = phase.spec.transitions[0].when
            self._next, self._coming = -np.inf, phases[phase.spec.transitions[0].to]

    def found(self, phase: Phase) -> Array | None:
        """Return multipliers, (rows,), whose signs tell which rows were active in this state's QP; none twice."""
        found, self._found = self._found, None
        return found[1] if found is not None and found[0] == phase.name else None

    def update(self, now: Situation, horizon: float) -> None:
        """Go through the part whose tick it is, where the present state goes on; limits look `horizon` [s] ahead."""
        coming = self._coming
        if now.time < self._next or coming is None or not self._foreseen:
            return
        if np.isinf(self._due):  # a state is just taken up, and its first tick had enough to do
            self._due = now.entered if self._when is None else earliest(self._when, now)
            self._wait()
            return
        stage, self._stage = _STAGES[self._stage], self._stage + 1
        self._wait()
        try:
            if stage == "beginning" or not self._contacts:
                self._contacts = self._activity.rehearse(coming, self._kinematics, now.time)
                self._statement.rehearse(self._contacts, self._kinematics)
            if stage == "rows" or (stage == "search" and self._written is None):
                self._write_rows(coming, now.time, horizon)
            if stage == "search" and self._written is not None and not self._over:
                self._search(coming, self._written)
        except Exception as error:  # the present state shall not suffer for what the coming one may want in vain
            self._coming, self.fault = None, f"{coming.name}: {type(error).__name__}: {error}"

    def _wait(self) -> None:
        """Note when the next part's tick is: half a period before it, for times are rounded."""
        if self._stage == len(_STAGES):
            self._due += self._again * self._dt
            self._stage, self._again = len(_STAGES) - 1, min(2 * self._again, _SELDOM)
        self._next = self._due - (len(_STAGES) - self._stage + 0.5) * self._dt

    def _write_rows(self, coming: Phase, time: float, horizon: float) -> None:
        """Write the rows of the coming state's QP."""
        statement, kinematics, present = self._statement, self._kinematics, self._kinematics.motions
        names = tuple([contact.name for contact in self._contacts])
        self._written = foreseen = self._foreseen.get((coming.name, names))
        if foreseen is None:
            return
        kinematics.motions = foreseen.motions
        try:
            if foreseen.motions is not None and foreseen.motions is not present:
                foreseen.motions.update()
            contacts = foreseen.laid_out.contacts
            if contacts is not statement.contacts:
                contacts.take(self._contacts)
            contacts.update(kinematics, horizon)
            if foreseen.tasks is not statement.tasks:
                foreseen.tasks.rehearse(kinematics, time, frozenset(statement.tasks.tasks))
        finally:
            kinematics.motions = present

    def _search(self, coming: Phase, written: Foreseen) -> None:
        """Find the active rows of the coming state, or some of them."""
        statement, kinematics = self._statement, self._kinematics
        statement.M, statement.N = kinematics.M, kinematics.N
        statement.joint_limits.update(kinematics.q, kinematics.v)
        begun = None if self._found is None or self._found[0] != coming.name else self._found[1]
        found = None if self._blocks is None else self._blocks.search_ahead(written.laid_out, begun)
        self._found, self._over = (None, True) if found is None else ((coming.name, found[0]), found[1])
