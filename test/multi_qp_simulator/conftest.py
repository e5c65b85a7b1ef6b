"""Fixtures: runs shared by several tests, and small scenarios that end after a few ticks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_simulator.runner import RunResult, run_scenario

SHORT = {"path.duration": 2.0}
TASKS = {
    "balance": {
        "type": "com",
        "subsystems": ["humanoid"],
        "axes": ["x", "y"],
        "target": {"over_contacts": ["left_foot", "right_foot"]},
        "weight": 100.0,
    },
    "posture": {"type": "posture", "subsystem": "humanoid"},
}
STANDING = ["left_foot", "right_foot", "box_on_table"]


@pytest.fixture(scope="session")
def box_run() -> RunResult:
    """Return the scenario `box` with its defaults: seed 0, 3 kg, its own time step."""
    return run_scenario(load_scenario("box"))


@pytest.fixture(scope="session")
def robot_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, RunResult]:
    """Return `box` with a robot's motors, a short path and a coarse time step."""
    data = yaml.safe_load(scenario_path("box").read_text())
    data["subsystems"]["humanoid"]["effort_limits"] = "robot"
    path = tmp_path_factory.mktemp("robot") / "box.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    scenario = load_scenario(path, parameters=SHORT, seed=4)
    return scenario, run_scenario(scenario, dt=0.01)


@pytest.fixture(scope="session")
def stand() -> Callable[..., Scenario]:
    """Return a factory of `box` scenes with the test's own states, the humanoid standing in each."""
    base = load_scenario("box")  # loading takes longer than the few ticks of these tests
    document = yaml.safe_load(base.path.read_text())
    sections = ("subsystems", "environment", "contacts", "collisions")

    def make(states: dict[str, Any], **more: Any) -> Scenario:
        data: dict[str, Any] = {section: document[section] for section in sections}
        for subsystem in data["subsystems"].values():
            subsystem.pop("mass", None)
            subsystem.pop("scale", None)  # parameters are not filled in here
        data |= {"description": "stands", "dt": 0.01, "tasks": TASKS, "initial_state": next(iter(states))}
        data["states"] = {name: {"contacts": STANDING, **state} for name, state in states.items()}
        return replace(base, spec=ScenarioFile.model_validate(data | more))

    return make


@pytest.fixture(scope="session")
def standing(stand: Callable[..., Scenario]) -> Scenario:
    """Return a humanoid that stands for half a second."""
    return stand({"only": {"hold": 0.5}})
