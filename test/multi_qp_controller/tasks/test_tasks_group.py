"""Centre-of-mass tasks of several subsystems: coupling blocks Jᵢᵀ Jⱼ of the Hessian."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_controller.qp import make_solver
from multi_qp_controller.qp.formulations import make_formulation
from multi_qp_scene import load_scenario
from multi_qp_simulator import Integrator

SUBSYSTEMS = ("front", "back", "king", "litter")


@cache
def shifting() -> Controller:
    """Return the controller of `king`, 0.3 s after all four subsystems begin to shift over two feet."""
    scenario = load_scenario("king")
    controller, world = Controller(scenario), Integrator(scenario)
    for tick in range(25):
        world.step(controller.step(world.state, tick * controller.dt), controller.dt)
    assert controller.machine.present.name == "over_right"
    return controller


@cache
def balance_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return J and b of the task on the common centre of mass."""
    controller = shifting()
    task = controller.tasks["balance"]
    J, b = np.zeros((task.dim, controller.scenario.scene.nv)), np.zeros(task.dim)
    task.compute(controller.kinematics, 24 * controller.dt, J, b)
    return J, b


def cross_blocks() -> np.ndarray:
    """Return w Jᵀ J without its blocks on the diagonal, (nv, nv)."""
    J, _ = balance_rows()
    H = shifting().tasks["balance"].weight * J.T @ J
    for subsystem in shifting().scenario.scene.subsystems.values():
        H[subsystem.v_slice, subsystem.v_slice] = 0.0
    return H


def solved(*, coupled: bool) -> np.ndarray:
    """Solve the QP of the tick, with the cross blocks or without, and return q̈."""
    controller = shifting()
    formulation = make_formulation("reduced", controller.qp_data)
    formulation.prepare()
    problem = formulation.build()
    if not coupled:
        H = problem.H.copy()
        nv = controller.scenario.scene.nv
        H[:nv, :nv] -= cross_blocks()
        problem = replace(problem, H=H)
    solution = make_solver("quadprog").solve(problem)
    assert solution.found
    return formulation.recover(solution.x).acceleration


@pytest.mark.parametrize("first", SUBSYSTEMS)
@pytest.mark.parametrize("second", SUBSYSTEMS)
def test_the_hessian_has_the_block_of_each_pair(first: str, second: str) -> None:
    controller, (J, _) = shifting(), balance_rows()
    rows, columns = (controller.scenario.scene.subsystems[name].v_slice for name in (first, second))
    block = controller.tasks["balance"].weight * J[:, rows].T @ J[:, columns]
    assert np.abs(block).max() > 1.0
    found = controller.qp_data.tasks.H[rows, columns]
    if first == second:  # other tasks add to it
        assert np.linalg.eigvalsh(found - block).min() > -1e-8
    else:  # no other task concerns two of them
        np.testing.assert_allclose(found, block, rtol=1e-12, atol=1e-12)


def test_without_coupling_blocks_the_group_task_has_a_residual() -> None:
    J, b = balance_rows()
    assert np.linalg.norm(b) > 0.05
    coupled, decoupled = (J @ solved(coupled=choice) for choice in (True, False))
    assert np.linalg.norm(coupled - b) < 0.1 * np.linalg.norm(b)
    # each subsystem then realises the whole desired acceleration, and their sum is several times too large
    assert np.linalg.norm(decoupled) > 2.0 * np.linalg.norm(b)
