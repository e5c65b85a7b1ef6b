"""When do contacts change along a curve? The instants that break the constraints least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from com_trajectory.bezier import Bezier
from com_trajectory.phases import PlannedPhase

Array = NDArray[np.float64]

PARTS = 24
"""Into how many parts a curve is cut; contacts change between two of them."""

_KINEMATIC_WEIGHT = 1e4  # reach comes before equilibrium, as in the paper
_ROOM = 0.03  # [m] a margin beyond this is worth nothing more
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
    costs = np.empty((len(phases), parts))
    kinematic, static, rooms = np.empty_like(costs), np.empty_like(costs), np.empty_like(costs)
    for number, phase in enumerate(phases):
        kinematic[number], static[number], rooms[number] = _judged(points, curve.points, phase)
        worth = _ROOM_WORTH * (_ROOM - rooms[number]) + _CONTACT_WORTH * len(phase.phase.contacts)
        costs[number] = _KINEMATIC_WEIGHT * kinematic[number] + static[number] + worth
    inner = max(1, round(CHANGING_SHARE * parts / max(1.0, (len(phases) - 1) / 2.0)))
    lengths = [1] + [inner] * (len(phases) - 2) + [1]
    cuts, cost = _cheapest_cuts(costs, lengths)
    phase_of_part = np.searchsorted(np.array(cuts), np.arange(parts), side="right")
    chosen = (phase_of_part, np.arange(parts))
    return Switching(
        cuts,
        float(kinematic[chosen].max()),
        float(static[chosen].max()),
        float(rooms[chosen].min()),
        cost,
    )


def _judged(points: Array, whole: Array, phase: PlannedPhase) -> tuple[Array, Array, Array]:
    """Return of each part how far it leaves the reach, the region, and how much room it has in the region.

    Args:
        points: control points of the parts, (parts, n + 1, 3) [m].
        whole: control points of the whole curve, whose hull holds all of them, (n + 1, 3) [m].
        phase: whose limits count.
    """
    A, b = phase.reach.A, phase.reach.b
    crossed = (A @ whole.T).max(axis=1, initial=-np.inf) > b + _NONE  # no part can cross the other faces
    outside = np.zeros(len(points))
    if crossed.any():
        outside = (points @ A[crossed].T - b[crossed]).max(axis=(1, 2))
        outside[outside <= _NONE] = 0.0
    region = phase.region
    if region.empty:  # nowhere is better than elsewhere
        return outside, np.ones(len(points)), np.zeros(len(points))
    if len(region.a) == 0:
        return outside, np.zeros(len(points)), np.full(len(points), _ROOM)
    margin = (region.a - points @ region.A.T).min(axis=(1, 2))
    return outside, np.maximum(-margin, 0.0), np.minimum(np.maximum(margin, 0.0), _ROOM)


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
