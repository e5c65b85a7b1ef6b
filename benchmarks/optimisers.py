"""Cost over time of both optimisers of a synthesis: `python benchmarks/optimisers.py walk_to --limit 900 --plot x.png`.

Prints a Markdown table of the stages of each, with costs and computing times on one core, and the bounds that the
motion does not meet. The published optimiser is L-BFGS on finite differences, [Mordatch2012] 4.5; the cost is the same.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from multi_qp_cli.main import exit_status

if TYPE_CHECKING:  # CasADi is an optional dependency
    from contact_invariant.starts import Start

NAMES = {"lm": "Levenberg-Marquardt, exact derivatives", "lbfgs": "L-BFGS, finite differences"}


def main() -> int:
    """Run both, print the table and draw the curves."""
    from contact_invariant.starts import Starts
    from multi_qp_scene import load_scenario

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", default="walk_to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=900.0, help="computing time of each [s]")
    parser.add_argument("--plot", type=Path, help="draw the curves here")
    options = parser.parse_args()
    scenario = load_scenario(options.scenario)
    behaviour = scenario.spec.behaviour
    if behaviour is None:
        parser.error(f"{options.scenario} has no behaviour")
    behaviour = behaviour.model_copy(update={"refine": False, "time_limit": options.limit})
    scenario = replace(scenario, spec=scenario.spec.model_copy(update={"behaviour": behaviour}))
    starts = {method: Starts(scenario, method).one(options.seed) for method in NAMES}
    _print(starts)
    if options.plot is not None:
        _draw(starts, options.plot)
    return 0


def _print(starts: dict[str, Start]) -> None:
    print("| optimiser | stage | iterations | time [s] | cost at the start, at the end | ended |")
    print("|---|---|---|---|---|---|")
    for method, start in starts.items():
        for stage, fit in start.synthesis.stages:
            costs = f"{fit.costs[0]:.4g}, {fit.costs[-1]:.4g}"
            print(
                f"| {NAMES[method]} | {stage} | {len(fit.costs) - 1} | {fit.times[-1]:.1f} | {costs} | {fit.reason} |"
            )
    for method, start in starts.items():
        print(f"\n{NAMES[method]}: {start.synthesis.seconds:.1f} s, not met: {start.missed or 'none'}")


def _draw(starts: dict[str, Start], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.0, 4.0))
    for (method, start), style in zip(starts.items(), ("-", "--"), strict=True):
        begin = 0.0
        for k, (stage, fit) in enumerate(start.synthesis.stages):
            label = f"{NAMES[method]}: {stage}"
            axes.loglog(np.maximum(begin + np.array(fit.times), 0.05), fit.costs, style, color=f"C{k}", label=label)
            begin += fit.times[-1]
    axes.set(xlabel="computing time on one core [s]", ylabel="cost, with the weights of its stage")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    raise SystemExit(exit_status("optimisers.py", main))
