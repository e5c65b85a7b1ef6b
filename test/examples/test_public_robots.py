"""Scenarios of robots with public URDFs; those of ANYmal also with the shipped quadruped, which needs no download."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motion_generation.planning import plan_scenario
from multi_qp_scene import MultiQpError, load_scenario
from multi_qp_simulator.runner import run_scenario

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "public_robots"
SCENES = sorted(path.stem for path in FOLDER.glob("*_*.yaml"))
BACKENDS = ["integrator", "mujoco"]
FEET = {"lf": "left_front_foot", "rf": "right_front_foot", "lh": "left_hind_foot", "rh": "right_hind_foot"}


def run(path: Path, backend: str) -> None:
    scenario = load_scenario(path)
    if scenario.spec.plan is not None:
        scenario = plan_scenario(scenario).scenario
    result = run_scenario(scenario, backend=backend)
    assert result.succeeded, (result.report["ended"], result.report["goals"], result.report["health"])


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scene", SCENES)
def test_goals_are_reached_in_both_worlds(scene: str, backend: str) -> None:
    """It needs example-robot-data, see docs/public_robots.md."""
    path = FOLDER / f"{scene}.yaml"
    try:
        load_scenario(path)
    except MultiQpError as missing:
        if "'example-robot-data' was not found" not in str(missing):
            raise
        pytest.skip(str(missing))
    run(path, backend)


@pytest.mark.parametrize(
    ("scene", "backend"),
    [
        *(pytest.param("anymal_legs", backend, marks=pytest.mark.slow) for backend in BACKENDS),
        pytest.param("anymal_trot", "integrator", marks=pytest.mark.slow),
        ("anymal_trot", "mujoco"),
    ],
)
def test_the_shipped_quadruped_does_the_same(scene: str, backend: str, tmp_path: Path) -> None:
    text = (FOLDER / f"{scene}.yaml").read_text().replace("anymal.yaml", "quadruped")
    text = (
        text.replace("anymal/base", "anymal/base_link")
        .replace("count: 8", "count: 2")
        .replace("visits: 8", "visits: 2")
    )
    text = re.sub(r"surfaces: \[lf, rf, lh, rh\]", f"surfaces: [{', '.join(FEET.values())}]", text)
    text = re.sub(r"surfaces: \[lf, rh, rf, lh\]", f"surfaces: [{', '.join(FEET.values())}]", text)
    text = re.sub(r"anymal/(lf|rf|lh|rh)\b", lambda found: f"anymal/{FEET[found[1]]}", text)
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    run(path, backend)
