"""Further attempts of solvers, and the checks that trigger them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from qp_recipes import random_problem

from multi_qp_controller.qp import QPProblem, Solution
from multi_qp_controller.qp.solvers import base
from multi_qp_controller.qp.solvers.base import Solver
from multi_qp_controller.qp.solvers.repair import Rescaled, independent_equalities, repair_bounds


class Scripted(Solver):
    """A backend that returns given solutions and counts its calls."""

    name = "scripted"

    def __init__(self, *answers: Solution | Exception) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[QPProblem] = []

    def _solve(self, problem: QPProblem, warm_start: Solution | None) -> Solution:
        self.asked.append(problem)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def solved(x: list[float]) -> Solution:
    return Solution(x=np.array(x), found=True, status="solved")


@pytest.fixture
def problem() -> QPProblem:
    return QPProblem.of(np.eye(2), np.zeros(2), A=np.array([[1.0, 1.0]]), b=np.array([2.0]))


def test_a_solution_that_violates_a_row_is_polished_or_not_found(problem, monkeypatch):
    assert_allclose(Scripted(solved([1.0, 1.001])).solve(problem).x, [1.0, 1.0], atol=1e-9)
    monkeypatch.setattr(base, "polished", lambda *arguments: None)
    answer = Scripted(*100 * [solved([1.0, 1.001])]).solve(problem)
    assert (answer.found, answer.status) == (False, "numerical")
    assert "violates a row by 0.001" in answer.message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_solution_that_is_not_finite_is_not_found(value):
    solver = Scripted(*3 * [solved([value, 1.0])])
    answer = solver.solve(QPProblem.of(np.eye(2), np.zeros(2)))
    assert not answer.found


def test_a_solution_that_is_no_optimum_is_not_found(problem, monkeypatch):
    monkeypatch.setattr(base, "polished", lambda *arguments: None)
    wrong = Solution(
        x=np.array([2.0, 0.0]),
        found=True,
        status="solved",
        y_eq=np.zeros(1),
        z_ineq=np.zeros(0),
        z_bounds=np.zeros(2),
    )
    answer = Scripted(*100 * [wrong]).solve(problem)
    assert (answer.found, answer.status) == (False, "numerical")
    assert "not an optimum" in answer.message


@pytest.mark.parametrize("error", [ValueError, RuntimeError, IndexError, np.linalg.LinAlgError])
def test_exceptions_of_a_backend_become_a_status(problem, error):
    answer = Scripted(*3 * [error("no luck")]).solve(problem)
    assert answer.status == "numerical"
    assert "no luck" in answer.message


def test_one_success_needs_one_attempt(problem):
    solver = Scripted(solved([1.0, 1.0]))
    assert solver.solve(problem).found
    assert len(solver.asked) == 1


def test_a_claim_of_infeasibility_is_verified(problem):
    solver = Scripted(Solution.failed(2, status="infeasible"), solved([1.0, 1.0]))
    assert solver.solve(problem).found
    answer = Scripted(*100 * [Solution.failed(2, status="infeasible")]).solve(problem)
    assert answer.status == "numerical"
    assert "not confirmed" in answer.message


def test_proximal_point_is_the_last_attempt(problem):
    refused = RuntimeError("not positive definite")
    solver = Scripted(refused, refused, refused, solved([1.0, 1.0]))
    assert solver.solve(problem).found
    assert solver.asked[1].H[0, 0] == 1.0 < solver.asked[3].H[0, 0]


def test_a_misleading_warm_start_is_dropped(problem):
    solver = Scripted(solved([1.0, 1.0]), Solution.failed(2, status="infeasible"), solved([1.0, 1.0]))
    first = solver.solve(problem)
    assert solver.solve(problem, warm_start=first).found


def test_rank_of_equalities():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 9)) * np.array([[1e-3], [1.0], [1e3], [1.0]])
    x = rng.normal(size=9)
    A = np.vstack([A, A[0] + A[1], 0 * A[0]])
    independent, consistent = independent_equalities(A, A @ x, tolerance=1e-6)
    assert len(independent) == 4
    assert consistent
    assert np.linalg.matrix_rank(A[independent] / np.linalg.norm(A[independent], axis=1)[:, None]) == 4


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
    independent, consistent = independent_equalities(A, A @ rng.normal(size=3), tolerance=1e-6)
    assert (len(independent), consistent) == (3, True)


def test_no_equalities():
    independent, consistent = independent_equalities(np.zeros((0, 3)), np.zeros(0), tolerance=1e-6)
    assert (len(independent), consistent) == (0, True)


def test_bounds_that_cross_by_round_off_are_repaired():
    problem = random_problem(np.random.default_rng(0), n=4, m=0, p=2)
    problem.lb[1], problem.ub[1] = 1.0, 1.0 - 1e-12
    repaired = repair_bounds(problem, tolerance=1e-6)
    assert repaired is not None and repaired.is_finite()
    assert problem.lb[1] == 1.0
    assert_array_equal(repaired.C, problem.C)
    problem.ub[1] = 0.9
    assert repair_bounds(problem, tolerance=1e-6) is None


def test_rescaling_changes_no_digit():
    random = np.random.default_rng(1)
    problem = random_problem(random, n=6, m=2, p=4)
    columns, rows = 10.0 ** random.uniform(-5, 5, 6), 10.0 ** random.uniform(-5, 5, 4)
    problem = QPProblem.of(
        problem.H * np.outer(columns, columns), problem.g * columns, A=problem.A * columns, b=problem.b,
        C=rows[:, None] * problem.C * columns, l=rows * problem.l, u=rows * problem.u, lb=problem.lb / columns,
        ub=problem.ub / columns,
    )  # fmt: skip
    rescaled = Rescaled.of(problem, tolerance=1e-6)
    assert rescaled is not None
    scaled = rescaled.problem
    largest = np.abs(np.concatenate([scaled.H * rescaled.cost, scaled.A, scaled.C])).max(axis=0)
    assert 0.25 < largest.min() and largest.max() < 4.0
    answer = Solution(
        x=random.normal(size=6), found=True, status="solved", y_eq=random.normal(size=2),
        z_ineq=random.normal(size=4), z_bounds=random.normal(size=6),
    )  # fmt: skip
    restored = rescaled.restored(answer)
    gradient = [
        q.H @ a.x + q.g + a.y_eq @ q.A + a.z_ineq @ q.C + a.z_bounds for q, a in ((scaled, answer), (problem, restored))
    ]
    assert_allclose(gradient[1] * rescaled.columns / rescaled.cost, gradient[0], rtol=1e-11)
    assert_allclose(problem.objective(restored.x) / rescaled.cost, scaled.objective(answer.x), rtol=1e-11)
