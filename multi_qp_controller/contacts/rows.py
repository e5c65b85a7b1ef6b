"""QP rows of contacts and couplings: no-slip equalities, and the cost of contact wrenches."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from functools import cache, cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from multi_qp_controller.contacts.contact import ActiveContact, JointGroups
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.motion_kernel import NoSlipData, no_slip_rows
from multi_qp_controller.dynamics.motion_table import MotionTable
from multi_qp_controller.qp import QPProblem, Solver, make_solver
from multi_qp_controller.qp.labels import LabelBlock
from multi_qp_scene.arrays import Array
from multi_qp_scene.couplings import Couplings
from multi_qp_scene.kernel_data import KernelData
from multi_qp_scene.schema.control import RegularisationSpec

#: Cost of the part of Λ in the null space of W: it selects one of the equivalent decompositions of the wrench.
NULL_FORCE_COST = 1e-8
#: Cost of the force of a coupling: only for a positive definite Hessian, as an internal force needs no effort.
COUPLING_FORCE_COST = 1e-8
#: Rows are linearly dependent where their squared independent part is below this fraction of the largest row's.
DEPENDENT_GRAM = 1e-14
#: Dependent rows are inconsistent where their right-hand sides differ by more than this, relative to the largest.
INCONSISTENCY = 1e-6
#: Contradiction of dependent rows up to which they are followed as far as possible, as if it were rounding [m/s² or
#: rad/s²]. Where contacts share freedoms, as back and pelvis of one that lies, those of measured states contradict each
#: other by J̇q̇ of the velocities that no slip forbids, 1e-5 to 1e-3; in a period of 5 ms, 0.01 is 0.05 mm/s.
CONTRADICTION = 0.01
#: Tolerance of Λ of least norm, relative to its largest entry.
_MULTIPLIER_ERROR = 1e-9

_TWIST_AXES = ("linear x", "linear y", "linear z", "angular x", "angular y", "angular z")


class ContactRows:
    """Rows and costs of one set of active contacts; allocated when the set changes.

    The couplings of joints come after the contacts: each has a row of J, and an entry of Λ of either sign.

    Attributes:
        contacts: the contacts, in their order in Λ.
        couplings: couplings of joints, such as mimic joints.
        lambda_slices: entries of each contact in Λ.
        coupling_slice: entries of the couplings in Λ.
        row_slices: rows of each contact in J.
        J: no-slip rows and couplings, (m, nv).
        rhs: their right-hand side, (m,).
        lower: lower bound of each entry of Λ: 0, below it for contacts that grip, -inf for couplings, (nλ,).
        n_lambda: number of entries of Λ.
        bounded: number of bounded entries of Λ.
        turns: whether the cone of any contact changes from tick to tick.
        revision: number of changes of the wrench costs.
        paper_equalities: equality rows as counted in [Vaillant2015]: 3 a contact point, and one for each coupling.
    """

    def __init__(self, contacts: tuple[ActiveContact, ...], couplings: Couplings, cost: RegularisationSpec) -> None:
        self.contacts = contacts
        self.couplings = couplings
        nv, coupled = couplings.J.shape[1], len(couplings)
        sizes = [contact.W.shape[1] for contact in contacts]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.lambda_slices = [slice(a, b) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
        rows = np.concatenate([[0], np.cumsum([contact.rows for contact in contacts])]).astype(int)
        self.row_slices = [slice(a, b) for a, b in zip(rows[:-1], rows[1:], strict=True)]
        n, m = offsets[-1] + coupled, rows[-1] + coupled
        self.coupling_slice = slice(offsets[-1], n)
        self._coupling_rows = slice(rows[-1], m)
        self.J = np.zeros((m, nv))
        self.J[self._coupling_rows] = couplings.J
        self.rhs = np.zeros(m)
        self.n_lambda = int(n)
        self._G_is_new = True
        self._names = tuple(contact.name for contact in contacts)
        self._named_rows = tuple(zip(self._names, self.row_slices, strict=True))
        self.turns = any(contact.rows == 3 for contact in contacts)
        self._six = all(contact.rows == 6 for contact in contacts)
        self._counts = np.array([contact.rows for contact in contacts], dtype=np.intp)
        self._made = np.zeros((len(contacts), 4, 4))
        self._store_made_poses([None] * len(contacts))
        self._table: MotionTable | None = None
        self._motions: KernelData
        self._motions_cache: dict[MotionTable, KernelData] = {}
        self._held = [(k, c) for k, c in enumerate(contacts) if c.feedback is not None]
        self._cost = cost
        self._penalties = [contact.penalty for contact in contacts]
        self.revision = 0
        self.lower = np.zeros(n)
        for contact, where in zip(contacts, self.lambda_slices, strict=True):
            self.lower[where] = contact.least
        self.lower[self.coupling_slice] = -np.inf
        self.bounded = int(n) - coupled
        self.paper_equalities = sum(3 * len(contact.first.points) for contact in contacts) + coupled

    def replace_contacts(self, contacts: tuple[ActiveContact, ...]) -> None:
        """Replace the contacts by the same ones, some of which are newly made."""
        before, self.contacts = self.contacts, contacts
        self._store_made_poses(before)
        self._held = [(k, c) for k, c in enumerate(contacts) if c.feedback is not None]
        self._update_penalties()
        self._G_is_new = False

    def _store_made_poses(self, before: Sequence[ActiveContact | None]) -> None:
        self._is_held = all([contact.held_at is not None for contact in self.contacts])
        for made, contact, old in zip(self._made, self.contacts, before, strict=True):
            if contact is not old and contact.held_at is not None:
                made[:] = contact.held_at

    def _hold(self, table: MotionTable) -> None:
        """Hold the contacts whose first tick this is."""
        for made, contact, X in zip(self._made, self.contacts, table.X, strict=False):
            if contact.held_at is None:
                contact.held_at = made[:] = X.copy()
        self._is_held = True

    @cached_property
    def held_together(self) -> frozenset[frozenset[str]]:
        """The pairs of links in contact."""
        return frozenset(frozenset((c.first.link, c.second.link)) for c in self.contacts)

    @cached_property
    def fixed_joints(self) -> JointGroups:
        """Groups of joints, 0: the environment, whose bodies are fixed relative to each other by contacts of 6 rows."""
        groups: list[set[int]] = []
        for contact in self.contacts:
            if contact.rows == 6:
                both = {contact.first.joint_id, contact.second.joint_id}
                both.update(*(group for group in groups if group & both))
                groups = [*(group for group in groups if not group & both), both]
        return frozenset(frozenset(group) for group in groups)

    @cached_property
    def row_label(self) -> tuple[LabelBlock, ...]:
        """Names of the rows of J; computed on access."""
        named = tuple(
            LabelBlock(name=f"no slip {contact.name}", unit="m/s² or rad/s²", rows=_TWIST_AXES[: contact.rows])
            for contact in self.contacts
        )
        coupled = LabelBlock(name="coupling", unit="m/s² or rad/s²", rows=self.couplings.names)
        return (*named, coupled) if len(self.couplings) else named

    @cached_property
    def lambda_label(self) -> tuple[LabelBlock, ...]:
        """Names of the entries of Λ; computed on access."""
        named = tuple(
            LabelBlock(
                name=f"contact force {contact.name}",
                unit="N",
                rows=tuple(f"point {k // 4} edge {k % 4}" for k in range(contact.W.shape[1])),
                limit=f"friction cone {contact.name}",
            )
            for contact in self.contacts
        )
        coupled = LabelBlock(name="coupling force", unit="N or N m", rows=self.couplings.names)
        return (*named, coupled) if len(self.couplings) else named

    @cached_property
    def H(self) -> Array:
        """Cost of the wrenches and of the null part of Λ, (nλ, nλ)."""
        cost = self._cost
        H = np.zeros((self.n_lambda, self.n_lambda))
        H[self.coupling_slice, self.coupling_slice] = COUPLING_FORCE_COST * np.eye(len(self.couplings))
        for contact, where in zip(self.contacts, self.lambda_slices, strict=True):
            W = contact.W
            weights = np.array([cost.force] * 3 + [cost.moment] * 3) * contact.effort * contact.penalty
            null = np.eye(W.shape[1]) - np.linalg.pinv(W) @ W
            H[where, where] = W.T @ (weights[:, None] * W) + NULL_FORCE_COST * null
        return H

    def wrench_costs(self) -> Array:
        """Return the cost of each entry of the contacts' wrenches with their present penalties, (rows,)."""
        cost = self._cost
        weights = np.array([cost.force] * 3 + [cost.moment] * 3)
        return np.concatenate([np.zeros(0), *(c.effort * c.penalty * weights[: c.rows] for c in self.contacts)])

    def _update_penalties(self) -> None:
        penalties = [contact.penalty for contact in self.contacts]
        if penalties != self._penalties:
            self._penalties = penalties
            self.revision += 1
            self.__dict__.pop("H", None)

    @cached_property
    def _G(self) -> Array:
        G = np.zeros((self.J.shape[1], self.n_lambda))
        G[:, self.coupling_slice] = self.couplings.J.T
        self._G_is_new = False
        return G

    @property
    def G(self) -> Array:
        """Generalised force of each entry of Λ: Σ Jᵀ W, then Jᵀ of the couplings, (nv, nλ)."""
        G = self._G
        if not self._G_is_new:
            for contact, rows, where in zip(self.contacts, self.row_slices, self.lambda_slices, strict=True):
                np.matmul(self.J[rows].T, contact.W[: contact.rows], out=G[:, where])
            self._G_is_new = True
        return G

    def snapshot(self) -> ContactRows:
        """Return a copy of the rows of this tick; it is read-only and not updated."""
        one = copy.copy(self)
        one.J, one.rhs, one.contacts = self.J.copy(), self.rhs.copy(), tuple(map(copy.copy, self.contacts))
        for contact in one.contacts:  # W of a point contact changes
            contact.W = contact.W.copy()
        for name in ("_G", "H"):
            one.__dict__.pop(name, None)
        one._G_is_new = False
        return one

    def is_inconsistent(self) -> bool:
        """Return whether J q̈ = rhs has no solution: linearly dependent rows with different right-hand sides."""
        Gram = self.J @ self.J.T
        factor, pivots, rank, _ = dpstrf(Gram, lower=1, tol=DEPENDENT_GRAM * max(1.0, float(Gram.diagonal().max())))
        rhs = self.rhs[pivots - 1]
        along = solve_triangular(factor[:rank, :rank], rhs[:rank], lower=True, check_finite=False)
        residual = np.abs(rhs[rank:] - factor[rank:, :rank] @ along)
        return bool(residual.max(initial=0.0) > INCONSISTENCY * (1.0 + np.abs(rhs).max(initial=0.0)))

    def reconcile(self) -> Array:
        """Replace the right-hand sides by the nearest that J q̈ = rhs can have; return the changes, (m,)."""
        nearest = self.J @ np.linalg.lstsq(self.J, self.rhs, rcond=math.sqrt(DEPENDENT_GRAM))[0]
        change = nearest - self.rhs
        self.rhs[:] = nearest
        return change

    def reconcile_within(self, tolerance: float) -> bool:
        """Reconcile the right-hand sides unless one would change by more than a tolerance; return whether it is done.

        Args:
            tolerance: [m/s² or rad/s²].
        """
        before = self.rhs.copy()
        if np.abs(self.reconcile()).max(initial=0.0) <= tolerance:
            return True
        self.rhs[:] = before
        return False

    def update(self, kinematics: Kinematics, horizon: float) -> None:
        """Compute the rows and generalised forces of this tick."""
        self._G_is_new = False
        self._update_penalties()
        for contact in self.contacts:
            contact.update(kinematics)
        if self.contacts:
            self._update_no_slip(kinematics, horizon)
        if len(self.couplings):
            self.rhs[self._coupling_rows] = self.couplings.rhs(kinematics.q, kinematics.v, horizon)

    def _update_no_slip(self, kinematics: Kinematics, horizon: float) -> None:
        """Write the no-slip rows from the table of motions."""
        table = self._table
        if table is None or table is not kinematics.motions:
            table = self._use(kinematics.motions)
        if not self._is_held:
            self._hold(table)
        no_slip_rows(horizon, self._motions.table)
        for k, contact in self._held:
            self.rhs[self.row_slices[k]] = contact.feedback_rhs(table.twist[k], table.drift[k])

    def _use(self, table: MotionTable | None) -> MotionTable:
        """Use a table of motions, which must begin with the contacts, and return it."""
        count = len(self.contacts)
        if table is None or table.pairs[:count] != tuple(contact.frames for contact in self.contacts):
            raise ValueError("the watched pairs of frames do not begin with those of the contacts")
        if table not in self._motions_cache:
            starts, columns = table.columns(count)
            self._motions_cache[table] = KernelData(
                NoSlipData(
                    made=self._made,
                    X=table.X[:count],
                    twist=table.twist[:count],
                    drift=table.drift[:count],
                    rows=self._counts,
                    starts=starts,
                    columns=columns,
                    J=table.J,
                    J_out=self.J,
                    rhs=self.rhs,
                )
            )
        self._table, self._motions = table, self._motions_cache[table]
        return table

    def reactions(self, forces: Array) -> Array:
        """Return the force along each row of J, (m,), from Λ: wrenches, then forces of couplings; G Λ = Jᵀ of it."""
        reactions = np.empty(len(self.rhs))
        for contact, rows, where in zip(self.contacts, self.row_slices, self.lambda_slices, strict=True):
            np.matmul(contact.W[: contact.rows], forces[where], out=reactions[rows])
        reactions[self._coupling_rows] = forces[self.coupling_slice]
        return reactions

    def wrenches(self, reactions: Array) -> dict[str, Array]:
        """Return the wrench of each contact, (6,), from its reactions; a point has no moment."""
        if self._six:
            reactions = reactions.copy()
            return {name: reactions[rows] for name, rows in self._named_rows}
        all_of_them = np.zeros((len(self.contacts), 6))
        for wrench, contact, rows in zip(all_of_them, self.contacts, self.row_slices, strict=True):
            wrench[: contact.rows] = reactions[rows]
        return dict(zip(self._names, all_of_them, strict=True))

    def coupling_forces(self, reactions: Array) -> dict[str, float]:
        """Return the force of each coupling on its dependent joint [N or N m], from the reactions."""
        if not self.couplings.names:
            return {}
        return dict(zip(self.couplings.names, reactions[self._coupling_rows].tolist(), strict=True))


