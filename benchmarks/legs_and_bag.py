"""What the legs do when a bag of 15 kg arrives: how far and how fast the pelvis is pushed back, with which force.

python benchmarks/legs_and_bag.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import run_scenario

#: Keys `legs` of the generator: bounds out of reach switch a rule off.
LEGS: dict[str, dict[str, Any] | None] = {
    "nothing": None,
    "brace": {"gait": "gait", "push": 1e5},
    "step back": {"gait": "gait", "heavy": 1e3},
    "both (default)": {"gait": "gait"},
    "both, lean 0.1 rad": {"gait": "gait", "lean": 0.1},
}


def scenario_file(legs: dict[str, Any] | None, folder: Path) -> Path:
    """Write the scene `bag` with this key `legs`; return its path."""
    spec = yaml.safe_load(scenario_path("bag").read_text())
    for state in spec["states"].values():
        state["generators"]["arms"]["legs"] = legs
    path = folder / "bag.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


def row(path: Path, factor: float) -> str:
    """Run the scene; return a row of the table."""
    scenario = load_scenario(path, parameters={"bag.mass": 15.0, "expected.factor": factor})
    result = run_scenario(scenario, backend="mujoco")
    x = result.log.q[:, scenario.scene.subsystems["humanoid"].q_slice.start]
    back = float((np.maximum.accumulate(x) - x).max())
    forces = [t["force_n"] or 0.0 for t in result.report["touches"] if "bag/bag" in t["bodies"]]
    speed = -float(np.gradient(x, result.report["dt"]).min())
    return f"{back * 100:.0f} | {speed:.2f} | {max(forces, default=0.0):.0f} | {'yes' if result.succeeded else 'no'} |"


def main() -> None:
    """Print a table."""
    print("| expected mass [kg] | legs | way back [cm] | largest speed back [m/s] | largest force [N] | healthy |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for mass in (15, 1):
            for name, legs in LEGS.items():
                print(f"| {mass} | {name} | {row(scenario_file(legs, Path(folder)), mass / 15.0)}", flush=True)


if __name__ == "__main__":
    main()
