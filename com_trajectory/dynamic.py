"""Dynamically feasible curves: (1) holds at every instant, without static equilibrium along the way.

The curve of a window is (8) with its attractor x free. With constant angular momentum the wrench of (1) is a
polynomial whose control points are affine in x, since x × x = 0: membership in the contacts' cone is a convex problem,
and control points inside the cone certify every instant between. The facets of the cones are not enumerated; facets
violated by a candidate are added until none is violated. Durations are tried in increasing order.

Source: [Fernbach2018], in the formulation of [Tonneau2018] (1), (7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from com_trajectory.bezier import Bezier, part_matrix, wrench_points
from com_trajectory.phases import PlannedPhase
from com_trajectory.polytope import Polytope
from com_trajectory.solver import minimise
from com_trajectory.timing import empirical_duration, shortest_duration
from com_trajectory.trajectory import ComTrajectory
from com_trajectory.transition import TransitionPoint
from com_trajectory.windows import CoMState, Window, windows_of
from multi_qp_scene.arrays import Array

_ROUNDS = 30
_PARTS = 3  # parts of the curve in each phase; more are less conservative
_INSIDE = 1e-9
_TIGHTENING = 1e-7  # margin of the cuts, so that the iteration terminates
_LONGER = 1.2  # ratio of consecutive durations tried
_TRIES = 14
_SPLITS = {
    2: ((0.5, 0.5), (0.3, 0.7), (0.7, 0.3)),
    3: ((0.15, 0.7, 0.15), (0.2, 0.6, 0.2), (0.3, 0.4, 0.3), (0.2, 0.4, 0.4), (0.4, 0.4, 0.2)),
}
_PULLS = (2, 4, 8)  # repetitions of the attractor; more keep the curve near it for longer
_BEYOND = 0.03  # [m] of a curve's control points beyond its start and the rests of its window, along the world's axes
_JUNCTION_FRACTIONS = (0.1, 0.3, 0.6)  # fractions of the last phase at which the next window may begin


@dataclass(frozen=True, eq=False)
class DynamicWindow:
    """A curve that obeys (1) in its phases at every instant.

    Attributes:
        curve: from time 0 on.
        ends: of its phases [s].
    """

    curve: Bezier
    ends: Array


class _Cuts:
    """Facets of each phase's cone found so far; they do not depend on the curve or its duration."""

    def __init__(self, phases: Sequence[PlannedPhase]) -> None:
        self._phases = phases
        self._rows = [np.zeros((0, 6)) for _ in phases]

    def of(self, number: int) -> Array:
        """Return the facets of a phase, (k, 6)."""
        return self._rows[number]

    def add(self, number: int, wrenches: Array) -> float:
        """Return the largest distance of wrenches, (k, 6), from a phase's cone, and add the facets of the worst few.

        A wrench that a known facet separates about as well adds no facet.
        """
        distances, facets = self._phases[number].cone.cuts(wrenches)
        worst = np.argsort(-distances)[:3]
        seen = (wrenches[worst] @ self._rows[number].T).max(axis=1, initial=0.0)
        new = worst[(distances[worst] > _INSIDE) & (seen < 0.5 * distances[worst])]
        if len(new):
            self._rows[number] = np.vstack([self._rows[number], facets[new]])
        return float(distances.max())


