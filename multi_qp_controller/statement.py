"""The QP (35), stated once: physics, limits and cost of one tick, before anyone decides how to solve it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.constraints.balance import BalanceConstraint
from multi_qp_controller.constraints.collisions import CollisionConstraint
from multi_qp_controller.constraints.joint_limits import JointLimitConstraint
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.qp.labels import Block
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.couplings import Couplings
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.scenario_file import RegularisationSpec

Array = NDArray[np.float64]

#: Cost of the part of Λ that makes no wrench: it only picks one of the equivalent decompositions.
NULL_FORCE_COST = 1e-8
#: Cost of the force of a coupling: only there to make the Hessian positive definite, for the force is no one's effort.
COUPLING_FORCE_COST = 1e-8

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
        G: generalised force of each entry of Λ: Σ Jᵀ W, then Jᵀ of the couplings, (nv, nλ).
        H: cost of the wrenches and of the null part of Λ, (nλ, nλ).
        lower: least value of each entry of Λ: 0, or -inf for couplings, (nλ,).
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
        self.G = np.zeros((nv, n))
        self.G[:, self.coupling_slice] = couplings.J.T
        self.H = np.zeros((n, n))
        self.H[self.coupling_slice, self.coupling_slice] = COUPLING_FORCE_COST * np.eye(coupled)
        self.lower = np.zeros(n)
        self.lower[self.coupling_slice] = -np.inf
        weights = np.array([cost.force] * 3 + [cost.moment] * 3)
        for contact, where in zip(contacts, self.lambda_slices, strict=True):
            W = contact.W
            null = np.eye(W.shape[1]) - np.linalg.pinv(W) @ W
            self.H[where, where] = W.T @ (weights[:, None] * W) + NULL_FORCE_COST * null
        self.row_label = tuple(
            Block(name=f"no slip {contact.name}", unit="m/s² or rad/s²", rows=_TWIST_AXES[: contact.rows])
            for contact in contacts
        )
        self.lambda_label = tuple(
            Block(
                name=f"contact force {contact.name}",
                unit="N",
                rows=tuple(f"point {k // 4} edge {k % 4}" for k in range(contact.W.shape[1])),
                limit=f"friction cone {contact.name}",
            )
            for contact in contacts
        )
        if coupled:
            self.row_label += (Block(name="coupling", unit="m/s² or rad/s²", rows=couplings.names),)
            self.lambda_label += (Block(name="coupling force", unit="N or N m", rows=couplings.names),)

    @property
    def n_lambda(self) -> int:
        """Number of entries of Λ."""
        return self.G.shape[1]

    @property
    def paper_equalities(self) -> int:
        """Equality rows as the paper counts them, 3 a contact point; and one for each coupling."""
        return sum(3 * len(contact.first.points) for contact in self.contacts) + len(self.couplings)

    def update(self, kinematics: Kinematics, dt: float) -> None:
        """Compute the rows and generalised forces of this tick."""
        for contact, rows, where in zip(self.contacts, self.row_slices, self.lambda_slices, strict=True):
            contact.update(kinematics)
            self.J[rows], self.rhs[rows] = contact.no_slip(dt)
            np.matmul(contact.motion.J.T, contact.W, out=self.G[:, where])
        if len(self.couplings):
            self.rhs[self._coupling_rows] = self.couplings.rhs(kinematics.q, kinematics.v, dt)

    def wrenches(self, forces: Array) -> dict[str, Array]:
        """Return the wrench of each contact, (6,), from Λ."""
        return {c.name: c.W @ forces[s] for c, s in zip(self.contacts, self.lambda_slices, strict=True)}

    def coupling_forces(self, forces: Array) -> dict[str, float]:
        """Return the force of each coupling on the joint that follows [N or N m], from Λ."""
        return dict(zip(self.couplings.names, forces[self.coupling_slice].tolist(), strict=True))


class TaskRows:
    """The weighted task rows of one set of tasks, stacked; allocated when the set changes."""

    def __init__(self, tasks: tuple[Task, ...], nv: int) -> None:
        self.tasks = tasks
        ends = np.concatenate([[0], np.cumsum([task.dim for task in self.tasks])]).astype(int)
        self._slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        self._J = np.zeros((ends[-1], nv))
        self._b = np.zeros(ends[-1])
        self._scale = np.ones(ends[-1])
        self._weighted = np.zeros_like(self._J)
        self.H = np.zeros((nv, nv))
        self.g = np.zeros(nv)

    def update(self, kinematics: Kinematics, time: float) -> None:
        """Compute ½ H, g of Σ w‖J q̈ − b‖²: H = Jᵀ w J, g = −Jᵀ w b."""
        for task, rows in zip(self.tasks, self._slices, strict=True):
            task.compute(kinematics, time, self._J[rows], self._b[rows])
            # at every tick, for a weight may change while its task runs
            self._scale[rows] = np.sqrt(task.weight * (1.0 if task.row_weights is None else task.row_weights))
        np.multiply(self._J, self._scale[:, None], out=self._weighted)
        np.matmul(self._weighted.T, self._weighted, out=self.H)
        np.matmul(self._weighted.T, -self._scale * self._b, out=self.g)


class Statement:
    """Everything that (35) needs at one tick.

    min ½ q̈ᵀH q̈ + gᵀq̈ + ½ w_τ‖τ‖² + ½ ΛᵀH_Λ Λ
    s.t. M q̈ + N = G Λ + S τ (12), J q̈ = rhs (18) (20) and couplings, D q̈ >= d (24) and balance,
    limits of q̈ (29) (31) and τ (28), Λ >= 0 (25) but for couplings

    Attributes:
        scene: the scene.
        M: (nv, nv).
        N: (nv,).
        tasks: cost rows.
        contacts: contact rows.
        joint_limits: bounds on q̈.
        collisions: rows on q̈.
        balance: rows on q̈, or None.
        torque_limits: (na,).
        cost: of accelerations, torques, forces and moments.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        cost: RegularisationSpec,
        joint_limits: JointLimitConstraint,
        collisions: CollisionConstraint,
        balance: BalanceConstraint | None = None,
    ) -> None:
        self.scene = scene
        self.cost = cost
        self.joint_limits = joint_limits
        self.collisions = collisions
        self.balance = balance
        self._D = np.zeros((0, scene.nv))
        self._d = np.zeros(0)
        self.torque_limits = scene.torque_limits
        self.M = np.zeros((scene.nv, scene.nv))
        self.N = np.zeros(scene.nv)
        self.tasks = TaskRows((), scene.nv)
        self.contacts = ContactRows((), scene.couplings, cost)
        self.acceleration_label = Block(
            name="acceleration", unit="m/s² or rad/s²", rows=scene.velocity_names, limit="joint limit"
        )
        self.torque_label = Block(name="torque", unit="N m", rows=scene.actuated_joint_names, limit="torque limit")
        self.dynamics_label = Block(name="dynamics", unit="N or N m", rows=scene.velocity_names)
        passive = np.ones(scene.nv, dtype=bool)
        passive[scene.actuated_v] = False
        self.unactuated = np.flatnonzero(passive)

    def set_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Take these tasks from now on."""
        self.tasks = TaskRows(tasks, self.scene.nv)

    @property
    def largest_row_count(self) -> int:
        """Number of rows of D that can be active with the present contacts."""
        return len(self._d)

    @property
    def row_count(self) -> int:
        """Number of active rows of D."""
        return self.collisions.count + (self.balance.count if self.balance else 0)

    @property
    def D(self) -> Array:
        """Left-hand side of the active rows on q̈, (row_count, nv)."""
        return self.collisions.D if self.balance is None else self._D[: self.row_count]

    @property
    def d(self) -> Array:
        """Least value of the active rows on q̈, (row_count,)."""
        return self.collisions.d if self.balance is None else self._d[: self.row_count]

    def row_labels(self) -> tuple[Block, ...]:
        """Name the active rows on q̈."""
        return (self.collisions.label(),) if self.balance is None else (self.collisions.label(), self.balance.label())

    def set_contacts(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> None:
        """Take these contacts from now on."""
        self.contacts = ContactRows(contacts, self.scene.couplings, self.cost)
        self.collisions.exempt({frozenset((c.first.link, c.second.link)) for c in contacts})
        rows = len(self.collisions.pairs)
        if self.balance is not None:
            self.balance.set_contacts(contacts, kinematics)
            rows += self.balance.size
        self._D = np.zeros((rows, self.scene.nv))
        self._d = np.zeros(rows)

    def update(self, kinematics: Kinematics, time: float, dt: float) -> None:
        """Compute everything at this tick."""
        np.copyto(self.M, kinematics.M)
        np.copyto(self.N, kinematics.N)
        self.contacts.update(kinematics, dt)
        self.collisions.update(kinematics)
        if self.balance is not None:
            self.balance.update(kinematics)
            first, last = self.collisions.count, self.row_count
            self._D[:first], self._d[:first] = self.collisions.D, self.collisions.d
            self._D[first:last], self._d[first:last] = self.balance.D, self.balance.d
        self.joint_limits.update(kinematics.q, kinematics.v)
        self.tasks.update(kinematics, time)

    def dynamics_residual(self, acceleration: Array, torque: Array, forces: Array) -> float:
        """Return the largest entry of M q̈ + N − G Λ − S τ relative to the largest force in it."""
        applied = self.contacts.G @ forces
        applied[self.scene.actuated_v] += torque
        inertial = self.M @ acceleration + self.N
        scale = max(1.0, float(np.abs(inertial).max()), float(np.abs(applied).max()))
        return float(np.abs(inertial - applied).max()) / scale
