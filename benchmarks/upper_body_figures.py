"""Plots as the figures of [Alvarado2022], by name, each with figures in text.

isolines (Fig. 5), tension (Fig. 10), falls (Fig. 11), reactions (Fig. 12), expectations (Fig. 14); Fig. 13 is
`obstacle_touches.py`.

python benchmarks/upper_body_figures.py isolines tension falls reactions expectations --folder docs/media
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from multi_qp_controller.controller import Controller
from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.log import Log
from multi_qp_simulator.runner import Run, make_backend, make_controller
from upper_body.anticipation import AnticipationGenerator
from upper_body.limbs import AntagonisticLimbs

#: A quantity of one tick.
Column = Callable[[Controller], float]
#: Seed of `apples`, and what is touched there.
APPLES_SEED, HEAD, ARMS = 2, "humanoid/head", ("wrist", "elbow")
#: Parameters of `apples`: seen in time, above the visible volume, too late.
FALLS = {"expected": {}, "not seen": {"upward": 0.3}, "reaction time 1.2 s": {"reaction": 1.2}}
#: Parameters of `bag` by label.
REACTIONS = {f"{t:g} s": {"reaction": t} for t in (0.3, 1.2)}
#: Parameters of `gate` by label: with the true mass expected, with a wrong one, and with a wrong one that is corrected.
EXPECTATIONS = {
    "20 kg, thought 20 kg": {"gate.mass": 20.0},
    "20 kg, thought 1 kg": {"gate.mass": 20.0, "expected.factor": 0.05, "adapt": 0},
    "20 kg, thought 1 kg, adapted": {"gate.mass": 20.0, "expected.factor": 0.05},
    "2 kg, thought 2 kg": {"gate.mass": 2.0},
    "2 kg, thought 20 kg": {"gate.mass": 2.0, "expected.factor": 10.0, "adapt": 0},
    "2 kg, thought 20 kg, adapted": {"gate.mass": 2.0, "expected.factor": 10.0},
}


@dataclass(frozen=True)
class Record:
    """One run.

    Attributes:
        scenario: what was run.
        report: its report.
        log: its log.
        columns: quantities of each tick, (T,) each.
    """

    scenario: Scenario
    report: dict[str, Any]
    log: Log
    columns: dict[str, Array]

    def angle(self, joint: str) -> Array:
        """Return the angle of a joint by its full name, (T,) [rad]."""
        scene = self.scenario.scene
        return self.log.q[:, scene.angle_index[scene.velocity_names.index(joint)]]


def record(
    scene: str, parameters: Mapping[str, float], duration: float, columns: Mapping[str, Column], seed: int = 0
) -> Record:
    """Run a scene in MuJoCo with columns of quantities."""
    scenario = load_scenario(scene, parameters=dict(parameters), seed=seed)
    controller, backend = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario)
    run = Run(scenario, controller, backend, backend_name="mujoco", duration=duration)
    rows: list[list[float]] = []
    run.observe(lambda one, command: rows.append([column(one) for column in columns.values()]))
    result, found = run.execute(), np.array(rows)
    return Record(scenario, result.report, result.log, {name: found[:, k] for k, name in enumerate(columns)})


def palm_ahead(one: Controller) -> float:
    """Return how far the left palm is ahead of the left shoulder in the axes of the torso [m]."""
    scene, kinematics = one.scenario.controlled.scene, one.kinematics
    palm = kinematics.pose(scene.surfaces["humanoid/left_palm"].frame_id).translation
    shoulder = kinematics.pose(scene.frame_id("humanoid/l_shoulder_pitch_link")).translation
    torso = kinematics.pose(scene.frame_id("humanoid/torso")).rotation
    return float((torso.T @ (palm - shoulder))[0])


def palm_height(one: Controller) -> float:
    """Return the height of the left palm [m]."""
    scene = one.scenario.controlled.scene
    return float(one.kinematics.pose(scene.surfaces["humanoid/left_palm"].frame_id).translation[2])


def palm_from_head(one: Controller) -> float:
    """Return the distance of the nearer palm from a point 8 cm above the head's frame [m]."""
    scene, kinematics = one.scenario.controlled.scene, one.kinematics
    head = kinematics.pose(scene.frame_id(HEAD)).translation + [0.0, 0.0, 0.08]
    palms = [scene.surfaces[f"humanoid/{side}_palm"].frame_id for side in ("left", "right")]
    return min(float(np.linalg.norm(kinematics.pose(palm).translation - head)) for palm in palms)


