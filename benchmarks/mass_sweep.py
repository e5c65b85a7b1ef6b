"""Robustness of the scenes to other masses and time steps: `python benchmarks/mass_sweep.py door sword --seeds 20`.

Every run is one `multi-qp run --headless`: with every mass of the scene drawn from ± 10 %, once per seed, and with half
and twice the scene's time step. Prints a Markdown table. With --reports FOLDER the reports are stored there, and runs
with an existing report are not repeated.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from multi_qp_cli.main import exit_status
from multi_qp_simulator.run_monitor import succeeded

SCENES = ("king", "funambulist", "sword", "acrobats", "door", "valve", "box", "lever")
#: Largest time step of the paper [s]; upper limit of the doubled time step.
LARGEST_STEP = 0.0334


@dataclass(frozen=True)
class SweepRun:
    """One run: its name within the scene, and the options of `multi-qp run`."""

    name: str
    arguments: tuple[str, ...]


def main() -> int:
    """Run the trials and print the table; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=SCENES, help="which scenes (all eight by default)")
    parser.add_argument("--seeds", type=int, default=20, help="how many draws of the masses (default 20)")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of the seeds (default 0)")
    parser.add_argument("--spread", type=float, default=0.1, help="largest relative change of a mass (default 0.1)")
    parser.add_argument("--no-steps", action="store_true", help="leave out half and twice the time step")
    parser.add_argument("--reports", type=Path, metavar="FOLDER", help="store the reports here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.reports or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print("| scene | trials | succeeded | failed QPs | slip [mm] | penetration [mm] | torque / limit | residual |")
        print("|---|---|---|---|---|---|---|---|")
        rows = [row for scene in options.scenes for row in _rows(scene, options, folder)]
    return 0 if all(rows) else 1


def _rows(scene: str, options: argparse.Namespace, folder: Path) -> list[bool]:
    """Run a scene's trials and print a line for the masses and one for each time step."""
    from multi_qp_scene import load_scenario

    scenario = load_scenario(scene)
    masses = {name: value for name, value in scenario.parameters.items() if name.endswith(".mass")}
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    drawn = [_with_masses(masses, seed, options.spread) for seed in seeds]
    results = []
    if drawn:
        results.append(_print_row(scene, f"masses ± {100 * options.spread:g} %", drawn, folder))
    if not options.no_steps:
        dt = scenario.spec.dt
        for factor, word in ((0.5, "half"), (2.0, "twice")):
            if factor * dt <= LARGEST_STEP:
                trial = SweepRun(f"dt{factor:g}", ("--dt", f"{factor * dt:.7g}"))
                results.append(_print_row(scene, f"{word} the step: {1e3 * factor * dt:.4g} ms", [trial], folder))
    return results


def _with_masses(masses: dict[str, Any], seed: int, spread: float) -> SweepRun:
    factors = np.random.default_rng(seed).uniform(1.0 - spread, 1.0 + spread, len(masses))
    settings = [f"{name}={mass * factor:.6g}" for (name, mass), factor in zip(masses.items(), factors, strict=True)]
    options = [argument for setting in settings for argument in ("--set", setting)]
    return SweepRun(f"masses{spread:g}_{seed}", ("--seed", str(seed), *options))


def _print_row(scene: str, title: str, trials: list[SweepRun], folder: Path) -> bool:
    reports = [_report(scene, trial, folder) for trial in trials]
    worst = {key: max(report["worst"][key] for report in reports) for key in reports[0]["worst"]}
    good = [succeeded(report) for report in reports]
    failures = sum(report["qp_failures"] for report in reports)
    print(
        f"| {scene} | {title} | {sum(good)} of {len(good)} | {failures} | {1e3 * worst['contact_slip_m']:.3f} "
        f"| {1e3 * worst['penetration_m']:.3g} | {worst['torque_ratio']:.2f} | {worst['dynamics_residual']:.0e} |",
        flush=True,
    )
    for trial, ok in zip(trials, good, strict=True):
        if not ok:
            print(f"{scene} failed: multi-qp run {scene} --headless {' '.join(trial.arguments)}", file=sys.stderr)
    return all(good) and failures == 0


def _report(scene: str, trial: SweepRun, folder: Path) -> dict[str, Any]:
    path = folder / f"{scene}_{trial.name}.json"
    if not path.exists():
        command = [sys.executable, "-m", "multi_qp_cli", "run", scene, "--headless", "--report", str(path)]
        done = subprocess.run([*command, *trial.arguments], capture_output=True, text=True, check=False)
        if not path.exists():
            raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
        print(f"{scene} {trial.name}: exit status {done.returncode}", file=sys.stderr)
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


if __name__ == "__main__":
    raise SystemExit(exit_status("mass_sweep.py", main))
