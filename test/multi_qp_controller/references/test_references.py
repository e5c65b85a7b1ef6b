"""Reference trajectories: derivatives against finite differences, end conditions, bounds."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.references.random import RandomPose
from multi_qp_controller.references.references import MinimumJerkPose, RestingPose

START = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.4, 1.0), np.array([0.3, 0.1, 0.8]))
END = pin.SE3(pin.rpy.rpyToMatrix(-0.6, 0.9, 2.2), np.array([0.5, -0.2, 1.1]))
DURATION = 3.0
POSITION, ANGLE = np.array([0.05, 0.08, 0.0]), np.array([0.2, 0.5, 0.9])


def random_pose(seed=4, *, duration=DURATION, angle=ANGLE):
    return RandomPose(START, duration=duration, position=POSITION, angle=angle, seed=seed, knots_every=0.75)


def to_end():
    return MinimumJerkPose(START, END, DURATION)


MOVING = {
    "minimum jerk": to_end,
    "random": random_pose,
    "random, far turns": lambda: random_pose(angle=3 * ANGLE),
    "random, hardly any turn": lambda: random_pose(angle=1e-2 * ANGLE),
}


def fourth_order(function, time, h):
    return (8.0 * (function(time + h) - function(time - h)) - (function(time + 2 * h) - function(time - 2 * h))) / (
        12.0 * h
    )


@given(x=st.floats(0.001, 0.999), duration=st.floats(0.1, 20.0))
def test_minimum_jerk_rates(x, duration):
    time, h = x * duration, 1e-4 * duration
    _, ds, dds = minimum_jerk(time, duration)
    assert ds == pytest.approx(fourth_order(lambda t: minimum_jerk(t, duration)[0], time, h), abs=1e-8 / duration)
    assert dds == pytest.approx(fourth_order(lambda t: minimum_jerk(t, duration)[1], time, h), abs=1e-6 / duration**2)


@given(time=st.floats(-1.0, 4.0))
def test_minimum_jerk_is_monotone_and_clamped(time):
    s, ds, _ = minimum_jerk(time, 2.0)
    assert 0.0 <= s <= 1.0
    assert 0.0 <= ds <= 1.875 / 2.0 + 1e-12
    assert minimum_jerk(0.0, 2.0) == (0.0, 0.0, 0.0)
    assert minimum_jerk(2.0, 2.0) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("time", [0.05, 0.4, 0.75, 1.1, 1.49, 2.2, 2.96])
def test_velocity_and_acceleration_are_derivatives(name, time):
    reference = MOVING[name]()
    here = reference.sample(time)

    def pose(t):
        sample = reference.sample(t)
        return np.concatenate([sample.position, pin.log3(sample.rotation @ here.rotation.T)])

    np.testing.assert_allclose(here.velocity, fourth_order(pose, time, 1e-3), atol=1e-7)
    acceleration = fourth_order(lambda t: reference.sample(t).velocity, time, 1e-3)
    np.testing.assert_allclose(here.acceleration, acceleration, atol=1e-5)


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("time", [-1.0, 0.0, DURATION, DURATION + 5.0])
def test_both_ends_are_at_rest(name, time):
    reference = MOVING[name]()
    sample = reference.sample(time)
    np.testing.assert_allclose(sample.velocity, 0.0, atol=1e-9)
    np.testing.assert_allclose(sample.acceleration, 0.0, atol=1e-9)
    goes_back = name != "minimum jerk"
    expected = START if time <= 0.0 or goes_back else END
    np.testing.assert_allclose(sample.position, expected.translation, atol=1e-9)
    np.testing.assert_allclose(sample.rotation, expected.rotation, atol=1e-9)


@pytest.mark.parametrize("name", MOVING)
def test_rotations_are_orthonormal(name):
    reference = MOVING[name]()
    for time in np.linspace(0.0, DURATION, 37):
        R = reference.sample(time).rotation
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(R) == pytest.approx(1.0)


def test_equal_seeds_return_equal_paths():
    times = np.linspace(0.0, DURATION, 50)
    one, same, other = (np.array([random_pose(seed).sample(t).position for t in times]) for seed in (4, 4, 5))
    assert (one == same).all()
    assert np.abs(one - other).max() > 0.01


@given(seed=st.integers(0, 10_000), duration=st.floats(0.5, 20.0))
def test_random_path_is_bounded_around_its_centre(seed, duration):
    """Knots are within the bounds; the quintic spline overshoots by less than the bounds."""
    path = random_pose(seed, duration=duration)
    for time in np.linspace(0.0, duration, 60):
        sample = path.sample(time)
        assert (np.abs(sample.position - START.translation) <= 2.0 * POSITION + 1e-12).all()
        turn = pin.log3(START.rotation.T @ sample.rotation)
        assert np.linalg.norm(turn) <= 2.0 * np.linalg.norm(ANGLE) + 1e-9


def test_resting_pose_is_constant():
    reference = RestingPose(END)
    assert reference.duration == 0.0
    for time in (0.0, 10.0):
        sample = reference.sample(time)
        assert (sample.position == END.translation).all()
        assert (sample.rotation == END.rotation).all()
        assert not sample.velocity.any()
        assert not sample.acceleration.any()


def test_minimum_jerk_path_is_straight():
    for time in np.linspace(0.0, DURATION, 9):
        sample = to_end().sample(time)
        s = minimum_jerk(time, DURATION)[0]
        np.testing.assert_allclose(sample.position, (1 - s) * START.translation + s * END.translation, atol=1e-12)
        part = pin.log3(START.rotation.T @ sample.rotation)
        np.testing.assert_allclose(part, s * pin.log3(START.rotation.T @ END.rotation), atol=1e-12)
