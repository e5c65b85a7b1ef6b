"""Relaxation of an infeasible QP: which rows may get slack, in which order, and in which part of the scene."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scene import Scene

if TYPE_CHECKING:
    from multi_qp_controller.qp.qp_data import QPData

#: Groups of rows that can be relaxed, and their description in messages. All others are never relaxed: dynamics, no
#: slip, torque limits.
GROUPS = {
    "collisions": "collision limits",
    "grips": "friction of contacts between subsystems",
    "limits": "joint limits",
    "balance": "balance",
    "supports": "friction of contacts with the environment",
}


class RelaxationOrder:
    """Steps in which groups of rows of an infeasible QP get slack; each step keeps the slack of those before it.

    Attributes:
        steps: groups in their order.
        limits: step of limits of q̈, from 1 on; 0: never.
    """

    def __init__(self, steps: Iterable[str], scene: Scene) -> None:
        self.steps = tuple(steps)
        self._step = {group: k for k, group in enumerate(self.steps, start=1)}
        self._subsystems = frozenset(scene.subsystems)
        self.limits = self._step.get("limits", 0)

    def of_rows(self, group: str) -> int:
        """Return the step of the rows of a constraint on q̈, by its `RowConstraint.group`, 0: never."""
        return self._step.get(group, 0)

    def of_contact(self, contact: ActiveContact) -> int:
        """Return the step of the wrench cone of a contact, 0: never."""
        between = all(surface.name.split("/")[0] in self._subsystems for surface in (contact.first, contact.second))
        return self._step.get("grips" if between else "supports", 0)

    def described(self, step: int) -> str:
        """Return what is relaxed at a step."""
        return ", ".join(GROUPS[group] for group in self.steps[:step])


def components(qp_data: QPData) -> Indices:
    """Return the component of each entry of v at this tick, (nv,).

    Subsystems are in one component if rows of contacts, couplings, tasks or D depend on both: no other term couples
    accelerations, torques and forces of two subsystems, so that components can be solved separately.
    """
    scene = qp_data.scene
    slices = [s.v_slice for s in scene.subsystems.values() if s.v_slice.stop > s.v_slice.start]
    rows = np.concatenate([qp_data.contacts.J, qp_data.tasks.J, qp_data.D]) != 0.0
    involved = np.stack([rows[:, where].any(axis=1) for where in slices], axis=1).astype(float)
    labels = connected_components(involved.T @ involved > 0.0, directed=False)[1]
    found = np.zeros(scene.nv, dtype=np.intp)
    for label, where in zip(labels, slices, strict=True):
        found[where] = label
    return found


def component_names(scene: Scene, entries: NDArray[np.bool_]) -> list[str]:
    """Return the subsystems that own any of the flagged entries of v, (nv,)."""
    return [name for name, subsystem in scene.subsystems.items() if entries[subsystem.v_slice].any()]


def component_of_rows(rows: Array, owner: Indices) -> Indices:
    """Return the component of each row, (k,), by its first nonzero column; 0 for a row of zeros.

    Args:
        rows: (k, nv).
        owner: component of each entry of v, (nv,).
    """
    return owner[np.argmax(rows != 0.0, axis=1)] if len(rows) else np.zeros(0, dtype=np.intp)