def multipliers(contacts: Iterable[ActiveContact], reactions: Array) -> dict[str, Array]:
    """Return the Λ of least norm above its least entries for the reactions of these contacts, by name."""
    found, first = {}, 0
    for contact in contacts:
        W, least = contact.W[: contact.rows], contact.least
        found[contact.name] = least + _smallest_multipliers(
            W, reactions[first : first + contact.rows] - least * W.sum(axis=1)
        )
        first += contact.rows
    return found


def _smallest_multipliers(W: Array, reaction: Array) -> Array:
    """Return the Λ ≥ 0 of least norm with W Λ = reaction, or with the nearest W Λ where there is none.

    Reactions on the boundary of the cone are outside by rounding: a non-negative least-squares solution, which has
    any norm, gives the nearest W Λ, for which a QP gives the least norm.
    """
    from scipy.optimize import nnls  # slow to import, and only used for visualisation

    n = W.shape[1]
    some: Array = nnls(W, reaction)[0]
    size = float(some.max())
    if size == 0.0:
        return some
    none = np.zeros(0)
    zero, free = np.zeros(n), np.full(n, np.inf)
    wrench = W @ (some / size)
    problem = QPProblem(H=np.eye(n), g=zero, A=W, b=wrench, C=np.zeros((0, n)), l=none, u=none, lb=zero, ub=free)
    solution = _least_norm_solver().solve(problem)
    return size * np.maximum(solution.x, 0.0) if solution.found else some


@cache
def _least_norm_solver() -> Solver:
    return make_solver("daqp", tolerance=_MULTIPLIER_ERROR)
