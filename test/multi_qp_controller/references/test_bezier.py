"""Bézier references: ends, derivatives, and the tasks that follow them."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.references.bezier import CONTINUED, BezierPose, Curves

POINTS = np.random.default_rng(0).normal(size=(7, 3))


def test_sequence_starts_and_ends_at_the_end_control_points():
    curves = Curves([(POINTS[:4], 0.5), (POINTS[3:], 0.8)])
    assert curves.duration == pytest.approx(1.3)
    for time, place in ((0.0, POINTS[0]), (0.5, POINTS[3]), (1.3, POINTS[6]), (9.0, POINTS[6]), (-1.0, POINTS[0])):
        np.testing.assert_allclose(curves.sample(time)[0], place, atol=1e-12)
    np.testing.assert_allclose(curves.sample(2.0)[1:], 0.0)


@pytest.mark.parametrize("time", [0.1, 0.3, 0.7, 1.1])
def test_velocity_and_acceleration_are_derivatives(time):
    curves, h = Curves([(POINTS[:2], 0.5), (POINTS[1:], 0.8)]), 1e-5
    before, now, after = (curves.sample(time + step) for step in (-h, 0.0, h))
    np.testing.assert_allclose(now[1], (after[0] - before[0]) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(now[2], (after[1] - before[1]) / (2 * h), atol=1e-5)


def test_motion_goes_on_for_a_tick_after_the_end():
    curves = Curves([(POINTS[:4], 0.5), (POINTS[3:], 0.8)])
    before, after = curves.sample(curves.duration - 1e-9), curves.sample(curves.duration + 1e-9)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-5)
    later = curves.sample(curves.duration + 0.5 * CONTINUED)
    np.testing.assert_allclose(later[1], after[1] + 0.5 * CONTINUED * after[2], atol=1e-6)
    np.testing.assert_allclose(curves.sample(curves.duration + CONTINUED)[1:], 0.0)


def test_swing_lifts_off_and_lands_vertically():
    start = pin.SE3(np.eye(3), np.array([0.0, 0.1, 0.0]))
    end = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.4), np.array([0.3, 0.1, 0.1]))
    via = [[0.0, 0.1, 0.2]] * 3 + [[0.3, 0.1, 0.2]] * 3
    swing = BezierPose(start, end, via, 0.8)
    h = 1e-5
    for time in (0.1, 0.4, 0.7):
        before, now, after = (swing.sample(time + step) for step in (-h, 0.0, h))
        np.testing.assert_allclose(now.velocity[:3], (after.position - before.position) / (2 * h), atol=1e-6)
        turned = pin.log3(after.rotation @ before.rotation.T) / (2 * h)
        np.testing.assert_allclose(now.velocity[3:], turned, atol=1e-6)
        rate = (after.velocity - before.velocity) / (2 * h)
        np.testing.assert_allclose(now.acceleration, rate, atol=1e-4)
    for time, pose in ((0.0, start), (0.8, end)):
        sample = swing.sample(time)
        np.testing.assert_allclose(sample.position, pose.translation, atol=1e-12)
        np.testing.assert_allclose(sample.rotation, pose.rotation, atol=1e-9)
        np.testing.assert_allclose(np.concatenate([sample.velocity, sample.acceleration]), 0.0, atol=1e-9)
    early, late = swing.sample(0.2), swing.sample(0.6)
    assert early.position[2] > 0.08 and early.position[0] < 0.02  # lifts before it moves forward
    assert late.position[2] > 0.14 and late.position[0] > 0.28  # lowers after it moved forward