def tension(one: Controller) -> float:
    """Return the tension of the left arm."""
    generator = one.generator("arms")
    assert isinstance(generator, AnticipationGenerator)
    return float(generator.tensions[0])


def force_on(report: dict[str, Any], owner: str, links: tuple[str, ...]) -> float:
    """Return the largest force of an obstacle on links with one of these parts in their names [N]."""
    forces = [0.0]
    for touch in report["touches"]:
        ours = [one for one in touch["bodies"] if one.startswith("humanoid/") and any(part in one for part in links)]
        if ours and any(one.startswith(owner) for one in touch["bodies"]):
            forces.append(touch["force_n"] or 0.0)
    return max(forces)


def isolines(path: Path) -> None:
    """Fig. 5: gains of the pairs of the right arm in `hold` for tensions from 0 to 1."""
    scene = load_scenario("hold").scene
    parts = ("R_SHOULDER", "R_ELBOW", "R_WRIST")
    own = [k for k, name in enumerate(scene.velocity_names) if any(part in name for part in parts)]
    v_index = np.array(own, dtype=np.intp)
    limbs = AntagonisticLimbs(
        scene, v_index, posture_configuration(scene, "humanoid", {"R_SHOULDER_R": -1.57, "R_ELBOW_P": 0.0})
    )
    target = posture_configuration(scene, "humanoid", "ready")[limbs.joints.q_index]
    load, n = limbs.gravity(scene.q0, target), len(target)
    gains = np.array(
        [
            limbs.torques(target, target, load, (0.3 + 5.7 * t) * limbs.efforts, np.ones(n), ratio=0.7).gains
            for t in np.linspace(0.0, 1.0, 21)
        ]
    )
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    names = ["shoulder x", "shoulder y", "shoulder z", "elbow", "wrist yaw", "wrist x", "wrist y", "wrist z"]
    for k, name in enumerate(names):
        low, high = gains[:, 0, k], gains[:, 1, k]
        line = axes.plot(low, high, label=name)[0]
        axes.plot(low[4], high[4], "o", color=line.get_color(), markersize=4)
        print(f"{name}: k_L {low[0]:.1f} to {low[-1]:.1f}, k_H {high[0]:.1f} to {high[-1]:.1f} N m/rad")
    axes.set(xlabel="k_L [N m/rad]", ylabel="k_H [N m/rad]", xlim=(0, None), ylim=(0, None))
    save(figure, path)


def tensions(path: Path) -> None:
    """Fig. 10: constant and adapted tension in `hold`."""
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    axes = figure.subplots()
    for label, heavy in (("constant tension 0.2", 0.2), ("tension 1 under all of the load", 1.0)):
        run = record("hold", {"load": 20.0, "heavy": heavy}, 9.5, {"palm": palm_height})
        time, elbow = run.log.time, np.degrees(run.angle("humanoid/L_ELBOW_P"))
        start = int(np.searchsorted(time, 1.95))
        lost = 100 * (run.columns["palm"][start] - run.columns["palm"])
        axes.plot(time, lost, label=label)
        at = [int(np.searchsorted(time, t)) for t in (3.5, 5.9, 7.9)]
        bent = np.abs(elbow - elbow[start])
        figures = ", ".join(f"{lost[k]:.1f} cm and {bent[k]:.1f}° at {time[k]:.1f} s" for k in at)
        print(f"{label}: palm lower by, elbow bent by {figures}")
    axes.set(xlabel="time [s]", ylabel="palm lower by [cm]", title="10 N on each hand from 2 s, 20 N from 4 s to 6 s")
    save(figure, path)


