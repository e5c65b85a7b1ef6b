"""The second attempts, and the checks that lead to them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from qp_recipes import random_problem

from multi_qp_controller.qp import Problem, Solution
from multi_qp_controller.qp.solvers.base import Solver
from multi_qp_controller.qp.solvers.repair import independent_equalities, mend_bounds, regularised


class Scripted(Solver):
    """A backend that answers what it is told to, and counts."""

    name = "scripted"

    def __init__(self, *answers: Solution | Exception) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[Problem] = []

    def _solve(self, problem: Problem, warm_start: Solution | None) -> Solution:
        self.asked.append(problem)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def solved(x: list[float]) -> Solution:
    return Solution(x=np.array(x), found=True, status="solved")


@pytest.fixture
def problem() -> Problem:
    return Problem.of(np.eye(2), np.zeros(2), A=np.array([[1.0, 1.0]]), b=np.array([2.0]))


def test_an_answer_that_misses_a_row_is_not_found(problem):
    solver = Scripted(*3 * [solved([1.0, 1.001])])
    answer = solver.solve(problem)
    assert (answer.found, answer.status) == (False, "numerical")
    assert "misses a row by 0.001" in answer.message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_answer_that_is_not_finite_is_not_found(value):
    solver = Scripted(*3 * [solved([value, 1.0])])
    answer = solver.solve(Problem.of(np.eye(2), np.zeros(2)))
    assert not answer.found


def test_an_answer_that_is_no_optimum_is_not_found(problem):
    wrong = Solution(
        x=np.array([2.0, 0.0]),
        found=True,
        status="solved",
        y_eq=np.zeros(1),
        z_ineq=np.zeros(0),
        z_bounds=np.zeros(2),
    )
    answer = Scripted(*3 * [wrong]).solve(problem)
    assert (answer.found, answer.status) == (False, "numerical")


@pytest.mark.parametrize("error", [ValueError, RuntimeError, IndexError, np.linalg.LinAlgError])
def test_what_a_backend_raises_becomes_a_status(problem, error):
    answer = Scripted(*3 * [error("no luck")]).solve(problem)
    assert answer.status == "numerical"
    assert "no luck" in answer.message


def test_one_success_needs_one_attempt(problem):
    solver = Scripted(solved([1.0, 1.0]))
    assert solver.solve(problem).found
    assert len(solver.asked) == 1


def test_regularisation_comes_last(problem):
    solver = Scripted(RuntimeError("not positive definite"), solved([1.0, 1.0]))
    assert solver.solve(problem).found
    assert solver.asked[1].H[0, 0] > 1.0


def test_a_warm_start_that_misleads_is_dropped(problem):
    solver = Scripted(solved([1.0, 1.0]), Solution.failed(2, status="infeasible"), solved([1.0, 1.0]))
    first = solver.solve(problem)
    assert solver.solve(problem, warm_start=first).found


def test_rank_of_equalities():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 9)) * np.array([[1e-3], [1.0], [1e3], [1.0]])
    x = rng.normal(size=9)
    A = np.vstack([A, A[0] + A[1], 0 * A[0]])
    kept, consistent = independent_equalities(A, A @ x, tolerance=1e-6)
    assert len(kept) == 4
    assert consistent
    assert np.linalg.matrix_rank(A[kept] / np.linalg.norm(A[kept], axis=1)[:, None]) == 4


@pytest.mark.parametrize("row", [4, 5])
def test_contradiction_of_equalities(row):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 9))
    A = np.vstack([A, A[0] + A[1], 0 * A[0]])
    b = A @ rng.normal(size=9)
    b[row] += 1e-3
    assert not independent_equalities(A, b, tolerance=1e-6)[1]


def test_more_equalities_than_variables():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7, 3))
    kept, consistent = independent_equalities(A, A @ rng.normal(size=3), tolerance=1e-6)
    assert (len(kept), consistent) == (3, True)


def test_no_equalities():
    kept, consistent = independent_equalities(np.zeros((0, 3)), np.zeros(0), tolerance=1e-6)
    assert (len(kept), consistent) == (0, True)


def test_bounds_that_cross_by_round_off_are_mended():
    problem = random_problem(np.random.default_rng(0), n=4, m=0, p=2)
    problem.lb[1], problem.ub[1] = 1.0, 1.0 - 1e-12
    mended = mend_bounds(problem, tolerance=1e-6)
    assert mended is not None and mended.is_finite()
    assert problem.lb[1] == 1.0
    assert_array_equal(mended.C, problem.C)
    problem.ub[1] = 0.9
    assert mend_bounds(problem, tolerance=1e-6) is None


def test_regularisation_is_small(problem):
    assert 0 < np.abs(regularised(problem).H - problem.H).max() < 1e-11
