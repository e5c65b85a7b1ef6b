"""Command `multi-qp robustness`: randomised runs with model mismatch, pushes or stalls; tables and plots."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from multi_qp_cli.mismatch_options import add_mismatch_options, mismatch_from, with_mismatch
from multi_qp_cli.options import (
    add_executor_options,
    add_qp_options,
    add_scenario_options,
    check_qp_options,
    executor_from,
    load_from,
    name_for_workers,
    output_folder,
    parameters_from,
    require_within,
)
from multi_qp_cli.output import Console, write_json, writing
from multi_qp_cli.stall_tolerance_table import tabulate
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import check
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.mismatch import MismatchSpec, PushSpec
from multi_qp_simulator import robustness as rb

#: The scenes of the paper, in the order of the table.
SCENES = ("box", "door", "valve", "lever", "funambulist", "sword", "king", "acrobats")

#: Interval between writes of the results file during the runs [s].
WRITE_EVERY = 10.0


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "robustness",
        description="Run a scenario many times in MuJoCo with randomised masses, friction and noise; "
        f"`all` runs {', '.join(SCENES)}, the path of a folder all scenario files in it. "
        "Default of --mismatch: masses 5 %, friction 20 %, 1 ms delay, encoder and gyro noise.",
    )
    add_scenario_options(parser)
    add_mismatch_options(parser)
    parser.add_argument(
        "--runs", type=int, default=50, help="runs per scenario, with seeds from --seed on (default 50)"
    )
    add_executor_options(parser, jobs=os.cpu_count() or 1, default="all cores")
    parser.add_argument(
        "--pushes",
        metavar="LINK",
        help="instead: find the largest push of 0.1 s on this link, by direction; nominal model unless --mismatch",
    )
    parser.add_argument("--directions", type=int, default=8, help="number of directions of --pushes (default 8)")
    parser.add_argument("--upto", type=float, default=400.0, help="largest push tried [N] (default 400)")
    parser.add_argument("--push-state", metavar="STATE", help="state in which --pushes act (default: the first)")
    parser.add_argument(
        "--push-at", type=float, default=1.0, help="time of --pushes after entering the state [s] (default 1)"
    )
    parser.add_argument(
        "--stalls",
        metavar="SECONDS",
        type=float,
        help="find the longest stall by the wall clock, up to this, that is tolerated, by state: of the controller's "
        "process, the robots', both, of lost states or commands; integrates torques with fixed contacts, not MuJoCo",
    )
    parser.add_argument(
        "--every", type=float, default=1.0, help="interval between tested times of --stalls [s] (default 1)"
    )
    parser.add_argument(
        "--until", type=float, default=math.inf, help="last tested time of --stalls [s] (default: end of the run)"
    )
    add_qp_options(parser)
    parser.add_argument("--output", metavar="FOLDER", help="write robustness.json, robustness.png (or pushes) here")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Execute the runs, print the table, write the files."""
    for option in ("runs", "jobs", "directions"):
        if getattr(options, option) < 1:
            raise MultiQpError(f"--{option}: expected 1 or above, got {getattr(options, option)}")
        check("samples", getattr(options, option), f"--{option}")
    for option, limit in (("stalls", "time"), ("every", "time"), ("upto", "force")):
        require_within(f"--{option}", getattr(options, option), limit)
    if not (math.isfinite(options.push_at) and options.push_at >= 0.0) or math.isnan(options.until):
        raise MultiQpError("--push-at, --until: expected numbers of seconds of at least 0")
    check_qp_options(options)
    folder = output_folder("--output", options.output)
    names = _names(options.scenario)
    scenarios = {name: load_from(argparse.Namespace(**{**vars(options), "scenario": name})) for name in names}
    jobs = {name: _jobs(options, name, scenario) for name, scenario in scenarios.items()}
    if options.stalls is not None:
        return _stalls(options, names, folder)
    if options.pushes is not None:
        return _pushes(options, jobs, folder)
    # longest first, so that the last runs are short and cores idle little
    names.sort(key=lambda name: scenarios[name].scene.nv, reverse=True)
    return _randomised(options, jobs, names, folder)


def _names(scenario: str) -> list[str]:
    """Return the names or paths of the scenarios to run: a group, those of a folder, or a single one."""
    if scenario == "all":
        return list(SCENES)
    if not Path(scenario).is_dir():
        return [scenario]
    found = sorted(str(path) for path in Path(scenario).glob("*.yaml"))
    if not found:
        raise MultiQpError(f"'{scenario}': expected a folder with scenario files (.yaml), found none")
    return found


def _jobs(options: argparse.Namespace, name: str, scenario: Scenario) -> list[rb.RunJob]:
    base = scenario.spec.mismatch if options.pushes is not None else rb.RANDOMISED
    mismatch = mismatch_from(options, base)
    with_mismatch(scenario, mismatch)  # validates links and states before any work
    parameters = tuple(sorted(parameters_from(options.parameters).items()))
    return [
        rb.RunJob(name_for_workers(name), options.seed + k, parameters, mismatch, options.solver, options.formulation)
        for k in range(options.runs)
    ]


