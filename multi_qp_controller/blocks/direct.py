"""The QP of a tick without ever writing it down: eliminated by subsystems, searched for the active rows."""

from __future__ import annotations

import itertools
import math
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.blocks.active_kernel import SEARCH_KINDS, search
from multi_qp_controller.blocks.assembly_kernel import (
    ASSEMBLE_KINDS,
    DEPENDENT,
    INFEASIBLE,
    LIMIT,
    NOT_FINITE,
    NUMERICAL,
    SOLVED,
    assemble,
)
from multi_qp_controller.blocks.choice_kernel import KEPT
from multi_qp_controller.blocks.plan import Plan, structure
from multi_qp_controller.contact_rows import COUPLING_FORCE_COST, ContactRows
from multi_qp_controller.physical import PhysicalSolution, Solved
from multi_qp_controller.qp.solution import Solution, Status
from multi_qp_controller.statement import Statement
from multi_qp_scene.bundles import Bundle

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Rows whose independent part is shorter than this, relative to the longest, are dependent: nothing is eliminated.
_DEPENDENT_ROWS = 1e-9
#: So many pairs of contacts and tasks are kept laid out: those of users' programs may be new at every tick.
_MOST_LAID_OUT = 1000
#: At most so many rows can be active, and so many more than there are unknowns, which rows that give way may be.
_MOST_ACTIVE, _MORE_ACTIVE = 400, 40
#: Changes of the active set by which a search is over, and by which a tick is with the search for a relaxed answer;
#: what takes longer to relax is left to others.
PATIENT_CHANGES = 300, 100
#: So many changes are made by the largest violation; what is not over then may be hopeless, see `farthest_rows`.
EARLY_CHANGES = 2
#: The same in a hurry. From an earlier answer 23 are the most that the paper's eight scenes need, but 27 from nothing,
#: as after every fallback: with a bound of 24 `box` found no way back out of one, for as long as it carried. A proof
#: takes 24 in most.
HURRIED_CHANGES = 40, 44
#: Changes that a tick makes besides its own, for a coming state.
AHEAD_CHANGES = 6
#: What is said of contacts that no q̈ keeps, whatever limits are relaxed.
CONTRADICTING_CONTACTS = "contacts contradict each other"
_STATUS: dict[int, Status] = {
    SOLVED: "solved",
    INFEASIBLE: "infeasible",
    LIMIT: "iteration_limit",
    NUMERICAL: "numerical",
    NOT_FINITE: "not_finite",
}


