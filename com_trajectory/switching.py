"""When do contacts change along a curve? The instants that break the constraints least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from com_trajectory.bezier import Bezier
from com_trajectory.phases import PlannedPhase
from com_trajectory.switching_kernel import judge

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
    points = curve.parts(parts)
    reach, region = np.empty((len(phases), parts)), np.empty((len(phases), parts))
    contacts = np.array([[len(phase.phase.contacts)] for phase in phases])
    for number, phase in enumerate(phases):
        judge(points, curve.points, phase.reach.A, phase.reach.b, -_REACH_ROOM, reach[number])
        if phase.region.empty:  # nowhere is better than elsewhere
            region[number] = 1.0
        else:
            judge(points, curve.points, phase.region.A, phase.region.a, -_ROOM, region[number])
    kinematic, static = np.where(reach > _NONE, reach, 0.0), np.maximum(region, 0.0)
    rooms = np.maximum(-region, 0.0)
    worth = _ROOM_WORTH * (_ROOM + _REACH_ROOM - rooms + np.minimum(reach, 0.0)) + _CONTACT_WORTH * contacts
    costs = _KINEMATIC_WEIGHT * kinematic + static + worth
    inner = max(1, round(CHANGING_SHARE * parts / max(1.0, (len(phases) - 1) / 2.0)))
    lengths = [1] + [inner] * (len(phases) - 2) + [1]
    cuts, cost = _cheapest_cuts(costs, lengths)
    starts = np.array(cuts, dtype=np.int64)
    phase_of_part = np.searchsorted(starts, np.arange(parts), side="right")
    chosen = (phase_of_part, np.arange(parts))
    return Switching(
        cuts,
        float(kinematic[chosen].max()),
        float(static[chosen].max()),
        float(rooms[chosen].min()),
        cost,
    )


def _cheapest_cuts(costs: Array, lengths: Sequence[int]) -> tuple[tuple[int, ...], float]:
    """Return the parts at which to go on to the next row, by dynamic programming.

    Args:
        costs: of each part in each row, (rows, parts).
        lengths: least number of parts of each row.
    """
    rows, parts = costs.shape
    sums = np.concatenate([np.zeros((rows, 1)), costs.cumsum(axis=1)], axis=1)
    best = sums[0].copy()  # best[i]: cheapest way to have the first i parts done by the rows so far
    best[: lengths[0]] = np.inf
    choices = []
    for row in range(1, rows):
        starts = best - sums[row]
        lowest = np.minimum.accumulate(starts)
        where = np.where(starts <= lowest, np.arange(parts + 1), 0)
        choices.append(np.maximum.accumulate(where))  # the last part at which the running minimum was set
        least = lengths[row]
        best = np.full(parts + 1, np.inf)
        best[least:] = lowest[: parts + 1 - least] + sums[row, least:]
    cuts: list[int] = []
    end = parts
    for origin, least in zip(reversed(choices), reversed(lengths[1:]), strict=True):
        end = int(origin[end - least])
        cuts.append(end)
    return tuple(reversed(cuts)), float(best[parts])
