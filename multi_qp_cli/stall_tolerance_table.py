"""Table of `multi-qp robustness --stalls`: longest stall tolerated by the wall clock, by state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.table import Table

from multi_qp_cli.output import Console
from multi_qp_ros.stall_tolerance import STALL_KINDS, StallTrial, tolerated_by_state, try_stalls
from multi_qp_scene.scenario import Scenario

#: Number of tested stall lengths, evenly spaced up to the longest.
LENGTHS = 4


def tabulate(
    load: Callable[[], Scenario], *, upto: float, every: float, until: float, seed: int, jobs: int
) -> list[dict[str, Any]]:
    """Test stalls throughout a run, print the longest tolerated by state [ms], and return all trials."""
    trials: list[StallTrial] = []
    console = Console(stderr=True)
    lengths = [upto * (k + 1) / LENGTHS for k in range(LENGTHS)]
    for trial in try_stalls(load, lengths, every=every, until=until, seed=seed, jobs=jobs):
        if console.is_terminal and (not trials or trials[-1].at != trial.at):
            console.print(f"{trial.at:8.3f} s {trial.state}")
        trials.append(trial)
    table = Table(
        "state",
        "moments",
        *STALL_KINDS,
        box=None,
        pad_edge=False,
        title="longest stall tolerated at all tested times [ms]",
    )
    for state, found in tolerated_by_state(trials).items():
        moments = len({trial.at for trial in trials if trial.state == state})
        table.add_row(state, str(moments), *(_milliseconds(found[kind], upto) for kind in STALL_KINDS))
    Console().print(table)
    return [asdict(trial) for trial in trials]


def _milliseconds(length: float, upto: float) -> str:
    return ("≥ " if length >= upto else "") + f"{length * 1e3:.0f}"
