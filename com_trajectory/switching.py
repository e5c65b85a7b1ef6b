"""When do contacts change along a curve? The instants that break the constraints least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from com_trajectory.bezier import Bezier
from com_trajectory.phases import PlannedPhase
from com_trajectory.switching_kernel import cheapest_switching

Array = NDArray[np.float64]

PARTS = 24
"""Into how many parts a curve is cut; contacts change between two of them."""

_KINEMATIC_WEIGHT = 1e4  # reach comes before equilibrium, as in the paper
_ROOM = 0.03  # [m] a margin beyond this is worth nothing more
_REACH_ROOM = 0.1  # [m] likewise: effectors are judged one by one, and a body that is near all their limits breaks them
_ROOM_WORTH = 1e-3
_CONTACT_WORTH = 1e-5  # of a contact less: as much as 1 cm of room, since all contacts at once stretch a body more
CHANGING_SHARE = 0.4
"""Least share of a window of three phases for the inner one, in which a limb moves to its next contact."""
_NONE = 1e-9  # [m]
_WEIGHTS: Array = np.array([_KINEMATIC_WEIGHT, _ROOM_WORTH, _CONTACT_WORTH, _ROOM, _REACH_ROOM, _NONE])


@dataclass(frozen=True)
class Switching:
    """The instants of contact changes on a curve, and what they break.

    Attributes:
        cuts: numbers of the parts before which the phases change, (phases − 1,).
        kinematic: largest violation of a phase's reach by a control point of its parts [m]; 0 proves that
        there is none.
        static: largest distance of such a control point from the phase's equilibrium region [m].
        room: least margin of such a control point inside it, up to 0.03 m [m].
        cost: what was minimised.
    """

    cuts: tuple[int, ...]
    kinematic: float
    static: float
    room: float
    cost: float

    @property
    def fine(self) -> bool:
        """Whether nothing is broken."""
        return self.kinematic == 0.0 and self.static <= _NONE


def best_switching(curve: Bezier, phases: Sequence[PlannedPhase], *, parts: int = PARTS) -> Switching:
    """Return the contact changes along a curve that break its phases' constraints least.

    The curve is cut into parts, each judged by its control points, whose hull it lies in: no violation of
    these is a proof
    for every instant between.

    Args:
        curve: of the centre of mass.
        phases: in their order, one or more.
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
    room, choices = np.empty((2 * count + 3, parts + 1)), np.empty((count, parts + 1), dtype=np.int64)
    cuts, found = np.empty(count - 1, dtype=np.int64), np.empty(4)
    cheapest_switching(
        curve.parts(parts), curve.points, A, b, ends, contacts, lengths, _WEIGHTS, room, choices, cuts, found
    )
    kinematic, static, least, cost = found.tolist()
    return Switching(tuple(cuts.tolist()), kinematic, max(static, 0.0), least, cost)
