"""Solutions that violate the dynamics or the contacts never become commands."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.qp.physical_solution import PhysicalSolution, Solved
from multi_qp_scene import load_scenario

WRONG = {
    "torque": lambda p: PhysicalSolution(p.acceleration, p.torque + 0.01, p.reactions),
    "reactions": lambda p: PhysicalSolution(p.acceleration, p.torque, 1.001 * p.reactions),
    "acceleration": lambda p: PhysicalSolution(p.acceleration + 0.01, p.torque, p.reactions),
    "NaN": lambda p: PhysicalSolution(np.full_like(p.acceleration, np.nan), p.torque, p.reactions),
    "infinity": lambda p: PhysicalSolution(p.acceleration, np.full_like(p.torque, np.inf), p.reactions),
}


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("box")


def spoilt(controller: Controller, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """Make the block solver return wrong solutions with status solved."""
    blocks = controller.cascade.block_solver
    solve = blocks.solve

    def solve_wrongly(*arguments, **settings):
        solved = solve(*arguments, **settings)
        assert solved.physical is not None
        return Solved(solved.solution, WRONG[wrong](solved.physical))

    monkeypatch.setattr(blocks, "solve", solve_wrongly)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_solution_is_replaced_by_a_fallback_solver(scenario, monkeypatch, wrong):
    state = scenario.scene.initial_state()
    expected = Controller(scenario).step(state, 0.0)
    controller = Controller(scenario)
    spoilt(controller, monkeypatch, wrong)
    command = controller.step(state, 0.0)
    assert command.diagnostics.status is Status.OK
    np.testing.assert_allclose(command.tau, expected.tau, atol=1e-4 * np.abs(expected.tau).max())
    assert command.diagnostics.dynamics_residual < 1e-6


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_solution_is_a_fallback_if_time_limited(scenario, monkeypatch, wrong):
    controller = Controller(scenario, deadline=10.0)
    state = scenario.scene.initial_state()
    good = controller.step(state, 0.0)
    spoilt(controller, monkeypatch, wrong)
    command = controller.step(state, controller.dt)
    assert command.diagnostics.status is Status.FALLBACK
    assert "relative residuals" in command.diagnostics.message or "no solution" in command.diagnostics.message
    assert np.isfinite(command.tau).all()
    np.testing.assert_allclose(command.tau, good.tau, atol=1e-9)  # held by the fallback
