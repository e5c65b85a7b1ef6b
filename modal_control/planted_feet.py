"""What planted feet can hold: the largest push after which the capture point is still over the soles."""

from __future__ import annotations

import math

GRAVITY = 9.81


def largest_push(*, mass: float, height: float, point: float, edge: float, duration: float) -> float:
    """Return the largest constant force from which planted feet can stop the body, at rest before [N].

    Of the linear inverted pendulum with the zero-moment point at the edge of the soles from the first moment on, and
    without angular momentum about the centre of mass: ξ̇ = ω (ξ − edge) + F point / (height m ω), and ξ may not
    exceed the edge when the push ends. Turning arms and trunk can add to it, delay takes from it.

    Args:
        mass: of the body [kg].
        height: of the centre of mass over the soles [m].
        point: height at which the force acts [m].
        edge: distance from the centre of mass to the edge of the soles in the direction of the force [m].
        duration: of the push [s].
    """
    omega = math.sqrt(GRAVITY / height)
    growth = math.exp(omega * duration)
    return mass * omega**2 * edge * (height / point) * growth / (growth - 1.0)
