"""Subsystems that are not controlled, in both simulators."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from multi_qp_scene import load_scenario
from multi_qp_scene.resources import scenario_path
from multi_qp_simulator.runner import run_scenario
from multi_qp_simulator.touches import measured_pairs

OTHERS = {
    "lever": {"model": "lever", "controlled": False, "pose": {"xyz": [1, 0, 0]}, "posture": {"lever": 0.6}},
    "box": {"model": "box", "controlled": False, "pose": {"xyz": [1, 2, 3]}},
    "hangs": {"model": "box", "controlled": False, "pose": {"xyz": [1, 4, 3]}, "release": 0.3},
}
GOALS = {"leans": {"type": "joint", "joint": "lever/lever", "target": -0.5, "tolerance": 10.0}}


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    """Return `stand` with a lever on a spring and a falling box."""
    data = yaml.safe_load(scenario_path("stand").read_text())
    path = tmp_path_factory.mktemp("passive") / "stand.yaml"
    changes = {"subsystems": {**data["subsystems"], **OTHERS}, "goals": GOALS}
    path.write_text(yaml.safe_dump({**data, **changes}, sort_keys=False))
    return load_scenario(path)


def test_both_simulators_agree(scenario):
    logs = [run_scenario(scenario, backend=name, duration=0.6).log for name in ("integrator", "mujoco")]
    integrated, simulated = (log.q[:, 37:] for log in logs)
    assert np.ptp(integrated[:, 0]) > 0.3  # the lever moves
    np.testing.assert_allclose(integrated[:, 0], simulated[:, 0], atol=0.02)
    np.testing.assert_allclose(integrated[:, 1:4], simulated[:, 1:4], atol=0.02)
    time = logs[0].time
    np.testing.assert_allclose(integrated[:, 3], 3.0 - 0.5 * 9.81 * time**2, atol=0.02)
    released = np.maximum(time - 0.3, 0.0)
    for heights in (integrated[:, 10], simulated[:, 10]):
        np.testing.assert_allclose(heights, 3.0 - 0.5 * 9.81 * released**2, atol=0.02)


def test_goals_may_be_about_them(scenario):
    report = run_scenario(scenario, duration=0.1).report
    assert report["goals"]["leans"]["value"] == pytest.approx(0.6, abs=0.1)


def test_touches_among_themselves_are_not_measured(scenario):
    pieces = scenario.scene.collision_model.geometryObjects
    owners = {frozenset(pieces[k].name.split("/")[0] for k in pair) for pair in measured_pairs(scenario)}
    assert owners == {frozenset({"humanoid"}), *(frozenset({"humanoid", other}) for other in (*OTHERS, "ground"))}
