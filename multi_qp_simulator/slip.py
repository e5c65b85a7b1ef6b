"""Slip of contacts since they were made, vectorised over all contacts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.motion_table import MotionTable
from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled


class SlipWatch:
    """Largest slip of the active contacts; equal to `ActiveContact.slip` of each."""

    def __init__(self) -> None:
        self._contacts: list[ActiveContact] = []
        self._table: MotionTable | None = None
        self._rows = np.zeros(0, dtype=np.intp)
        self._made = np.zeros((0, 4, 4))
        self._turns = np.zeros(0, dtype=np.bool_)

    def worst(self, controller: Controller) -> tuple[float, float]:
        """Return the largest distance [m] and the largest angle [rad] at the last step."""
        contacts, table = list(controller.contacts.values()), controller.kinematics.motions
        if table is None:
            slips = [contact.slip() for contact in contacts]
            return max((s[0] for s in slips), default=0.0), max((s[1] for s in slips), default=0.0)
        if table is not self._table or contacts != self._contacts:
            self._contacts, self._table = contacts, table
            self._rows = np.array([table.index[contact.frames] for contact in contacts], dtype=np.intp)
            self._made = np.array([contact.X_second_first.homogeneous for contact in contacts]).reshape(-1, 4, 4)
            self._turns = np.array([contact.rows == 6 for contact in contacts], dtype=np.bool_)
        distance, angle = worst_slip(table.X, self._rows, self._made, self._turns)
        return float(distance), float(angle)


@compiled
def worst_slip(X: Array, rows: NDArray[np.intp], made: Array, turns: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the largest distance [m] and angle [rad] between poses now and when contacts were made.

    Args:
        X: of all pairs of frames, (k, 4, 4).
        rows: index of the pair of each contact, (n,).
        made: poses when the contacts were made, (n, 4, 4).
        turns: whether the angle of a contact is evaluated, (n,).
    """
    distance = angle = 0.0
    for c in range(len(rows)):
        now, squares, apart = X[rows[c]], 0.0, 0.0
        for i in range(3):
            squares += (now[i, 3] - made[c, i, 3]) ** 2
            for j in range(3):
                apart += (now[i, j] - made[c, i, j]) ** 2
        distance = max(distance, math.sqrt(squares))
        if turns[c]:
            # the Frobenius norm of R₁ - R₂ is 2√2 sin(angle/2), accurate for small angles, unlike an arc cosine
            angle = max(angle, 2.0 * math.asin(min(1.0, math.sqrt(apart / 8.0))))
    return distance, angle