def _randomised(
    options: argparse.Namespace, jobs: dict[str, list[rb.RunJob]], order: list[str], folder: Path | None
) -> int:
    """Execute the runs of all scenes in this order, in one pool, so that no core idles at the end of a scene."""
    every = [(name, job) for name in order for job in jobs[name]]
    done: dict[int, rb.RunSummary] = {}
    console, began = Console(), monotonic()
    next_write = began
    try:
        with executor_from(options, len(every)) as executor, _progress(len(every)) as advance:
            for k, summary in rb.run_all([job for _, job in every], executor):
                done[k] = summary
                advance()
                if folder is not None and monotonic() >= next_write:  # results of hours survive a crash
                    write_json(folder / "robustness.json", _results(list(jobs), every, done))
                    next_write = monotonic() + WRITE_EVERY
    except KeyboardInterrupt:
        if done:
            results = _results(list(jobs), every, done)
            console.print(_table(results))
            if folder is not None:
                write_json(folder / "robustness.json", results)
        console.print(f"stopped after {len(done)} of {len(every)} runs")
        raise
    results = _results(list(jobs), every, done)
    console.print(_table(results))
    for name, result in results.items():
        for reason, count in _reasons(result).items():
            console.print(f"{scene_name(name)}: {count} of {result['runs']}: {reason}")
    cost, took = sum(result["cpu_time_s"] for result in results.values()), monotonic() - began
    console.print(f"{len(every)} runs, {cost / 60.0:.1f} min of CPU time in {took / 60.0:.1f} min")
    if folder is not None:
        write_json(folder / "robustness.json", results)
        from multi_qp_viewer.robustness_plot import plot_robustness  # after the work: matplotlib is slow to import

        with writing(folder / "robustness.png"):
            plot_robustness(folder / "robustness.png", results)
    return 0 if all(result["succeeded"] == result["runs"] for result in results.values()) else 1


def _results(
    names: list[str], every: list[tuple[str, rb.RunJob]], done: dict[int, rb.RunSummary]
) -> dict[str, dict[str, Any]]:
    """Return the statistics of the finished runs by scene; `done` is by index of the job."""
    of_scene: dict[str, list[rb.RunSummary]] = {name: [] for name in names}
    for k in sorted(done):
        of_scene[every[k][0]].append(done[k])
    return {name: rb.statistics(runs) for name, runs in of_scene.items() if runs}


def _table(results: dict[str, dict[str, Any]]) -> Table:
    columns = ("scene", "succeeded", "failed in", "worst slip", "worst τ/limit", "forces static", "moving", "change")
    table = Table(*columns, box=None, pad_edge=False)
    for name, result in results.items():
        failed = ", ".join(f"{state} {count}" for state, count in result["failed_in"].items())
        forces = [_percent(result["forces"][phase]) for phase in ("static", "moving", "change")]
        table.add_row(
            scene_name(name),
            f"{result['succeeded']} of {result['runs']}",
            failed or "-",
            f"{result['worst_slip_m'] * 1e3:.1f} mm",
            f"{result['worst_torque_ratio']:.2f}",
            *forces,
        )
    return table


def _reasons(result: dict[str, Any]) -> dict[str, int]:
    """Return why runs failed, with their number; a run may have several reasons."""
    ended = {why: count for why, count in result["failures"].items() if why not in (rb.MISSED, rb.UNHEALTHY)}
    missed = {f"misses the goal '{name}'": count for name, count in result["missed"].items()}
    return {**ended, **missed, **result["unhealthy"]}


def scene_name(scenario: str) -> str:
    """Return the name to print of a scenario that is given by name or path."""
    return Path(scenario).stem if scenario.endswith(".yaml") else scenario


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100.0:.1f} %"


def _pushes(options: argparse.Namespace, jobs: dict[str, list[rb.RunJob]], folder: Path | None) -> int:
    found: dict[str, list[dict[str, float | None]]] = {}
    ways = rb.directions(options.directions)
    with executor_from(options, len(ways)) as executor, _progress(len(ways) * len(jobs)) as advance:
        for name, of_scene in jobs.items():
            searches = [
                (
                    of_scene[0],
                    PushSpec(
                        link=options.pushes, direction=way, force=0.0, state=options.push_state, at=options.push_at
                    ),
                )
                for way in ways
            ]
            with_mismatch(_prepared(of_scene[0]), of_scene[0].mismatch.model_copy(update={"pushes": [searches[0][1]]}))
            forces = rb.largest_pushes(searches, executor, upto=options.upto, resolution=5.0, done=advance)
            found[name] = [{"direction_deg": 360.0 * k / len(ways), "force_n": force} for k, force in enumerate(forces)]
    table = Table("scene", *(f"{push['direction_deg']:.0f}°" for push in next(iter(found.values()))), box=None)
    for name, pushes in found.items():
        table.add_row(scene_name(name), *(_newtons(push["force_n"]) for push in pushes))
    Console().print(table)
    if folder is not None:
        write_json(folder / "pushes.json", found)
        from multi_qp_viewer.robustness_plot import plot_pushes

        with writing(folder / "pushes.png"):
            plot_pushes(folder / "pushes.png", found)
    return 0


def _newtons(force: float | None) -> str:
    return "lost" if force is None else f"{force:.0f} N"


def _stalls(options: argparse.Namespace, names: list[str], folder: Path | None) -> int:
    for option in ("mismatch", "push", "pushes", "solver", "formulation", "cluster"):
        if getattr(options, option):
            raise MultiQpError(f"--{option} cannot be combined with --stalls, which uses the nominal model here")
    parameters = tuple(sorted(parameters_from(options.parameters).items()))
    found = {}
    for name in names:
        load = partial(_prepared, rb.RunJob(name, options.seed, parameters, MismatchSpec()))
        settings = {"every": options.every, "until": options.until, "seed": options.seed, "jobs": options.jobs}
        found[name] = tabulate(load, upto=options.stalls, **settings)
    if folder is not None:
        write_json(folder / "stalls.json", found)
    return 0


def _prepared(job: rb.RunJob) -> Scenario:
    return rb.prepare(job).scenario


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    columns = (TextColumn("[bold]runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("runs", total=total)
        yield lambda: bar.advance(task)
