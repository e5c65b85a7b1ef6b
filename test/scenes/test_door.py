"""The door: pressed, opened, closed, by tasks on its two joints only; no part but the hand comes near it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import coal
import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.state_machine.state_machine import StateMachine
from multi_qp_scene import load_scenario
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.log import Log
from multi_qp_simulator.runner import RunResult, run_scenario

HELD = ("turn_knob", "open", "close", "release_knob")
#: Tasks allowed while the door is held: its joints, and those of the posture.
BODY_TASKS = {"balance", "upright", "posture"}


@cache
def finished_run() -> tuple[Scenario, RunResult]:
    """Run it once, with twice the paper's time step."""
    scenario = load_scenario("door")
    return scenario, run_scenario(scenario, dt=0.01)


def in_state(log: Log, joint: str, scenario: Scenario, state: str) -> np.ndarray:
    """Angles of one of the door's joints throughout a state, (k,) [rad]."""
    model = scenario.scene.model
    return log.q[log.state == state, model.joints[model.getJointId(joint)].idx_q]


def least_distance(scenario: Scenario, log: Log, *links: str) -> float:
    """Least distance of any part of the humanoid from these links of the door, throughout a run [m]."""
    scene = scenario.scene
    shapes, data = scene.collision_model, scene.model.createData()
    placements = pin.GeometryData(shapes)
    items = list(shapes.geometryObjects)
    bodies = [k for k, item in enumerate(items) if item.name.startswith("humanoid/")]
    obstacles = [k for k, item in enumerate(items) if item.name.startswith(links)]
    request, least = coal.DistanceRequest(), np.inf
    for q in log.q[::10]:
        pin.updateGeometryPlacements(scene.model, data, shapes, placements, q)
        for a in bodies:
            for b in obstacles:
                first, second = items[a].geometry, items[b].geometry
                result = coal.DistanceResult()
                coal.distance(first, placements.oMg[a], second, placements.oMg[b], request, result)
                least = min(least, result.min_distance)
    return least


def test_the_door_is_opened_and_closed(assert_good: Callable[..., None]) -> None:
    _, result = finished_run()
    assert_good(result)


def test_it_has_the_size_of_table_1() -> None:
    _, result = finished_run()
    report = result.report
    assert report["subsystems"] == 2
    assert (report["dofs"], report["actuated_dofs"]) == (38, 30)
    assert (report["planar_contact_points"], report["grasp_contact_points"]) == (8, 4)
    assert report["collision_pairs"] == 1
    assert (report["qp"]["variables"], report["qp"]["equalities"]) == (116, 74)


def test_only_the_joints_of_the_door_are_tasked_while_it_is_held() -> None:
    scenario, _ = finished_run()
    machine = StateMachine(scenario)
    for state in HELD:
        machine.enter(state, 0.0)
        moving = {name: task for name, task in machine.present.tasks.items() if name not in BODY_TASKS}
        assert {task.joint for task in moving.values() if task.type == "joint_angle"} == {"door/hinge", "door/knob"}
        assert len(moving) == 2


def test_it_stays_shut_until_the_handle_is_down() -> None:
    scenario, result = finished_run()
    assert np.abs(in_state(result.log, "door/hinge", scenario, "turn_knob")).max() < np.radians(0.5)
    assert in_state(result.log, "door/knob", scenario, "open")[0] > 0.45
    assert np.abs(in_state(result.log, "door/hinge", scenario, "release_knob")).max() < np.radians(0.5)


def test_no_part_of_the_humanoid_goes_into_the_door() -> None:
    scenario, result = finished_run()
    assert least_distance(scenario, result.log, "door/leaf", "door/frame") > 0.005
    assert least_distance(scenario, result.log, "door/lever") > 0.0005


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.0025, 0.005])
def test_smaller_steps_end_the_same(dt: float, assert_good: Callable[..., None]) -> None:
    assert_good(run_scenario(load_scenario("door"), dt=dt))


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_other_masses(factor: float, assert_good: Callable[..., None]) -> None:
    parameters = {"humanoid.mass": 39.0 / factor, "door.mass": 18.35 * factor}
    assert_good(run_scenario(load_scenario("door", parameters=parameters)))
