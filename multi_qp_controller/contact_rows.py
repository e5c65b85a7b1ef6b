"""The rows of the QP that belong to contacts and couplings: no slip, and what their forces cost."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.motion_kernel import NO_SLIP_KINDS, no_slip_rows
from multi_qp_controller.motion_table import MotionTable
from multi_qp_controller.qp.labels import Block
from multi_qp_scene.bundles import Bundle
from multi_qp_scene.couplings import Couplings
from multi_qp_scene.schema.scenario_file import RegularisationSpec

Array = NDArray[np.float64]

#: Cost of the part of Λ that makes no wrench: it only picks one of the equivalent decompositions.
NULL_FORCE_COST = 1e-8
#: Cost of the force of a coupling: only there to make the Hessian positive definite, for the force is no one's effort.
COUPLING_FORCE_COST = 1e-8
#: Rows depend on each other where the square of what is independent is less than this share of the longest's.
DEPENDENT_GRAM = 1e-14
#: Dependent rows contradict each other where what they ask for differs by more than this, relative to what is asked.
CONTRADICTION = 1e-6
#: Square root of the weight of |Λ|² beside the error of the wrench, where Λ is sought for a wrench.
_NORM_WEIGHT = 1e-4

_TWIST_AXES = ("linear x", "linear y", "linear z", "angular x", "angular y", "angular z")


class ContactRows:
    """The arrays that belong to one set of active contacts; allocated when the set changes.

    The couplings of joints come after the contacts: a row of J each, and an entry of Λ that may have either sign.

    Attributes:
        contacts: the contacts, in their order in Λ.
        couplings: joints that follow others.
        lambda_slices: entries of each contact in Λ.
        coupling_slice: entries of the couplings in Λ.
        row_slices: rows of each contact in J.
        J: no-slip rows and couplings, (m, nv).
        rhs: their right-hand side, (m,).
        lower: least value of each entry of Λ: 0, or -inf for couplings, (nλ,).
        n_lambda: number of entries of Λ.
        bounded: number of entries of Λ that are.
        turns: whether the cone of one changes from tick to tick.
        revision: how often the costs of wrenches have changed.
        paper_equalities: equality rows as the paper counts them, 3 a contact point; and one for each coupling.
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
        self._note_made([None] * len(contacts))
        self._table: MotionTable | None = None
        self._motions: Bundle | None = None
        #: What each table of motions that begins with these contacts gives the kernel; None for one that does not.
        self._known_motions: dict[MotionTable, Bundle | None] = {}
        self._held = [(k, c) for k, c in enumerate(contacts) if c.feedback is not None]
        self._cost = cost
        self._priced = [contact.price for contact in contacts]
        self.revision = 0
        self.lower = np.zeros(n)
        self.lower[self.coupling_slice] = -np.inf
        self.bounded = int(n) - coupled
        self.paper_equalities = sum(3 * len(contact.first.points) for contact in contacts) + coupled

    def take(self, contacts: tuple[ActiveContact, ...]) -> None:
        """Be the rows of the same contacts, of which some are made anew."""
        before, self.contacts = self.contacts, contacts
        self._note_made(before)
        self._held = [(k, c) for k, c in enumerate(contacts) if c.feedback is not None]
        self._note_prices()
        self._G_is_new = False

    def _note_made(self, before: Sequence[ActiveContact | None]) -> None:
        self._is_held = all([contact.is_held for contact in self.contacts])
        for made, contact, old in zip(self._made, self.contacts, before, strict=True):
            if contact is not old and contact.is_held:
                made[:] = contact.X_second_first.homogeneous

    def _hold(self) -> None:
        """Make the contacts whose first tick this is."""
        for made, contact in zip(self._made, self.contacts, strict=True):
            if not contact.is_held:
                contact.hold()
                made[:] = contact.X_second_first.homogeneous
        self._is_held = True

    @cached_property
    def held_together(self) -> frozenset[frozenset[str]]:
        """The pairs of links that these contacts hold together."""
        return frozenset(frozenset((c.first.link, c.second.link)) for c in self.contacts)

    @cached_property
    def row_label(self) -> tuple[Block, ...]:
        """Names of the rows of J; made when somebody asks."""
        named = tuple(
            Block(name=f"no slip {contact.name}", unit="m/s² or rad/s²", rows=_TWIST_AXES[: contact.rows])
            for contact in self.contacts
        )
        coupled = Block(name="coupling", unit="m/s² or rad/s²", rows=self.couplings.names)
        return (*named, coupled) if len(self.couplings) else named

    @cached_property
    def lambda_label(self) -> tuple[Block, ...]:
        """Names of the entries of Λ; made when somebody asks."""
        named = tuple(
            Block(
                name=f"contact force {contact.name}",
                unit="N",
                rows=tuple(f"point {k // 4} edge {k % 4}" for k in range(contact.W.shape[1])),
                limit=f"friction cone {contact.name}",
            )
            for contact in self.contacts
        )
        coupled = Block(name="coupling force", unit="N or N m", rows=self.couplings.names)
        return (*named, coupled) if len(self.couplings) else named

    @cached_property
    def H(self) -> Array:
        """Cost of the wrenches and of the null part of Λ, (nλ, nλ)."""
        cost = self._cost
        H = np.zeros((self.n_lambda, self.n_lambda))
        H[self.coupling_slice, self.coupling_slice] = COUPLING_FORCE_COST * np.eye(len(self.couplings))
        for contact, where in zip(self.contacts, self.lambda_slices, strict=True):
            W = contact.W
            weights = np.array([cost.force] * 3 + [cost.moment] * 3) * contact.price
            null = np.eye(W.shape[1]) - np.linalg.pinv(W) @ W
            H[where, where] = W.T @ (weights[:, None] * W) + NULL_FORCE_COST * null
        return H

    def wrench_costs(self) -> Array:
        """Return the cost of each entry of the contacts' wrenches at their present prices, (rows,)."""
        cost = self._cost
        weights = np.array([cost.force] * 3 + [cost.moment] * 3)
        return np.concatenate([np.zeros(0), *(c.price * weights[: c.rows] for c in self.contacts)])

    def _note_prices(self) -> None:
        prices = [contact.price for contact in self.contacts]
        if prices != self._priced:
            self._priced = prices
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

    def kept(self) -> ContactRows:
        """Return the rows of this tick, which the next does not overwrite: to be read, not updated."""
        one = copy.copy(self)
        one.J, one.rhs, one.contacts = self.J.copy(), self.rhs.copy(), tuple(map(copy.copy, self.contacts))
        for contact in one.contacts:  # those of a point change
            contact.W = contact.W.copy()
        for name in ("_G", "H"):
            one.__dict__.pop(name, None)
        one._G_is_new = False
        return one

    def contradict(self) -> bool:
        """Return whether no q̈ keeps all rows: some depend on others, and ask for something else."""
        Gram = self.J @ self.J.T
        factor, pivots, rank, _ = dpstrf(Gram, lower=1, tol=DEPENDENT_GRAM * max(1.0, float(Gram.diagonal().max())))
        rhs = self.rhs[pivots - 1]
        along = solve_triangular(factor[:rank, :rank], rhs[:rank], lower=True, check_finite=False)
        missed = np.abs(rhs[rank:] - factor[rank:, :rank] @ along)
        return bool(missed.max(initial=0.0) > CONTRADICTION * (1.0 + np.abs(rhs).max(initial=0.0)))

    def update(self, kinematics: Kinematics, dt: float) -> None:
        """Compute the rows and generalised forces of this tick."""
        self._G_is_new = False
        self._note_prices()
        for contact in self.contacts:
            contact.update(kinematics)
        if not self._is_held:
            self._hold()
        if not self._update_together(kinematics, dt):
            for contact, rows in zip(self.contacts, self.row_slices, strict=True):
                self.J[rows], self.rhs[rows] = contact.no_slip(dt)
        if len(self.couplings):
            self.rhs[self._coupling_rows] = self.couplings.rhs(kinematics.q, kinematics.v, dt)

    def _update_together(self, kinematics: Kinematics, dt: float) -> bool:
        """Write all no-slip rows from the table of motions; return False where that does not begin with them."""
        table, count = kinematics.motions, len(self.contacts)
        if table is None or not count:
            return table is not None
        if self._table is not table:
            self._table = table
            if table not in self._known_motions:
                self._known_motions[table] = self._motions_in(table)
            self._motions = self._known_motions[table]
        if self._motions is None:
            return False
        no_slip_rows(dt, self._motions.table)
        for k, contact in self._held:
            self.rhs[self.row_slices[k]] = contact.held(table.twist[k], table.drift[k])
        return True

    def _motions_in(self, table: MotionTable) -> Bundle | None:
        """Return what the kernel wants of a table of motions, None where that does not begin with the contacts."""
        count = len(self.contacts)
        if [table.index.get(contact.frames) for contact in self.contacts] != list(range(count)):
            return None
        X, twist, drift = table.X[:count], table.twist[:count], table.drift[:count]
        return Bundle(
            NO_SLIP_KINDS, self._made, X, twist, drift, self._counts, *table.columns(count), table.J, self.J, self.rhs
        )

    def reactions(self, forces: Array) -> Array:
        """Return the force along each row of J, (m,), from Λ: wrenches, then forces of couplings; G Λ = Jᵀ of it."""
        reactions = np.empty(len(self.rhs))
        for contact, rows, where in zip(self.contacts, self.row_slices, self.lambda_slices, strict=True):
            np.matmul(contact.W[: contact.rows], forces[where], out=reactions[rows])
        reactions[self._coupling_rows] = forces[self.coupling_slice]
        return reactions

    def multipliers(self, reactions: Array) -> Array:
        """Return the smallest Λ ≥ 0 that makes these reactions, (nλ,): of many, the one that strains least."""
        forces = np.empty(self.n_lambda)
        for contact, rows, where in zip(self.contacts, self.row_slices, self.lambda_slices, strict=True):
            forces[where] = _smallest_multipliers(contact.W[: contact.rows], reactions[rows])
        forces[self.coupling_slice] = reactions[self._coupling_rows]
        return forces

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
        """Return the force of each coupling on the joint that follows [N or N m], from the reactions."""
        if not self.couplings.names:
            return {}
        return dict(zip(self.couplings.names, reactions[self._coupling_rows].tolist(), strict=True))


def _smallest_multipliers(W: Array, reaction: Array) -> Array:
    """Return the Λ ≥ 0 of least norm with W Λ = reaction, or nearly where there is none.

    The norm gets so small a weight that it only chooses among what makes the reaction; one step of refinement takes
    back what it cost.
    """
    from scipy.optimize import nnls  # takes long to import, and only those who watch need it

    n = W.shape[1]
    found = nnls(np.vstack([W, _NORM_WEIGHT * np.eye(n)]), np.concatenate([reaction, np.zeros(n)]))[0]
    used = np.flatnonzero(found)
    refined = found[used] + np.linalg.lstsq(W[:, used], reaction - W @ found, rcond=None)[0]
    if (refined >= 0.0).all():
        found[used] = refined
        return found
    return nnls(W, reaction)[0]
