"""Durations of trajectories: empirical, or the shortest that the contacts allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from com_trajectory.bezier import Bezier, product_weights, wrench_rate
from com_trajectory.bezier_kernel import fill_balanced_wrenches
from com_trajectory.phases import PlannedPhase
from com_trajectory.simplex import least_step_inside
from com_trajectory.transition import TransitionPoint
from com_trajectory.windows import PhaseWindow
from multi_qp_scene.arrays import Array

COM_SPEED = 0.15
"""Typical mean speed of a centre of mass [m/s]."""
COM_ACCELERATION = 0.6
"""Typical acceleration of a centre of mass [m/s²]; at 0.8 m height it shifts the centre of pressure by half a sole."""
EFFECTOR_SPEED = 0.4
"""Typical mean speed of an effector on its way to the next contact [m/s]."""
FREE_WAY = 0.4
"""Typical distance of an effector between a contact and its position without contact [m]."""
SHORTEST = 0.3
"""Minimum duration of a contact change [s]."""

_CONTROL_POINTS = 24  # about so many in all parts of one phase


def empirical_duration(
    window: PhaseWindow, phases: Sequence[PlannedPhase], attractors: Sequence[TransitionPoint], *, final: bool = False
) -> float:
    """Return a duration [s] proportional to the distances covered by the centre of mass and the effectors.

    Durations given for all phases of the window take precedence; a phase shared by two windows counts half in each.

    Args:
        window: range of the phases.
        phases: all phases.
        attractors: the transition point after each phase.
        final: whether the result is the final duration, which then includes effectors without a previous contact.

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
    com += COM_SPEED / COM_ACCELERATION if final else 0.0  # trapezoidal velocity profile from rest to rest
    swing = max(window.way, FREE_WAY) if final and window.free else window.way
    return max(SHORTEST * (window.last - window.first), com, swing / EFFECTOR_SPEED)


_SLOWEST, _FASTEST = 4.0, 0.25  # bounds of one rescaling


def slowdown(
    curve: Bezier, phases: Sequence[PlannedPhase], ends: Sequence[float], *, at_least: float = _FASTEST
) -> float:
    """Return the factor on a curve's durations: the least for which (1) holds at every instant.

    With all times on a path divided by r, the acceleration grows by κ = r², and the wrench of (1) is linear in κ.
    Parts are checked by the control points of their wrench, so that the result holds at every instant. Parts that are
    infeasible at any speed, since the centre of mass is outside the equilibrium region, are skipped; `validate` reports
    them.

    Args:
        curve: of the centre of mass.
        phases: along the curve.
        ends: end times of the phases [s].
        at_least: lower bound of the result; the upper bound is 4.

    Source: [Tonneau2018] (1).
    """
    n, count = curve.degree, max(2, _CONTROL_POINTS // curve.degree)
    weights, part = product_weights(n, n - 2), np.empty_like(curve.points)
    resting, moving = np.empty((2, count, 2 * n - 1, 6))
    kappa, bounded, begin = max(at_least, _FASTEST) ** -2, False, curve.start
    for phase, end in zip(phases, ends, strict=True):
        first = max((max(begin, curve.start) - curve.start) / curve.duration, 0.0)
        last = min((min(end, curve.end) - curve.start) / curve.duration, 1.0)
        begin = end
        if last - first < 1e-9:
            continue
        rate = wrench_rate(n, (last - first) * curve.duration / count)
        region, cone = phase.region, phase.cone
        balanced = fill_balanced_wrenches(
            curve.points, first, last, region.A, region.a, rate, cone.origin, weights, part, resting, moving
        )
        if balanced:
            bounded = True
            kappa = least_step_inside(
                cone.G, resting[:balanced].reshape(-1, 6), moving[:balanced].reshape(-1, 6), kappa
            )
    return float(min(kappa**-0.5, _SLOWEST)) if bounded else 1.0


def scaled(curve: Bezier, ends: Array, factor: float) -> tuple[Bezier, Array]:
    """Return a curve that starts at time 0 and the ends of its phases, with all times scaled."""
    return curve.moved_to(0.0, slower=factor), ends * factor


def shortest_duration(window: PhaseWindow) -> float:
    """Return the minimum duration given by the speed of the limbs [s], irrespective of (1)."""
    return max(SHORTEST * (window.last - window.first), window.way / (3.0 * EFFECTOR_SPEED))
