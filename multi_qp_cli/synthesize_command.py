"""Command `multi-qp synthesize`: contacts and motion from the task terms of a scenario, with their audit."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multi_qp_cli.options import (
    add_executor_options,
    add_scenario_options,
    executor_from,
    load_from,
    name_for_workers,
    output_path,
    parameters_from,
)
from multi_qp_cli.output import Console, figures_table, write_json, writing
from multi_qp_cli.pictures import size_of, write_video_of
from multi_qp_cli.plan_command import draw_sheet
from multi_qp_cli.progress import run_progress, synthesis_progress
from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.executor import Lost, in_order
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.yaml_document import located_in

if TYPE_CHECKING:  # CasADi is an optional dependency
    from contact_invariant.starts import Start, StartJob

#: Postures of the picture.
STILLS = 12
#: Costs that are named for a motion that does not pass.
WORST = 5


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "synthesize",
        description="Find contacts and motion of a scenario with a `behaviour` by contact-invariant optimisation.",
        epilog="Exit status: 0 the best motion passes the audit, 1 it does not (what it misses is shown), 2 bad input.",
    )
    add_scenario_options(parser)
    parser.add_argument("--seeds", type=int, metavar="N", help="make N motions, of --seed and the seeds after it")
    add_executor_options(parser, jobs=None, default="all cores with --seeds, else 1")
    parser.add_argument(
        "--refine",
        action="store_true",
        help="refine motions with the full model; the same as `behaviour: {refine: true}`",
    )
    parser.add_argument(
        "--method",
        choices=("lm", "lbfgs"),
        default="lm",
        help="optimiser: Levenberg-Marquardt on exact derivatives (default), or for comparison the published one, "
        "L-BFGS on finite differences, which takes minutes",
    )
    parser.add_argument("--json", metavar="FILE.json", help="write audits, costs and times of all motions here")
    parser.add_argument("--output", metavar="FILE.npz", help="write the best motion here")
    parser.add_argument("--plot", metavar="FILE.png", help="plot the cost over iterations, and contacts over phases")
    parser.add_argument("--picture", metavar="FILE.png", help="write a picture of postures of the best motion")
    parser.add_argument("--video", metavar="FILE", help="render a video of the best motion: .mp4 or .gif")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Synthesise, and return the exit status."""
    paths = {
        "json": output_path("--json", options.json),
        "output": output_path("--output", options.output, suffixes=(".npz",)),
        "plot": output_path("--plot", options.plot, suffixes=(".png",)),
        "picture": output_path("--picture", options.picture, suffixes=(".png",)),
        "video": output_path("--video", options.video, suffixes=(".mp4", ".gif")),
    }
    if options.seeds is not None and not 1 <= options.seeds <= 1000:
        raise MultiQpError(f"--seeds: expected a number from 1 to 1000, got {options.seeds}")
    scenario = load_from(options)
    from contact_invariant.character import behaviour_of
    from contact_invariant.starts import StartJob, best, with_refinement

    behaviour = behaviour_of(scenario)
    first = StartJob(
        name_for_workers(options.scenario),
        tuple(sorted(parameters_from(options.parameters).items())),
        options.seed,
        options.method,
        options.refine or None,
    )
    if options.seeds is None:
        options.jobs = 1 if options.jobs is None else options.jobs
        seeds = range(behaviour.seed, behaviour.seed + behaviour.starts)
    else:
        seeds = range(options.seed, options.seed + options.seeds)
    with located_in(scenario.path):
        if options.refine:
            scenario = with_refinement(scenario, True)
        starts, lost = _starts(options, [replace(first, seed=seed) for seed in seeds])
    chosen = best(starts)
    _print(scenario.name, starts, lost, chosen)
    as_run = options.seeds is None and options.method == "lm" and behaviour == behaviour_of(scenario)
    if chosen.passed and as_run and behaviour.online is None:
        from contact_invariant.store import cache_path, store

        if store(scenario, first.starts.plan(chosen), passed=True) == cache_path(scenario):
            Console().print(f"stored: `multi-qp run {options.scenario}` carries it out", markup=False)
    if (path := paths["json"]) is not None:
        write_json(path, _data(scenario.name, starts))
    if (path := paths["plot"]) is not None:
        with writing(path):
            _plot(chosen, path)
    if (path := paths["output"]) is not None:
        with writing(path):
            first.starts.plan(chosen).save(path)
    _draw(scenario, chosen, paths["picture"], paths["video"])
    return 0 if chosen.passed else 1


