"""Dynamically feasible curves: (1) holds at every instant, without static equilibrium along the way.

The curve of a window is (8) with its attractor x free. With constant angular momentum the wrench of (1) is a
polynomial whose control points are affine in x, since x × x = 0: membership in the contacts' cone is a convex problem,
and control points inside the cone certify every instant between (`dynamic_window`). Durations are tried in increasing
order.

Source: [Fernbach2018], in the formulation of [Tonneau2018] (1), (7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from com_trajectory.bezier import Bezier
from com_trajectory.dynamic_window import PULLS, WindowSearch
from com_trajectory.phases import PlannedPhase
from com_trajectory.timing import empirical_duration, shortest_duration
from com_trajectory.trajectory import ComTrajectory
from com_trajectory.transition import TransitionPoint
from com_trajectory.windows import CoMState, PhaseWindow, windows_of
from multi_qp_scene.arrays import Array

_LONGER = 1.2  # ratio of consecutive durations tried
_TRIES = 14
_SPLITS = {
    2: ((0.5, 0.5), (0.3, 0.7), (0.7, 0.3)),
    3: ((0.15, 0.7, 0.15), (0.2, 0.6, 0.2), (0.3, 0.4, 0.3), (0.2, 0.4, 0.4), (0.4, 0.4, 0.2)),
}
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
    search = WindowSearch(phases)
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
            current = _shortest(search, window, phases, transitions, begin, durations)
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
    search: WindowSearch,
    window: PhaseWindow,
    phases: Sequence[PlannedPhase],
    transitions: Sequence[TransitionPoint],
    start: CoMState,
    least: Array,
) -> DynamicWindow | None:
    own = phases[window.first : window.last + 1]
    preferred = sum((transitions[number].point for number in range(window.first, window.last)), np.zeros(3))
    search.set_ends(window, start, preferred / (window.last - window.first))
    shortest = max(shortest_duration(window), 0.3 * empirical_duration(window, phases, transitions))

    def attempt(number: int) -> DynamicWindow | None:
        for split in _SPLITS[len(own)]:
            ends = np.maximum(shortest * _LONGER**number * np.array(split), least).cumsum()
            for pull in PULLS:
                curve = search.curve(ends, pull)
                if curve is not None:
                    return DynamicWindow(curve, ends)
        return None

    best, low, high, others = None, 0, _TRIES, set(range(_TRIES))
    while low < high:  # bisection
        middle = (low + high) // 2
        others.discard(middle)
        found = attempt(middle)
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle
    # without static equilibrium, long durations may be infeasible too
    return best or next((found for found in map(attempt, sorted(others)) if found is not None), None)


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
    windows: Sequence[PhaseWindow],
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