def falls(path: Path) -> None:
    """Fig. 11: an apple that is stopped, one that is not seen, one that comes too fast for the reaction time."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    for label, parameters in FALLS.items():
        run = record("apples", {"apples": 1, **parameters}, 5.8, {"palm": palm_from_head}, APPLES_SEED)
        hits = [force_on(run.report, "apple", links) for links in (ARMS, (HEAD,))]
        time, neck = run.log.time, np.degrees(run.angle("humanoid/NECK_P"))
        turned = neck - neck[0]
        after = np.abs(turned[time > 2.0])
        print(
            f"{label}: {hits[0]:.0f} N on hands and forearms, {hits[1]:.0f} N on the head, neck turned by "
            f"{after.max():.1f}°, by {after[-1]:.1f}° at the end"
        )
        upper.plot(time, 100 * run.columns["palm"], label=label)
        lower.plot(time, turned)
    upper.set(ylabel="nearer palm\nfrom head [cm]")
    lower.set(xlabel="time [s]", ylabel="neck turned\nby [deg]", xlim=(2.0, None))
    lower.grid(alpha=0.3)
    save(figure, path)


def reactions(path: Path) -> None:
    """Fig. 12: short and long reaction time in `bag`."""
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    axes = figure.subplots()
    for label, parameters in REACTIONS.items():
        run = record("bag", parameters, 5.0, {"palm": palm_ahead})
        time, ahead = run.log.time, run.columns["palm"]
        after = time > 3.3  # the bag arrives
        print(
            f"{label}: palm {100 * ahead[after][0]:.0f} cm ahead of the shoulder at 3.3 s, at least "
            f"{100 * ahead[after].min():.0f} cm later; problems: {run.report['health']['problems']}"
        )
        axes.plot(time[time > 2.0], ahead[time > 2.0], label=label)
    axes.set(xlabel="time [s]", ylabel="left palm ahead\nof shoulder [m]")
    save(figure, path)


def expectations(path: Path) -> None:
    """Fig. 14: a heavy and a light gate with true and wrong expectations, with and without adaptation."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    for k, (label, parameters) in enumerate(EXPECTATIONS.items()):
        run = record("gate", parameters, 6.0, {"palm": palm_ahead, "tension": tension})
        time, opening = run.log.time, np.degrees(run.angle("gate/opening"))
        column, name = k // 3, label.partition(", ")[2]
        palm, tense = run.columns["palm"], run.columns["tension"]
        for t in (3.5, 4.0, 4.5):
            at = int(np.searchsorted(time, t))
            print(
                f"{label}, {t} s: open by {opening[at]:.0f}°, palm {100 * palm[at]:.0f} cm ahead of the shoulder, "
                f"tension {tense[at]:.2f}"
            )
        force, problems = force_on(run.report, "gate", ARMS), run.report["health"]["problems"]
        print(f"{label}: largest force {force:.0f} N; problems: {problems}")
        shown = time > 2.5
        panels[0, column].plot(time[shown], opening[shown], label=name)
        panels[1, column].plot(time[shown], tense[shown], label=name)
    for column, mass in enumerate(("20 kg", "2 kg")):
        panels[0, column].set(title=f"gate of {mass}")
        panels[1, column].set(xlabel="time [s]")
        panels[0, column].grid(alpha=0.3)
        panels[0, column].legend(fontsize="small")
    panels[0, 0].set(ylabel="gate open by [deg]")
    panels[1, 0].set(ylabel="tension")
    figure.savefig(path, dpi=100)


def save(figure: Figure, path: Path) -> None:
    """Write a figure whose first axes have a legend."""
    figure.axes[0].grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=100)


FIGURES = {
    "isolines": isolines,
    "tension": tensions,
    "falls": falls,
    "reactions": reactions,
    "expectations": expectations,
}


def main() -> None:
    """Make the plots that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="+", choices=list(FIGURES))
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    for name in options.figures:
        print(f"{name}:", flush=True)
        FIGURES[name](options.folder / f"{name}.png")


if __name__ == "__main__":
    main()
