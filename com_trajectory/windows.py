"""Curves over windows of two or three contact phases, joined so that the centre of mass need not stop between them.

Source: [Tonneau2018] sections 6.2 and 6.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from com_trajectory.bezier import Bezier, end_points
from com_trajectory.phases import PlannedPhase
from com_trajectory.switching import PARTS, Switching, best_switching
from com_trajectory.transition import TransitionPoint
from multi_qp_scene.contact_sequence import Contact

Array = NDArray[np.float64]
State = tuple[Array, Array, Array]  # position, velocity, acceleration

_PULLS = (1, 2, 3, 5, 8)  # how often an attractor may be repeated to draw the curve to the polyline
_INSIDE = 1e-9  # [m]


@dataclass(frozen=True)
class Window:
    """Two or three phases; the one between has one contact less than either.

    Attributes:
        first: number of the first phase.
        last: number of the last one.
        way: longest way of an effector from one contact to another inside the window [m].
        free: whether an effector comes from, or goes to, no contact.
    """

    first: int
    last: int
    way: float = 0.0
    free: bool = False


@dataclass(frozen=True, eq=False)
class WindowCurve:
    """The curve of one window, whole: from its start state to rest at its last phase's state.

    Attributes:
        window: its phases.
        curve: from time 0 on.
        switching: when contacts change.
        share: the part of the curve that is used before the next window takes over, 0 to 1.
    """

    window: Window
    curve: Bezier
    switching: Switching
    share: float = 1.0


def windows_of(phases: Sequence[PlannedPhase], *, largest: int = 3) -> list[Window]:
    """Return the windows that cover all phases: three where contacts are broken and then made, else two.

    Source: [Tonneau2018] section 6.2: with (9) over a contact that is made and then broken there would be no guarantee.
    """
    windows = []
    first = 0
    while first < len(phases) - 1:
        last = first + 1
        if largest >= 3 and last + 1 < len(phases):
            breaks = not phases[first].phase.made(phases[last].phase)
            makes = not phases[last].phase.broken(phases[last + 1].phase)
            last += int(breaks and makes)
        windows.append(Window(first, last, *_effector_ways(phases[first : last + 1])))
        first = last
    return windows


def _effector_ways(own: Sequence[PlannedPhase]) -> tuple[float, bool]:
    """Return the longest way of an effector between contacts [m], and whether one has a contact at one end only."""
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
    window: Window,
    phases: Sequence[PlannedPhase],
    attractors: Sequence[TransitionPoint],
    start: State,
    duration: float,
) -> WindowCurve:
    """Return the smooth curve of a window.

    An attractor is repeated as often as it takes for the curve to keep to the equilibrium regions, or as
    helps most: the curve
    then nears the polyline, and its control points stay the same, so that what is proven of (8) and (9)
    holds as before.

    Args:
        window: which phases.
        phases: all phases.
        attractors: the transition point after each phase.
        start: state at the beginning.
        duration: [s].

    Source: [Tonneau2018] (8), (9); the repetition takes the place of the degree in (11).
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
        if found.switching.fine:
            return found
    assert best is not None
    return best


def _better(first: Switching, second: Switching) -> bool:
    """Whether the first breaks less."""
    return first.fine or (not second.fine and first.cost < second.cost - 1e-6)


def joined(
    windows: Sequence[Window],
    phases: Sequence[PlannedPhase],
    attractors: Sequence[TransitionPoint],
    durations: Sequence[float],
    *,
    sliding: bool,
) -> list[WindowCurve]:
    """Return the curves of all windows, one after the other.

    Args:
        windows: in their order.
        phases: all phases.
        attractors: the transition point after each phase.
        durations: of the windows [s].
        sliding: go over to the next window before the end of the last, so that the centre of mass never stops.

    Source: [Tonneau2018] section 6.4.1.
    """
    state: State = (phases[0].rest.point, np.zeros(3), np.zeros(3))
    curves = [window_curve(windows[0], phases, attractors, state, durations[0])]
    for window, duration in zip(windows[1:], durations[1:], strict=True):
        last = curves[-1]
        following = None
        for share, state in _handovers(last, phases[window.first], duration) if sliding else ():
            candidate = window_curve(window, phases, attractors, state, duration)
            if following is None or _better(candidate.switching, following[1].switching):
                following = share, candidate
            if candidate.switching.fine:
                break
        stopped = None
        if following is None or not following[1].switching.fine:
            rest = (phases[window.first].rest.point, np.zeros(3), np.zeros(3))
            stopped = window_curve(window, phases, attractors, rest, duration)
        if stopped is not None and (following is None or _worse(following[1].switching, stopped.switching)):
            curves.append(stopped)
        elif following is not None:
            curves[-1] = WindowCurve(last.window, last.curve, last.switching, following[0])
            curves.append(following[1])
    return curves


def _worse(first: Switching, second: Switching) -> bool:
    """Whether the first breaks the constraints more, by what matters."""
    if first.kinematic > second.kinematic + _INSIDE:
        return True
    return first.kinematic >= second.kinematic - _INSIDE and first.static > second.static + 1e-4


def _handovers(last: WindowCurve, phase: PlannedPhase, duration: float) -> Iterator[tuple[float, State]]:
    """Yield shares of a curve at which its state lets the next window begin, the fastest first.

    The next curve's first three control points must be in the reach of the phase that they share; then all its
    control points are where (8) and (9) need them. At the end of the curve, at rest, they are.
    """
    earliest = last.switching.cuts[-1] + 1 if last.switching.cuts else 1
    parts = sorted({earliest, (earliest + PARTS - 1) // 2, PARTS - 1})  # instants that are tried
    # The next curve's degree is 6 at least; for a higher one P1 and P2 are in the hull of P0 and those of degree 6.
    n = 6
    for part in (part for part in parts if part < PARTS):
        place, speed, force = last.curve.state(part / PARTS)
        for pushed in (force, np.zeros(3)):
            begun = np.array(end_points(place, speed, pushed, n, duration))
            if phase.reach.contains(begun, tolerance=_INSIDE).all():
                yield part / PARTS, (place, speed, pushed)
                break
