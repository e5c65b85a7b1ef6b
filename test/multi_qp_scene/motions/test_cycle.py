"""Repetition of a part of a motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.cycle import repeated
from multi_qp_scene.motions.reference import ReferenceMotion

#: Period of the motion below, and heading that it gains in it.
PERIOD, TURN = 1.0, 0.4


def turning(drift: float = 0.0) -> ReferenceMotion:
    """Return a motion on a circle, with one joint that swings and drifts by an angle a second."""
    times = np.linspace(0.0, 3.0, 301)
    yaw = TURN * times / PERIOD
    places = np.array([np.sin(yaw), 1.0 - np.cos(yaw), 0.8 + 0.02 * np.sin(2.0 * np.pi * times / PERIOD)]).T
    turns = np.array([pin.Quaternion(pin.utils.rotate("z", angle)).coeffs() for angle in yaw])
    joint = 0.3 * np.sin(2.0 * np.pi * times / PERIOD) + drift * times
    on = np.sin(2.0 * np.pi * times / PERIOD + 0.1) > 0.0
    q = np.hstack([places, turns, joint[:, None]])
    return ReferenceMotion(times, q, ("knee",), np.array([on, ~on]).T, ("left", "right"), "robot", "made")


def test_cycles_continue_place_heading_and_phase():
    motion = turning()
    found, longer = repeated(motion, 1.0, 2.0, 5), np.linspace(0.0, 7.0, 701)
    np.testing.assert_allclose(found.times, longer, atol=1e-9)
    yaw = TURN * longer / PERIOD
    np.testing.assert_allclose(found.q[:, :2], np.array([np.sin(yaw), 1.0 - np.cos(yaw)]).T, atol=1e-9)
    np.testing.assert_allclose(found.q[:, 7], 0.3 * np.sin(2.0 * np.pi * longer), atol=1e-9)
    np.testing.assert_array_equal(found.contacts[300:400], motion.contacts[100:200])
    once = repeated(motion, 1.0, 2.0, 1)
    np.testing.assert_allclose(once.q, motion.q, atol=1e-12)


def test_what_differs_between_both_ends_is_removed_over_the_cycle():
    motion = turning(drift=0.05)
    found = repeated(motion, 1.0, 2.0, 4)
    assert np.abs(np.diff(found.q[:, 7])).max() < 1.2 * np.abs(np.diff(motion.q[:, 7])).max()
    assert found.q[400, 7] == pytest.approx(motion.q[100, 7], abs=1e-9)  # not 4 times the drift
    np.testing.assert_allclose(found.q[-1, 7], motion.q[-1, 7], atol=1e-9)


@pytest.mark.parametrize(
    ("motion", "times", "message"),
    [
        (turning(), (1.0, 1.5), "the contacts of the motion differ"),
        (turning(), (2.0, 1.0), "expected increasing times up to 3 s"),
        (turning(), (1.0, 4.0), "expected increasing times up to 3 s"),
        (turning(drift=0.3), (1.0, 2.0), r"joint 'knee' differs by 0.30 rad between 1.000 and 2.000 s \(at most 0.1\)"),
    ],
)
def test_parts_that_are_no_cycle_are_refused(motion, times, message):
    with pytest.raises(MultiQpError, match=message):
        repeated(motion, *times, 2)


def test_a_base_that_ends_lower_is_refused():
    motion = turning()
    q = motion.q.copy()
    q[:, 2] -= 0.05 * motion.times
    with pytest.raises(MultiQpError, match="0.050 m in height"):
        repeated(replace(motion, q=q), 1.0, 2.0, 2)
