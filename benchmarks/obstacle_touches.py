"""Touches of head and trunk in the scenes with obstacles, with raised arms and with hanging ones, over seeds.

python benchmarks/obstacle_touches.py thicket --seeds 10 --plot touches.png
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multi_qp_cli.main import exit_status
from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import run_scenario

#: Links that the arms keep free.
TRUNK = ("head", "neck_yaw_link", "torso", "chest_pitch_link")


def touched(report: dict[str, Any]) -> dict[str, float]:
    """Return the largest force on head or trunk of each obstacle that touched them [N]."""
    forces: dict[str, float] = {}
    links = {f"humanoid/{link}" for link in TRUNK}
    for touch in report["touches"]:
        own, others = links & set(touch["bodies"]), [one for one in touch["bodies"] if one not in links]
        if own and others and not others[0].startswith("humanoid/"):
            obstacle = others[0].split("/")[0]
            forces[obstacle] = max(forces.get(obstacle, 0.0), touch["force_n"] or 0.0)
    return forces


def main() -> int:
    """Run the scene with both settings; print a row a run, and plot the numbers of obstacles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=["thicket", "orchard"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    counts: dict[int, list[int]] = {1: [], 0: []}
    for watch, found in counts.items():
        for seed in range(options.seeds):
            scenario = load_scenario(options.scene, parameters={"watch": watch}, seed=seed)
            result = run_scenario(scenario, backend="mujoco")
            forces = touched(result.report)
            found.append(len(forces))
            print(
                f"watch {watch} seed {seed}: {'succeeded' if result.succeeded else 'failed'} "
                f"after {result.report['sim_time']:.1f} s, {len(forces)} obstacles on head or trunk, "
                f"largest force {max(forces.values(), default=0.0):.0f} N",
                flush=True,
            )
        print(f"watch {watch}: {sum(found)} obstacles on head or trunk in {len(found)} runs")
    if options.plot is not None:
        plot(options.plot, counts)
    return 0


def plot(path: Path, counts: dict[int, Sequence[int]]) -> None:
    """Write a bar plot of the numbers of obstacles by seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.subplots()
    for offset, (watch, found) in zip((-0.2, 0.2), counts.items(), strict=True):
        places = [seed + offset for seed in range(len(found))]
        axes.bar(places, found, width=0.4, label="raised arms" if watch else "hanging arms")
    axes.set(xlabel="seed", ylabel="obstacles on head or trunk", xticks=range(len(counts[1])))
    axes.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    raise SystemExit(exit_status("obstacle_touches.py", main))
