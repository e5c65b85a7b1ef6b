"""Curves over windows of two or three contact phases, joined without stops of the centre of mass.

Source: [Tonneau2018] sections 6.2 and 6.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from com_trajectory.bezier import Bezier, end_points
from com_trajectory.phases import PlannedPhase
from com_trajectory.switching import PARTS, Switching, best_switching
from com_trajectory.transition import TransitionPoint
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact

CoMState = tuple[Array, Array, Array]  # position, velocity, acceleration

_PULLS = (1, 2, 3, 5, 8)  # repetitions of an attractor, which draw the curve to the polyline
_INSIDE = 1e-9  # [m]


@dataclass(frozen=True)
class PhaseWindow:
    """Two or three phases; the middle one has one contact less than the others.

    Attributes:
        first: index of the first phase.
        last: index of the last one.
        way: longest distance of an effector between two contacts inside the window [m].
        free: whether an effector has a contact at one end only.
    """

    first: int
    last: int
    way: float = 0.0
    free: bool = False


@dataclass(frozen=True, eq=False)
class WindowCurve:
    """The complete curve of one window: from its start state to rest at its last phase's state.

    Attributes:
        window: its phases.
        curve: starts at time 0.
        switching: instants of the contact changes.
        share: fraction of the curve used before the next window begins, 0 to 1.
    """

    window: PhaseWindow
    curve: Bezier
    switching: Switching
    share: float = 1.0


def windows_of(phases: Sequence[PlannedPhase], *, largest: int = 3) -> list[PhaseWindow]:
    """Return the windows that cover all phases: three phases where a contact is broken and then made, else two.

    Source: [Tonneau2018] section 6.2: (9) gives no guarantee for a contact that is made and then broken.
    """
    windows = []
    first = 0
    while first < len(phases) - 1:
        last = first + 1
        if largest >= 3 and last + 1 < len(phases):
            breaks = not phases[first].phase.made(phases[last].phase)
            makes = not phases[last].phase.broken(phases[last + 1].phase)
            last += int(breaks and makes)
        windows.append(PhaseWindow(first, last, *_effector_ways(phases[first : last + 1])))
        first = last
    return windows


def _effector_ways(own: Sequence[PlannedPhase]) -> tuple[float, bool]:
    """Return the longest effector distance between contacts [m], and whether one has a contact at one end only."""
    longest, free = 0.0, False
    left: dict[str, Contact] = {}
    for before, after in zip(own[:-1], own[1:], strict=True):
        left |= {contact.surface: contact for contact in before.phase.broken(after.phase)}
        for contact in before.phase.made(after.phase):
            old = left.pop(contact.surface, None)
            free = free or old is None
            if old is not None:
                way = contact.pose.translation - old.pose.translation
                longest = max(longest, float(np.linalg.norm(way)))
    return longest, free or bool(left)


def window_curve(
    window: PhaseWindow,
    phases: Sequence[PlannedPhase],
    attractors: Sequence[TransitionPoint],
    start: CoMState,
    duration: float,
) -> WindowCurve:
    """Return the smooth curve of a window.

    An attractor is repeated until the curve stays in the equilibrium regions, or as often as reduces the violation
    most: the curve then approaches the polyline, and the set of control points is unchanged, so that the guarantees of
    (8) and (9) still hold.

    Args:
        window: range of the phases.
        phases: all phases.
        attractors: the transition point after each phase.
        start: state at the beginning.
        duration: [s].

    Source: [Tonneau2018] (8), (9); the repetition replaces the degree in (11).
    """
    own = phases[window.first : window.last + 1]
    points = [attractors[number].point for number in range(window.first, window.last)]
    rest = own[-1].rest.point
    end = (rest, np.zeros(3), np.zeros(3))
    best: WindowCurve | None = None
    for pull in _PULLS:
        through = np.repeat(np.array(points), pull, axis=0)
        curve = Bezier.between(start, through, end, duration)
        found = WindowCurve(window, curve, best_switching(curve, own))
        if best is None or _better(found.switching, best.switching):
            best = found
        if found.switching.feasible:
            return found
    assert best is not None
    return best


def _better(first: Switching, second: Switching) -> bool:
    """Whether the first has the smaller violation."""
    return first.feasible or (not second.feasible and first.cost < second.cost - 1e-6)


def joined(
    windows: Sequence[PhaseWindow],
    phases: Sequence[PlannedPhase],
    attractors: Sequence[TransitionPoint],
    durations: Sequence[float],
    *,
    sliding: bool,
) -> list[WindowCurve]:
    """Return the curves of all windows in sequence.

    Args:
        windows: in order.
        phases: all phases.
        attractors: the transition point after each phase.
        durations: of the windows [s].
        sliding: begin the next window before the end of the last one, so that the centre of mass does not stop.

    Source: [Tonneau2018] section 6.4.1.
    """
    state: CoMState = (phases[0].rest.point, np.zeros(3), np.zeros(3))
    curves = [window_curve(windows[0], phases, attractors, state, durations[0])]
    for window, duration in zip(windows[1:], durations[1:], strict=True):
        last = curves[-1]
        following = None
        for share, state in _junctions(last, phases[window.first], duration) if sliding else ():
            candidate = window_curve(window, phases, attractors, state, duration)
            if following is None or _better(candidate.switching, following[1].switching):
                following = share, candidate
            if candidate.switching.feasible:
                break
        stopped = None
        if following is None or not following[1].switching.feasible:
            rest = (phases[window.first].rest.point, np.zeros(3), np.zeros(3))
            stopped = window_curve(window, phases, attractors, rest, duration)
        if stopped is not None and (following is None or _worse(following[1].switching, stopped.switching)):
            curves.append(stopped)
        elif following is not None:
            curves[-1] = WindowCurve(last.window, last.curve, last.switching, following[0])
            curves.append(following[1])
    return curves


def _worse(first: Switching, second: Switching) -> bool:
    """Whether the first violates the constraints more, in order of importance."""
    if first.kinematic > second.kinematic + _INSIDE:
        return True
    return first.kinematic >= second.kinematic - _INSIDE and first.static > second.static + 1e-4


def _junctions(last: WindowCurve, phase: PlannedPhase, duration: float) -> Iterator[tuple[float, CoMState]]:
    """Yield fractions of a curve, with the states there, at which the next window may begin, the earliest first.

    The first three control points of the next curve must be in the reach of the common phase; all its control points
    then satisfy (8) and (9). At the end of the curve, at rest, they do.
    """
    earliest = last.switching.cuts[-1] + 1 if last.switching.cuts else 1
    parts = sorted({earliest, (earliest + PARTS - 1) // 2, PARTS - 1})  # candidate instants
    # The next curve's degree is at least 6; for a higher one P1 and P2 are in the hull of P0 and those of degree 6.
    n = 6
    for part in (part for part in parts if part < PARTS):
        place, speed, force = last.curve.state(part / PARTS)
        for pushed in (force, np.zeros(3)):
            begun = np.array(end_points(place, speed, pushed, n, duration))
            if phase.reach.contains(begun, tolerance=_INSIDE).all():
                yield part / PARTS, (place, speed, pushed)
                break
