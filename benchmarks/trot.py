"""Gait of the quadruped by seed: `python benchmarks/trot.py quadruped_walk --seeds 10`.

Prints, for each motion of the simplified model, how often the feet of a diagonal, of a side, and of an end are in
contact together (`contact_invariant/gait.py`), whether it passes the audit, and its contacts.
"""

from __future__ import annotations

import argparse

import numpy as np

from contact_invariant.gait import agreement
from contact_invariant.starts import StartJob, make_start
from multi_qp_cli.main import exit_status

FEET = ("left_front", "right_front", "left_hind", "right_hind")
PAIRS = {"diagonal": ((0, 3), (1, 2)), "side": ((0, 2), (1, 3)), "end": ((0, 1), (2, 3))}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", default="quadruped_walk")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print(f"| seed | {' | '.join(PAIRS)} | passes | contacts: {', '.join(FEET)} |\n|---|---|---|---|---|---|")
    figures = []
    for seed in range(options.seeds):
        start = make_start(StartJob(options.scenario, refine=False, seed=seed))
        motion = start.synthesis.motion
        made = motion.contacts[:, [motion.effectors.index(foot) for foot in FEET]]
        figures.append([agreement(made, pairs) for pairs in PAIRS.values()])
        rows = ", ".join("".join("#" if touches else "." for touches in column) for column in made.T)
        print(f"| {seed} | {_cells(figures[-1])} | {'yes' if start.passed else start.missed} | {rows} |", flush=True)
    print(f"| mean | {_cells(np.nanmean(figures, axis=0).tolist())} | | |")
    return 0


def _cells(values: list[float]) -> str:
    return " | ".join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    raise SystemExit(exit_status("trot.py", main))
