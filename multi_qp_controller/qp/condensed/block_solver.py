"""Solver of the condensed QP: elimination by subsystems, then a warm-started dual active-set search, with slack."""

from __future__ import annotations

import itertools
import math
from time import perf_counter
from typing import NamedTuple

import numpy as np

from multi_qp_controller.contacts.rows import CONTRADICTION, COUPLING_FORCE_COST, ContactRows
from multi_qp_controller.qp.condensed.active_set_kernel import search
from multi_qp_controller.qp.condensed.assembly_kernel import (
    DEPENDENT,
    INFEASIBLE,
    LIMIT,
    NOT_FINITE,
    NUMERICAL,
    SOLVED,
    assemble,
)
from multi_qp_controller.qp.condensed.data import CondensedData
from multi_qp_controller.qp.condensed.plan import EliminationPlan, structure
from multi_qp_controller.qp.condensed.row_selection_kernel import ROUNDING, VIOLATION
from multi_qp_controller.qp.physical_solution import PhysicalSolution, Solved
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.qp.relaxation import component_of_rows, components
from multi_qp_controller.qp.solution import Solution, SolverStatus
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.kernel_data import KernelData

#: Relative length of the independent part below which rows count as linearly dependent.
_DEPENDENT_ROWS = 1e-9
#: Softness of no-slip rows of a set of contacts with dependent rows: their residual per unit of their multiplier. It
#: is below the eigenvalues of J K⁻¹ Jᵀ (1e-4 for a task weight of 1e4) and above their rounding (1e-12).
_SOFTNESS = 1e-10
#: Capacity of the cache of contact and task sets; user programs may create new ones at every tick.
_MOST_CACHED = 1000
#: Largest number of active rows, and its excess over the number of unknowns, which slack permits.
_MOST_ACTIVE, _MORE_ACTIVE = 400, 40
#: Number of changes that are chosen by the largest violation; later ones by distance, see `farthest_rows`.
EARLY_CHANGES = 2
#: Entry of the costs that is the softness of no-slip rows.
_SOFT = 3
#: Message for contact constraints that no q̈ satisfies, whatever limits are relaxed.
INFEASIBLE_CONTACTS = "the contact constraints are infeasible"
_STATUS: dict[int, SolverStatus] = {
    SOLVED: "solved",
    INFEASIBLE: "infeasible",
    LIMIT: "iteration_limit",
    NUMERICAL: "numerical",
    NOT_FINITE: "not_finite",
}


class ChangeLimits(NamedTuple):
    """Largest numbers of changes of the active set in a tick.

    Attributes:
        search: in the search with all limits.
        with_relaxed: in that search and all relaxed ones.
    """

    search: int
    with_relaxed: int


#: Without time limit; fallback solvers relax what takes longer.
CHANGE_LIMITS = ChangeLimits(search=300, with_relaxed=900)
#: With a time limit. The eight scenes of the paper need at most 23 from a warm start and 27 from a cold start, as after
#: every fallback; with a bound of 24 `box` did not recover from a fallback while it carried. A proof of infeasibility
#: takes at most 24 in most cases.
TIME_LIMITED_CHANGES = ChangeLimits(search=40, with_relaxed=240)


