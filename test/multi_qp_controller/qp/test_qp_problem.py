"""Data classes QPProblem, Labels and Solution."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from qp_recipes import full_problem, random_problem
from qp_reference import primal_residual

from multi_qp_controller.qp import LabelBlock, Labels, QPProblem, Solution, make_solver
from multi_qp_scene.errors import MultiQpError


@pytest.fixture
def problem() -> QPProblem:
    return random_problem(np.random.default_rng(1), n=8, m=3, p=5)


def test_sizes(problem):
    assert (problem.n, problem.m, problem.p) == (8, 3, 5)
    assert problem.relaxable_rows.shape == (5,)
    assert not problem.relaxable_bounds.any()


def test_a_wrong_shape_is_refused_by_name(problem):
    with pytest.raises(ValueError, match=r"A has shape \(3, 7\), expected \(3, 8\)"):
        replace(problem, A=problem.A[:, :7])


def test_missing_parts_constrain_nothing():
    free = QPProblem.of(np.eye(2), np.array([1.0, -2.0]))
    assert free.is_finite()
    assert primal_residual(free, np.array([1e9, -1e9])) == 0.0
    assert free.objective(np.array([2.0, 1.0])) == pytest.approx(2.5)


def test_primal_residual_is_the_largest_violation_of_each_kind():
    problem = QPProblem.of(
        np.eye(2),
        np.zeros(2),
        A=np.array([[1.0, 1.0]]),
        b=np.array([1.0]),
        C=np.array([[2.0, 0.0]]),
        l=np.array([-1.0]),
        u=np.array([1.0]),
        lb=np.array([-np.inf, -1.0]),
    )
    assert primal_residual(problem, np.array([0.5, 0.5])) == 0.0
    assert primal_residual(problem, np.array([0.5, 0.75])) == pytest.approx(0.25)
    assert primal_residual(problem, np.array([1.0, 0.0])) == pytest.approx(1.0)
    assert primal_residual(problem, np.array([0.0, -4.0])) == pytest.approx(5.0)


@pytest.mark.parametrize("array", ["H", "g", "A", "b", "C", "l", "u", "lb", "ub"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_is_finite_finds_one_bad_entry_anywhere(problem, array, value):
    assert problem.is_finite()
    getattr(problem, array).flat[-1] = value
    allowed = (array in ("l", "lb") and value == -np.inf) or (array in ("u", "ub") and value == np.inf)
    assert problem.is_finite() == allowed
    assert (array not in problem.non_finite_arrays()) == allowed


def test_crossing_bounds_are_ill_posed_but_not_non_finite(problem):
    problem.l[0], problem.u[0] = 1.0, 0.5
    assert not problem.is_finite()
    assert problem.non_finite_arrays() == {}


def test_save_and_load_round_trip(tmp_path):
    problem = full_problem(3)
    problem.relaxable_bounds[4] = True
    problem.save(tmp_path / "qp.npz")
    copy = QPProblem.load(tmp_path / "qp.npz")
    for name in ("H", "g", "A", "b", "C", "l", "u", "lb", "ub", "relaxable_rows", "relaxable_bounds"):
        assert_array_equal(getattr(copy, name), getattr(problem, name))
    assert copy.labels == problem.labels
    assert_array_equal(make_solver("daqp").solve(copy).x, make_solver("daqp").solve(problem).x)


def test_save_and_load_without_labels(problem, tmp_path):
    problem.save(tmp_path / "qp.npz")
    assert QPProblem.load(tmp_path / "qp.npz").labels == Labels()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"H": np.eye(3)}, "H has shape (3, 3)"),
        ({"g": np.array(["a", "b"])}, "is not a QP problem"),
        ({"labels": np.array("{")}, "is not a QP problem"),
        ({"labels": np.array('{"variables": [1]}')}, "is not a QP problem"),
        ({"u": np.array([None], dtype=object)}, "is not a QP problem"),
    ],
)
def test_a_damaged_file_is_one_message(problem, tmp_path, change, named):
    problem.save(tmp_path / "qp.npz")
    with np.load(tmp_path / "qp.npz") as file:
        arrays = dict(file) | change
    np.savez(tmp_path / "qp.npz", **arrays)
    with pytest.raises(MultiQpError, match=re.escape(named)):
        QPProblem.load(tmp_path / "qp.npz")
    with pytest.raises(MultiQpError, match="nothing.npz"):
        QPProblem.load(tmp_path / "nothing.npz")


def test_slack_changes_nothing_when_the_problem_is_feasible(problem):
    problem.relaxable_rows[:3] = True
    problem.relaxable_bounds[2:6] = True
    exact = make_solver("piqp").solve(problem)
    penalty = 2 * max(np.abs(exact.z_ineq).max(), np.abs(exact.z_bounds).max())
    for name in ("piqp", "daqp", "quadprog"):
        relaxed = make_solver(name).solve(problem.with_slack(1.0, linear=penalty))
        assert relaxed.found
        assert_allclose(relaxed.x[: problem.n], exact.x, atol=1e-7)
        assert_allclose(relaxed.x[problem.n :], 0.0, atol=1e-7)


def test_slack_is_used_on_relaxable_rows_only():
    # x <= 1 may be relaxed for the equality x + y = 3 with y <= 1; the least slack is 1.
    problem = QPProblem.of(
        np.eye(2),
        np.zeros(2),
        A=np.array([[1.0, 1.0]]),
        b=np.array([3.0]),
        C=np.array([[1.0, 0.0]]),
        l=np.array([-5.0]),
        u=np.array([1.0]),
        ub=np.array([np.inf, 1.0]),
    )
    assert make_solver("daqp").solve(problem).status == "infeasible"
    problem.relaxable_rows[0] = True
    elastic = problem.with_slack(1e3)
    relaxed = make_solver("daqp").solve(elastic)
    assert relaxed.found
    assert_allclose(relaxed.x, [2.0, 1.0, 1.0], atol=1e-8)
    assert elastic.labels.name("variable", 2) == "slack of inequality 0"
    assert elastic.labels.name("variable", 1) == "variable 1"


def test_relaxed_bounds_become_rows():
    problem = QPProblem.of(np.eye(1), np.zeros(1), lb=np.array([2.0]), ub=np.array([3.0]))
    problem.relaxable_bounds[0] = True
    elastic = problem.with_slack(1.0, linear=1.0)
    assert (elastic.n, elastic.p) == (2, 2)
    # min 1/2 x^2 + 1/2 s^2 + s with x + s >= 2: x = s + 1, x + s = 2.
    assert_allclose(make_solver("quadprog").solve(elastic).x, [1.5, 0.5], atol=1e-8)


def test_slack_labels_follow_their_rows():
    problem = full_problem(3)
    problem.relaxable_bounds[0] = True
    elastic = problem.with_slack(10.0)
    names = elastic.labels.names("variable", elastic.n)
    assert names[problem.n] == "slack of collision pair 0"
    assert names[-1] == "slack of acceleration limit root_joint 0"
    assert elastic.labels.unit("variable", problem.n) == "m/s^2"
    # Upper sides first (only the bound has one), then lower sides.
    rows = elastic.labels.names("inequality", elastic.p)
    assert rows[:2] == ["acceleration limit root_joint 0", "collision pair 0"]
    assert rows[-1] == "acceleration limit root_joint 0"


@pytest.mark.parametrize(("weight", "linear"), [(0.0, 0.0), (-1.0, 1.0), (1.0, -1.0)])
def test_slack_needs_a_penalty_weight(problem, weight, linear):
    with pytest.raises(ValueError, match="slack needs penalty weights"):
        problem.with_slack(weight, linear=linear)


def test_labels_name_single_rows():
    joints = ("humanoid/R_KNEE_P", "humanoid/L_KNEE_P")
    labels = Labels(
        variables=(
            LabelBlock("acceleration", "rad/s^2", joints),
            LabelBlock("torque", "N m", joints, limit="torque limit"),
        ),
        equalities=(LabelBlock("dynamics", "N m", joints), LabelBlock("no slip left_foot", "rad/s^2", ("angular x",))),
        inequalities=(LabelBlock("collision", "m/s^2", ("humanoid/l_hand | box/box_link",)),),
    )
    assert labels.name("variable", 2) == "torque humanoid/R_KNEE_P"
    assert labels.name("bound", 3) == "torque limit humanoid/L_KNEE_P"
    assert labels.name("bound", 0) == "bound on acceleration humanoid/R_KNEE_P"
    assert labels.name("equality", 2) == "no slip left_foot angular x"
    assert labels.unit("equality", 1) == "N m"
    assert labels.name("inequality", 0) == "collision humanoid/l_hand | box/box_link"
    assert labels.name("inequality", 1) == "inequality 1"
    assert labels.unit("inequality", 1) == ""
    assert labels.names("equality", 4) == [labels.name("equality", i) for i in range(4)]
    assert labels.names("equality", 1) == ["dynamics humanoid/R_KNEE_P"]


def test_a_failed_solution_cannot_be_used_by_mistake():
    failed = Solution.failed(3, status="infeasible")
    assert not failed.found
    assert np.isnan(failed.x).all()
