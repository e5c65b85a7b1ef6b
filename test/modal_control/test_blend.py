"""Blend from the present state into a motion, and its place on the ground."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from modal_control.blend import Blend
from modal_control.placement import displacement_of, numbers_of, placement_on

PLACE, RATE = np.array([0.3, -0.1]), np.array([1.0, 0.4])


def blended() -> Blend:
    blend = Blend(0.5, 2)
    blend.start(PLACE, RATE)
    return blend


def test_it_begins_at_the_state_and_ends_at_rest():
    blend = blended()
    for found, expected in zip(blend.at(0.0), (PLACE, RATE, [0.0, 0.0]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    for found in blend.at(0.5 - 1e-9):
        np.testing.assert_allclose(found, 0.0, atol=1e-6)
    assert blend.is_over(0.5) and not any(part.any() for part in blend.at(0.6))


def test_rates_are_those_of_finite_differences():
    blend, h = blended(), 1e-5
    for time in (0.1, 0.25, 0.4):
        before, now, after = (blend.at(time + step) for step in (-h, 0.0, h))
        for k in (0, 1):
            np.testing.assert_allclose(now[k + 1], (after[k] - before[k]) / (2.0 * h), atol=1e-6)


def test_without_a_duration_there_is_no_displacement():
    blend = Blend(0.0, 2)
    blend.start(PLACE, RATE)
    assert not any(part.any() for part in blend.at(0.0))


@pytest.mark.parametrize("count", [1, 2])
def test_a_motion_is_placed_where_its_surfaces_are(count):
    moved = displacement_of(np.array([1.2, -0.7, 2.5]))
    recorded = [pin.SE3(pin.utils.rotate("z", 0.1), np.array([0.1 * k, 0.17 * k, 0.0])) for k in range(count)]
    found = placement_on(recorded, [moved * X for X in recorded])
    np.testing.assert_allclose(found.homogeneous, moved.homogeneous, atol=1e-12)
    np.testing.assert_allclose(displacement_of(numbers_of(found)).homogeneous, moved.homogeneous, atol=1e-12)