def _starts(options: argparse.Namespace, jobs: list[StartJob]) -> tuple[list[Start], dict[int, str]]:
    """Return all starts, or without --seeds those up to the first one that passes, and by seed why others are lost."""
    from contact_invariant.starts import make_start

    starts: list[Start] = []
    lost: dict[int, str] = {}
    with executor_from(options, len(jobs)) as executor, run_progress(Path(options.scenario).stem) as bar:
        progress = synthesis_progress(bar) if executor.in_process else None
        results = in_order(executor.as_completed(partial(make_start, progress=progress), jobs))
        for job, found in zip(jobs, results, strict=False):
            if isinstance(found, Lost):
                lost[job.seed] = found.why
                continue
            starts.append(found)
            if bar is not None and not executor.in_process:
                bar(len(starts) / len(jobs), f"seed {job.seed}")
            if options.seeds is None and found.passed:
                break
    if not starts:
        raise MultiQpError(f"all starts are lost: {next(iter(lost.values()))}")
    return starts, lost


def _draw(scenario: Scenario, start: Start, picture: Path | None, video: Path | None) -> None:
    found = start.postures
    if picture is not None:
        shown = np.linspace(0, len(found.q) - 1, STILLS).round().astype(int)
        with writing(picture):
            draw_sheet(scenario, [(f"{found.times[k]:.2f} s", found.q[k]) for k in shown], picture)
    if video is not None:
        snapshots = [Snapshot(float(t), q, "motion", "ok", 0.0) for t, q in zip(found.times, found.q, strict=True)]
        film = argparse.Namespace(camera="fixed", fps=25.0, speed=1.0)
        write_video_of(video, scenario, snapshots, size_of("960x540"), film)


def _print(name: str, starts: list[Start], lost: dict[int, str], chosen: Start) -> None:
    console = Console()
    passed, count = sum(start.passed for start in starts), len(starts) + len(lost)
    console.print(f"[bold]{name}[/bold]: {passed} of {count} motions pass the audit; seed {chosen.synthesis.seed}:")
    columns = "seed", "time [s]", "iterations", "cost", "not met"
    table = figures_table(columns, "not met", box=None, header_style="dim")
    for start in starts:
        synthesis = start.synthesis
        iterations = "+".join(str(len(fit.costs) - 1) for _, fit in synthesis.stages)
        if start.refined is not None:
            iterations += f"+{start.refined.refinement.iterations}"
        cost = synthesis.stages[-1][1].costs[-1]
        table.add_row(str(synthesis.seed), f"{start.seconds:.1f}", iterations, f"{cost:.1f}", start.missed or "-")
    for seed, why in lost.items():
        table.add_row(str(seed), "-", "-", "-", f"lost: {why}")
    console.print(table)
    motion = chosen.synthesis.motion
    width = max(map(len, motion.effectors))
    for i, effector in enumerate(motion.effectors):
        bars = " ".join("██" if made else "··" for made in motion.contacts[:, i])
        console.print(f"  {effector.ljust(width)}  {bars}")
    headers = "audit", "value", "bound", "unit", "worst", ""
    table = figures_table(headers, "audit", "unit", "worst", "", box=None, header_style="dim")
    for finding in chosen.findings:
        verdict = "" if finding.met else "not met"
        table.add_row(
            finding.name, f"{finding.value:.4f}", f"{finding.bound:.4f}", finding.unit, finding.where, verdict
        )
    console.print(table)
    if chosen.refined is not None:
        before, after = chosen.refined.before.effort, chosen.refined.audit.effort
        console.print(f"mean sum of squared torques by their limits: {before:.3f} before refinement, {after:.3f} after")
    if not chosen.passed:
        if off := _task_errors(chosen):
            console.print(f"task terms that are not met: {off}")
        costs = sorted(chosen.synthesis.costs.items(), key=lambda item: -item[1])[:WORST]
        console.print("largest costs: " + ", ".join(f"{term} {cost:.3g}" for term, cost in costs))
        if not chosen.synthesis.complete:
            console.print(f"the time limit ended it in the stage '{chosen.synthesis.stages[-1][0]}'")


