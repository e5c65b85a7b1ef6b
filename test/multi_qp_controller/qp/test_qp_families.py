"""Correctness and duration of all backends on random problems of 28 families."""

from __future__ import annotations

from collections import Counter
from time import perf_counter

import pytest

from multi_qp_cli.benches.qp_coverage import verify
from multi_qp_cli.benches.qp_families import FAMILIES, case
from multi_qp_controller.qp import Solution, make_solver, solver_names

#: Largest duration of a solve [s].
LONGEST = 10.0


def verdicts(name: str, count: int) -> Counter[str]:
    solver, found = make_solver(name), Counter[str]()
    for index in range(count):
        family, problem = case(index)
        begun = perf_counter()
        verdict, reason = verify(problem, solver.solve(problem.problem))
        assert verdict != "wrong", f"problem {index}, {family}: {reason}"
        assert perf_counter() - begun < LONGEST, f"problem {index}, {family}"
        found[verdict] += 1
    return found


@pytest.mark.parametrize("name", solver_names())
def test_no_solution_is_wrong(name):
    found = verdicts(name, 3 * len(FAMILIES))
    assert found["failed"] <= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", solver_names())
def test_no_solution_of_2000_is_wrong(name):
    found = verdicts(name, 2000)
    assert found["failed"] <= 20


def test_the_check_finds_wrong_solutions():
    names = list(FAMILIES)
    _, general = case(names.index("general"))
    answer = make_solver("daqp").solve(general.problem)
    assert verify(general, answer) == ("right", "")
    off = Solution(answer.x + 1e-3, True, "solved", 0, 0.0, answer.y_eq, answer.z_ineq, answer.z_bounds)
    assert verify(general, off)[0] == "wrong"
    assert verify(general, Solution.failed(general.problem.n, status="infeasible"))[0] == "wrong"
    assert verify(general, Solution.failed(general.problem.n, status="numerical"))[0] == "failed"
    _, endless = case(names.index("unbounded"))
    x = endless.problem.g
    assert verify(endless, Solution(x, True, "solved", y_eq=x, z_ineq=x, z_bounds=x))[0] == "wrong"


def test_equal_numbers_give_equal_problems():
    for index in range(len(FAMILIES)):
        (name, first), (same, second) = case(index), case(index)
        assert name == same
        assert first.problem.H.tobytes() == second.problem.H.tobytes()
        assert first.problem.g.tobytes() == second.problem.g.tobytes()