def dynamic_window(
    own: Sequence[PlannedPhase],
    cuts: _Cuts,
    first: int,
    start: CoMState,
    goal: Array,
    preferred: Array,
    duration: float,
    split: Sequence[float] | Array,
    *,
    pull: int = 1,
) -> DynamicWindow | None:
    """Return the curve of given duration with the attractor nearest to `preferred`; None if none obeys (1) and (4).

    Args:
        own: the phases of the window.
        cuts: of all phases.
        first: number of the window's first phase.
        start: position, velocity and acceleration at its beginning.
        goal: final rest position, (3,) [m].
        preferred: nominal attractor, (3,) [m].
        duration: of the window [s].
        split: fraction of the duration of each phase.
        pull: repetitions of the attractor.
    """
    zero = np.zeros(3)
    base = Bezier.between(start, np.tile(preferred, (pull, 1)), (goal, zero, zero), duration)
    bounds = np.concatenate([[0.0], np.cumsum(split)])
    pieces = [
        (number, *limits)
        for number in range(len(own))
        for limits in _divided(float(bounds[number]), min(1.0, float(bounds[number + 1])))
    ]
    # the body's postures are near those at rest, from which a faster curve would lead away
    near = _box_around(np.array([preferred, start[0], *(phase.rest.point for phase in own)]), _BEYOND)
    reaches = [Polytope.intersection([phase.reach, near]) for phase in own]
    models = [_affine(base, own[number], low, high, pull) for number, low, high in pieces]
    reach_rows: list[Array] = []
    reach_limits: list[float] = []
    x = zero  # displacement of the attractor from the preferred one
    for _ in range(_ROUNDS):
        worst = 0.0
        for (number, _, _), (points, shares, wrench, turn) in zip(pieces, models, strict=True):
            reach = reaches[number]
            over = (points + shares[:, None] * x) @ reach.A.T - reach.b
            where = np.argwhere(over > _INSIDE)
            worst = max(worst, float(over.max()) if len(where) else 0.0)
            for k, row in where[np.argsort(-over[tuple(where.T)])][:4]:
                reach_rows.append(shares[k] * reach.A[row])
                reach_limits.append(float(reach.b[row] - reach.A[row] @ points[k] - _TIGHTENING))
            worst = max(worst, cuts.add(first + number, wrench + turn @ x))
        if worst <= _INSIDE:
            points = base.points.copy()
            points[3 : 3 + pull] += x
            return DynamicWindow(Bezier(points, 0.0, duration), bounds[1:] * duration)
        rows, limits = [np.array(reach_rows).reshape(-1, 3)], [np.array(reach_limits)]
        for (number, _, _), (_, _, wrench, turn) in zip(pieces, models, strict=True):
            facets = cuts.of(first + number)
            rows.append(np.einsum("fi,kij->fkj", facets, turn).reshape(-1, 3))
            limits.append((-(facets @ wrench.T) - _TIGHTENING).ravel())
        A, b = np.concatenate(rows), np.concatenate(limits)
        still = np.abs(A).max(axis=1) < 1e-12  # rows that do not depend on x
        if (b[still] < -1e-6).any():
            return None
        result = minimise(np.eye(3), zero, A[~still], b[~still])
        if not result.solved:
            return None
        x = result.x
    return None


def plan_dynamic(
    phases: Sequence[PlannedPhase],
    transitions: Sequence[TransitionPoint],
    notes: Sequence[str],
    least: Array,
) -> ComTrajectory | str:
    """Return a trajectory that obeys (1) at every instant without static equilibrium, or the reason for failure.

    Args:
        phases: all phases.
        transitions: transition points near which the attractors are placed.
        notes: passed to the result.
        least: minimum duration of each phase [s].
    """
    cuts = _Cuts(phases)
    windows = windows_of(phases)
    start: CoMState = (phases[0].rest.point, np.zeros(3), np.zeros(3))
    found: list[DynamicWindow] = []
    shares: list[float] = []
    for window in windows:
        current = None
        for share, state in [*_junctions(found), (1.0, None)] if found else [(0.0, start)]:
            begin = state or (phases[window.first].rest.point, np.zeros(3), np.zeros(3))
            durations = least[window.first : window.last + 1].copy()
            if found:  # part of the first phase is in the last window
                ends = found[-1].ends
                durations[0] -= share * ends[-1] - ends[-2]
            current = _shortest(window, phases, transitions, cuts, begin, durations)
            if current is not None:
                if found:
                    shares.append(share)
                break
        if current is None:
            names = f"phases {window.first} to {window.last}"
            return f"no duration lets (1) and (4) hold in {names} at every instant"
        found.append(current)
    shares.append(1.0)
    return _put_together(windows, phases, transitions, found, shares, notes)


