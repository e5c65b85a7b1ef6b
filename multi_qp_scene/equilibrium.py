"""What the contact planner asks of a test of static equilibrium, whoever makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.contact_sequence import Contact

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SupportRegion:
    """Where the centre of mass may be, seen from above: `normals @ c <= offsets`.

    Attributes:
        normals: unit rows, (m, 2).
        offsets: [m], (m,).
        vertices: corners, counter-clockwise, (k, 2) [m].
    """

    normals: Array
    offsets: Array
    vertices: Array

    @property
    def is_empty(self) -> bool:
        """Whether no place of the centre of mass is in equilibrium."""
        return len(self.vertices) == 0

    @property
    def centre(self) -> Array:
        """Mean of the corners, (2,) [m]."""
        return np.asarray(self.vertices.mean(axis=0))

    def margin(self, com: Array) -> float:
        """Return the distance from the region's edge [m], negative outside; -inf where the region is empty."""
        if self.is_empty:
            return -np.inf
        return float(np.min(self.offsets - self.normals @ com[:2]))


class EquilibriumTest(Protocol):
    """Finds the region of static equilibrium of a set of contacts.

    The contact planner and the trajectory of the centre of mass know nothing of one another; who starts the planner
    hands it one of these.
    """

    def __call__(self, contacts: Sequence[Contact]) -> SupportRegion:
        """Return the region for these contacts; an empty one where there is none."""
