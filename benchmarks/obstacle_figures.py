"""Plots as [Alvarado2022] Fig. 12 (reaction times) and Fig. 14 (expected masses), of the scene `bag`.

python benchmarks/obstacle_figures.py --reactions reactions.png --expectations expectations.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.runner import run_scenario

#: Simulated time of each run [s].
DURATION = 5.0
#: Parameters of the scene by label, for each figure.
REACTIONS = {f"{t:g} s": {"reaction": t} for t in (0.3, 1.2)}
EXPECTATIONS = {
    "15 kg, expected": {"bag.mass": 15.0},
    "15 kg, 1 kg expected": {"bag.mass": 15.0, "expected.factor": 1.0 / 15.0},
    "2 kg, expected": {"bag.mass": 2.0},
    "2 kg, 15 kg expected": {"bag.mass": 2.0, "expected.factor": 7.5},
}


def palm_ahead(scenario: Scenario, q: Array) -> Array:
    """Return how far the left palm is ahead of the left shoulder in the axes of the torso, (n,) [m]."""
    scene, found = scenario.scene, []
    data = scene.model.createData()
    palm = scene.surfaces["humanoid/left_palm"].frame_id
    shoulder, torso = (scene.frame_id(f"humanoid/{link}") for link in ("l_shoulder_pitch_link", "torso"))
    for one in q:
        pin.framesForwardKinematics(scene.model, data, one)
        way = data.oMf[palm].translation - data.oMf[shoulder].translation
        found.append(float((data.oMf[torso].rotation.T @ way)[0]))
    return np.array(found)


def plot(path: Path, runs: dict[str, dict[str, float]]) -> None:
    """Run the scene with each setting; print when the bag is touched, how far it comes, and plot the palms."""
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    axes = figure.subplots()
    for label, parameters in runs.items():
        scenario = load_scenario("bag", parameters=parameters)
        result = run_scenario(scenario, backend="mujoco", duration=DURATION)
        ahead, times = palm_ahead(scenario, result.log.q[::4]), result.log.time[::4]
        after = times > 3.3  # the bag arrives
        print(
            f"{label}: palm {100 * ahead[after][0]:.0f} cm ahead of the shoulder at 3.3 s, at least "
            f"{100 * ahead[after].min():.0f} cm later; problems: {result.report['health']['problems']}",
            flush=True,
        )
        axes.plot(times[times > 2.0], ahead[times > 2.0], label=label)
    axes.set(xlabel="time [s]", ylabel="left palm ahead\nof shoulder [m]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Make the plots that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reactions", type=Path, metavar="FILE", help="plot of two reaction times")
    parser.add_argument("--expectations", type=Path, metavar="FILE", help="plot of true and wrong expected masses")
    options = parser.parse_args()
    if options.reactions is not None:
        plot(options.reactions, REACTIONS)
    if options.expectations is not None:
        plot(options.expectations, EXPECTATIONS)


if __name__ == "__main__":
    main()
