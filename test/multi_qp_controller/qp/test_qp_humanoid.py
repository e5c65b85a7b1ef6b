"""All backends on the QP of a standing humanoid: badly conditioned, many active rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from qp_recipes import Standing, full_problem, reduced_problem, standing, torques
from qp_reference import reference_solution

from multi_qp_controller.qp import QPProblem, make_solver, solver_names

FORMULATIONS = {"full": full_problem, "reduced": reduced_problem}
FEASIBLE = ((0, False), (2, True), (3, True), (7, False))  # seeds, and whether their tasks are demanding
INFEASIBLE = 5
NV = 40  # of the sample humanoid and the object


@cache
def case(formulation: str, seed: int, violent: bool) -> tuple[Standing, QPProblem, np.ndarray]:
    problem = FORMULATIONS[formulation](seed, violent=violent)
    guess = make_solver("piqp").solve(problem)
    clear = [np.where(np.abs(z) > 1e-7, z, 0.0) for z in (guess.z_ineq, guess.z_bounds)]
    return standing(seed, violent=violent), problem, reference_solution(problem, *clear)


def quantities(parts: Standing, problem: QPProblem, x: np.ndarray) -> dict[str, np.ndarray]:
    """Return what is unique at the optimum; the multipliers of a contact are not."""
    nv, na, nf = len(parts.bias), len(parts.torque_limit), parts.wrench_map.shape[1]
    full = problem.n == nv + na + nf
    return {
        "acceleration": x[:nv],
        "torque": x[nv : nv + na] if full else torques(parts, x),
        "wrench": parts.wrench_map @ x[-nf:],
    }


@pytest.mark.parametrize("name", solver_names())
@pytest.mark.parametrize(("seed", "violent"), FEASIBLE)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_all_backends_agree_with_extended_precision(formulation, seed, violent, name):
    parts, problem, exact = case(formulation, seed, violent)
    answer = make_solver(name).solve(problem)
    assert answer.found, answer.message
    expected = quantities(parts, problem, exact)
    for key, value in quantities(parts, problem, answer.x).items():
        error = np.abs(value - expected[key]).max() / np.abs(expected[key]).max()
        assert error < 1e-7, f"{key} is off by {error:.1e}"


@pytest.mark.parametrize(("seed", "violent"), FEASIBLE)
def test_both_formulations_have_one_optimum(seed, violent):
    parts, full, x_full = case("full", seed, violent)
    _, reduced, x_reduced = case("reduced", seed, violent)
    one, other = quantities(parts, full, x_full), quantities(parts, reduced, x_reduced)
    for key in one:
        np.testing.assert_allclose(one[key], other[key], atol=1e-6 * np.abs(one[key]).max())


@pytest.mark.parametrize("name", solver_names())
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_infeasible_states_are_recognised(formulation, name):
    answer = make_solver(name).solve(FORMULATIONS[formulation](INFEASIBLE))
    assert answer.status == "infeasible", answer.message
    assert answer.solve_time < 1.0


@pytest.mark.parametrize("name", ["daqp", "proxqp"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_warm_start_along_a_motion_saves_iterations(formulation, name):
    solver, previous, cold_iterations, warm_iterations = make_solver(name), None, 0, 0
    for tick in range(5):
        problem = FORMULATIONS[formulation](3, phase=0.002 * tick)
        cold = solver.solve(problem)
        previous = solver.solve(problem, warm_start=previous)
        np.testing.assert_allclose(previous.x[:NV], cold.x[:NV], atol=1e-6 * np.abs(cold.x[:NV]).max())
        if tick:
            cold_iterations += cold.iterations
            warm_iterations += previous.iterations
    assert warm_iterations < 0.5 * cold_iterations


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_slack_on_collision_rows_changes_nothing_while_there_is_a_solution(formulation):
    problem = FORMULATIONS[formulation](3)
    exact = make_solver("piqp").solve(problem)
    penalty = 2 * np.abs(exact.z_ineq).max() + 1
    relaxed = make_solver("piqp").solve(problem.with_slack(1.0, linear=penalty))
    np.testing.assert_allclose(relaxed.x[:NV], exact.x[:NV], atol=1e-7 * np.abs(exact.x[:NV]).max())
