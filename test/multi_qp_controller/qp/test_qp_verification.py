"""Verification of solutions, independent of the units of rows, variables and cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from qp_recipes import random_problem
from qp_reference import complementarity

from multi_qp_controller.qp import QPProblem, Solution, make_solver, solver_names
from multi_qp_controller.qp.verification import flaw, is_convex, with_multipliers

NAMES = solver_names()
TOLERANCE = 1e-6


@pytest.fixture
def problem() -> QPProblem:
    return random_problem(np.random.default_rng(2), n=8, m=2, p=6)


@pytest.fixture
def answer(problem) -> Solution:
    return make_solver("quadprog").solve(problem)


def test_an_optimum_has_no_flaw(problem, answer):
    assert flaw(problem, answer, TOLERANCE) == ""


@pytest.mark.parametrize("units", [1e-6, 1e6])
def test_violations_are_found_in_any_unit(problem, answer, units):
    k = int(np.argmax(np.abs(answer.z_ineq)))
    scale = np.ones(problem.p)
    scale[k] = units
    scaled = replace(problem, C=scale[:, None] * problem.C, l=scale * problem.l, u=scale * problem.u)
    same = replace(answer, z_ineq=answer.z_ineq / scale)
    assert flaw(scaled, same, TOLERANCE) == ""
    normal = problem.C[k] / np.linalg.norm(problem.C[k])
    beyond = np.sign(answer.z_ineq[k]) * 1e-4 * normal * max(1.0, abs(problem.C[k] @ answer.x))
    assert "violates a row" in flaw(scaled, replace(same, x=answer.x + beyond), TOLERANCE)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
def test_the_gradient_vanishes_in_any_unit_of_the_cost(problem, answer, factor):
    scaled = replace(problem, H=factor * problem.H, g=factor * problem.g)
    multipliers = {name: factor * getattr(answer, name) for name in ("y_eq", "z_ineq", "z_bounds")}
    assert flaw(scaled, replace(answer, **multipliers), TOLERANCE) == ""
    multipliers["y_eq"] = multipliers["y_eq"] * (1 + 1e-4)
    assert "not an optimum" in flaw(scaled, replace(answer, **multipliers), TOLERANCE)


def test_a_flat_variable_beside_a_steep_one_is_at_its_optimum():
    # the gradient in y is 1, a hundred-millionth of what is in x
    problem = QPProblem.of(np.diag([1e8, 1.0]), np.array([-1e8, -1.0]))
    none = {"y_eq": np.zeros(0), "z_ineq": np.zeros(0), "z_bounds": np.zeros(2)}
    assert flaw(problem, Solution(np.array([1.0, 1.0]), True, "solved", **none), TOLERANCE) == ""
    assert "not an optimum" in flaw(problem, Solution(np.array([1.0, 0.0]), True, "solved", **none), TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("side", "status"), [(-1e-17, "solved"), (-1e-3, "infeasible")])
def test_a_row_of_zeros_is_violated_beyond_rounding_only(name, side, status):
    # the first step of a preview controller has no influence on the ZMP before it; its row is 0'x ≤ rounding
    problem = QPProblem.of(np.eye(2), -np.ones(2), C=np.array([[0.0, 0.0], [1.0, 1.0]]), u=np.array([side, 1.0]),
                           l=np.full(2, -np.inf))  # fmt: skip
    assert make_solver(name).solve(problem).status == status


def test_multipliers_belong_to_active_rows():
    # min x²/2 − x, x <= 3: the optimum is 1, not the bound
    problem = QPProblem.of(np.eye(1), -np.ones(1), C=np.eye(1), u=np.array([3.0]))
    at = Solution(np.array([0.5]), True, "solved", y_eq=np.zeros(0), z_ineq=np.array([0.5]), z_bounds=np.zeros(1))
    assert "not active" in flaw(problem, at, TOLERANCE)


def test_a_multiplier_has_the_sign_of_its_side():
    problem = QPProblem.of(np.eye(1), -np.ones(1), C=np.eye(1), u=np.zeros(1))
    at = Solution(np.zeros(1), True, "solved", y_eq=np.zeros(0), z_ineq=np.ones(1), z_bounds=np.zeros(1))
    assert flaw(problem, at, TOLERANCE) == ""
    mirrored = replace(problem, g=np.ones(1))
    assert "a multiplier of an infinite side" in flaw(mirrored, replace(at, z_ineq=-np.ones(1)), TOLERANCE)


@pytest.mark.parametrize("name", ["y_eq", "z_ineq", "z_bounds", "x"])
def test_nan_is_a_flaw(problem, answer, name):
    broken = getattr(answer, name).copy()
    broken[0] = np.nan
    assert "not finite" in flaw(problem, replace(answer, **{name: broken}), TOLERANCE)


def test_a_hessian_that_is_not_symmetric_is_a_flaw():
    problem = QPProblem.of(np.array([[2.0, 1.0], [0.0, 2.0]]), np.array([-3.0, -2.0]))
    x = np.linalg.solve(problem.H, -problem.g)
    none = {"y_eq": np.zeros(0), "z_ineq": np.zeros(0), "z_bounds": np.zeros(2)}
    assert "not symmetric" in flaw(problem, Solution(x, True, "solved", **none), TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_a_cost_of_extreme_magnitude_has_no_solution(name):
    problem = random_problem(np.random.default_rng(2), n=8, m=2, p=6)
    problem.g[3] = 1e300
    answer = make_solver(name).solve(problem)
    assert not answer.found
    assert answer.status in ("numerical", "iteration_limit", "time_limit")


def test_multipliers_are_estimated(problem, answer):
    estimated = with_multipliers(problem, Solution(answer.x, True, "solved"))
    np.testing.assert_allclose(estimated.z_ineq, answer.z_ineq, atol=1e-6)
    np.testing.assert_allclose(estimated.y_eq, answer.y_eq, atol=1e-6)
    nothing_active = QPProblem.of(np.eye(2), np.zeros(2))
    assert not with_multipliers(nothing_active, Solution(np.zeros(2), True, "solved")).z_bounds.any()


def test_convexity_does_not_depend_on_units():
    random = np.random.default_rng(0)
    J = random.normal(size=(3, 6)) * 10.0 ** random.uniform(-6, 6, 6)
    assert is_convex(J.T @ J)
    assert is_convex(np.zeros((3, 3)))
    assert not is_convex(np.diag([1.0, -1e-12]))
    assert not is_convex(np.array([[1e-6, 2.0], [2.0, 1e6]]))


@pytest.mark.parametrize("name", NAMES)
def test_a_cost_without_lower_bound_is_unbounded(name):
    answer = make_solver(name).solve(QPProblem.of(np.diag([1.0, 0.0]), np.array([0.0, -1.0])))
    assert (answer.found, answer.status) == (False, "unbounded")


@pytest.mark.parametrize("name", NAMES)
def test_a_hessian_with_a_negative_eigenvalue_is_refused(name):
    box = {"lb": -np.ones(2), "ub": np.ones(2)}
    answer = make_solver(name).solve(QPProblem.of(np.diag([1.0, -1.0]), np.array([0.5, 0.0]), **box))
    assert (answer.found, answer.status) == (False, "not_convex")


@pytest.mark.parametrize("name", NAMES)
def test_published_problems(name):
    # ZECEVIC2, HS21 and HS76 of Maros and Mészáros, with the objectives that they publish
    zecevic = QPProblem.of(
        np.diag([0.0, 4.0]),
        np.array([-2.0, -3.0]),
        C=np.array([[1.0, 1.0], [1.0, 4.0]]),
        u=np.array([2.0, 4.0]),
        lb=np.zeros(2),
        ub=np.full(2, 10.0),
    )
    hs21 = QPProblem.of(
        np.diag([0.02, 2.0]),
        np.zeros(2),
        C=np.array([[10.0, -1.0]]),
        l=np.array([10.0]),
        lb=np.array([2.0, -50.0]),
        ub=np.full(2, 50.0),
    )
    hs76 = QPProblem.of(
        np.array([[2.0, 0, -1, 0], [0, 1, 0, 0], [-1, 0, 2, 1], [0, 0, 1, 1]]),
        np.array([-1.0, -3.0, 1.0, -1.0]),
        C=np.array([[1.0, 2, 1, 1], [3, 1, 2, -1], [0, 1, 4, 0]]),
        l=np.array([-np.inf, -np.inf, 1.5]),
        u=np.array([5.0, 4.0, np.inf]),
        lb=np.zeros(4),
    )
    for problem, objective in ((zecevic, -4.125), (hs21, 0.04), (hs76, -4.681818181818182)):
        answer = make_solver(name).solve(problem)
        assert answer.found, answer.message
        assert problem.objective(answer.x) == pytest.approx(objective, rel=1e-7)
        assert complementarity(problem, answer.x, answer.z_ineq, answer.z_bounds) < 1e-7
