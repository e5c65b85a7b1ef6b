"""Table of synthesised behaviours: `python benchmarks/behaviours.py walk_to step_over --seeds 10 --backend mujoco`.

Prints two Markdown tables: how many motions pass their audit, computing time on one core, for the simplified model and
in all, iterations, effectors with contact, bounds that are not met, torques before and after refinement, and how many
of the motions that pass are carried out, with all goals reached and a QP solution in each tick, and the largest error
of their task terms then; and medians of what the simplified model is known for, before and after refinement: bent
knees, arms held out, sitting down, and the largest tilt of a trunk. Each start is shown on the error output.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from contact_invariant.character import behaviour_of
from contact_invariant.contact_schedule import feet_of
from motion_generation.synthesised_states import with_motion
from multi_qp_cli.main import exit_status
from multi_qp_scene.executor import Lost, executor_of, in_order
from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.robustness import RANDOMISED
from multi_qp_simulator.runner import RunResult, run_scenario

if TYPE_CHECKING:  # CasADi is an optional dependency
    from contact_invariant.posture_figures import PostureFigures
    from contact_invariant.starts import Start, StartJob, Starts

NAMES = (
    *("walk_to", "wide_walk", "quadruped_walk", "quadruped_get_up", "get_up_from_back", "step_over", "obstacle"),
    *("climb_up", "climb_high", "get_up_from_belly", "wide_get_up"),
    *("kick", "punch", "handstand", "carry", "hand_over", "on_back", "on_shoulders"),
)
#: Column of runs in MuJoCo with the model mismatch and noise of `multi-qp robustness`.
MISMATCH = "MuJoCo with mismatch"


@dataclass
class BehaviourRow:
    """Results of one behaviour.

    Attributes:
        name: of its scenario.
        trials: motions by seed.
    """

    name: str
    trials: list[BehaviourTrial] = field(default_factory=list)


def main() -> int:
    """Make all motions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=NAMES)
    parser.add_argument("--seeds", type=int, default=10)
    refine = parser.add_mutually_exclusive_group()
    refine.add_argument("--simplified", dest="refine", action="store_false", default=None, help="without refinement")
    refine.add_argument(
        "--refine", action="store_true", default=None, help="with refinement, but for two that may touch each other"
    )
    parser.add_argument("--backend", action="append", default=[], help="carry motions out here; repeatable")
    parser.add_argument(
        "--mismatch", dest="backend", action="append_const", const=MISMATCH, help="the same: " + MISMATCH
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes, which slow each other down (default 1)")
    options = parser.parse_args()
    rows = [BehaviourRow(Path(name).stem) for name in options.scenarios]
    try:
        for name, row in zip(options.scenarios, rows, strict=True):
            _measure(row, name, options)
    except KeyboardInterrupt:
        print("interrupted: the tables have the starts before it", file=sys.stderr)
        rows = [row for row in rows if row.trials]
    names = ["behaviour", "pass", "time: simplified, all", "iterations", "contacts", "not met", "torque²"]
    names += options.backend
    print("| " + " | ".join(names) + " |")
    print("|---" * len(names) + "|")
    for row in rows:
        print("| " + " | ".join(_cells(row, options.backend)) + " |")
    names = ["behaviour", "motions", "knee in stance", "upper arm from hanging", "least height of the root"]
    names += ["largest tilt of the trunk", "torque²"]
    print("\n| " + " | ".join(names) + " |")
    print("|---" * len(names) + "|")
    for row in rows:
        print("| " + " | ".join(_posture_cells(row)) + " |")
    return 0


@dataclass(frozen=True)
class BehaviourTrial:
    """A start.

    Attributes:
        start: the start.
        figures: of its postures, before and after refinement, or of the simplified motion alone.
        played: by backend; empty if it does not pass.
    """

    start: Start
    figures: tuple[PostureFigures, ...]
    played: dict[str, Played]


@dataclass(frozen=True)
class Played:
    """A motion that was played.

    Attributes:
        failure: what goes wrong, "" if nothing does.
        distance: largest of the task terms, at their times, in the states of the run [m].
        angle: the same [rad].
    """

    failure: str
    distance: float
    angle: float

    def __str__(self) -> str:
        """Return what became of it, and the largest errors of the task terms."""
        return f"{self.failure or 'carried out'}, {_errors([self])}"


def _measure(row: BehaviourRow, name: str, options: argparse.Namespace) -> None:
    """Make the starts of a row, and show each."""
    from contact_invariant.starts import StartJob

    refine = options.refine if behaviour_of(load_scenario(name)).refinable else None
    jobs = [StartJob(name, refine=refine, seed=seed) for seed in range(options.seeds)]
    with executor_of(min(options.jobs, len(jobs))) as executor:
        found = in_order(executor.as_completed(partial(_trial, backends=tuple(options.backend)), jobs))
        for job, trial in zip(jobs, found, strict=True):
            if isinstance(trial, Lost):
                raise SystemExit(f"{name} seed {job.seed}: {trial.why}")
            row.trials.append(trial)
            played = "".join(f"; {backend}: {played}" for backend, played in trial.played.items())
            said = f"{row.name} seed {job.seed}: {trial.start.seconds:.1f} s, {trial.start.missed or 'passes'}{played}"
            print(said, file=sys.stderr, flush=True)


def _trial(job: StartJob, backends: Sequence[str]) -> BehaviourTrial:
    maker = job.starts
    start = maker.one(job.seed)
    played = {k: _played(maker, start, k) for k in backends if start.passed}
    return BehaviourTrial(start, _figures(maker, start), played)


def _figures(maker: Starts, start: Start) -> tuple[PostureFigures, ...]:
    from contact_invariant.posture_figures import posture_figures

    scene, character = maker.scenario.scene, maker.maker.character
    feet = feet_of(behaviour_of(maker.scenario))
    if start.refined is None:
        times, motion = start.postures.times, start.synthesis.motion
        phases = np.clip(np.searchsorted(motion.knots, times, side="right") - 1, 0, len(motion.contacts) - 1)
        return (posture_figures(scene, character, start.postures.q, motion.contacts[phases], feet),)
    before, after = start.refined.refinement.before, start.refined.refinement.motion
    audits = (start.refined.before, before), (start.refined.audit, after)
    return tuple(
        posture_figures(scene, character, audit.postures.q, motion.contacts(audit.postures.times) != "", feet)
        for audit, motion in audits
    )


def _played(maker: Starts, start: Start, backend: str) -> Played:
    """Play a motion."""
    plan = maker.plan(start)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.npz"
        plan.save(path)
        played = with_motion(maker.scenario, plan, path)
        if backend == MISMATCH:
            backend = "mujoco"
            spec = played.spec.model_copy(update={"mismatch": RANDOMISED})
            played = replace(played, spec=spec, seed=start.synthesis.seed)
        result = run_scenario(played, backend=backend)
    errors = (result.report["goals"][f"task_{part}"]["error"] for part in ("distance", "angle"))
    return Played(_failure(result), *(np.inf if error is None else error for error in errors))


def _failure(result: RunResult) -> str:
    """Return what went wrong in a run, "" if nothing did."""
    if result.report["qp_failures"]:
        return f"{result.report['qp_failures']} QP failures"
    missed = [f"misses {name}" for name, goal in result.report["goals"].items() if not goal["reached"]]
    reasons = [*missed, *result.report["health"]["problems"]]
    return "" if result.succeeded else "; ".join(reasons) or "ended early"


def _errors(played: Sequence[Played]) -> str:
    """Return the largest errors of the task terms."""
    distance, angle = (max(getattr(one, name) for one in played) for name in ("distance", "angle"))
    return f"{100.0 * distance:.1f} cm, {np.degrees(angle):.1f}°"


def _cells(row: BehaviourRow, backends: Sequence[str]) -> list[str]:
    starts = [trial.start for trial in row.trials]
    passed = sum(start.passed for start in starts)
    seconds = [start.seconds for start in starts]
    made = {effector: 0 for effector in starts[0].synthesis.motion.effectors}
    for start in starts:
        motion = start.synthesis.motion
        for effector, contacts in zip(motion.effectors, motion.contacts.T, strict=True):
            made[effector] += bool(contacts.any())
    missed = Counter(finding.name for start in starts for finding in start.findings if not finding.met)
    efforts = [(s.refined.before.effort, s.refined.audit.effort) for s in starts if s.refined is not None]
    return [
        row.name,
        f"{passed} of {len(starts)}",
        f"{median(start.synthesis.seconds for start in starts):.1f}, {median(seconds):.1f} s",
        f"{median(_iterations(start) for start in starts):.0f}",
        ", ".join(f"{effector} {count}" for effector, count in made.items() if count),
        ", ".join(f"{name} {count}" for name, count in missed.items()),
        ", ".join(f"{median(values):.3f}" for values in zip(*efforts, strict=True)),
        *(_carried_out([t.played[backend] for t in row.trials if t.played]) for backend in backends),
    ]


def _carried_out(played: Sequence[Played]) -> str:
    """Return how many motions are carried out, and the largest errors of their task terms."""
    good = [one for one in played if not one.failure]
    return f"{len(good)} of {len(played)}" + (f": {_errors(good)}" if good else "")


def _posture_cells(row: BehaviourRow) -> list[str]:
    """Return medians, of tilts the largest, of refined motions before and after refinement; of all if none is."""
    refined = [trial for trial in row.trials if trial.start.refined is not None]
    trials = refined or row.trials
    stages = list(zip(*(trial.figures for trial in trials), strict=True))
    efforts = [(s.refined.before.effort, s.refined.audit.effort) for s in (t.start for t in trials) if s.refined]
    return [
        row.name,
        str(len(trials)),
        ", ".join(f"{np.degrees(median(figures.knee for figures in stage)):.0f}°" for stage in stages),
        ", ".join(f"{np.degrees(median(f.arm for f in stage)):.0f}°" for stage in stages if not np.isnan(stage[0].arm)),
        ", ".join(f"{100.0 * median(figures.height for figures in stage):.0f} %" for stage in stages),
        ", ".join(f"{np.degrees(max(figures.tilt for figures in stage)):.0f}°" for stage in stages),
        ", ".join(f"{median(values):.3f}" for values in zip(*efforts, strict=True)),
    ]


def _iterations(start: Start) -> int:
    simplified = sum(len(fit.costs) - 1 for _, fit in start.synthesis.stages)
    return simplified + (0 if start.refined is None else start.refined.refinement.iterations)


if __name__ == "__main__":
    raise SystemExit(exit_status("behaviours.py", main))
