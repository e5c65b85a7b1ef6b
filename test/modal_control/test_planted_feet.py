"""Bound of the pushes that planted feet hold."""

from __future__ import annotations

import math

import pytest

from modal_control.planted_feet import GRAVITY, largest_push


@pytest.mark.parametrize(("share", "held"), [(0.99, True), (1.01, False)])
def test_the_pendulum_is_stopped_up_to_the_bound(share, held):
    """The zero-moment point is at the edge during the push, and follows the capture point after it."""
    mass, height, point, edge, duration = 39.0, 0.57, 0.7, 0.1, 1.0 / 6.0
    push = share * largest_push(mass=mass, height=height, point=point, edge=edge, duration=duration)
    omega, x, v, dt = math.sqrt(GRAVITY / height), 0.0, 0.0, 1e-5
    for k in range(round(1.5 / dt)):
        pushed = push if k * dt < duration else 0.0
        zmp = edge if pushed else min(edge, x + 1.2 * v / omega)
        v += dt * (omega**2 * (x - zmp) + pushed * point / (height * mass))
        x += dt * v
    assert (abs(v) < 0.1 and x < edge) is held
