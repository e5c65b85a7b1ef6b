"""Explanations name exactly the infeasible subset of a constructed problem."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from qp_recipes import full_problem, random_problem

from multi_qp_controller.qp import LabelBlock, Labels, QPProblem, explain_infeasibility, feasibility, make_solver

N, M, P = 12, 3, 6


def labelled(seed: int) -> QPProblem:
    """Return a strictly feasible problem with labels on every row."""
    problem = random_problem(np.random.default_rng(seed), n=N, m=M, p=P)
    problem.l[:], problem.u[:] = problem.l - 10, problem.u + 10
    problem.lb[:], problem.ub[:] = problem.lb - 10, problem.ub + 10
    joints = tuple(f"humanoid/J{i}" for i in range(N))
    problem.labels = Labels(
        variables=(LabelBlock("torque", "N m", joints, limit="torque limit"),),
        equalities=(LabelBlock("dynamics", "N", joints[:M]),),
        inequalities=(LabelBlock("collision", "m/s^2", tuple(f"pair {i}" for i in range(P))),),
    )
    return problem


def names(entries) -> set[str]:
    return {entry.row for entry in entries}


@pytest.mark.parametrize("seed", range(5))
def test_a_row_against_two_bounds(seed):
    problem = labelled(seed)
    # x4 + x7 <= 1, x4 >= 2, x7 >= 0.5: short by 1.5.
    problem.C[2] = np.eye(N)[4] + np.eye(N)[7]
    problem.l[2], problem.u[2] = -np.inf, 1.0
    problem.lb[[4, 7]], problem.ub[[4, 7]] = (2.0, 0.5), (20.0, 20.0)
    explanation = explain_infeasibility(problem)
    row, bounds = "collision pair 2", {"torque limit humanoid/J4", "torque limit humanoid/J7"}
    assert names(explanation.conflict) == bounds | {row}
    signs = {entry.row: np.sign(entry.multiplier) for entry in explanation.conflict}
    assert signs == {row: 1.0} | dict.fromkeys(bounds, -1.0)
    # Scaled to norm 1 the row has the least violation.
    (violation,) = explanation.violated
    assert (violation.row, violation.unit) == (row, "m/s^2")
    assert violation.slack == pytest.approx(1.5, rel=1e-6)


def test_an_equality_against_a_row():
    problem = labelled(0)
    problem.A[1], problem.b[1] = 5 * np.eye(N)[3], 50.0
    problem.C[4], problem.u[4] = 2 * np.eye(N)[3], 16.0
    problem.ub[3] = 100.0
    explanation = explain_infeasibility(problem)
    assert names(explanation.conflict) == {"dynamics humanoid/J1", "collision pair 4"}
    (violation,) = explanation.violated
    # x3 has to be 10 and at most 8: 10 N of the equality, or 4 m/s^2 of the row.
    assert violation.slack == pytest.approx({"N": 10.0, "m/s^2": 4.0}[violation.unit], rel=1e-6)


def test_contradicting_equalities():
    problem = labelled(1)
    problem.A[2], problem.b[2] = 2 * problem.A[0], 2 * problem.b[0] + 0.5
    explanation = explain_infeasibility(problem)
    assert names(explanation.conflict) == {"dynamics humanoid/J0", "dynamics humanoid/J2"}


def test_crossing_bounds():
    problem = labelled(2)
    problem.lb[5], problem.ub[5] = 1.0, -1.0
    explanation = explain_infeasibility(problem)
    assert names(explanation.conflict) == {"torque limit humanoid/J5"}
    assert sum(v.slack for v in explanation.violated) == pytest.approx(2.0)


def test_two_conflicts_are_both_found_and_sorted():
    problem = labelled(3)
    problem.lb[5], problem.ub[5] = 1.0, -1.0
    problem.lb[6], problem.ub[6] = 5.0, -1.0
    explanation = explain_infeasibility(problem)
    assert names(explanation.conflict) == {"torque limit humanoid/J5", "torque limit humanoid/J6"}
    slacks = [v.slack for v in explanation.violated]
    assert slacks == sorted(slacks, reverse=True)


def test_a_feasible_problem_needs_no_explanation():
    explanation = explain_infeasibility(labelled(0))
    assert "have a solution" in explanation.message
    assert explanation.violated == explanation.conflict == ()


def test_a_problem_without_rows():
    assert "have a solution" in explain_infeasibility(QPProblem.of(np.eye(2), np.zeros(2))).message


def test_nan_is_named():
    problem = labelled(0)
    problem.g[[3, 4, 8]] = np.nan
    problem.A[1, 2] = np.inf
    problem.lb[7] = np.inf
    message = explain_infeasibility(problem).message
    assert "g: 3 entries, first at torque humanoid/J3" in message
    assert "A: 1 entry, first at dynamics humanoid/J1 x torque humanoid/J2" in message
    assert "lb: 1 entry, first at torque limit humanoid/J7" in message


def test_lists_have_at_most_the_requested_length():
    problem = labelled(0)
    problem.lb[:], problem.ub[:] = 1.0, -1.0
    explanation = explain_infeasibility(problem, limit=3)
    assert len(explanation.violated) == len(explanation.conflict) == 3


def test_text_and_json():
    problem = labelled(2)
    problem.lb[5], problem.ub[5] = 1.0, -1.0
    explanation = explain_infeasibility(problem)
    text = str(explanation)
    assert text.startswith("infeasible subset of ")
    assert "N m" in text and "torque limit humanoid/J5" in text
    plain = json.loads(json.dumps(explanation.to_dict()))
    assert set(plain) == {"violated", "conflict", "message"}
    assert set(plain["violated"][0]) == {"row", "unit", "slack"}
    assert set(plain["conflict"][0]) == {"row", "multiplier"}


@pytest.mark.parametrize("fault", ["status", "refused"])
def test_a_failing_linear_program_becomes_a_message(monkeypatch, fault):
    def linprog(*_, **__):
        if fault == "refused":
            raise ValueError("no")
        return SimpleNamespace(status=1, x=None, message="time limit reached")

    monkeypatch.setattr("scipy.optimize.linprog", linprog)
    problem = labelled(2)
    problem.lb[5], problem.ub[5] = 1.0, -1.0
    explanation = explain_infeasibility(problem)
    assert explanation.message.startswith("no explanation: the linear program was")
    assert explanation.violated == ()


def test_the_time_limit_is_respected():
    explanation = explain_infeasibility(full_problem(5), time_limit=1e-6)
    assert "not solved" in explanation.message


def test_multipliers_are_a_certificate():
    problem = full_problem(5)
    least = feasibility.least_violation(problem, time_limit=5.0)
    matrices = {"equality": problem.A, "inequality": problem.C, "bound": np.eye(problem.n)}
    sides = {("equality", 0): problem.b, ("inequality", 1): problem.u, ("inequality", -1): problem.l}
    sides |= {("bound", 1): problem.ub, ("bound", -1): problem.lb}
    combined, total = np.zeros(problem.n), 0.0
    for row, multiplier in zip(least.rows, least.multiplier, strict=True):
        scaled = multiplier * (row.side or 1) / row.norm
        combined += scaled * matrices[row.kind][row.position]
        total += scaled * sides[row.kind, row.side][row.position]
    np.testing.assert_allclose(combined, 0.0, atol=1e-9)
    assert total == pytest.approx(-least.violation.sum())
    assert total < 0


def test_relaxing_the_violated_rows_makes_the_problem_feasible():
    problem = full_problem(5)
    slacks = {v.row: v.slack for v in explain_infeasibility(problem, limit=1000).violated}
    allowance = np.array([1.001 * slacks.get(name, 0.0) for name in problem.labels.names("equality", problem.m)])
    relaxed = allowance > 0
    assert relaxed.sum() == len(slacks)
    softer = QPProblem.of(
        problem.H,
        problem.g,
        A=problem.A[~relaxed],
        b=problem.b[~relaxed],
        C=np.vstack([problem.C, problem.A[relaxed]]),
        l=np.concatenate([problem.l, (problem.b - allowance)[relaxed]]),
        u=np.concatenate([problem.u, (problem.b + allowance)[relaxed]]),
        lb=problem.lb,
        ub=problem.ub,
    )
    assert not make_solver("piqp").solve(problem).found
    assert make_solver("piqp").solve(softer).found
