"""Joint limits: any allowed motion stays inside; a start outside returns."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_qp_controller.constraints import JointLimitConstraint
from multi_qp_scene.scene import JointLimits

ONE = np.array([0])
ROUNDING = 1e-9

spans = st.floats(0.02, 6.3)
velocities = st.floats(0.1, 15.0)
steps = st.floats(1e-3, 33e-3)
shares = st.floats(0.0, 1.0)


def limits_of(span, velocity, *, lower=-0.4):
    upper = lower + span
    return JointLimits(ONE, ONE, np.array([lower]), np.array([upper]), np.array([velocity]))


class Bounds:
    """The constraint with its own arrays, from q and v alone."""

    def __init__(self, limits, nv, **options):
        self.constraint = JointLimitConstraint(limits, nv, **options)
        self.limited, self.nv = self.constraint.limited, nv

    def update(self, q, v):
        self.lower, self.upper = np.full(self.nv, -np.inf), np.full(self.nv, np.inf)
        self.constraint.update(SimpleNamespace(q=q, v=v), self.lower, self.upper)


def constraint(limits, dt, *, influence=0.1, security=0.01, damping=0.5):
    return Bounds(limits, 1, dt=dt, influence=influence, security=security, damping=damping)


def step(bounds, q, v, dt, choose):
    """Integrate an acceleration within the bounds, by the integrator's scheme."""
    bounds.update(np.array([q]), np.array([v]))
    assert bounds.lower[0] <= bounds.upper[0]
    v = v + dt * choose(bounds.lower[0], bounds.upper[0])
    return q + dt * v, v


def least(low, _):
    return low


def greatest(_, high):
    return high


@pytest.mark.parametrize("choose", [least, greatest])
@given(span=spans, velocity=velocities, dt=steps, place=shares, speed=st.floats(-1.0, 1.0))
def test_extreme_accelerations_stay_inside_the_limits(choose, span, velocity, dt, place, speed):
    limits = limits_of(span, velocity)
    bounds, q, v = constraint(limits, dt), limits.lower[0] + place * span, speed * velocity
    for _ in range(60):
        q, v = step(bounds, q, v, dt, choose)
        assert limits.lower[0] - ROUNDING <= q <= limits.upper[0] + ROUNDING
        assert abs(v) <= velocity * (1 + ROUNDING)


@given(span=spans, velocity=velocities, dt=steps, place=shares, choices=st.lists(shares, min_size=40, max_size=40))
def test_any_allowed_acceleration_stays_inside_the_limits(span, velocity, dt, place, choices):
    limits = limits_of(span, velocity)
    bounds, q, v = constraint(limits, dt), limits.lower[0] + place * span, 0.0
    for share in choices:
        q, v = step(bounds, q, v, dt, lambda low, high, share=share: low + share * (high - low))
        assert limits.lower[0] - ROUNDING <= q <= limits.upper[0] + ROUNDING
        assert abs(v) <= velocity * (1 + ROUNDING)


@pytest.mark.parametrize("side", [-1, 1])
@settings(max_examples=15)
@given(span=spans, velocity=st.floats(1.0, 15.0), dt=steps, outside=st.floats(0.0, 0.1))
def test_start_outside_returns_monotonically(side, span, velocity, dt, outside):
    """With the smallest motion within the bounds, the joint gets inside and never leaves again."""
    limits = limits_of(span, velocity)
    edge = limits.upper[0] if side > 0 else limits.lower[0]
    bounds, q, v = constraint(limits, dt), edge + side * outside, 0.0
    choose = greatest if side > 0 else least
    distance = side * (edge - q)
    for _ in range(round(2.5 / dt)):
        q, v = step(bounds, q, v, dt, choose)
        previous, distance = distance, side * (edge - q)
        assert distance >= previous - ROUNDING
        assert abs(v) <= velocity * (1 + ROUNDING)
    assert distance >= 0.0


