"""The QP (35), stated once: physics, limits and cost of one tick, before anyone decides how to solve it."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.constraints.balance import BalanceConstraint
from multi_qp_controller.constraints.collisions import CollisionConstraint
from multi_qp_controller.constraints.joint_limits import JointLimitConstraint
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.contact_rows import ContactRows
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.qp.labels import Block
from multi_qp_controller.residual_kernel import residual
from multi_qp_controller.task_rows import TaskRows
from multi_qp_controller.tasks.base import Task
from multi_qp_scene.jit import COMPILED
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.scenario_file import RegularisationSpec

Array = NDArray[np.float64]


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
        self._taken: tuple[ActiveContact, ...] | None = None
        self._let_touch: frozenset[frozenset[str]] = frozenset()
        self._room: dict[int, tuple[Array, Array]] = {}
        self._allocate()
        self.torque_limits = scene.torque_limits
        self.M = np.zeros((scene.nv, scene.nv))
        self.N = np.zeros(scene.nv)
        self.tasks = TaskRows((), scene.nv)
        self._foreseen: dict[tuple[Task, ...], TaskRows] = {}
        self._known_contacts: dict[object, ContactRows] = {}
        self.contacts = ContactRows((), scene.couplings, cost)
        self.acceleration_label = Block(
            name="acceleration", unit="m/s² or rad/s²", rows=scene.velocity_names, limit="joint limit"
        )
        self.torque_label = Block(name="torque", unit="N m", rows=scene.actuated_joint_names, limit="torque limit")
        self.dynamics_label = Block(name="dynamics", unit="N or N m", rows=scene.velocity_names)
        moving = [s.v_slice for s in scene.subsystems.values() if s.v_slice.stop > s.v_slice.start]
        self._moving = np.array([(where.start, where.stop) for where in moving], dtype=np.intp).reshape(-1, 2)
        self._motors = scene.actuated_v
        passive = np.ones(scene.nv, dtype=bool)
        passive[scene.actuated_v] = False
        self.unactuated = np.flatnonzero(passive)

    def set_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Take these tasks from now on."""
        foreseen = self._foreseen.get(tasks)
        self.tasks = TaskRows(tasks, self.scene.nv) if foreseen is None else foreseen
        self.tasks.unbind()

    def foresee_tasks(self, kinematics: Kinematics) -> None:
        """Keep the rows of the present tasks, with their table, for whenever these are taken again."""
        self.tasks.tabulate(kinematics)
        self.tasks.weigh()
        self._foreseen[self.tasks.tasks] = self.tasks

    @property
    def largest_row_count(self) -> int:
        """Number of rows of D that can be active with the present contacts."""
        return len(self._d)

    @property
    def all_rows(self) -> tuple[Array, Array]:
        """The arrays that D and d are the beginning of, which stay the same while contacts do."""
        return self._D, self._d

    @property
    def row_count(self) -> int:
        """Number of active rows of D."""
        return self.collisions.count + (self.balance.count if self.balance else 0)

    @property
    def D(self) -> Array:
        """Left-hand side of the active rows on q̈, those of collisions first, (row_count, nv)."""
        return self._D[: self.row_count]

    @property
    def d(self) -> Array:
        """Least value of the active rows on q̈, (row_count,)."""
        return self._d[: self.row_count]

    def row_labels(self) -> tuple[Block, ...]:
        """Name the active rows on q̈."""
        return (self.collisions.label(),) if self.balance is None else (self.collisions.label(), self.balance.label())

    def set_contacts(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> None:
        """Take these contacts from now on; where they are those of before, and cannot have moved, nothing is to do."""
        if contacts == self._taken and all(contact.feedback is None for contact in contacts):
            return
        self._take(contacts)
        if self.balance is not None:
            self.balance.set_contacts(contacts, kinematics)
        self._allocate()

    def rehearse(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> None:
        """Go through what `set_contacts` of these will have to find out, and take none of it up."""
        if self.balance is not None and contacts != self._taken:
            self.balance.standing(contacts, kinematics)

    def memory(self) -> Memory:
        """Return what the rows on q̈ carry from tick to tick."""
        return {
            "collisions": self.collisions.memory(),
            "balance": None if self.balance is None else self.balance.memory(),
        }

    def resume(self, memory: Memory, contacts: tuple[ActiveContact, ...]) -> None:
        """Go on from a memory, with the contacts of its moment."""
        self._take(contacts)
        self.collisions.resume(memory["collisions"])
        if self.balance is not None:
            self.balance.resume(memory["balance"])
        self._allocate()

    def _take(self, contacts: tuple[ActiveContact, ...]) -> None:
        self._taken = contacts
        key = tuple([contact.key for contact in contacts])
        rows = self._known_contacts.get(key)
        if rows is None:
            rows = self._known_contacts[key] = ContactRows(contacts, self.scene.couplings, self.cost)
        else:
            rows.take(contacts)
        self.contacts = rows
        self._exempt()

    def let_touch(self, pairs: frozenset[frozenset[str]]) -> None:
        """Let also these pairs of links come as near as they like, besides those in contact."""
        if pairs != self._let_touch:
            self._let_touch = pairs
            self._exempt()

    def _exempt(self) -> None:
        held = self.contacts.held_together
        self.collisions.exempt(held | self._let_touch if self._let_touch else held)

    def _allocate(self) -> None:
        """Make room for the rows on q̈ that the present contacts can ask for."""
        rows = len(self.collisions.names) + (self.balance.size if self.balance is not None else 0)
        if rows not in self._room:
            self._room[rows] = np.full((rows, self.scene.nv), 0.0), np.full(rows, 0.0)
        self._D, self._d = self._room[rows]
        self.collisions.write_into(self._D, self._d)

    def update(self, kinematics: Kinematics, time: float, dt: float) -> None:
        """Compute everything at this tick."""
        self.M, self.N = kinematics.M, kinematics.N
        self.contacts.update(kinematics, dt)
        self.collisions.update(kinematics)
        if self.balance is not None:
            self.balance.update(kinematics, self._D, self._d, self.collisions.count)
        self.joint_limits.update(kinematics.q, kinematics.v)
        self.tasks.update(kinematics, time)

    def kept(self) -> Statement:
        """Return the statement of this tick, which the next tick does not overwrite: to be written, not updated."""
        one = copy.copy(self)
        one.M, one.N, one._D, one._d = self.M.copy(), self.N.copy(), self._D.copy(), self._d.copy()
        one.tasks, one.contacts = self.tasks.kept(), self.contacts.kept()
        one.joint_limits, one.collisions = copy.copy(self.joint_limits), self.collisions.kept()
        one.joint_limits.lower, one.joint_limits.upper = self.joint_limits.lower.copy(), self.joint_limits.upper.copy()
        one.balance = None if self.balance is None else self.balance.kept()
        return one

    def dynamics_residual(self, acceleration: Array, torque: Array, reactions: Array) -> float:
        """Return the largest entry of M q̈ + N − Jᵀ w − S τ relative to the largest force in it; w the reactions."""
        motors, J = self._motors, self.contacts.J
        if COMPILED:
            return residual(self._moving, motors, self.M, self.N, J, acceleration, torque, reactions)
        inertial, applied = self.M @ acceleration + self.N, reactions @ J
        applied[motors] += torque
        scale = max(1.0, float(np.abs(inertial).max()), float(np.abs(applied).max()))
        return float(np.abs(inertial - applied).max()) / scale
