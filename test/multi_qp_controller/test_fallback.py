"""The command of last resort."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.fallback import Fallback
from multi_qp_scene.scene import State
from multi_qp_scene.schema.scenario_file import FallbackSpec

HOLD = 0.05


@pytest.fixture
def fallback(scene):
    return Fallback(scene, FallbackSpec(hold=HOLD, time_constant=0.2))


def moving(scene, speed):
    return State(scene.q0, np.full(scene.nv, speed))


def test_it_holds_the_last_good_torque_then_brakes(scene, fallback):
    held = np.linspace(-5, 5, scene.na)
    fallback.recovered(held, np.diag(np.full(scene.nv, 0.4)))
    assert fallback.since is None
    state = moving(scene, 2.0)
    np.testing.assert_array_equal(fallback.torque(state, 1.0), held)
    np.testing.assert_array_equal(fallback.torque(state, 1.04), held)
    assert fallback.since == 1.0
    np.testing.assert_allclose(fallback.torque(state, 1.05), -0.4 / 0.2 * 2.0)


def test_braking_dies_out_in_the_time_constant(scene, fallback):
    """A lone joint under it: v decays as exp(-t/T), at any control period below T."""
    fallback.recovered(np.zeros(scene.na), np.diag(np.full(scene.nv, 0.4)))
    fallback.torque(moving(scene, 1.0), 0.0)
    for dt in (0.002, 0.02, 0.1):
        v = 1.0
        for k in range(round(0.4 / dt)):
            v += dt * fallback.torque(moving(scene, v), 1.0 + k * dt)[0] / 0.4
            assert 0.0 <= v <= 1.0
        assert v == pytest.approx((1 - dt / 0.2) ** round(0.4 / dt))


def test_it_is_bounded_and_never_nan(scene, fallback):
    fallback.recovered(np.zeros(scene.na), 1e3 * np.eye(scene.nv))
    state = moving(scene, 1e6)
    fallback.torque(state, 0.0)
    np.testing.assert_array_equal(fallback.torque(state, 1.0), -scene.torque_limits)
    unknown = moving(scene, np.nan)
    assert not fallback.torque(unknown, 1.0).any()
    unbounded = moving(scene, np.inf)
    assert (np.abs(fallback.torque(unbounded, 1.0)) <= scene.torque_limits).all()


def test_what_it_holds_is_its_own(scene, fallback):
    torque = np.ones(scene.na)
    fallback.recovered(torque, np.eye(scene.nv))
    torque[:] = 7.0
    given = fallback.torque(moving(scene, 0.0), 0.0)
    given[:] = 9.0
    np.testing.assert_array_equal(fallback.torque(moving(scene, 0.0), 0.0), np.ones(scene.na))


def test_a_new_failure_holds_anew(scene, fallback):
    fallback.recovered(np.ones(scene.na), np.eye(scene.nv))
    fallback.torque(moving(scene, 1.0), 0.0)
    assert (fallback.torque(moving(scene, 1.0), 1.0) < 0.0).all()
    fallback.recovered(np.full(scene.na, 3.0), np.eye(scene.nv))
    np.testing.assert_array_equal(fallback.torque(moving(scene, 1.0), 2.0), np.full(scene.na, 3.0))


def test_before_any_good_tick_there_is_no_torque(scene, fallback):
    for time in (0.0, 1.0):
        assert not fallback.torque(moving(scene, 1.0), time).any()