@pytest.mark.parametrize("side", [-1, 1])
@given(dt=steps, outside=st.floats(0.0, 0.1), speed=st.floats(0.0, 1.0))
def test_moving_outwards_outside_stops_at_once(side, dt, outside, speed):
    limits = limits_of(1.5, 8.0)
    edge = limits.upper[0] if side > 0 else limits.lower[0]
    bounds = constraint(limits, dt)
    _, v = step(bounds, edge + side * (outside + 1e-9), side * speed, dt, greatest if side > 0 else least)
    assert side * v <= ROUNDING


@given(
    span=spans, velocity=velocities, dt=steps, place=st.floats(-0.5, 1.5), speed=st.floats(-2.0, 2.0),
)  # fmt: skip
def test_bounds_never_cross(span, velocity, dt, place, speed):
    limits = limits_of(span, velocity)
    bounds = constraint(limits, dt)
    bounds.update(np.array([limits.lower[0] + place * span]), np.array([speed * velocity]))
    assert bounds.lower[0] <= bounds.upper[0]
    assert np.isfinite([bounds.lower[0], bounds.upper[0]]).all()


def test_damper_equals_that_of_vaillant2015():
    """(31): q̇⁺ ≤ ξ (d − δ_s)/(δ_i − δ_s) towards the limit."""
    limits, dt = limits_of(1.0, 4.0, lower=-0.4), 0.005
    bounds = constraint(limits, dt, influence=0.1, security=0.01, damping=0.5)
    bounds.update(np.array([0.6 - 0.04]), np.array([0.7]))
    allowed = 0.5 * 4.0 * (0.04 - 0.01) / (0.1 - 0.01)
    assert bounds.upper[0] == pytest.approx((allowed - 0.7) / dt)
    assert bounds.lower[0] == pytest.approx((-4.0 - 0.7) / dt)
    bounds.update(np.array([0.3]), np.array([0.7]))
    assert bounds.upper[0] == pytest.approx((4.0 - 0.7) / dt)


def test_joint_without_limits_is_not_bounded():
    free = np.array([np.inf])
    bounds = constraint(JointLimits(ONE, ONE, -free, free, free), 0.005)
    bounds.update(np.array([3.0]), np.array([2.0]))
    assert np.isneginf(bounds.lower).all()
    assert np.isposinf(bounds.upper).all()
    assert not bounds.limited.any()


def test_one_side_may_be_limited_alone():
    free = np.array([np.inf])
    bounds = constraint(JointLimits(ONE, ONE, np.array([0.0]), free, free), 0.005)
    bounds.update(np.array([0.01]), np.array([-0.5]))
    assert bounds.lower[0] > 0.0
    assert np.isposinf(bounds.upper).all()
    assert bounds.limited.all()


def test_only_named_entries_are_bounded():
    limits = JointLimits(np.array([6]), np.array([7]), np.array([-1.0]), np.array([1.0]), np.array([2.0]))
    bounds = Bounds(limits, 8, dt=0.01, influence=0.1, security=0.01, damping=0.5)
    bounds.update(np.zeros(9), np.zeros(8))
    assert np.flatnonzero(bounds.limited).tolist() == [6]
    assert np.flatnonzero(np.isfinite(bounds.lower)).tolist() == [6]


def test_bounds_of_other_constraints_are_narrowed_and_never_widened():
    bounds = Bounds(limits_of(1.0, 4.0), 1, dt=0.005, influence=0.1, security=0.01, damping=0.5)
    bounds.update(np.array([0.3]), np.array([0.0]))
    low, high = bounds.lower[0], bounds.upper[0]
    for lower, upper in ((0.5 * low, 0.5 * high), (2.0 * low, 2.0 * high)):
        given = np.array([lower]), np.array([upper])
        bounds.constraint.update(SimpleNamespace(q=np.array([0.3]), v=np.array([0.0])), *given)
        assert (given[0][0], given[1][0]) == (max(low, lower), min(high, upper))
