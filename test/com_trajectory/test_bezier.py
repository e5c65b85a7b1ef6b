import numpy as np
import pytest
from contacts import wrench_points
from hypothesis import given, settings
from hypothesis import strategies as st

from com_trajectory.bezier import Bezier
from com_trajectory.wrench_cone import GRAVITY

SEEDS = st.integers(0, 10_000)


def random_curve(seed, degree=7, duration=1.7):
    return Bezier(np.random.default_rng(seed).normal(size=(degree + 1, 3)), 0.4, duration)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 20))
def test_derivatives_are_those_of_finite_differences(seed, degree):
    curve = random_curve(seed, degree)
    times = np.linspace(curve.start + 0.01, curve.end - 0.01, 7)
    h = 1e-5
    slope = (curve(times + h) - curve(times - h)) / (2 * h)
    assert curve.derivative()(times) == pytest.approx(slope, abs=1e-4, rel=1e-4)
    bend = (curve.derivative()(times + h) - curve.derivative()(times - h)) / (2 * h)
    assert curve.derivative(2)(times) == pytest.approx(bend, abs=1e-3, rel=1e-4)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 15))
def test_parts_are_the_curve(seed, degree):
    curve = random_curve(seed, degree)
    part = curve.part(0.3, 0.55)
    times = np.linspace(part.start, part.end, 9)
    assert part(times) == pytest.approx(curve(times), abs=1e-9)
    for number, points in enumerate(curve.parts(4)):
        quarter = Bezier(points, curve.start + number / 4 * curve.duration, curve.duration / 4)
        assert quarter(quarter.start + 0.1) == pytest.approx(curve(quarter.start + 0.1), abs=1e-9)


def test_between_has_the_requested_states():
    rng = np.random.default_rng(0)
    start, end = tuple(rng.normal(size=(3, 3))), tuple(rng.normal(size=(3, 3)))
    curve = Bezier.between(start, rng.normal(size=(2, 3)), end, 2.5)
    assert curve.degree == 7  # (9)
    for time, state in ((0.0, start), (2.5, end)):
        for order, value in enumerate(state):
            assert curve.derivative(order)(time) == pytest.approx(value)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 9))
def test_wrench_points_are_those_of_newton_and_euler(seed, degree):
    curve = random_curve(seed, degree, duration=0.8)
    origin = np.array([0.3, -0.2, 0.1])
    wrench = Bezier(wrench_points(curve.points, curve.duration, origin), curve.start, curve.duration)
    assert len(wrench.points) == 2 * degree - 1
    for time in np.linspace(curve.start, curve.end, 5):
        force = curve.derivative(2)(time) / GRAVITY + [0, 0, 1]
        assert wrench(time)[:3] == pytest.approx(force, abs=1e-7)
        assert wrench(time)[3:] == pytest.approx(np.cross(curve(time) - origin, force), abs=1e-7)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 20), st.floats(0.0, 1.0))
def test_a_state_is_the_value_and_its_derivatives(seed, degree, share):
    curve = random_curve(seed, degree)
    time = curve.start + share * curve.duration
    for order, value in enumerate(curve.state(share)):
        assert value == pytest.approx(curve.derivative(order)(time), abs=1e-9, rel=1e-9)