class _Room:
    """Memory that all layouts share, for one of them is used at a time: another's would be cold when its turn comes."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def of(self, name: str, *shape: int) -> Array:
        """Return an array of this shape; it holds what others of this name have left there."""
        size = math.prod(shape)
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.full(size, 0.0)  # written, so that no tick is the first to touch a page
        return self._arrays[name][:size].reshape(shape)


class _Layout:
    """A plan, and room for what the kernels make of it; none of it depends on the state."""

    def __init__(self, statement: Statement, floating: frozenset[int], room: _Room) -> None:
        s, plan = statement, Plan(statement, floating=floating)
        self.plan = plan
        self.links = np.stack([plan.link_rows, plan.link_w, plan.link_mu]).astype(np.intp)
        self.crossing = np.stack([plan.cross_rows, plan.cross_y]).astype(np.intp)
        self.places = np.concatenate([plan.velocity_places, plan.torque_places, plan.reaction_places])
        e, factor, wide = plan.sizes
        size = len(plan.last)
        self.E, self.e = room.of("E", e), room.of("e", s.scene.nv + s.scene.na + len(s.contacts.rhs))
        self.L, self.U = room.of("L", factor), room.of("U", wide)
        self.S = room.of("S", size, size)
        self.phi = room.of("phi", plan.unknowns + size)
        most = min(_MOST_ACTIVE, len(self.phi) + _MORE_ACTIVE) + 1
        self.Phi = room.of("Phi", most, len(self.phi))
        self.T, self.R = room.of("T", most, most), room.of("R", most, most)


class _Rows:
    """Rows of inequalities under one set of contacts, and room for what is found of them."""

    def __init__(self, statement: Statement, limited: Indices) -> None:
        s, contacts = statement, statement.contacts
        self.force_root = np.full(len(contacts.rhs), np.sqrt(COUPLING_FORCE_COST))
        self.revision = -1  # of the contacts whose prices are in it
        facets = [c.F for c in contacts.contacts]
        ends = np.cumsum([0, *map(len, facets)])
        self.where = [slice(a, b) for a, b in itertools.pairwise(ends.tolist())]
        self.facets = np.zeros((ends[-1], 6))
        self.facet_rows = np.zeros((ends[-1], 2), dtype=np.intp)
        for contact, F, where, rows in zip(contacts.contacts, facets, self.where, contacts.row_slices, strict=True):
            self.facets[where, : F.shape[1]] = F
            self.facet_rows[where] = rows.start, contact.rows
        first, na = len(limited), s.scene.na
        self.fixed = fixed = first + na + int(ends[-1])
        count = fixed + s.largest_row_count
        self.low, self.high = np.full(count, 0.0), np.full(count, np.inf)
        self.low[first : first + na], self.high[first : first + na] = -s.torque_limits, s.torque_limits
        self.rigid, self.soft = np.full(count, 0.0), np.full(count, 0.0)
        self.none_active, self.length = np.full(count, 0.0), np.full(count, 0.0)
        self.soft[:first] = self.soft[fixed:] = 1.0


class LaidOut(NamedTuple):
    """What the kernels want of the QP of one set of contacts and tasks."""

    contacts: ContactRows
    layout: _Layout
    rows: _Rows
    assembled: Bundle
    searched: Bundle


class BlockSolver:
    """Solves the statement as `condensed` states it, each subsystem by itself but for the forces between them.

    Each subsystem's own equalities are eliminated as in `CondensedFormulation`, then its unknowns; what stays is a
    banded system in the wrenches between subsystems and the multipliers of their no-slip rows. Inequalities are looked
    at once the optimum without them is known, and only those that are violated are formed.
    """

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._most_changes = PATIENT_CHANGES
        self._changes = 0
        self._failed: Solution | None = None
        self._floating: frozenset[int] = frozenset()
        self._layout: _Layout | None = None
        self._known: dict[tuple[object, ...], _Layout] = {}
        self._shared_room = _Room()
        self._taken_up: tuple[object, object] = (None, None)
        self._laid_out: dict[tuple[object, ...], LaidOut] = {}
        self._room: dict[tuple[ContactRows, int], _Rows] = {}
        cost = statement.cost
        self._costs = np.array([np.sqrt(cost.torque), cost.acceleration, _DEPENDENT_ROWS])
        self._counts = np.zeros(2, dtype=np.intp)
        limited = np.flatnonzero(statement.joint_limits.limited)
        self._limited: Indices = limited.astype(np.intp)

    def hurry(self) -> None:
        """Give up, from now on, a search that takes so long that three ticks go by."""
        self._most_changes = HURRIED_CHANGES

    def prepare(self) -> None:
        """Take up the present contacts and tasks."""
        self._floating = frozenset()
        self._layout, self._taken_up = None, (None, None)

    def _lay_out(self) -> None:
        """Take up the present contacts and tasks: as they were laid out when they were on before, else anew."""
        s = self._statement
        key = s.contacts, s.tasks, s.largest_row_count, self._floating
        if key not in self._laid_out:
            if len(self._laid_out) >= _MOST_LAID_OUT:
                self._laid_out.clear()
            self._laid_out[key] = self._new_layout()
        self._present = self._laid_out[key]
        self._layout, self._rows = self._present.layout, self._present.rows
        self._taken_up = s.contacts, s.tasks

    @property
    def laid_out(self) -> LaidOut | None:
        """The layout that the last elimination was made with, None where there was none."""
        return None if self._layout is None else self._present

    def _new_layout(self) -> LaidOut:
        """Return the layout for the present contacts and tasks, with what the two kernels want of it."""
        s = self._statement
        known = *structure(s), self._floating
        if known not in self._known:
            self._known[known] = _Layout(s, self._floating, self._shared_room)
        layout, counted = self._known[known], (s.contacts, s.largest_row_count)
        if counted not in self._room:
            self._room[counted] = _Rows(s, self._limited)
        rows, plan = self._room[counted], layout.plan
        contacts, tasks, limits = s.contacts, s.tasks, s.joint_limits
        solved = layout.E, layout.e, layout.L, layout.U, layout.S, layout.phi
        assembled = Bundle(
            ASSEMBLE_KINDS, plan.nodes, plan.lists, layout.links, layout.crossing, plan.last, plan.border, contacts.J,
            contacts.rhs, tasks.J, tasks.b, tasks.scale, tasks.selected, rows.force_root, self._costs, *solved,
        )  # fmt: skip
        searched = Bundle(
            SEARCH_KINDS, plan.nodes, plan.lists, layout.links, plan.last, plan.border, layout.places, plan.motor_order,
            *solved, layout.Phi, layout.T, layout.R, self._limited, rows.facets, rows.facet_rows, limits.lower,
            limits.upper, *s.all_rows, rows.low, rows.high, rows.length, self._counts,
        )  # fmt: skip
        return LaidOut(contacts, layout, rows, assembled, searched)

    def eliminate(self) -> str:
        """Find the free optimum of this tick; return what is wrong, empty if nothing is."""
        s, contacts = self._statement, self._statement.contacts
        if self._layout is None or self._taken_up[0] is not contacts or self._taken_up[1] is not s.tasks:
            try:
                self._lay_out()
            except ValueError as error:
                return str(error)
        status = self._assemble(self._present)
        if status == SOLVED:
            return ""
        if status % 16 == DEPENDENT:
            node = status // 16
            if node in self._floating:
                return "rows depend on each other"
            self._floating, self._layout = self._floating | {node}, None
            return self.eliminate()
        return "what subsystems share is not determined"

    def _assemble(self, laid_out: LaidOut) -> int:
        """Write the costs and facets of contacts that are others now; return how the elimination ended."""
        contacts, rows = laid_out.contacts, laid_out.rows
        if contacts.revision != rows.revision:
            costs = contacts.wrench_costs()
            rows.force_root[: len(costs)] = np.sqrt(costs)
            rows.revision = contacts.revision
        if contacts.turns:
            for contact, where in zip(contacts.contacts, rows.where, strict=True):
                if contact.rows == 3:
                    rows.facets[where, :3] = contact.F
        status: int = assemble(self._statement.M, self._statement.N, laid_out.assembled.table)
        return status

    def search_ahead(self, laid_out: LaidOut, start: Array | None) -> tuple[Array, bool] | None:
        """Return multipliers of contacts and tasks that are not taken up yet, and whether the search for them is over.

        It begins where the last one for them ended, and makes few changes of the active set. The rows are those of the
        limits of q̈ and τ and of friction: those on q̈ are not known yet. None where there is no answer. What was
        eliminated is lost.
        """
        s, rows = self._statement, laid_out.rows
        if self._assemble(laid_out) != SOLVED:
            return None
        rows.length[:] = 0.0
        z, begun = np.zeros(len(rows.low)), rows.none_active.copy()
        if start is not None:
            begun[: rows.fixed] = start
        answer = np.empty(s.scene.nv), np.empty(s.scene.na), np.empty(len(laid_out.contacts.rhs))
        early = EARLY_CHANGES if start is None else 0
        status = search(laid_out.searched.table, 0, rows.rigid, AHEAD_CHANGES, early, begun, z, *answer)
        return (z[: rows.fixed], status == SOLVED) if status in (SOLVED, LIMIT) else None

    def _failure(self, fault: str) -> Solution:
        """Say what the elimination failed for: a NaN, contacts that no q̈ keeps, or else what others may mend."""
        s = self._statement
        if not all(np.isfinite(a).all() for a in (s.M, s.N, s.contacts.J, s.contacts.rhs, s.tasks.J, s.tasks.b)):
            return Solution.failed(0, status="not_finite")
        if s.contacts.contradict():
            return Solution.failed(0, status="infeasible", message=CONTRADICTING_CONTACTS)
        return Solution.failed(0, status="numerical", message=fault)

    def solve(self, start: Solution | None, *, price: float | None = None) -> Solved:
        """Solve the tick from the active rows of an earlier one; say so where there is none.

        With a `price`, after this tick had no solution, limits of q̈ and rows of D may give way: ½ price s² for each s
        by which one does.
        """
        begun = perf_counter()
        s = self._statement
        if price is None:
            fault = self.eliminate()
            self._failed = self._failure(fault) if fault else None
            self._rows.length[:] = 0.0
        if self._failed is not None:
            return Solved(self._failed, None)
        acceleration, torque, reactions = np.empty(s.scene.nv), np.empty(s.scene.na), np.empty(len(s.contacts.rhs))
        (most, in_all), early, softness = self._most_changes, EARLY_CHANGES, self._rows.rigid
        if price is not None:
            early = most = in_all - self._changes
            if most < self._changes:  # a relaxed answer has more active rows than it took to see that there is no other
                return Solved(Solution.failed(0, status="iteration_limit"), None)
            softness = self._rows.soft / price
            self._rows.length[:] = KEPT  # multipliers are as large as the price, and so is what rounding makes of them
        before, z = None if start is None else start.z_ineq, np.zeros(len(self._rows.low))
        if before is not None and len(before) == self._rows.fixed:
            before = np.concatenate([before, self._rows.none_active[self._rows.fixed :]])
        if before is None or len(before) != len(z):
            before = self._rows.none_active
        table, answer = self._present.searched.table, (acceleration, torque, reactions)
        status = search(table, s.row_count, softness, most, early, before, z, *answer)
        self._changes = iterations = int(self._counts[1])
        spent = perf_counter() - begun
        if status != SOLVED:
            nowhere = np.full(len(acceleration), np.nan)
            return Solved(Solution(nowhere, False, _STATUS[status], iterations, spent), None)
        solution = Solution(acceleration, True, "solved", iterations, spent, z_ineq=z)
        return Solved(solution, PhysicalSolution(acceleration, torque, reactions))
