"""Instants of contact changes along a curve with the least constraint violation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from com_trajectory.bezier import Bezier
from com_trajectory.phases import PlannedPhase
from com_trajectory.switching_kernel import cheapest_switching
from multi_qp_scene.arrays import Array

PARTS = 24
"""Number of parts of a curve; contacts change between two of them."""

_KINEMATIC_WEIGHT = 1e4  # reach takes precedence over equilibrium, as in the paper
_MARGIN = 0.03  # [m] larger margins of equilibrium have no value
_REACH_MARGIN = 0.1  # [m] likewise of the reach: near the limits of all effectors at once a body cannot satisfy them
_MARGIN_WEIGHT = 1e-3
_CONTACT_WEIGHT = 1e-5  # of each contact: as much as 1 cm of margin, since simultaneous contacts stretch a body
CHANGING_SHARE = 0.4
"""Minimum fraction of a window of three phases for the inner one, in which a limb moves to its next contact."""
_NONE = 1e-9  # [m]
_WEIGHTS: Array = np.array([_KINEMATIC_WEIGHT, _MARGIN_WEIGHT, _CONTACT_WEIGHT, _MARGIN, _REACH_MARGIN, _NONE])


@dataclass(frozen=True)
class Switching:
    """Contact changes on a curve and their constraint violations.

    Attributes:
        cuts: indices of the parts before which the phases change, (phases − 1,).
        kinematic: largest violation of a phase's reach by a control point of its parts [m]; 0 certifies that there is
            none.
        static: largest distance of such a control point from the phase's equilibrium region [m].
        margin: smallest margin of such a control point inside it, up to 0.03 m [m].
        cost: minimised cost.
    """

    cuts: tuple[int, ...]
    kinematic: float
    static: float
    margin: float
    cost: float

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold."""
        return self.kinematic == 0.0 and self.static <= _NONE


def best_switching(curve: Bezier, phases: Sequence[PlannedPhase], *, parts: int = PARTS) -> Switching:
    """Return the contact changes along a curve with the least violation of its phases' constraints.

    The curve is cut into parts, each represented by its control points, whose convex hull contains it: absence of
    violations is then proven for every instant between.

    Args:
        curve: of the centre of mass.
        phases: one or more, in order.
        parts: number of parts.
    """
    count = len(phases)
    inner = max(1, round(CHANGING_SHARE * parts / max(1.0, (count - 1) / 2.0)))
    lengths = np.full(count, inner)
    lengths[0] = lengths[-1] = 1
    A = np.concatenate([phase.limits[0] for phase in phases])
    b = np.concatenate([phase.limits[1] for phase in phases])
    rows = [size for phase in phases for size in phase.limits[2]]
    ends = np.add.accumulate(rows)
    for number, phase in enumerate(phases):
        if phase.region.empty:
            ends[2 * number + 1] = -1
    contacts = np.array([len(phase.phase.contacts) for phase in phases])
    buffer, choices = np.empty((2 * count + 3, parts + 1)), np.empty((count, parts + 1), dtype=np.int64)
    cuts, found = np.empty(count - 1, dtype=np.int64), np.empty(4)
    cheapest_switching(
        curve.parts(parts), curve.points, A, b, ends, contacts, lengths, _WEIGHTS, buffer, choices, cuts, found
    )
    kinematic, static, least, cost = found.tolist()
    return Switching(tuple(cuts.tolist()), kinematic, max(static, 0.0), least, cost)
