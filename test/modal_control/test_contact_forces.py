"""Contact forces of a window against a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from modal_control.contact_forces import plan_forces


def problem(random, count, scale):
    A = random.normal(size=(12, 3 * count))
    return A, scale * random.normal(size=12), random.uniform(0.1, 2.0, 12)


@pytest.mark.parametrize("friction", [0.3, 1.0])
def test_without_effect_the_forces_are_the_nearest_of_the_cone(random, friction):
    wanted = random.normal(size=(200, 3))
    found = plan_forces(np.zeros((12, 600)), np.zeros(12), np.ones(12), 1.0, friction=friction, nominal=wanted).forces
    assert (np.hypot(found[:, 0], found[:, 1]) <= friction * found[:, 2] + 1e-12).all()
    inside = np.hypot(wanted[:, 0], wanted[:, 1]) < friction * wanted[:, 2]
    np.testing.assert_array_equal(found[inside], wanted[inside])
    assert inside.any() and (found[:, 2] == 0.0).any() and (~inside & (found[:, 2] > 0.0)).any()
    # the rest of a projection on a cone is orthogonal to it, and in the polar cone
    rest = wanted - found
    np.testing.assert_allclose(np.sum(rest * found, axis=1), 0.0, atol=1e-12)
    assert (rest[:, 2] + friction * np.hypot(rest[:, 0], rest[:, 1]) <= 1e-12).all()


@pytest.mark.parametrize("nominal", [0.0, 1.5])
def test_the_dual_finds_the_optimum_of_a_general_solver(random, nominal):
    friction, effort, count = 0.6, 0.2, 5
    A, offset, weights = problem(random, count, 3.0)
    rest = np.tile([0.0, 0.0, nominal], (count, 1))

    def cost(f):
        y = A @ f + offset
        return 0.5 * y @ (weights * y) + 0.5 * effort * np.sum((f - rest.ravel()) ** 2)

    def gradient(f):
        return A.T @ (weights * (A @ f + offset)) + effort * (f - rest.ravel())

    found = plan_forces(A, offset, weights, effort, friction=friction, nominal=rest)
    f = found.forces.ravel()
    assert found.residual < 1e-8
    slack = {
        "type": "ineq",
        "fun": lambda x: friction * x[2::3] - np.hypot(x[::3], x[1::3] + 1e-12),
    }
    other = minimize(
        cost,
        np.tile([0.0, 0.0, 1.0], count),
        jac=gradient,
        constraints=[slack],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert slack["fun"](f).min() > -1e-9
    assert cost(f) == pytest.approx(other.fun, rel=1e-5)
    assert cost(f) <= other.fun + 1e-8


def test_a_warm_start_gives_the_same_forces(random):
    A, offset, weights = problem(random, 40, 5.0)
    rest = np.zeros((40, 3))
    cold = plan_forces(A, offset, weights, 0.01, friction=0.5, nominal=rest)
    warm = plan_forces(A, offset, weights, 0.01, friction=0.5, nominal=rest, start=cold.multipliers + 0.3)
    np.testing.assert_allclose(warm.forces, cold.forces, atol=1e-6)
