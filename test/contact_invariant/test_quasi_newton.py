"""The published optimiser: L-BFGS on finite differences."""

import numpy as np

from contact_invariant.quasi_newton import quasi_newton
from contact_invariant.synthesis import STAGES, Synthesiser


class Valley:
    """Half of (10 (z_2 − z_1²))² + (1 − z_1)², with a constant z_0; minimum at (z_0, 1, 1)."""

    fixed = 1

    def cost(self, z):
        return 0.5 * ((10.0 * (z[2] - z[1] ** 2)) ** 2 + (1.0 - z[1]) ** 2)

    def differences(self, z, step):
        shifts = step * np.eye(3)
        return self.cost(z), np.array([(self.cost(z + s) - self.cost(z - s)) / (2.0 * step) for s in shifts])


def test_it_finds_the_minimum_and_leaves_constants():
    seen = []
    fit = quasi_newton(
        Valley(), np.array([7.0, -1.0, 1.0]), iterations=200, progress=lambda number, cost: seen.append((number, cost))
    )
    np.testing.assert_allclose(fit.z, [7.0, 1.0, 1.0], atol=0.01)
    assert fit.reason == "converged" and len(fit.costs) == len(fit.times) and fit.costs[-1] < 1e-4
    assert seen == list(enumerate(fit.costs))[1:]


def test_the_number_of_iterations_and_the_time_are_bounded():
    start = np.array([0.0, -1.0, 1.0])
    fit = quasi_newton(Valley(), start, iterations=3)
    assert fit.reason == "iterations" and len(fit.costs) == 4
    fit = quasi_newton(Valley(), start, iterations=3, deadline=0.0)
    assert fit.reason == "time" and Valley().cost(fit.z) <= fit.costs[0]


def test_differences_agree_with_the_exact_gradient(behaviour, gradient_of):
    scenario = behaviour(phases=1, terms="{type: position, target: [0.2, 0]}")
    maker, scene = Synthesiser(scenario, "lbfgs"), scenario.scene
    problem = maker.problem
    problem.weights.update(STAGES[1].weights)
    rng = np.random.default_rng(0)
    angles = scene.q0[maker.character.joints.q_index]
    z = problem.initial(maker.character.features_at(scene, scene.q0), angles)
    z[problem.fixed :] += 0.02 * rng.normal(size=problem.size - problem.fixed)
    cost, found = problem.differences(z, 1e-5)
    same, exact = problem.normal_equations(z)[0], gradient_of(problem, z)
    assert abs(cost - same) < 1e-9 * cost
    np.testing.assert_allclose(found[problem.fixed :], exact[problem.fixed :], atol=1e-3 * np.abs(exact).max())
