"""Every formulation and every solver, on problems recorded along the box scenario: one answer."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from multi_qp_controller.controller import Controller
from multi_qp_controller.qp import make_solver, solver_names
from multi_qp_controller.qp.formulations import FORMULATIONS, make_formulation

STATES = ("stand", "reach", "close", "lift", "carry", "lower", "release")


@pytest.fixture(scope="module")
def exact(recordings):
    """Return the answer to a recorded problem, `full` by quadprog, that all others are compared to."""

    @cache
    def answer(state):
        solution = make_solver("quadprog").solve(recordings[state].problems["full"])
        assert solution.found, solution.message
        return recordings[state].physics("full", solution.x)

    return answer


def relative_error(value, expected):
    return float(np.abs(value - expected).max() / max(1.0, np.abs(expected).max()))


def test_all_phases_were_recorded(recordings):
    assert set(recordings) == set(STATES)


@pytest.mark.parametrize("solver", solver_names())
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("state", STATES)
def test_all_agree(recordings, exact, state, formulation, solver):
    recording, expected = recordings[state], exact(state)
    solution = make_solver(solver).solve(recording.problems[formulation])
    assert solution.found, solution.message
    answer = recording.physics(formulation, solution.x)
    assert relative_error(answer.acceleration, expected.acceleration) < 1e-5
    assert relative_error(answer.torque, expected.torque) < 1e-5
    assert relative_error(answer.reactions, expected.reactions) < 1e-5


@pytest.mark.parametrize("solver", ["daqp", "quadprog", "eiquadprog"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("state", STATES)
def test_the_equation_of_motion_holds(recordings, state, formulation, solver):
    recording = recordings[state]
    solution = make_solver(solver).solve(recording.problems[formulation])
    answer = recording.physics(formulation, solution.x)
    assert recording.residual(answer) < 1e-9
    assert solution.x[-16 * len(recording.W) :].min() > -1e-9


@pytest.mark.parametrize("state", STATES)
def test_sizes_are_those_of_the_paper(recordings, scene, state):
    """42 + 30 + 16·4 variables and 42 + 12·4 equalities with four contacts, 16 and 12 less with three."""
    recording = recordings[state]
    contacts = len(recording.W)
    assert contacts == (4 if state in ("lift", "carry", "lower") else 3)
    assert recording.size == (72 + 16 * contacts, 42 + 12 * contacts)
    if contacts == 4:
        assert recording.size == (136, 90)
    full, reduced = (recording.problems[name] for name in ("full", "reduced"))
    assert full.n == recording.size[0]
    assert reduced.n == full.n - scene.na
    assert full.m == 42 + 6 * contacts
    assert reduced.m == full.m - scene.na


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_variable_and_row_has_a_name_and_a_unit(recordings, formulation):
    problem = recordings["carry"].problems[formulation]
    for kind, count in (("variable", problem.n), ("bound", problem.n), ("equality", problem.m),
                        ("inequality", problem.p)):  # fmt: skip
        names = problem.labels.names(kind, count)
        assert len(set(names)) == count or kind == "inequality"  # two pieces of one link share a name
        assert not any(name.startswith(f"{kind} ") for name in names)
        assert all(problem.labels.unit(kind, k) for k in range(count))
    names = problem.labels.names("equality", problem.m)
    assert "dynamics box/root_joint z" in names
    assert "no slip left_hand angular x" in names


@pytest.mark.parametrize("state", STATES)
def test_costs_are_the_same_up_to_a_constant(recordings, state):
    """½xᵀHx + gᵀx of `reduced` is that of `full` with τ from the dynamics, but for ½ w_τ‖N_a‖²."""
    recording, constants = recordings[state], []
    full, reduced = (recording.problems[name] for name in ("full", "reduced"))
    nv = len(recording.N)
    for seed in range(3):
        x = np.random.default_rng(seed).uniform(-1.0, 1.0, reduced.n)
        torque = recording.physics("reduced", x).torque
        whole = np.concatenate([x[:nv], torque, x[nv:]])
        constants.append(full.objective(whole) - reduced.objective(x))
    np.testing.assert_allclose(constants, constants[0], atol=1e-6 * abs(full.objective(whole)) + 1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_rows_are_relaxed_in_steps_and_torque_limits_never(recordings, scene, formulation):
    problem = recordings["carry"].problems[formulation]
    steps = {problem.labels.name("bound", k): int(step) for k, step in enumerate(problem.relaxable_bounds)}
    steps |= {problem.labels.name("inequality", k): int(step) for k, step in enumerate(problem.relaxable_rows)}
    assert steps[f"joint limit {scene.actuated_joint_names[0]}"] == 3
    expected = {"torque limit": 0, "collision": 1, "friction cone left_hand": 2, "friction cone left_foot": 5}
    for start, step in expected.items():
        found = [steps[name] for name in steps if name.startswith(start)]
        assert found and set(found) == {step}
    assert {steps[name] for name in steps if name.startswith("balance")} <= {4}


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_recover_inverts_build(scenario, formulation):
    controller = Controller(scenario, formulation=formulation)
    command = controller.step(scenario.scene.initial_state(), 0.0)
    made = make_formulation(formulation, controller.qp_data)
    made.prepare()
    problem = made.build()
    x = make_solver("daqp").solve(problem).x
    answer = made.recover(np.concatenate([x, [7.0, 7.0]]))  # extra slack variables are ignored
    assert relative_error(answer.acceleration, command.a) < 1e-6
    assert relative_error(answer.torque, command.tau) < 1e-6
    residual, slip = controller.qp_data.equality_residuals(answer.acceleration, answer.torque, answer.reactions)
    assert max(residual, slip) < 1e-9
    moved = answer.torque + 0.01
    assert controller.qp_data.equality_residuals(answer.acceleration, moved, answer.reactions)[0] > 1e-6
    faster = answer.acceleration + 0.01
    assert controller.qp_data.equality_residuals(faster, answer.torque, answer.reactions)[1] > 1e-6


def test_an_unknown_formulation_lists_the_valid_ones(scenario):
    with pytest.raises(ValueError, match="unknown formulation 'fuller' .*full, reduced"):
        make_formulation("fuller", Controller(scenario).qp_data)