def _shortest(
    window: Window,
    phases: Sequence[PlannedPhase],
    transitions: Sequence[TransitionPoint],
    cuts: _Cuts,
    start: CoMState,
    least: Array,
) -> DynamicWindow | None:
    own = phases[window.first : window.last + 1]
    preferred = np.mean([transitions[number].point for number in range(window.first, window.last)], axis=0)
    goal = own[-1].rest.point
    duration = max(shortest_duration(window), 0.3 * empirical_duration(window, phases, transitions))
    for _ in range(_TRIES):
        for split in _SPLITS[len(own)]:
            durations = np.maximum(duration * np.array(split), least)
            total = float(durations.sum())
            for pull in _PULLS:
                found = dynamic_window(
                    own, cuts, window.first, start, goal, preferred, total, durations / total, pull=pull
                )
                if found is not None:
                    return found
        duration *= _LONGER
    return None


def _box_around(points: Array, margin: float) -> Polytope:
    """Return the least box that contains points, (k, 3) [m], larger by a margin [m] on each side."""
    limits = np.concatenate([points.max(axis=0), -points.min(axis=0)]) + margin
    return Polytope(np.vstack([np.eye(3), -np.eye(3)]), limits)


def _divided(low: float, high: float) -> Iterator[tuple[float, float]]:
    limits = np.linspace(low, high, _PARTS + 1)
    for a, b in zip(limits[:-1], limits[1:], strict=True):
        yield float(a), float(b)


def _affine(base: Bezier, phase: PlannedPhase, low: float, high: float, pull: int) -> tuple[Array, Array, Array, Array]:
    """Return control points and wrenches of a part of the curve, as affine functions of the attractor.

    Returns:
        points (n + 1, 3) and shares (n + 1,): the points are points + shares x; wrench (k, 6) and turn (k, 6, 3):
        the wrenches are wrench + turn x.
    """
    matrix = part_matrix(base.degree, low, high)
    points, shares = matrix @ base.points, matrix[:, 3 : 3 + pull].sum(axis=1)
    duration = (high - low) * base.duration
    wrench = wrench_points(points, duration, phase.cone.origin)
    turn = np.empty((*wrench.shape, 3))
    for axis in range(3):
        moved = points + shares[:, None] * np.eye(3)[axis]
        turn[..., axis] = wrench_points(moved, duration, phase.cone.origin) - wrench
    return points, shares, wrench, turn


def _junctions(found: Sequence[DynamicWindow]) -> Iterator[tuple[float, CoMState]]:
    """Yield fractions of the last curve, with the states there, at which the next window may begin."""
    if not found:
        return
    last = found[-1]
    begin = last.ends[-2]
    for share in _JUNCTION_FRACTIONS:
        time = begin + share * (last.curve.duration - begin)
        state = (last.curve(time), last.curve.derivative(1)(time), last.curve.derivative(2)(time))
        yield float(time / last.curve.duration), state


def _put_together(
    windows: Sequence[Window],
    phases: Sequence[PlannedPhase],
    transitions: Sequence[TransitionPoint],
    found: Sequence[DynamicWindow],
    shares: Sequence[float],
    notes: Sequence[str],
) -> ComTrajectory:
    pieces: list[Bezier] = []
    ends = np.zeros(len(phases))
    start = 0.0
    for window, each, share in zip(windows, found, shares, strict=True):
        used = each.curve.part(0.0, share) if share < 1.0 else each.curve
        for number in range(window.first, window.last):
            ends[number] = start + each.ends[number - window.first]
        pieces.append(used.moved_to(start))
        start += used.duration
    ends[-1] = start
    return ComTrajectory(tuple(pieces), tuple(phases), ends, tuple(transitions), "dynamic", tuple(notes))
