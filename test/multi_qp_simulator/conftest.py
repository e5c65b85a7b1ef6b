"""Runs that several tests look at, made once; and small scenarios that end after a few ticks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.runner import RunResult, run_scenario

SHORT = {"path.duration": 2.0}
STANDING = ["left_foot", "right_foot", "box_on_table"]


@pytest.fixture(scope="session")
def box_run() -> RunResult:
    """Return the scenario `box` as it is: seed 0, 3 kg, its own time step."""
    return run_scenario(load_scenario("box"))


@pytest.fixture(scope="session")
def robot_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, RunResult]:
    """Return `box` with the motors of a robot, a short path and a coarse time step."""
    data = yaml.safe_load(scenario_path("box").read_text())
    data["subsystems"]["humanoid"]["effort_limits"] = "robot"
    path = tmp_path_factory.mktemp("robot") / "box.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    scenario = load_scenario(path, parameters=SHORT, seed=4)
    return scenario, run_scenario(scenario, dt=0.01)


@pytest.fixture
def stand(tmp_path: Path) -> Callable[..., Scenario]:
    """Return what makes the scene of `box` with states of the test's own, the humanoid standing in each."""

    def make(states: dict[str, Any], **more: Any) -> Scenario:
        data = yaml.safe_load(scenario_path("box").read_text())
        of_box = data["states"]["stand"]["tasks"]
        data |= {"states": {}, "goals": {}, "dt": 0.01, "tasks": copy.deepcopy(of_box), **more}
        for name, state in states.items():
            data["states"][name] = {"contacts": STANDING, **state}
        data["initial_state"] = next(iter(states))
        path = tmp_path / "stand.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return load_scenario(path)

    return make


@pytest.fixture
def standing(stand: Callable[..., Scenario]) -> Scenario:
    """Return a humanoid that stands for half a second."""
    return stand({"only": {"hold": 0.5}})
