"""Contract of `Solver` for every backend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from qp_recipes import random_problem
from qp_reference import complementarity, dual_residual, primal_residual
from scipy.optimize import linprog

from multi_qp_controller.qp import QPProblem, Solution, make_solver, solver_names
from multi_qp_controller.qp.solvers import SOLVERS

NAMES = solver_names()
WITH_MULTIPLIERS = [name for name in NAMES if name != "eiquadprog"]
REPRODUCIBLE = [name for name in NAMES if name != "proxqp"]
PROMPT = 0.5  # [s]


def one(name: str, **settings_of_solver):
    return make_solver(name, **settings_of_solver)


def assert_optimal(problem: QPProblem, answer: Solution) -> None:
    """Check the conditions of Karush, Kuhn and Tucker."""
    assert answer.status == "solved", answer.message
    x, y, z, z_bounds = answer.x, answer.y_eq, answer.z_ineq, answer.z_bounds
    assert y is not None and z is not None and z_bounds is not None
    scale = 1 + np.abs(problem.g).max() + np.abs(problem.H @ x).max()
    assert primal_residual(problem, x) <= 1e-7 * (1 + np.abs(x).max())
    assert dual_residual(problem, x, y, z, z_bounds) <= 1e-7 * scale
    assert complementarity(problem, x, z, z_bounds) <= 1e-6 * scale


@st.composite
def problems(draw) -> QPProblem:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 16))
    m, p = draw(st.integers(0, n // 2)), draw(st.integers(0, 12))
    return random_problem(
        rng, n=n, m=m, p=p, bounded=draw(st.booleans()), condition=draw(st.sampled_from([1, 1e3, 1e6]))
    )


@pytest.mark.parametrize("name", WITH_MULTIPLIERS)
@given(problem=problems())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_solutions_satisfy_the_optimality_conditions(name, problem):
    assert_optimal(problem, one(name).solve(problem))


@given(problem=problems())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_eiquadprog_finds_the_same_optimum(problem):
    answer = one("eiquadprog").solve(problem)
    assert answer.found, answer.message
    assert_allclose(answer.x, one("quadprog").solve(problem).x, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_unconstrained(name):
    answer = one(name).solve(QPProblem.of(np.diag([1.0, 4.0]), np.array([-1.0, 8.0])))
    assert_allclose(answer.x, [1.0, -2.0], atol=1e-7)


@pytest.mark.parametrize("name", WITH_MULTIPLIERS)
def test_signs_of_multipliers(name):
    # Upper side of the row, lower bound of y; the equality fixes z.
    problem = QPProblem.of(
        np.eye(3),
        np.array([-3.0, 2.0, 0.0]),
        A=np.array([[0.0, 0.0, 1.0]]),
        b=np.array([5.0]),
        C=np.array([[1.0, 0.0, 0.0]]),
        l=np.array([-1.0]),
        u=np.array([1.0]),
        lb=np.array([-10.0, -1.0, -np.inf]),
    )
    answer = one(name).solve(problem)
    assert_allclose(answer.x, [1.0, -1.0, 5.0], atol=1e-7)
    assert_allclose(answer.z_ineq, [2.0], atol=1e-6)
    assert_allclose(answer.z_bounds, [0.0, -1.0, 0.0], atol=1e-6)
    assert_allclose(answer.y_eq, [-5.0], atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_infeasible_rows_are_recognised_promptly(name, seed):
    problem = random_problem(np.random.default_rng(seed), n=30, m=8, p=20)
    # A row whose least value within the other constraints is known, asked to be below that.
    row = np.random.default_rng(seed + 100).normal(size=30)
    bounds = np.column_stack([problem.lb, problem.ub])
    least = linprog(row, A_eq=problem.A, b_eq=problem.b, bounds=bounds).fun
    problem = replace(
        problem,
        C=np.vstack([problem.C, row]),
        l=np.append(problem.l, -np.inf),
        u=np.append(problem.u, least - 0.5),
        relaxable_rows=np.zeros(21, dtype=bool),
    )
    answer = one(name).solve(problem)
    assert answer.status == "infeasible", answer.message
    assert answer.solve_time < PROMPT
    assert np.isnan(answer.x).all()


@pytest.mark.parametrize("name", NAMES)
def test_contradicting_bound_and_row(name):
    problem = QPProblem.of(np.eye(1), np.zeros(1), C=np.array([[1.0]]), l=np.array([2.0]), ub=np.array([1.0]))
    assert one(name).solve(problem).status == "infeasible"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("array", ["H", "g", "A", "b", "C", "l", "u", "lb", "ub"])
def test_nan_is_recognised_promptly(name, array):
    problem = random_problem(np.random.default_rng(0), n=20, m=5, p=6)
    getattr(problem, array).flat[-1] = np.nan
    answer = one(name).solve(problem)
    assert answer.status == "not_finite"
    assert not answer.found
    assert answer.solve_time < 0.1


@pytest.mark.parametrize("name", NAMES)
def test_crossing_bounds_are_infeasible_unless_it_is_round_off(name):
    problem = random_problem(np.random.default_rng(0), n=6, m=0, p=2)
    x = one("quadprog").solve(problem).x
    problem.lb[0] = problem.ub[0] = x[0]
    problem.lb[0] += 1e-9
    assert_allclose(one(name).solve(problem).x, x, atol=1e-6)
    problem.lb[0] += 0.1
    assert one(name).solve(problem).status == "infeasible"


@pytest.mark.parametrize("name", NAMES)
def test_dependent_equalities(name):
    problem = random_problem(np.random.default_rng(5), n=12, m=4, p=6)
    expected = one("quadprog").solve(problem).x
    A = np.vstack([problem.A, 3 * problem.A[0] - problem.A[2], problem.A[1], np.zeros(12)])
    b = np.append(problem.b, [3 * problem.b[0] - problem.b[2], problem.b[1], 0.0])
    answer = one(name).solve(replace(problem, A=A, b=b))
    assert answer.found, answer.message
    assert_allclose(answer.x, expected, atol=1e-6)
    if answer.y_eq is not None:
        assert answer.y_eq.shape == (7,)
        assert_optimal(replace(problem, A=A, b=b), answer)


@pytest.mark.parametrize("name", NAMES)
def test_nearly_dependent_equalities(name):
    rng = np.random.default_rng(6)
    problem = random_problem(rng, n=12, m=4, p=6)
    expected = one("quadprog").solve(problem).x
    A = np.vstack([problem.A, problem.A[:2] + 1e-14 * rng.normal(size=(2, 12))])
    answer = one(name).solve(replace(problem, A=A, b=np.append(problem.b, problem.b[:2])))
    assert answer.found, answer.message
    assert_allclose(answer.x, expected, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_contradicting_equalities(name):
    problem = random_problem(np.random.default_rng(7), n=12, m=4, p=6)
    worse = replace(problem, A=np.vstack([problem.A, problem.A[0]]), b=np.append(problem.b, problem.b[0] + 0.1))
    answer = one(name).solve(worse)
    assert answer.status == "infeasible", answer.message
    assert answer.solve_time < PROMPT


@pytest.mark.parametrize("name", NAMES)
def test_semidefinite_hessian(name):
    # The cost sees x + y only; the bounds make the rest bounded. Any optimum will do.
    rng = np.random.default_rng(8)
    J = rng.normal(size=(3, 8))
    target = rng.normal(size=3)
    problem = QPProblem.of(J.T @ J, -J.T @ target, lb=np.full(8, -2.0), ub=np.full(8, 2.0))
    answer = one(name).solve(problem)
    assert answer.found, answer.message
    assert_allclose(J @ answer.x, target, atol=1e-5)


@pytest.mark.parametrize("name", REPRODUCIBLE)
def test_same_problems_same_bits(name):
    def run(noise: int) -> list[np.ndarray]:
        solver, previous, answers, clutter = one(name), None, [], []
        for k in range(6):
            problem = random_problem(np.random.default_rng(3), n=25, m=6, p=10)
            problem.g += 0.01 * k
            clutter.append(np.ones(1 + 997 * noise * k))  # so that addresses differ between runs
            previous = solver.solve(problem, warm_start=previous)
            answers.append(previous.x)
        return answers

    for first, second in zip(run(1), run(3), strict=True):
        assert_array_equal(first, second)


@pytest.mark.parametrize("name", NAMES)
def test_warm_start_does_not_change_the_solution(name):
    solver, previous = one(name), None
    for k in range(5):
        problem = random_problem(np.random.default_rng(4), n=25, m=6, p=10)
        problem.g += 0.3 * k
        cold = solver.solve(problem)
        previous = solver.solve(problem, warm_start=previous)
        assert_allclose(previous.x, cold.x, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_warm_start_that_does_not_fit_is_ignored(name):
    problem = random_problem(np.random.default_rng(9), n=10, m=2, p=3)
    other = one(name).solve(random_problem(np.random.default_rng(9), n=7, m=2, p=3))
    failed = Solution.failed(10, status="infeasible")
    expected = one(name).solve(problem).x
    for start in (other, failed):
        assert_allclose(one(name).solve(problem, warm_start=start).x, expected, atol=1e-9)


@pytest.mark.parametrize("name", ["daqp", "proxqp"])
def test_a_misleading_warm_start_does_not_change_the_solution(name):
    problem = random_problem(np.random.default_rng(10), n=20, m=5, p=10)
    cold = one(name).solve(problem)
    misled = replace(cold, z_ineq=-1e3 * np.ones(10), z_bounds=1e3 * np.ones(20))
    assert_allclose(one(name).solve(problem, warm_start=misled).x, cold.x, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_problem_is_not_modified(name):
    problem = random_problem(np.random.default_rng(11), n=15, m=4, p=8)
    copies = {key: getattr(problem, key).copy() for key in ("H", "g", "A", "b", "C", "l", "u", "lb", "ub")}
    one(name).solve(problem)
    for key, copy in copies.items():
        assert_array_equal(getattr(problem, key), copy)


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_sides_print_nothing(name, capfd):
    problem = random_problem(np.random.default_rng(11), n=15, m=4, p=8)
    problem.l[[0, 3]], problem.u[[0, 3]] = -np.inf, np.inf
    answer = one(name).solve(problem)
    assert answer.found
    assert answer.z_ineq is None or (answer.z_ineq.shape == (8,) and not answer.z_ineq[[0, 3]].any())
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_is_not_overwritten_by_the_next_solve(name):
    solver = one(name)
    answer = solver.solve(random_problem(np.random.default_rng(12), n=15, m=4, p=8))
    copied = answer.x.copy()
    solver.solve(random_problem(np.random.default_rng(13), n=15, m=4, p=8))
    assert_array_equal(answer.x, copied)


@pytest.mark.parametrize("name", ["daqp", "piqp", "piqp_sparse", "proxqp"])
def test_iterations_are_bounded(name):
    answer = one(name, max_iterations=1).solve(random_problem(np.random.default_rng(14), n=30, m=5, p=40))
    assert answer.status in ("iteration_limit", "numerical")
    assert not answer.found


def test_names_are_sorted_and_all_make_a_solver():
    assert sorted(SOLVERS) == NAMES
    for name in NAMES:
        assert make_solver(name).name == name
        assert make_solver(name).reproducible == (name in REPRODUCIBLE)


def test_an_unknown_name_lists_the_valid_ones():
    with pytest.raises(ValueError, match=r"valid: daqp, eiquadprog, .*Did you mean 'quadprog'\?"):
        make_solver("quadprogg")


@pytest.mark.parametrize("bad", [{"tolerance": 0.0}, {"time_limit": -1.0}])
def test_settings_are_checked(bad):
    with pytest.raises(ValueError, match="must be positive"):
        make_solver("daqp", **bad)
