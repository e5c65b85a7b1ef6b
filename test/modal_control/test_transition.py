"""Reference that goes from one motion over into another."""

from __future__ import annotations

import numpy as np
import pytest

from modal_control.character import displaced, displacement
from modal_control.reference import Reference
from modal_control.transition import BlendedReference

DT, AT, BEGIN = 1.0 / 120.0, 30, 40


@pytest.fixture
def moved(squat):
    """Return the squat and another one, 5 cm beside it, with its surfaces in the air."""
    q = squat.q.copy()
    q[:, 1] += 0.05
    return squat, Reference(q, squat.v, np.zeros_like(squat.contacts))


def test_it_is_the_first_motion_and_after_the_blend_the_second_one(moved):
    first, second = moved
    both = BlendedReference(first, second, at=AT, begin=BEGIN, blend=0.25, dt=DT)
    assert len(both) == AT + len(second) - BEGIN
    np.testing.assert_array_equal(both.state(AT - 1)[0], first.q[AT - 1])
    np.testing.assert_array_equal(both.state(AT + 30)[0], second.q[BEGIN + 30])
    assert both.planted(AT - 1).all() and not both.planted(AT).any()


def test_a_plan_that_looks_ahead_sees_the_blend_from_the_first_motion(moved):
    first, second = moved
    both = BlendedReference(first, second, at=AT, begin=BEGIN, blend=0.25, dt=DT)
    q, v = both.state(AT)
    np.testing.assert_allclose(displacement(first.q[AT], q), 0.0, atol=1e-9)
    np.testing.assert_allclose(v, first.v[AT], atol=1e-9)
    for k in range(AT, AT + 28):  # velocities are those of the configurations
        rate = displacement(both.state(k)[0], both.state(k + 2)[0]) / (2.0 * DT)
        np.testing.assert_allclose(rate, both.state(k + 1)[1], atol=0.02)


def test_the_blend_begins_at_the_state_of_the_robot(moved):
    first, second = moved
    both = BlendedReference(first, second, at=AT, begin=BEGIN, blend=0.25, dt=DT)
    q, v = displaced(first.q[AT], np.linspace(0.0, 0.02, len(first.v[0]))), 1.1 * first.v[AT]
    both.follow(AT - 1, q, v, np.zeros((2, 3)), blind=False)
    np.testing.assert_allclose(both.state(AT)[0], first.q[AT], atol=1e-9)  # not yet
    both.follow(AT, q, v, np.zeros((2, 3)), blind=False)
    np.testing.assert_allclose(displacement(q, both.state(AT)[0]), 0.0, atol=1e-9)
    np.testing.assert_allclose(both.state(AT)[1], v, atol=1e-9)
    both.follow(0, first.q[0], first.v[0], np.zeros((2, 3)), blind=False)  # another run
    np.testing.assert_allclose(both.state(AT)[0], first.q[AT], atol=1e-9)
