"""Exact quasi-static polyline with stops, and the single smooth curve that approximates it.

Source: [Tonneau2018] sections 5.2 and 6.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from com_trajectory.bezier import Bezier
from com_trajectory.phases import PlannedPhase
from com_trajectory.switching import best_switching
from com_trajectory.timing import COM_SPEED, SHORTEST, scaled, slowdown
from com_trajectory.trajectory import ComTrajectory
from com_trajectory.transition import TransitionPoint
from multi_qp_scene.arrays import Array

_MOST_DEGREE = 64  # binomials of higher degrees lose accuracy


def corner_points(phases: Sequence[PlannedPhase], transitions: Sequence[TransitionPoint]) -> Array:
    """Return the first state, the transition points and the last state, (m + 1, 3) [m]."""
    return np.array([phases[0].rest.point, *(each.point for each in transitions), phases[-1].rest.point])


def polyline(
    phases: Sequence[PlannedPhase],
    transitions: Sequence[TransitionPoint],
    notes: Sequence[str],
    least: Array,
    *,
    feasible: bool,
) -> ComTrajectory:
    """Return the polyline through the transition points, with a stop and the contact change at each.

    Args:
        phases: all phases.
        transitions: the point after each phase but the last.
        notes: passed to the result.
        least: minimum duration of each phase [s].
        feasible: shortest duration for which (1) holds; else the empirical one.

    Source: [Tonneau2018] section 5.2.
    """
    corners = corner_points(phases, transitions)
    pieces: list[Bezier] = []
    ends: list[float] = []
    start = 0.0
    for phase, first, last, shortest in zip(phases, corners[:-1], corners[1:], least, strict=True):
        duration = max(SHORTEST, float(np.linalg.norm(last - first)) / COM_SPEED)
        piece = Bezier(np.array([first, first, first, last, last, last]), 0.0, duration)
        if feasible:
            piece = piece.moved_to(0.0, slower=slowdown(piece, [phase], [duration]))
        piece = piece.moved_to(0.0, slower=max(1.0, SHORTEST / piece.duration, shortest / piece.duration))
        pieces.append(piece.moved_to(start))
        start = pieces[-1].end
        ends.append(start)
    return ComTrajectory(tuple(pieces), tuple(phases), np.array(ends), tuple(transitions), "polyline", tuple(notes))


def smooth(
    phases: Sequence[PlannedPhase], transitions: Sequence[TransitionPoint], notes: Sequence[str], *, feasible: bool
) -> ComTrajectory:
    """Return one curve over all phases, of the lowest degree within the reach and, if possible, the regions.

    Args:
        phases: all phases.
        transitions: the point after each phase but the last.
        notes: passed to the result.
        feasible: shortest duration for which (1) holds; else the empirical one.

    Source: [Tonneau2018] (10), then (11) with its degree raised; the ends are repeated for zero velocity there.
    """
    corners = corner_points(phases, transitions)
    duration = max(SHORTEST * len(phases), float(np.linalg.norm(np.diff(corners, axis=0), axis=1).sum()) / COM_SPEED)
    parts = 10 * len(phases)
    best = None
    for degree in _degrees(len(corners) - 1):
        curve = Bezier(_sampled(corners, degree), 0.0, duration)
        found = best_switching(curve, phases, parts=parts)
        if best is None or found.cost < best[1].cost - 1e-6:
            best = curve, found
        if found.kinematic == 0.0 and found.static <= 1e-9:
            break
    assert best is not None
    curve, switching = best
    ends = np.array([*(cut / parts for cut in switching.cuts), 1.0]) * curve.duration
    remarks = list(notes)
    if switching.kinematic > 0.0:
        remarks.append(f"no curve up to degree {_MOST_DEGREE} stays in the reach: {switching.kinematic:.3f} m outside")
    if feasible:
        factor = slowdown(curve, phases, list(ends))
        curve, ends = scaled(curve, ends, factor)
    return ComTrajectory((curve,), tuple(phases), ends, tuple(transitions), "smooth", tuple(remarks))


def _degrees(lowest: int) -> list[int]:
    degrees = [lowest + 4]
    while degrees[-1] < _MOST_DEGREE:
        degrees.append(min(_MOST_DEGREE, round(degrees[-1] * 1.4) + 1))
    return degrees


def _sampled(corners: Array, degree: int) -> Array:
    """Return the polyline at equal steps of its parameter, each corner one unit apart, with the ends twice more."""
    inner = degree - 4
    place = np.linspace(0.0, len(corners) - 1.0, inner + 1)
    low = np.minimum(place.astype(int), len(corners) - 2)
    share = (place - low)[:, None]
    samples = (1.0 - share) * corners[low] + share * corners[low + 1]
    return np.vstack([corners[:1], corners[:1], samples, corners[-1:], corners[-1:]])
