"""The humanoid walks up to the door by a route, and opens it by the states of the scene `door`."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import Run, make_backend, make_controller, run_scenario

DOOR = ["stand", "reach", "above", "grasp", "turn_knob", "open", "close", "release_knob", "let_go", "withdraw", "done"]


def test_it_arrives_before_the_door_from_a_random_place():
    scenario = load_scenario("walk_and_reach", seed=1, parameters={"start.spread": 0.6})
    start = scenario.scene.q0[:2]
    controller, entered = make_controller(scenario, "mujoco"), []

    def arrive(controller, command):
        if command.diagnostics.state != "walk":
            entered.append(command.diagnostics.state)
            run.stop()

    run = Run(scenario, controller, make_backend("mujoco", scenario), backend_name="mujoco", observers=[arrive])
    result = run.execute()
    assert entered == ["stand"] and result.report["qp_failures"] == 0
    log = result.log
    assert np.linalg.norm(log.q[-1, :2] - start) > 1.0
    x, y, z, w = log.q[-1, 3:7]
    assert np.linalg.norm(log.q[-1, :2]) < 0.1
    assert 2.0 * np.arctan2(z, w) == pytest.approx(0.385, abs=0.12)
    assert log.contact_active[-1].tolist()[:2] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_door_is_opened_and_closed(seed):
    scenario = load_scenario("walk_and_reach", seed=seed)
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded, result.report["goals"]
    report = result.report
    assert report["qp_failures"] == 0 and report["relaxed_ticks"] == 0
    assert report["worst"]["contact_slip_m"] < 3e-3 and report["worst"]["torque_ratio"] <= 1.0 + 1e-9
    states = list(dict.fromkeys(result.log.state.tolist()))
    assert states == ["walk", *DOOR]
