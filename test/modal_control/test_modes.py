"""Modes: orthogonality, rigid ones as momentum, and responses against numerical integration."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from modal_control.modes import modes_of
from modal_control.responses import free_response, impulse_response
from modal_control.rigid_plan import force_map, rigid_axes


@pytest.fixture
def dynamics(character, squat):
    return character.linearise(squat.q[240])


@pytest.fixture
def modes(dynamics):
    return modes_of(dynamics, threshold=100.0)


def test_modes_solve_the_eigenproblem(dynamics, modes):
    nv, K = len(dynamics.K), np.diag(dynamics.K)
    np.testing.assert_allclose(modes.Phi.T @ dynamics.M @ modes.Phi, np.eye(nv), atol=1e-9)
    np.testing.assert_allclose(modes.Phi.T @ K @ modes.Phi, np.diag(modes.squares), atol=1e-7)
    np.testing.assert_allclose(modes.inverse @ modes.Phi, np.eye(nv), atol=1e-9)
    assert (modes.squares[modes.low] < 100.0).all() and (modes.squares[modes.high] >= 100.0).all()
    assert (np.diff(modes.squares[6:]) >= 0.0).all()


def momentum(character, dynamics, v):
    """Return the centroidal momentum by pinocchio, (6,), of velocities in axes of the world."""
    local = v.copy()
    R = pin.Quaternion(dynamics.q[3:7].copy()).matrix()
    local[:3], local[3:6] = R.T @ v[:3], R.T @ v[3:6]
    model = character.model
    return pin.computeCentroidalMomentum(model, model.createData(), dynamics.q, local).vector


def test_rates_of_rigid_modes_are_momentum(character, dynamics, modes, random):
    v = random.uniform(-1.0, 1.0, character.model.nv)
    h = momentum(character, dynamics, v)
    rates = modes.inverse[:6] @ v
    np.testing.assert_allclose(rates[:3] * np.sqrt(dynamics.mass), h[:3], atol=1e-9)
    _, axes = np.linalg.eigh(dynamics.inertia)
    np.testing.assert_allclose(rates[3:] * np.sqrt(np.linalg.eigvalsh(dynamics.inertia)), axes.T @ h[3:], atol=1e-9)


def test_momentum_is_that_of_pinocchio_and_can_be_set(character, dynamics, modes, random):
    v = random.uniform(-1.0, 1.0, character.model.nv)
    h = momentum(character, dynamics, v)
    np.testing.assert_allclose(modes.momentum(v), h, atol=1e-9)
    other = random.uniform(-5.0, 5.0, 6)
    changed = modes.with_momentum(v, other)
    np.testing.assert_allclose(modes.momentum(changed), other, atol=1e-9)
    np.testing.assert_allclose(changed[6:], v[6:], atol=1e-12)


def test_forces_act_on_rigid_modes_by_their_sum_and_moment(dynamics, modes):
    found = force_map(dynamics.points, com=dynamics.com, mass=dynamics.mass, axes=rigid_axes(dynamics.inertia))
    np.testing.assert_allclose(found, np.einsum("vr,pdv->rpd", modes.Phi[:, :6], dynamics.J), atol=1e-9)


def test_actuation_of_other_modes_needs_no_force_on_the_base(modes):
    np.testing.assert_allclose(modes.inverse[6:, :6], 0.0, atol=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_responses_are_those_of_the_differential_equation(damping):
    squares, b = np.array([0.0, 9.0, 400.0]), np.array([1.5, -2.0, 30.0])
    p0, v0, time = np.array([0.2, -0.1, 0.05]), np.array([-0.3, 0.4, 1.0]), 0.7

    def rate(_, state):
        p, v = state[:3], state[3:]
        return np.concatenate([v, b - squares * p - 2.0 * damping * np.sqrt(squares) * v])

    exact = solve_ivp(rate, (0.0, time), np.concatenate([p0, v0]), rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(free_response(p0, v0, b, squares, time, damping).ravel(), exact, atol=1e-8)
    A, rates = impulse_response(squares, np.array([time]), damping)
    kicked = free_response(p0, v0 + 0.7, b, squares, time, damping) - free_response(p0, v0, b, squares, time, damping)
    np.testing.assert_allclose(0.7 * np.stack([A[0], rates[0]]), kicked, atol=1e-12)


def test_free_modes_without_damping_keep_their_energy():
    squares, b, p0, v0 = np.array([4.0, 90.0]), np.array([1.0, -5.0]), np.array([0.3, 0.1]), np.array([0.0, 2.0])
    energy = lambda p, v: 0.5 * v**2 + 0.5 * squares * p**2 - b * p  # noqa: E731
    for time in (0.01, 0.3, 5.0):
        np.testing.assert_allclose(energy(*free_response(p0, v0, b, squares, time)), energy(p0, v0), rtol=1e-12)


def test_a_range_of_modes_can_be_planned_instead(dynamics):
    modes = modes_of(dynamics, threshold=100.0, planned=(4, 12))
    assert (modes.low.start, modes.low.stop) == (10, 22)
    np.testing.assert_array_equal(modes.high, [*range(6, 10), *range(22, len(modes.squares))])
    usual = modes_of(dynamics, threshold=100.0)
    np.testing.assert_array_equal(usual.high, np.arange(usual.low.stop, len(modes.squares)))
