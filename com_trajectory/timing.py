"""How long should it take? By a rule of thumb, or as short as the contacts allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from com_trajectory.bezier import Bezier, product_weights, wrench_rate
from com_trajectory.bezier_kernel import fill_calm_wrenches
from com_trajectory.phases import PlannedPhase
from com_trajectory.simplex import least_step_inside
from com_trajectory.transition import TransitionPoint
from com_trajectory.windows import Window

Array = NDArray[np.float64]

COM_SPEED = 0.15
"""Usual mean speed of a centre of mass [m/s]."""
COM_ACCELERATION = 0.6
"""Usual acceleration of a centre of mass [m/s²]; 0.8 m up it moves the centre of pressure by half a sole's width."""
EFFECTOR_SPEED = 0.4
"""Usual mean speed of an effector on its way to the next contact [m/s]."""
FREE_WAY = 0.4
"""Usual way of an effector between a contact and where it is when it has none [m]."""
SHORTEST = 0.3
"""No contact change is faster than this [s]."""

_CONTROL_POINTS = 24  # of a phase's part of a curve, cut into as many parts as that makes


def empirical_duration(
    window: Window, phases: Sequence[PlannedPhase], attractors: Sequence[TransitionPoint], *, final: bool = False
) -> float:
    """Return a duration [s] in proportion to the way of the centre of mass and of the effectors.

    Given durations of all phases of the window take its place; a phase that two windows share counts half in each.

    Args:
        window: which phases.
        phases: all phases.
        attractors: the transition point after each phase.
        final: whether this is how long it will take, so that effectors that come from no contact need their time too.

    Source: [Tonneau2018] section 6.4.2: a weighted distance between start and goal.
    """
    own = phases[window.first : window.last + 1]
    given = [planned.phase.duration for planned in own]
    if all(value is not None for value in given):
        shares = [1.0] * len(own)
        shares[0] = 1.0 if window.first == 0 else 0.5
        shares[-1] = 1.0 if window.last == len(phases) - 1 else 0.5
        return sum(share * value for share, value in zip(shares, given, strict=True) if value is not None)
    inner = [attractors[number].point for number in range(window.first, window.last)]
    way = np.array([own[0].rest.point, *inner, own[-1].rest.point])
    com = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum()) / COM_SPEED
    com += COM_SPEED / COM_ACCELERATION if final else 0.0  # from rest to rest by a trapezoid of velocity
    swing = max(window.way, FREE_WAY) if final and window.free else window.way
    return max(SHORTEST * (window.last - window.first), com, swing / EFFECTOR_SPEED)


_SLOWEST, _FASTEST = 4.0, 0.25  # bounds of what one rescaling may do


def slowdown(
    curve: Bezier, phases: Sequence[PlannedPhase], ends: Sequence[float], *, at_least: float = _FASTEST
) -> float:
    """Return by how much the durations of a curve are to be multiplied: the least for which (1) holds at every instant.

    On a path whose times are all divided by r the acceleration grows by κ = r², and the wrench of (1) is linear in κ.
    Parts are judged by the control points of their wrench, so that the answer holds at every instant. Parts that cannot
    be run at any speed, since the centre of mass is outside the equilibrium region, are left out; they are what
    `validate` finds.

    Args:
        curve: of the centre of mass.
        phases: that it goes through.
        ends: of the phases [s].
        at_least: the answer is this at least, and 4 at most.

    Source: [Tonneau2018] (1).
    """
    n, count = curve.degree, max(2, _CONTROL_POINTS // curve.degree)
    weights, part = product_weights(n, n - 2), np.empty_like(curve.points)
    resting, moving = np.empty((2, count, 2 * n - 1, 6))
    kappa, judged, begin = max(at_least, _FASTEST) ** -2, False, curve.start
    for phase, end in zip(phases, ends, strict=True):
        first = max((max(begin, curve.start) - curve.start) / curve.duration, 0.0)
        last = min((min(end, curve.end) - curve.start) / curve.duration, 1.0)
        begin = end
        if last - first < 1e-9:
            continue
        rate = wrench_rate(n, (last - first) * curve.duration / count)
        region, cone = phase.region, phase.cone
        calm = fill_calm_wrenches(
            curve.points, first, last, region.A, region.a, rate, cone.origin, weights, part, resting, moving
        )
        if calm:
            judged = True
            kappa = least_step_inside(cone.G, resting[:calm].reshape(-1, 6), moving[:calm].reshape(-1, 6), kappa)
    return float(min(kappa**-0.5, _SLOWEST)) if judged else 1.0


def scaled(curve: Bezier, ends: Array, factor: float) -> tuple[Bezier, Array]:
    """Return a curve from time 0 on and the ends of its phases, all times multiplied."""
    return curve.moved_to(0.0, slower=factor), ends * factor


def shortest_duration(window: Window) -> float:
    """Return the duration below which limbs would be too fast [s], whatever (1) says."""
    return max(SHORTEST * (window.last - window.first), window.way / (3.0 * EFFECTOR_SPEED))
