"""Multiple shooting on problems of crocoddyl with a known minimum."""

import numpy as np
import pytest

from contact_invariant.multiple_shooting import MultipleShooting
from contact_invariant.optional_crocoddyl import crocoddyl


def begun(model, x0, nodes=20):
    """Return the problem of one model at all nodes, and a trajectory that is at the start throughout."""
    problem = crocoddyl.ShootingProblem(x0, [model] * nodes, model)
    return problem, MultipleShooting(problem, [x0] * (nodes + 1), [np.zeros(model.nu)] * nodes)


def test_a_linear_problem_takes_one_step():
    one, zero = np.eye(2), np.zeros(2)
    model = crocoddyl.ActionModelLQR(one + 0.1 * np.eye(2, k=1), 0.1 * one, one, one, 0.0 * one, zero, zero, zero)
    problem, found = begun(model, np.array([1.0, 0.5]))
    assert found.gap > 0.0
    assert found.step() and found.gap < 1e-9
    solver = crocoddyl.SolverFDDP(problem)
    solver.solve([], [], 10)
    assert found.cost == pytest.approx(solver.cost, rel=1e-5)


def test_defects_vanish_at_the_minimum_of_a_nonlinear_problem():
    problem, found = begun(crocoddyl.ActionModelUnicycle(), np.array([-1.0, -1.0, 1.0]))
    merits = [found.merit]
    while len(merits) < 50 and found.step():
        merits.append(found.merit)
    assert (np.diff(merits) <= 0.0).all() and found.gap < 1e-6
    solver = crocoddyl.SolverFDDP(problem)
    solver.solve([], [], 100)
    assert found.cost == pytest.approx(solver.cost, rel=1e-4)
    np.testing.assert_array_equal(found.xs[0], problem.x0)
