"""Data of the QP (35) of one tick: dynamics, limits and cost, independent of formulation and solver."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.constraints.base import Bound, RowConstraint
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.contacts.rows import ContactRows
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.residual_kernel import residual
from multi_qp_controller.qp.labels import LabelBlock
from multi_qp_controller.qp.relaxation import RelaxationOrder
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.task_rows import TaskRows
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.control import RegularisationSpec
from multi_qp_scene.stateful import conformed


class QPData:
    """Data of (35) at one tick.

    min ½ q̈ᵀH q̈ + gᵀq̈ + ½ w_τ‖τ‖² + ½ ΛᵀH_Λ Λ
    s.t. M q̈ + N = G Λ + S τ (12), J q̈ = rhs (18) (20) and couplings, D q̈ >= d (24) and balance,
    limits of q̈ (29) (31) and τ (28), Λ >= 0 (25) except for couplings

    Attributes:
        scene: the scene.
        row_count: number of active rows of D.
        M: (nv, nv).
        N: (nv,).
        tasks: cost rows.
        contacts: contact rows.
        rows: constraints that are rows D q̈ >= d.
        bounds: constraints that are bounds on q̈ or τ.
        limited: flags of the entries of q̈ that can be bounded, (nv,).
        lower: bounds of q̈ at this tick, (nv,).
        upper: (nv,).
        torque_lower: bounds of τ at this tick, (na,).
        torque_upper: (na,).
        cost: regularisation weights of accelerations, torques, forces and moments.
        relaxation: order in which groups of rows get slack if the QP is infeasible.
        given_up: names of tasks to be left out.
    """

    def __init__(
        self,
        scene: Scene,
        constraints: Iterable[RowConstraint | Bound],
        *,
        cost: RegularisationSpec,
        relax: Iterable[str] = (),
    ) -> None:
        self.scene = scene
        self.cost = cost
        self.relaxation = RelaxationOrder(relax, scene)
        self.given_up: tuple[str, ...] = ()
        constraints = tuple(constraints)
        self.rows = tuple(one for one in constraints if isinstance(one, RowConstraint))
        self.bounds: tuple[Bound, ...] = ()
        self._updated = False
        self.limited = np.zeros(scene.nv, dtype=bool)
        self._bounds, self._torque_bounds = (
            np.repeat([[-np.inf], [np.inf]], size, axis=1) for size in (scene.nv, scene.na)
        )
        self._constant_bounds, self._constant_torque_bounds = self._bounds.copy(), self._torque_bounds.copy()
        (self.lower, self.upper), (self.torque_lower, self.torque_upper) = self._bounds, self._torque_bounds
        for bound in constraints:
            if isinstance(bound, Bound):
                self.add_bound(bound)
        self.row_count = 0
        self._active_contacts: tuple[ActiveContact, ...] | None = None
        self._allowed_to_touch: frozenset[frozenset[str]] = frozenset()
        self._row_buffers: dict[int, tuple[Array, Array]] = {}
        self._allocate()
        self.M = np.zeros((scene.nv, scene.nv))
        self.N = np.zeros(scene.nv)
        self.tasks = TaskRows((), scene.nv)
        self._cached_tasks: dict[tuple[Task, ...], TaskRows] = {}
        self._cached_contacts: dict[object, ContactRows] = {}
        self.contacts = ContactRows((), scene.couplings, cost)
        self.acceleration_label = LabelBlock(
            name="acceleration", unit="m/s² or rad/s²", rows=scene.velocity_names, limit="joint limit"
        )
        self.torque_label = LabelBlock(name="torque", unit="N m", rows=scene.actuated_joint_names, limit="torque limit")
        self.dynamics_label = LabelBlock(name="dynamics", unit="N or N m", rows=scene.velocity_names)
        moving = [s.v_slice for s in scene.subsystems.values() if s.v_slice.stop > s.v_slice.start]
        self._moving = np.array([(where.start, where.stop) for where in moving], dtype=np.intp).reshape(-1, 2)
        self._motors = scene.actuated_v
        passive = np.ones(scene.nv, dtype=bool)
        passive[scene.actuated_v] = False
        self.unactuated = np.flatnonzero(passive)

    def add_bound(self, bound: Bound) -> None:
        """Add a bound.

        Raises:
            ArgumentError: after the first tick, whose formulation has been prepared for the bounds until then.
        """
        if self._updated:
            raise ArgumentError("a bound can only be added before the first tick of a controller: create another one")
        self.bounds += (bound,)
        on_torque = bound.acts_on == "torque"
        if not on_torque:
            self.limited |= bound.limited
        if bound.constant:
            bound.update(None, *(self._constant_torque_bounds if on_torque else self._constant_bounds))
        varying = [one for one in self.bounds if not one.constant]
        self._varying = [one for one in varying if one.acts_on == "acceleration"]
        self._varying_torque = [one for one in varying if one.acts_on == "torque"]
        self._torque_bounds[:] = self._constant_torque_bounds

    def set_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Set the active tasks."""
        cached = self._cached_tasks.get(tasks)
        self.tasks = TaskRows(tasks, self.scene.nv) if cached is None else cached
        self.tasks.unbind()

    def cache_tasks(self, kinematics: Kinematics) -> None:
        """Cache the rows of the present tasks, with their table, for the next activation of these tasks."""
        self.tasks.build_table(kinematics)
        self.tasks.update_weights()
        self._cached_tasks[self.tasks.tasks] = self.tasks

    @property
    def largest_row_count(self) -> int:
        """Number of rows of D that can be active with the present contacts."""
        return len(self._d)

    @property
    def all_rows(self) -> tuple[Array, Array]:
        """Arrays of which D and d are the first rows; constant for a set of contacts."""
        return self._D, self._d

    @property
    def D(self) -> Array:
        """Left-hand side of the active rows on q̈, those of collisions first, (row_count, nv)."""
        return self._D[: self.row_count]

    @property
    def d(self) -> Array:
        """Right-hand side of the active rows on q̈, (row_count,)."""
        return self._d[: self.row_count]

    def row_labels(self) -> tuple[LabelBlock, ...]:
        """Return the labels of the active rows on q̈."""
        return tuple(constraint.label() for constraint in self.rows)

    def steps_of_rows(self) -> NDArray[np.int8]:
        """Return the step of the relaxation of each active row on q̈, (row_count,)."""
        steps = [self.relaxation.of_rows(constraint.group) for constraint in self.rows]
        return np.repeat(np.array(steps, dtype=np.int8), [constraint.count for constraint in self.rows])

    def steps_of_forces(self) -> NDArray[np.int8]:
        """Return the step of the relaxation of each entry of Λ, 0 for couplings, (nλ,)."""
        steps = np.zeros(self.contacts.n_lambda, dtype=np.int8)
        for contact, where in zip(self.contacts.contacts, self.contacts.lambda_slices, strict=True):
            steps[where] = self.relaxation.of_contact(contact)
        return steps

    def set_contacts(self, contacts: tuple[ActiveContact, ...], kinematics: Kinematics) -> None:
        """Set the active contacts; nothing changes if they are the present ones and have no feedback."""
        if contacts == self._active_contacts and all(contact.feedback is None for contact in contacts):
            return
        self._update_contacts(contacts)
        for constraint in self.rows:
            constraint.set_contacts(contacts, kinematics)
        self._allocate()

    def reset(self) -> None:
        """Discard what the constraints carry from tick to tick, after a jump of the state."""
        for constraint in self.rows:
            constraint.reset()

    def get_state(self) -> dict[str, Any]:
        """Return the state of each constraint with rows on q̈, by the name of its class."""
        return {type(constraint).__name__: constraint.get_state() for constraint in self.rows}

    def restore(self, saved: dict[str, Any], contacts: tuple[ActiveContact, ...]) -> None:
        """Restore a saved state, with the contacts of that tick."""
        self._update_contacts(contacts)
        for constraint in self.rows:
            constraint.set_state(conformed(constraint.Checkpoint, saved[type(constraint).__name__], self.scene))
        self._allocate()

    def _update_contacts(self, contacts: tuple[ActiveContact, ...]) -> None:
        self._active_contacts = contacts
        key = tuple([contact.key for contact in contacts])
        rows = self._cached_contacts.get(key)
        if rows is None:
            rows = self._cached_contacts[key] = ContactRows(contacts, self.scene.couplings, self.cost)
        else:
            rows.replace_contacts(contacts)
        self.contacts = rows
        self._exempt()

    def allow_touching(self, pairs: frozenset[frozenset[str]]) -> None:
        """Exempt further pairs of links from collision avoidance, besides those in contact."""
        if pairs != self._allowed_to_touch:
            self._allowed_to_touch = pairs
            self._exempt()

    def _exempt(self) -> None:
        in_contact = self.contacts.held_together
        links = in_contact | self._allowed_to_touch if self._allowed_to_touch else in_contact
        for constraint in self.rows:
            constraint.exempt(links, self.contacts.fixed_joints)

    def _allocate(self) -> None:
        """Allocate the largest number of rows on q̈ for the present contacts."""
        rows = sum([constraint.size for constraint in self.rows])
        if rows not in self._row_buffers:
            self._row_buffers[rows] = np.full((rows, self.scene.nv), 0.0), np.full(rows, 0.0)
        self._D, self._d = self._row_buffers[rows]

    def update(self, kinematics: Kinematics, time: float, horizon: float) -> None:
        """Compute all data of this tick.

        Args:
            kinematics: at the state of the tick.
            time: present time [s].
            horizon: time in which no-slip rows correct their error, `Controller.horizon` [s].
        """
        self._updated = True
        self.M, self.N = kinematics.M, kinematics.N
        self.contacts.update(kinematics, horizon)
        first, D, d = 0, self._D, self._d
        for constraint in self.rows:
            constraint.update(kinematics, D, d)
            if constraint.count:
                first += constraint.count
                D, d = self._D[first:], self._d[first:]
        self.row_count = first
        self._bounds[:] = self._constant_bounds
        for bound in self._varying:
            bound.update(kinematics, self.lower, self.upper)
        if self._varying_torque:
            self._torque_bounds[:] = self._constant_torque_bounds
            for bound in self._varying_torque:
                bound.update(kinematics, self.torque_lower, self.torque_upper)
        self.tasks.update(kinematics, time, self.given_up)

    def snapshot(self) -> QPData:
        """Return a copy of the data of this tick for `Formulation.build`; it cannot be updated."""
        one = copy.copy(self)
        one.M, one.N, one._D, one._d = self.M.copy(), self.N.copy(), self._D.copy(), self._d.copy()
        one.tasks, one.contacts = self.tasks.snapshot(), self.contacts.snapshot()
        one.lower, one.upper = self.lower.copy(), self.upper.copy()
        one.torque_lower, one.torque_upper = self.torque_lower.copy(), self.torque_upper.copy()
        one.rows = tuple(constraint.snapshot() for constraint in self.rows)
        return one

    def equality_residuals(self, acceleration: Array, torque: Array, reactions: Array) -> tuple[float, float]:
        """Return the relative residuals of the dynamics and of the no-slip rows; w are the reactions.

        The largest entry of M q̈ + N − Jᵀ w − S τ relative to the largest force in it or 1, and the norm of J q̈ − rhs
        relative to the largest of |q̈|, |rhs| and 1.
        """
        moving, motors, J, rhs = self._moving, self._motors, self.contacts.J, self.contacts.rhs
        return residual(moving, motors, self.M, self.N, J, rhs, acceleration, torque, reactions)
