"""Curve of one window that obeys (1) and (4) at every instant: the attractor of (8) as the variable of a QP."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from com_trajectory.bezier import Bezier, product_weights
from com_trajectory.dynamic_kernel import FOUND, FULL, ConstraintData, CurveData, find_attractor
from com_trajectory.phases import PlannedPhase
from com_trajectory.simplex_kernel import workspace
from com_trajectory.windows import CoMState, PhaseWindow
from multi_qp_scene.arrays import Array
from multi_qp_scene.kernel_data import KernelData

PULLS = (2, 4, 8)
"""Repetitions of the attractor; more keep the curve near it for longer."""

_PARTS = 3  # parts of the curve in each phase; more are less conservative
_BEYOND = 0.03  # [m] of a curve's control points beyond its start and the rests of its window, along the world's axes
_FACETS = 64  # room for facets of each cone at first


class WindowSearch:
    """Search of the curves of windows; the facets of the cones that it generates are kept between windows."""

    def __init__(self, phases: Sequence[PlannedPhase]) -> None:
        """Prepare for the constraints of all phases."""
        self._phases = phases
        self._limits = _constraint_data(phases)
        self._curve = _curve_data()
        self._tables = KernelData(self._limits), KernelData(self._curve)
        self._first = 0
        self._preferred = np.zeros(3)

    def set_ends(self, window: PhaseWindow, start: CoMState, preferred: Array) -> None:
        """Set the ends of the next curves.

        Args:
            window: range of the phases.
            start: position, velocity and acceleration at its beginning.
            preferred: nominal attractor, (3,) [m].
        """
        curve = self._curve
        self._first, self._preferred = window.first, preferred
        curve.start[:] = start
        rests = [phase.rest.point for phase in self._phases[window.first : window.last + 1]]
        curve.goal[:] = rests[-1]
        # the body's postures are near those at rest, from which a faster curve would lead away
        places = np.array([preferred, start[0], *rests])
        curve.near[0], curve.near[1] = places.min(axis=0) - _BEYOND, places.max(axis=0) + _BEYOND

    def curve(self, ends: Array, pull: int) -> Bezier | None:
        """Return the curve from time 0 to rest with the attractor nearest to the preferred one; None if there is none.

        Args:
            ends: of the window's phases [s].
            pull: repetitions of the attractor, one of `PULLS`.
        """
        duration = float(ends[-1])
        bounds = np.concatenate([[0.0], ends / duration])
        weights = product_weights(5 + pull, 3 + pull)
        while True:
            self._curve.attractor[:] = self._preferred
            limits, curve = (data.table for data in self._tables)
            status = find_attractor(limits, curve, self._first, bounds, _PARTS, duration, pull, weights)
            if status == FULL:
                self._make_room()
                continue
            if status != FOUND:
                return None
            start, goal = self._curve.start, self._curve.goal
            through = np.repeat(self._curve.attractor[None], pull, axis=0)
            return Bezier.between(tuple(start), through, (goal, np.zeros(3), np.zeros(3)), duration)

    def _make_room(self) -> None:
        facets = np.concatenate([self._limits.facets, np.zeros_like(self._limits.facets)], axis=1)
        self._limits = self._limits._replace(facets=facets)
        self._tables = KernelData(self._limits), self._tables[1]


def _constraint_data(phases: Sequence[PlannedPhase]) -> ConstraintData:
    count, artificial = len(phases), np.vstack([np.eye(6), -np.eye(6)])
    rays = [phase.cone.G.shape[1] for phase in phases]
    return ConstraintData(
        M=np.concatenate([rows for phase in phases for rows in (phase.cone.G.T, artificial)]),
        costs=np.concatenate([values for number in rays for values in (np.zeros(number), np.full(12, -1.0))]),
        columns=np.cumsum([0, *(number + 12 for number in rays)]),
        origins=np.array([phase.cone.origin for phase in phases]),
        basis=np.zeros((count, 6), dtype=np.intp),
        inverse=np.zeros((count, 6, 6)),
        warm=np.full(count, -1),
        facets=np.zeros((count, _FACETS, 6)),
        found=np.zeros(count, dtype=np.intp),
        reach=np.concatenate([phase.reach.A for phase in phases]),
        offsets=np.concatenate([phase.reach.b for phase in phases]),
        faces=np.cumsum([0, *(phase.reach.size for phase in phases)]),
    )


def _curve_data() -> CurveData:
    parts, n = 3 * _PARTS, 5 + max(PULLS)
    return CurveData(
        start=np.zeros((3, 3)),
        goal=np.zeros(3),
        attractor=np.zeros(3),
        near=np.zeros((2, 3)),
        base=np.zeros((n + 1, 4)),
        points=np.zeros((parts, n + 1, 4)),
        wrench=np.zeros((parts, 2 * n - 1, 6)),
        turn=np.zeros((parts, 2 * n - 1, 18)),
        rows=np.zeros((4, 3)),
        plane=np.zeros((3, 3)),
        factor=np.zeros((4, 3)),
        multipliers=np.zeros(4),
        shares=np.zeros(3),
        x=np.zeros(3),
        values=np.zeros(6),
        at=np.zeros(6),
        work=workspace(6),
    )
