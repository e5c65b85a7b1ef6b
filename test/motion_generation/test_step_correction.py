"""Footholds that are displaced by the error of the divergent component of motion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from modal_control.push_detection import PushDetection
from motion_generation.step_correction import NARROWEST, ROOM, kept_apart, step_correction

OMEGA = 3.8


@pytest.mark.parametrize("error", [(0.03, 0.01), (-0.1, 0.02), (0.05, -0.06)])
def test_the_correction_is_what_a_stance_foot_at_its_edge_leaves(error):
    """Integrates ξ̇ = ω (ξ − p) with the best constant p within the room."""
    left = step_correction(np.array(error), 0.3, OMEGA)
    for axis in range(2):
        found = []
        for shift in np.linspace(-ROOM[axis], ROOM[axis], 121):
            xi, dt = error[axis], 1e-3
            for _ in range(300):
                xi = shift + (xi - shift) * math.exp(OMEGA * dt)
            found.append(xi)
        nearest = min(found, key=abs)
        assert left[axis] == pytest.approx(nearest, abs=2e-3 + 0.01 * abs(nearest))


def test_small_errors_are_left_to_the_stance_foot():
    np.testing.assert_allclose(step_correction(np.array([0.02, -0.01]), 0.4, OMEGA), 0.0, atol=1e-12)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_feet_do_not_cross(side):
    closer = kept_apart(np.array([0.1, -side * 0.2]), side * 0.17)
    np.testing.assert_allclose(closer, [0.1, -side * (0.17 - NARROWEST)])
    np.testing.assert_allclose(kept_apart(np.array([0.1, side * 0.2]), side * 0.17), [0.1, side * 0.2])


def test_a_push_is_told_from_planned_accelerations():
    detection, velocity, dt = PushDetection(), np.zeros(2), 0.005
    felt = []
    for tick in range(200):
        planned = np.array([2.0 * math.sin(0.05 * tick), -1.0])
        felt.append(detection.update(velocity, dt))
        detection.plan(velocity, planned, dt)
        force = np.array([0.0, 100.0 / 39.0]) if 100 <= tick < 117 else np.zeros(2)
        velocity = velocity + dt * (planned + force)
    assert max(felt[:101]) < 1e-9 and 0.15 < max(felt) < 100.0 / 39.0 * 17 * dt and felt[-1] < 0.05
