"""Table of runs whose motion is made again: `python benchmarks/online.py walk_to_moving --backend mujoco`.

Times are computing times of one core: of the first motion, from nothing; of the windows, each with its audit; and the
share of the optimiser alone. The audit is that of the whole motion, of all windows together.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from contact_invariant.character import behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.starts import Starts
from contact_invariant.window import first_window
from motion_generation.motion_replanning import MotionReplanning
from motion_generation.synthesised_states import synthesise_scenario
from multi_qp_cli.main import exit_status
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.robustness import make_controller
from multi_qp_simulator.runner import BACKENDS, Run, make_backend


@dataclass(frozen=True)
class Result:
    """One run: generator, whether goals are reached, QP failures, distance of the centre of mass [m], slip [m]."""

    generator: MotionReplanning
    succeeded: bool
    failures: int
    distance: float
    slip: float


def main() -> int:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds, from 0 on")
    parser.add_argument("--backend", action="append", choices=sorted(BACKENDS), help="may be repeated")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of the scenario")
    options = parser.parse_args()
    values = {name: float(value) for name, _, value in (one.partition("=") for one in options.set)}
    print(
        "| seed | backend | windows, refused | first motion | window: median, largest | optimiser | distance | slip |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for seed in range(options.seeds):
        scenario = load_scenario(options.scenario, parameters=values, seed=seed)
        cold = f"{Starts(first_window(scenario, character_of(scenario))).one(seed).seconds:.1f} s"
        for backend in options.backend or ["integrator"]:
            result = run(synthesise_scenario(scenario).scenario, backend)
            print(f"| {seed} | {backend} | {row(result, cold)}", flush=True)
            print(audit(result), flush=True)
    return 0


def run(scenario: Scenario, backend: str) -> Result:
    """Carry the scenario out."""
    controller = make_controller(scenario, backend)
    result = Run(scenario, controller, make_backend(backend, scenario), backend_name=backend).execute()
    report = result.report
    generator = controller.generator("motion")
    if not isinstance(generator, MotionReplanning):
        raise SystemExit("expected a behaviour with `online`")
    com = controller.kinematics.group((behaviour_of(scenario).character,)).com(controller.kinematics)
    distance = float(np.linalg.norm(com[:2] - generator.target(np.inf)))
    return Result(generator, result.succeeded, report["qp_failures"], distance, report["worst"]["contact_slip_m"])


def row(result: Result, cold: str) -> str:
    """Return the figures of a run."""
    replans = result.generator.replans
    seconds, optimiser = ([getattr(one, name) for one in replans] for name in ("seconds", "optimiser"))
    refused = sum(bool(one.refused) for one in replans)
    ended = "" if result.succeeded else f" (fails, {result.failures} ticks without a QP solution)"
    return (
        f"{len(replans)}, {refused} | {cold} | {np.median(seconds):.1f} s, {max(seconds):.1f} s | "
        f"{np.median(optimiser):.1f} s | {100 * result.distance:.1f} cm{ended} | {1000 * result.slip:.1f} mm |"
    )


def audit(result: Result) -> str:
    """Return the audit of the whole motion."""
    motion = result.generator.played
    found = result.generator.replanner.auditor.audit(motion, []).findings
    return f"{motion.duration:.1f} s; " + "; ".join(
        f"{one.name} {one.value:.4f} {one.unit}{'' if one.met else f' NOT MET, {one.where}'}"
        for one in found
        if not one.name.startswith("task")
    )


if __name__ == "__main__":
    raise SystemExit(exit_status("online.py", main))
