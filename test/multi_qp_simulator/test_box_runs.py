"""The complete scenario `box`: requirements for every seed, mass and time step."""

from __future__ import annotations

import math

import pytest

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import RunResult, run_scenario

MASSES = (1.0, 3.0, 5.0)
STATES = ["stand", "reach", "close", "lift", "carry", "lower", "release", "return", "done"]


def assert_requirements(result: RunResult) -> None:
    """Assert all requirements of the issue and the scenario."""
    report = result.report
    assert result.succeeded, (report["ended"], report["goals"], report["failure"])
    assert report["completed"] and report["ended"] == "completed"
    assert report["failure"] is None and report["qp_failures"] == 0 and report["relaxed_ticks"] == 0
    worst = report["worst"]
    assert worst["contact_slip_m"] <= 1e-3
    assert worst["contact_twist_rad"] <= 1e-2
    assert worst["penetration_m"] == 0.0
    assert worst["torque_ratio"] <= 1.0
    assert worst["joint_limit_violation_rad"] == 0.0
    assert worst["velocity_ratio"] <= 1.0
    assert worst["dynamics_residual"] <= 1e-6
    goals = report["goals"]
    assert goals["path_tracked_position"]["value"] <= 0.01
    assert goals["path_tracked_rotation"]["value"] <= math.radians(2.0)
    assert [state for state in report["states_visited"] if state in STATES] == STATES


def test_the_box_scenario_meets_its_requirements(box_run):
    assert_requirements(box_run)
    assert box_run.report["dt"] == 0.005
    assert box_run.report["seed"] == 0
    assert box_run.report["parameters"]["box.mass"] == 3.0


@pytest.mark.parametrize("dt", [0.01, 0.02])
def test_coarse_time_steps(dt):
    result = run_scenario(load_scenario("box", seed=1), dt=dt)
    assert_requirements(result)
    assert result.report["dt"] == dt


def test_the_motors_of_a_robot_suffice(robot_run):
    _, result = robot_run
    assert_requirements(result)
    assert result.report["worst"]["torque_ratio"] > 0.1


@pytest.mark.slow
def test_a_fine_time_step():
    assert_requirements(run_scenario(load_scenario("box", parameters={"path.duration": 2.0}), dt=0.002))


@pytest.mark.slow
@pytest.mark.parametrize("mass", MASSES)
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_and_mass(seed, mass, record_property):
    result = run_scenario(load_scenario("box", parameters={"box.mass": mass}, seed=seed))
    for name, value in result.report["worst"].items():
        record_property(name, value)
    for name in ("path_tracked_position", "path_tracked_rotation", "box_put_back"):
        record_property(name, result.report["goals"][name]["error"])
    assert_requirements(result)
