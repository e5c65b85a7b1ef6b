"""Safe torques: hold, then damping."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.qp.safe_torques import SafeTorques
from multi_qp_scene.scene import State
from multi_qp_scene.schema.control import FallbackSpec

HOLD = 0.05


@pytest.fixture
def fallback(scene):
    return SafeTorques(scene, FallbackSpec(hold=HOLD, time_constant=0.2))


def moving(scene, speed):
    return State(scene.q0, np.full(scene.nv, speed))


def test_holds_the_last_valid_torque_then_brakes(scene, fallback):
    held = np.linspace(-5, 5, scene.na)
    fallback.record(held, np.diag(np.full(scene.nv, 0.4)))
    assert np.isnan(fallback.since).all()
    state = moving(scene, 2.0)
    np.testing.assert_array_equal(fallback.torque(state, 1.0), held)
    np.testing.assert_array_equal(fallback.torque(state, 1.04), held)
    assert (fallback.since == 1.0).all()
    np.testing.assert_allclose(fallback.torque(state, 1.05), -0.4 / 0.2 * 2.0)


def test_velocity_decays_with_the_time_constant(scene, fallback):
    """A lone joint under it: v decays as exp(-t/T), at any control period below T."""
    fallback.record(np.zeros(scene.na), np.diag(np.full(scene.nv, 0.4)))
    fallback.torque(moving(scene, 1.0), 0.0)
    for dt in (0.002, 0.02, 0.1):
        v = 1.0
        for k in range(round(0.4 / dt)):
            v += dt * fallback.torque(moving(scene, v), 1.0 + k * dt)[0] / 0.4
            assert 0.0 <= v <= 1.0
        assert v == pytest.approx((1 - dt / 0.2) ** round(0.4 / dt))


def test_torques_are_bounded_and_finite(scene, fallback):
    fallback.record(np.zeros(scene.na), 1e3 * np.eye(scene.nv))
    state = moving(scene, 1e6)
    fallback.torque(state, 0.0)
    np.testing.assert_array_equal(fallback.torque(state, 1.0), -scene.torque_limits)
    unknown = moving(scene, np.nan)
    assert not fallback.torque(unknown, 1.0).any()
    for endless in (np.inf, -np.inf):
        assert not fallback.torque(moving(scene, endless), 1.0).any()


def test_held_torques_are_a_copy(scene, fallback):
    torque = np.ones(scene.na)
    fallback.record(torque, np.eye(scene.nv))
    torque[:] = 7.0
    given = fallback.torque(moving(scene, 0.0), 0.0)
    given[:] = 9.0
    np.testing.assert_array_equal(fallback.torque(moving(scene, 0.0), 0.0), np.ones(scene.na))


def test_a_new_failure_restarts_the_hold(scene, fallback):
    fallback.record(np.ones(scene.na), np.eye(scene.nv))
    fallback.torque(moving(scene, 1.0), 0.0)
    assert (fallback.torque(moving(scene, 1.0), 1.0) < 0.0).all()
    fallback.record(np.full(scene.na, 3.0), np.eye(scene.nv))
    np.testing.assert_array_equal(fallback.torque(moving(scene, 1.0), 2.0), np.full(scene.na, 3.0))


def test_torque_is_zero_before_the_first_solved_tick(scene, fallback):
    for time in (0.0, 1.0):
        assert not fallback.torque(moving(scene, 1.0), time).any()


def test_joints_fail_one_by_one(scene, fallback):
    failing = np.arange(scene.na) < 3
    M = np.diag(np.full(scene.nv, 0.4))
    fallback.record(np.ones(scene.na), M)
    fallback.record(np.full(scene.na, 2.0), M, failing)
    held = fallback.torque(moving(scene, 2.0), 1.0, failing)
    np.testing.assert_array_equal(held, np.where(failing, 1.0, 2.0))
    assert (fallback.since[failing] == 1.0).all() and np.isnan(fallback.since[~failing]).all()
    later = fallback.torque(moving(scene, 2.0), 1.2)  # now all fail
    np.testing.assert_allclose(later, np.where(failing, -0.4 / 0.2 * 2.0, 2.0))