def _task_errors(start: Start) -> str:
    """Return the features of task terms that the simplified motion misses by more than the bounds of the audit."""
    from contact_invariant.audit import Bounds

    bounds = {"m": Bounds().distance, "rad": Bounds().angle}
    largest: dict[tuple[str, str], float] = {}
    for name, unit, value in start.synthesis.features:
        largest[name, unit] = max(largest.get((name, unit), 0.0), abs(value))
    missed = [(name, value, unit) for (name, unit), value in largest.items() if value > bounds.get(unit, math.inf)]
    return "; ".join(f"{name}, off by {value:.3g} {unit}" for name, value, unit in missed)


def _data(name: str, starts: list[Start]) -> dict[str, Any]:
    return {
        "scenario": name,
        "passed": sum(start.passed for start in starts),
        "motions": [
            {
                "seed": start.synthesis.seed,
                "passed": start.passed,
                "complete": start.synthesis.complete,
                "seconds": start.seconds,
                "duration": start.synthesis.motion.duration,
                "stages": {
                    stage: {"costs": fit.costs, "seconds": fit.times, "ended": fit.reason}
                    for stage, fit in start.synthesis.stages
                },
                "costs": start.synthesis.costs,
                "contacts": {
                    effector: start.synthesis.motion.contacts[:, i].tolist()
                    for i, effector in enumerate(start.synthesis.motion.effectors)
                },
                "audit": start.audit.as_dict(),
                "refined": _refined_data(start),
            }
            for start in starts
        ],
    }


def _refined_data(start: Start) -> dict[str, Any] | None:
    """Return costs, times and audits of a refinement, None without one."""
    if start.refined is None:
        return None
    found = start.refined.refinement
    return {
        "costs": found.costs,
        "times": found.times,
        "iterations": found.iterations,
        "seconds": found.seconds,
        "ended": found.ended,
        "gap": found.gap,
        "effort": {"before": start.refined.before.effort, "after": start.refined.audit.effort},
        "before": start.refined.before.as_dict(),
        "audit": start.refined.audit.as_dict(),
    }


def _plot(start: Start, path: Path) -> None:
    """Draw the cost over the iterations of each stage, and the contact variables over the phases."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    motion, stages = start.synthesis.motion, start.synthesis.stages
    count = len(motion.effectors)
    figure, axes = pyplot.subplots(count + 1, 1, figsize=(8.0, 3.0 + 0.7 * count), height_ratios=[4] + [1] * count)
    begin = 0
    for stage, fit in stages:
        axes[0].semilogy(np.arange(begin, begin + len(fit.costs)), fit.costs, label=stage)
        begin += len(fit.costs) - 1
    axes[0].set(xlabel="iteration", ylabel="cost")
    axes[0].grid(alpha=0.3)
    axes[0].legend(fontsize=8, frameon=False, ncols=len(stages))
    for i, effector in enumerate(motion.effectors):
        colours = ["tab:green" if made else "lightgray" for made in motion.contacts[:, i]]
        axes[i + 1].bar(motion.knots[:-1], motion.c[:, i], width=np.diff(motion.knots), align="edge", color=colours)
        axes[i + 1].set(ylim=(0.0, 1.0), xlim=(0.0, motion.duration), yticks=[])
        axes[i + 1].set_ylabel(effector, rotation=0, ha="right", va="center", fontsize=8)
    axes[-1].set_xlabel("time [s]; contact variables, green where contact is made")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
