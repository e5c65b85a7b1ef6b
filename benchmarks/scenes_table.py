"""All scenes of the paper, beside its Table 1: `python benchmarks/scenes_table.py` prints a Markdown table.

Each scene runs headless, once, in this process. Times depend on the machine; sizes do not.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # see multi_qp_cli


@dataclass(frozen=True)
class Paper:
    """A column of Table 1 of [Vaillant2015]; None where the paper gives no figures."""

    subsystems: int
    dofs: int
    actuated: int
    planar: int
    grasp: int
    pairs: int
    variables: int
    equalities: int
    median_ms: float
    max_ms: float
    dt_ms: float


PAPER: dict[str, Paper | None] = {
    "king": Paper(4, 114, 90, 28, 16, 6, 380, 246, 22.72, 84.51, 33.33),
    "funambulist": Paper(2, 42, 30, 8, 8, 7, 136, 90, 1.29, 5.10, 5.0),
    "sword": Paper(3, 78, 60, 16, 8, 33, 234, 150, 6.12, 14.97, 10.0),
    "acrobats": Paper(3, 108, 90, 24, 0, 6, 294, 180, 8.10, 34.88, 10.0),
    "door": Paper(2, 38, 30, 8, 4, 1, 116, 74, 0.89, 2.33, 5.0),
    "valve": None,
    "box": None,
    "lever": None,
}
ROWS = (
    ("subsystems", lambda r: r["subsystems"], lambda p: p.subsystems),
    ("DoFs", lambda r: r["dofs"], lambda p: p.dofs),
    ("actuated DoFs", lambda r: r["actuated_dofs"], lambda p: p.actuated),
    ("planar contact points", lambda r: r["planar_contact_points"], lambda p: p.planar),
    ("grasp contact points", lambda r: r["grasp_contact_points"], lambda p: p.grasp),
    ("collision pairs", lambda r: r["collision_pairs"], lambda p: p.pairs),
    ("QP variables", lambda r: r["qp"]["variables"], lambda p: p.variables),
    ("equalities", lambda r: r["qp"]["equalities"], lambda p: p.equalities),
    ("Δt [ms]", lambda r: f"{r['dt'] * 1e3:.4g}", lambda p: f"{p.dt_ms:.4g}"),
    ("median tick [ms]", lambda r: f"{r['tick_ms']['median']:.2f}", lambda p: f"{p.median_ms:.2f}"),
    ("max tick [ms]", lambda r: f"{r['tick_ms']['max']:.1f}", lambda p: f"{p.max_ms:.1f}"),
    ("x real time", lambda r: f"{r['realtime_factor']:.1f}", None),
    ("QP failures", lambda r: r["qp_failures"], None),
    ("slip [mm]", lambda r: f"{r['worst']['contact_slip_m'] * 1e3:.3f}", None),
    ("penetration [mm]", lambda r: f"{r['worst']['penetration_m'] * 1e3:.3g}", None),
    ("torque / limit", lambda r: f"{r['worst']['torque_ratio']:.2f}", None),
    ("dynamics residual", lambda r: f"{r['worst']['dynamics_residual']:.0e}", None),
    ("goals reached", lambda r: "yes" if succeeded(r) else "NO", None),
)


def succeeded(report: dict[str, Any]) -> bool:
    """Return whether a run came to its end and reached all its goals."""
    return bool(report["completed"] and all(goal["reached"] for goal in report["goals"].values()))


def main() -> int:
    """Run the scenes and print the table; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=list(PAPER), help="which scenes (all eight by default)")
    names = parser.parse_args().scenes
    from multi_qp_scene import load_scenario
    from multi_qp_simulator.runner import run_scenario

    reports = {}
    for name in names:
        reports[name] = run_scenario(load_scenario(name)).report
        print(f"{name}: {'ok' if succeeded(reports[name]) else 'FAILED'}", file=sys.stderr)
    print("| here (paper) | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for title, ours, theirs in ROWS:
        cells = [_cell(ours(reports[name]), PAPER.get(name), theirs) for name in names]
        print(f"| {title} | " + " | ".join(cells) + " |")
    return 0 if all(succeeded(report) for report in reports.values()) else 1


def _cell(value: Any, paper: Paper | None, theirs: Any) -> str:
    return str(value) if paper is None or theirs is None else f"{value} ({theirs(paper)})"


if __name__ == "__main__":
    sys.exit(main())
