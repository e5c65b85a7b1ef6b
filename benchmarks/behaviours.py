"""Table of synthesised behaviours: `python benchmarks/behaviours.py walk_to step_over --seeds 10 --backend mujoco`.

Prints a Markdown table: how many motions pass their audit, computing time on one core, iterations, effectors with
contact, bounds that are not met, torques before and after refinement, and how many of the motions that pass are carried
out, with all goals reached and a QP solution in each tick. Each start is shown on the error output as it ends.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from motion_generation.synthesised_states import with_motion
from multi_qp_scene import load_scenario
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.runner import run_scenario

if TYPE_CHECKING:  # CasADi is an optional dependency
    from contact_invariant.starts import Start, Starts

NAMES = ("walk_to", "step_over", "punch", "kick")


@dataclass
class Row:
    """Results of one behaviour.

    Attributes:
        name: of its scenario.
        starts: motions by seed.
        carried: by backend, number of motions that were carried out, of those that pass.
    """

    name: str
    starts: list[Start] = field(default_factory=list)
    carried: Counter[str] = field(default_factory=Counter)


def main() -> int:
    """Make all motions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=NAMES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--simplified", action="store_true", help="without refinement")
    parser.add_argument("--backend", action="append", default=[], help="carry motions out here; repeatable")
    options = parser.parse_args()
    rows = [_measured(name, options) for name in options.scenarios]
    print(f"| behaviour | pass | time | iterations | contacts | not met | torque² | {' | '.join(options.backend)} |")
    print("|---" * (7 + max(1, len(options.backend))) + "|")
    for row in rows:
        print("| " + " | ".join(_cells(row, options.backend)) + " |")
    return 0


def _measured(name: str, options: argparse.Namespace) -> Row:
    from contact_invariant.starts import Starts

    scenario = load_scenario(name)
    if scenario.spec.behaviour is None:
        raise SystemExit(f"{name} has no behaviour")
    if options.simplified:
        behaviour = scenario.spec.behaviour.model_copy(update={"refine": False})
        scenario = replace(scenario, spec=scenario.spec.model_copy(update={"behaviour": behaviour}))
    maker, row = Starts(scenario), Row(scenario.name)
    for seed in range(options.seeds):
        start = maker.one(seed)
        row.starts.append(start)
        print(f"{row.name} seed {seed}: {start.seconds:.1f} s, {start.missed or 'passes'}", end="", file=sys.stderr)
        for backend in options.backend if start.passed else ():
            failure = _failure(scenario, maker, start, backend)
            row.carried[backend] += not failure
            print(f"; {backend}: {failure or 'carried out'}", end="", file=sys.stderr)
        print(file=sys.stderr, flush=True)
    return row


def _failure(scenario: Scenario, maker: Starts, start: Start, backend: str) -> str:
    """Return what goes wrong when a motion is played, "" if nothing does."""
    plan = maker.plan(start)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.npz"
        plan.save(path)
        result = run_scenario(with_motion(scenario, plan, path), backend=backend)
    if result.report["qp_failures"]:
        return f"{result.report['qp_failures']} QP failures"
    return "" if result.succeeded else "goals missed"


def _cells(row: Row, backends: Sequence[str]) -> list[str]:
    starts, passed = row.starts, sum(start.passed for start in row.starts)
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
        f"{min(seconds):.1f} to {max(seconds):.1f} s, {median(seconds):.1f} s",
        f"{median(_iterations(start) for start in starts):.0f}",
        ", ".join(f"{effector} {count}" for effector, count in made.items() if count),
        ", ".join(f"{name} {count}" for name, count in missed.items()),
        ", ".join(f"{median(values):.3f}" for values in zip(*efforts, strict=True)),
        *(f"{row.carried[backend]} of {passed}" for backend in backends),
    ]


def _iterations(start: Start) -> int:
    simplified = sum(len(fit.costs) - 1 for _, fit in start.synthesis.stages)
    return simplified + (0 if start.refined is None else start.refined.refinement.iterations)


if __name__ == "__main__":
    raise SystemExit(main())
