"""Equality form: rows and bounds with equal sides for every backend, and restored multipliers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from qp_recipes import random_problem

from multi_qp_controller.qp import QPProblem, make_solver, solver_names
from multi_qp_controller.qp.equalities import EqualityForm
from multi_qp_controller.qp.verification import flaw


def with_equal_sides(seed: int, gap: float = 0.0) -> tuple[QPProblem, QPProblem]:
    """Return a problem with equal sides, up to a gap, and the same one with explicit equalities."""
    problem = random_problem(np.random.default_rng(seed), n=12, m=3, p=8)
    inside = 0.5 * (problem.lb + problem.ub)
    l, u, lb, ub = (side.copy() for side in (problem.l, problem.u, problem.lb, problem.ub))  # noqa: E741
    rows, fixed = [1, 4, 6], [0, 7]
    l[rows] = u[rows] = problem.C[rows] @ inside + 0.1
    lb[fixed] = ub[fixed] = inside[fixed]
    free = np.isin(np.arange(12), fixed)
    plain = QPProblem.of(
        problem.H,
        problem.g,
        A=np.vstack([problem.A, problem.C[rows], np.eye(12)[fixed]]),
        b=np.concatenate([problem.b, l[rows], lb[fixed]]),
        C=np.delete(problem.C, rows, axis=0),
        l=np.delete(l, rows),
        u=np.delete(u, rows),
        lb=np.where(free, -np.inf, lb),
        ub=np.where(free, np.inf, ub),
    )
    l[rows] -= gap
    u[rows] += gap
    return replace(problem, l=l, u=u, lb=lb, ub=ub), plain


@pytest.mark.parametrize("gap", [0.0, 1e-14])
@pytest.mark.parametrize("name", solver_names())
def test_every_backend_solves_problems_with_equal_sides(name, gap):
    for seed in range(5):
        problem, plain = with_equal_sides(seed, gap)
        answer, expected = make_solver(name).solve(problem), make_solver("daqp").solve(plain)
        assert answer.status == expected.status, answer.message
        if answer.found:
            assert_allclose(answer.x, expected.x, atol=1e-7)
            assert (answer.y_eq.shape, answer.z_ineq.shape, answer.z_bounds.shape) == ((3,), (8,), (12,))
            assert flaw(problem, answer, 1e-6) == ""
            assert_allclose(answer.z_ineq[[1, 4, 6]], expected.y_eq[3:6], atol=1e-5)
            assert_allclose(answer.z_bounds[[0, 7]], expected.y_eq[6:], atol=1e-5)


@pytest.mark.parametrize("name", solver_names())
def test_a_warm_start_of_equal_sides_does_not_change_the_solution(name):
    problem, _ = with_equal_sides(1)
    solver = make_solver(name)
    cold = solver.solve(problem)
    assert cold.found
    warm = solver.solve(replace(problem, g=1.01 * problem.g), warm_start=cold)
    assert_allclose(warm.x, solver.solve(replace(problem, g=1.01 * problem.g)).x, atol=1e-7)


def test_a_problem_without_equal_sides_is_unchanged():
    problem = random_problem(np.random.default_rng(0), n=5, m=1, p=3)
    problem.l[:], problem.u[:] = -1.0, np.inf
    form = EqualityForm.of(problem)
    assert form.problem is problem
    answer = make_solver("daqp").solve(problem)
    assert form.restored(answer) is answer and form.start(answer) is answer


def test_huge_sides_are_infinite():
    problem = random_problem(np.random.default_rng(0), n=5, m=1, p=3)
    problem.l[:], problem.u[:] = -1.0, np.inf
    problem.l[0], problem.u[0], problem.ub[1] = -1e30, 1e25, 1e20
    form = EqualityForm.of(problem).problem
    assert form.p == 2
    assert form.ub[1] == np.inf


@pytest.mark.parametrize("name", solver_names())
def test_a_problem_whose_variables_are_all_fixed(name):
    problem = random_problem(np.random.default_rng(3), n=4, m=1, p=2)
    x = 0.5 * (problem.lb + problem.ub)
    fixed = replace(problem, lb=x, ub=x.copy(), b=problem.A @ x, l=problem.C @ x - 1.0, u=problem.C @ x + 1.0)
    answer = make_solver(name).solve(fixed)
    assert answer.found, answer.message
    assert_allclose(answer.x, x, atol=1e-9)
    assert make_solver(name).solve(replace(fixed, b=fixed.b + 1.0)).status == "infeasible"
    assert make_solver(name).solve(replace(fixed, l=fixed.l + 1.5, u=fixed.u + 1.5)).status == "infeasible"