class _Buffers:
    """Buffers that all workspaces share: one is used at a time, and shared memory stays in the CPU cache."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def of(self, name: str, *shape: int) -> Array:
        """Return an array of this shape; its content is undefined, as arrays of one name share memory."""
        size = math.prod(shape)
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.full(size, 0.0)  # written, so that no page fault occurs in a tick
        return self._arrays[name][:size].reshape(shape)


class _Workspace:
    """Elimination plan and the buffers of its kernels, independent of the state."""

    def __init__(self, qp_data: QPData, floating: frozenset[int], buffers: _Buffers) -> None:
        s, plan = qp_data, EliminationPlan(qp_data, floating=floating)
        self.plan = plan
        self.links = np.stack([plan.link_rows, plan.link_w, plan.link_mu]).astype(np.intp)
        self.crossing = np.stack([plan.cross_rows, plan.cross_y]).astype(np.intp)
        self.places = np.concatenate([plan.velocity_places, plan.torque_places, plan.reaction_places])
        e, factor, wide = plan.sizes
        size = len(plan.last)
        self.E, self.e = buffers.of("E", e), buffers.of("e", s.scene.nv + s.scene.na + len(s.contacts.rhs))
        self.L, self.U = buffers.of("L", factor), buffers.of("U", wide)
        self.S = buffers.of("S", size, size)
        self.phi = buffers.of("phi", plan.unknowns + size)
        most = min(_MOST_ACTIVE, len(self.phi) + _MORE_ACTIVE) + 1
        self.Phi = buffers.of("Phi", most, len(self.phi))
        self.T, self.R = buffers.of("T", most, most), buffers.of("R", most, most)


class _Rows:
    """Inequality rows of one set of contacts and bounds, and their buffers."""

    def __init__(self, qp_data: QPData) -> None:
        s, contacts = qp_data, qp_data.contacts
        self.limited: Indices = np.flatnonzero(s.limited).astype(np.intp)
        self.force_root = np.full(len(contacts.rhs), np.sqrt(COUPLING_FORCE_COST))
        self.revision = -1  # revision of the contacts whose costs it contains
        self.names = tuple(contact.name for contact in contacts.contacts)
        facets = [c.F for c in contacts.contacts]
        ends = np.cumsum([0, *map(len, facets)])
        self.where = [slice(a, b) for a, b in itertools.pairwise(ends.tolist())]
        self.facets = np.zeros((ends[-1], 6))
        self.facet_rows = np.zeros((ends[-1], 2), dtype=np.intp)
        for contact, F, where, rows in zip(contacts.contacts, facets, self.where, contacts.row_slices, strict=True):
            self.facets[where, : F.shape[1]] = F
            self.facet_rows[where] = rows.start, contact.rows
        first, na = len(self.limited), s.scene.na
        self.first_facet = first + na
        first_d = self.first_facet + int(ends[-1])
        count = first_d + s.largest_row_count
        self.low, self.high = np.full(count, 0.0), np.full(count, np.inf)
        for contact, where in zip(contacts.contacts, self.where, strict=True):
            self.low[self.first_facet + where.start : self.first_facet + where.stop] = contact.low
        self.none_relaxed = np.full(count, 0.0)
        self.none_active, self.length = np.full(count, 0.0), np.full(count, 0.0)
        self.steps = np.zeros(count, dtype=np.intp)
        self.steps[:first], self.first_d = s.relaxation.limits, first_d  # those of torque limits stay 0: never relaxed
        for contact, where in zip(contacts.contacts, self.where, strict=True):
            self.steps[first + na + where.start : first + na + where.stop] = s.relaxation.of_contact(contact)

    def transferred(self, z: Array, before: _Rows) -> Array:
        """Return multipliers of other rows as those of these: of limits, and of contacts that both have."""
        out, first = np.zeros(len(self.low)), self.first_facet
        out[:first] = z[:first]
        facets_before, facets = z[first : before.first_d], out[first : self.first_d]
        for name, where in zip(self.names, self.where, strict=True):
            if name in before.names:
                facets[where] = facets_before[before.where[before.names.index(name)]]
        return out


class CondensedProblem(NamedTuple):
    """Kernel data of the QP of one set of contacts and tasks."""

    contacts: ContactRows
    workspace: _Workspace
    rows: _Rows
    data: KernelData


class BlockSolver:
    """Solver of `QPData` that eliminates one subsystem after the other.

    The equalities of each subsystem are eliminated as in `CondensedFormulation`, then its unknowns; a banded system in
    the wrenches between subsystems and the multipliers of their no-slip rows remains. Inequalities are evaluated at the
    optimum without them, and only violated ones are formed.
    """

    def __init__(self, qp_data: QPData) -> None:
        self._qp_data = qp_data
        self._change_limits = CHANGE_LIMITS
        self._changes = 0
        self._failed: Solution | None = None
        self._floating: frozenset[int] = frozenset()
        self._workspace: _Workspace | None = None
        self._workspaces: dict[tuple[object, ...], _Workspace] = {}
        self._shared_buffers = _Buffers()
        self._prepared_for: tuple[object, object] = (None, None)
        self._problems: dict[tuple[object, ...], CondensedProblem] = {}
        self._row_buffers: dict[tuple[object, ...], _Rows] = {}
        cost = qp_data.cost
        self._costs = np.array([np.sqrt(cost.torque), cost.acceleration, _DEPENDENT_ROWS, 0.0])
        self._counts = np.zeros(3, dtype=np.intp)

    def limit_time(self) -> None:
        """Limit the searches from now on to `TIME_LIMITED_CHANGES`."""
        self._change_limits = TIME_LIMITED_CHANGES

    def prepare(self, start: Solution | None = None) -> Solution | None:
        """Select the workspace of the present contacts and tasks; return a warm start for it.

        Args:
            start: warm start with the contacts and tasks before.
        """
        before = None if self._workspace is None else self._rows
        self._floating, self._workspace, self._costs[_SOFT] = frozenset(), None, 0.0
        try:
            self._prepare_problem()
        except ValueError:  # reported by the next solve
            return None
        z = None if start is None else start.z_ineq
        if start is None or z is None or before is None or len(z) != len(before.low) or not z.any():
            return None
        if before is not self._rows:
            start.z_ineq = self._rows.transferred(z, before)
        return start

    def _prepare_problem(self) -> None:
        """Select the problem of the present contacts, tasks and bounds from the cache, or create it."""
        s = self._qp_data
        key = s.contacts, s.tasks, s.bounds, s.largest_row_count, self._floating
        if key not in self._problems:
            if len(self._problems) >= _MOST_CACHED:
                self._problems.clear()
            self._problems[key] = self._new_problem()
        self._current = self._problems[key]
        self._workspace, self._rows = self._current.workspace, self._current.rows
        self._prepared_for = s.contacts, s.tasks

    def _new_problem(self) -> CondensedProblem:
        """Return the workspace for the present contacts and tasks, with its kernel data."""
        s = self._qp_data
        key = *structure(s), self._floating
        if key not in self._workspaces:
            self._workspaces[key] = _Workspace(s, self._floating, self._shared_buffers)
        workspace, row_key = self._workspaces[key], (s.contacts, s.bounds, s.largest_row_count)
        if row_key not in self._row_buffers:
            self._row_buffers[row_key] = _Rows(s)
        rows, plan = self._row_buffers[row_key], workspace.plan
        contacts, tasks = s.contacts, s.tasks
        D_all, d_all = s.all_rows
        data = CondensedData(
            nodes=plan.nodes,
            lists=plan.lists,
            links=workspace.links,
            crossing=workspace.crossing,
            last=plan.last,
            border=plan.border,
            places=workspace.places,
            motor_order=plan.motor_order,
            J=contacts.J,
            rhs=contacts.rhs,
            task_J=tasks.J,
            task_b=tasks.b,
            scale=tasks.scale,
            selects=tasks.selected,
            force_root=rows.force_root,
            costs=self._costs,
            E_all=workspace.E,
            e_all=workspace.e,
            L_all=workspace.L,
            U_all=workspace.U,
            S=workspace.S,
            phi=workspace.phi,
            Phi=workspace.Phi,
            T=workspace.T,
            R=workspace.R,
            limited=rows.limited,
            facets=rows.facets,
            facet_rows=rows.facet_rows,
            least=s.lower,
            most=s.upper,
            least_torque=s.torque_lower,
            most_torque=s.torque_upper,
            D_all=D_all,
            d_all=d_all,
            low_all=rows.low,
            high_all=rows.high,
            length=rows.length,
            counts=self._counts,
        )
        return CondensedProblem(contacts, workspace, rows, KernelData(data))

    def eliminate(self) -> str:
        """Compute the unconstrained optimum of this tick; return an error message, empty on success."""
        s, contacts = self._qp_data, self._qp_data.contacts
        if self._workspace is None or self._prepared_for[0] is not contacts or self._prepared_for[1] is not s.tasks:
            try:
                self._prepare_problem()
            except ValueError as error:
                return str(error)
        soft = self._costs[_SOFT] > 0.0
        if soft and not contacts.reconcile_within(CONTRADICTION):
            return "linearly dependent rows"
        status = self._assemble(self._current)
        if status == SOLVED:
            return ""
        if status % 16 == DEPENDENT:
            node = status // 16
            if node in self._floating:
                return "linearly dependent rows"
            self._floating, self._workspace = self._floating | {node}, None
            return self.eliminate()
        if self._floating and not soft:  # the rows are dependent, not those of the unactuated joints
            self._costs[_SOFT] = _SOFTNESS
            return self.eliminate()
        return "the coupling system is singular"

    def _assemble(self, problem: CondensedProblem) -> int:
        """Update the costs and facets of changed contacts, then eliminate; return the status."""
        contacts, rows = problem.contacts, problem.rows
        if contacts.revision != rows.revision:
            costs = contacts.wrench_costs()
            rows.force_root[: len(costs)] = np.sqrt(costs)
            rows.revision = contacts.revision
        if contacts.turns:
            for contact, where in zip(contacts.contacts, rows.where, strict=True):
                if contact.rows == 3:
                    rows.facets[where, :3] = contact.F
        status: int = assemble(self._qp_data.M, self._qp_data.N, problem.data.table)
        return status

    def _failure(self, fault: str) -> Solution:
        """Classify a failed elimination: NaN, infeasible contacts, or numerical, which fallback solvers may solve."""
        s = self._qp_data
        if not all(np.isfinite(a).all() for a in (s.M, s.N, s.contacts.J, s.contacts.rhs, s.tasks.J, s.tasks.b)):
            return Solution.failed(0, status="not_finite")
        if s.contacts.is_inconsistent():
            return Solution.failed(0, status="infeasible", message=INFEASIBLE_CONTACTS)
        return Solution.failed(0, status="numerical", message=fault)

    def solve(self, start: Solution | None, *, penalty: float | None = None) -> Solved:
        """Solve the tick with a warm start.

        With a `penalty`, to be used after the tick had no solution, rows of infeasible components get a slack s each at
        a cost of ½ penalty s².
        """
        if penalty is not None:
            return self._solve_relaxed(start, penalty)
        begun = perf_counter()
        fault = self.eliminate()
        self._failed = self._failure(fault) if fault else None
        if self._failed is not None:
            return Solved(self._failed, None)
        self._rows.length[:] = 0.0
        return self._search(start, self._rows.none_relaxed, VIOLATION, self._change_limits.search, begun)

    def _search(self, start: Solution | None, softness: Array, tolerance: float, most: int, begun: float) -> Solved:
        """Search the optimum of the elimination; see `search`."""
        s = self._qp_data
        acceleration, torque, reactions = np.empty(s.scene.nv), np.empty(s.scene.na), np.empty(len(s.contacts.rhs))
        warm, z = None if start is None else start.z_ineq, np.zeros(len(self._rows.low))
        if warm is None or len(warm) != len(z):
            warm = self._rows.none_active
        table, outputs = self._current.data.table, (acceleration, torque, reactions)
        status = search(table, s.row_count, softness, tolerance, most, EARLY_CHANGES, warm, z, *outputs)
        self._changes = iterations = int(self._counts[1])
        spent = perf_counter() - begun
        if status != SOLVED:
            x = np.full(len(acceleration), np.nan)
            return Solved(Solution(x, False, _STATUS[status], iterations, spent), None)
        solution = Solution(acceleration, True, "solved", iterations, spent, z_ineq=z)
        return Solved(solution, PhysicalSolution(acceleration, torque, reactions))

    def _solve_relaxed(self, start: Solution | None, penalty: float) -> Solved:
        """Give slack to rows of components without a solution, step by step; all other rows hold exactly."""
        if self._failed is not None:
            return Solved(self._failed, None)
        s, rows, begun, changes, first = self._qp_data, self._rows, perf_counter(), self._changes, self._changes
        owner = components(s)
        row_owner, step = self._component_of_rows(owner), np.zeros(s.scene.nv, dtype=np.intp)
        rows.steps[rows.first_d : rows.first_d + s.row_count] = s.steps_of_rows()
        most_steps = len(s.relaxation.steps)
        while True:
            failing = row_owner[self._counts[2]]
            if step[failing] == most_steps or changes >= self._change_limits.with_relaxed:
                return Solved(Solution.failed(0, status="infeasible", iterations=changes - first), None)
            step[failing] += 1
            soft = (rows.steps > 0) & (rows.steps <= step[row_owner])
            rows.length[:] = 0.0
            most = self._change_limits.with_relaxed - changes
            # multipliers, and their rounding errors, are as large as the penalty
            solved = self._search(start, soft / penalty, ROUNDING, most, begun)
            changes += self._changes
            solved.solution.iterations = changes - first
            if solved.physical is not None or solved.solution.status == "not_finite":
                return Solved(solved.solution, solved.physical, step[owner])

    def _component_of_rows(self, owner: Indices) -> Indices:
        """Return the component of each inequality row, by that of each entry of v."""
        s, rows = self._qp_data, self._rows
        facets = component_of_rows(s.contacts.J[rows.facet_rows[:, 0]], owner)
        found = [owner[rows.limited], owner[s.scene.actuated_v], facets, component_of_rows(s.all_rows[0], owner)]
        return np.concatenate(found)
