"""Command `multi-qp table`: results of the paper's scenes in comparison with its Table 1."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from multi_qp_cli.options import output_folder, require_known
from multi_qp_cli.output import write_json, writing
from multi_qp_cli.paper_table import SCENES, Row, row_of
from multi_qp_cli.progress import run_progress
from multi_qp_controller.controller import Controller
from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.resources import scenario_names
from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.run_monitor import reached_goals, succeeded
from multi_qp_simulator.runner import Run, make_backend

Report = dict[str, Any]
#: Title and accessor of the figures of Table 1, for our rows and those of the paper.
_TABLE_1: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("subsystems", lambda row: str(row["subsystems"])),
    ("DoFs", lambda row: str(row["dofs"])),
    ("actuated DoFs", lambda row: str(row["actuated_dofs"])),
    ("planar points", lambda row: str(row["planar_contact_points"])),
    ("grasp points", lambda row: str(row["grasp_contact_points"])),
    ("collision pairs", lambda row: str(row["collision_pairs"])),
    ("QP variables", lambda row: str(row["variables"])),
    ("equalities", lambda row: str(row["equalities"])),
    ("inequalities", lambda row: str(row["inequalities"])),
    ("least tick [ms]", lambda row: f"{row['tick_ms']['min']:.2f}"),
    ("median tick [ms]", lambda row: f"{row['tick_ms']['median']:.2f}"),
    ("largest tick [ms]", lambda row: f"{row['tick_ms']['max']:.1f}"),
    ("Δt [ms]", lambda row: f"{row['dt_ms']:.4g}"),
)
#: Figures that the paper does not give.
_OURS: tuple[tuple[str, Callable[[Report], str]], ...] = (
    ("× real time", lambda report: f"{report['realtime_factor']:.1f}"),
    ("QP failures", lambda report: str(report["qp_failures"])),
    ("slip [mm]", lambda report: f"{1e3 * report['worst']['contact_slip_m']:.3f}"),
    ("penetration [mm]", lambda report: f"{1e3 * report['worst']['penetration_m']:.3g}"),
    ("torque / limit", lambda report: f"{report['worst']['torque_ratio']:.2f}"),
    ("dynamics residual", lambda report: f"{report['worst']['dynamics_residual']:.0e}"),
    ("goals reached", lambda report: "yes" if reached_goals(report) else "NO"),
    ("healthy", lambda report: "yes" if report["health"]["healthy"] else "NO"),
)


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "table",
        description="Run the scenes of the paper headless and print its Table 1 as Markdown with our figures; "
        "those of the paper are in parentheses.",
    )
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="scenes to run (default: the eight of the paper)")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead")
    parser.add_argument(
        "--from", dest="source", metavar="FOLDER", help="read the reports in this folder instead of running"
    )
    parser.add_argument(
        "--save", metavar="FOLDER", help="write report and log of each run to this folder, for --from and plot"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Obtain the reports and print the table; return 1 unless all runs reached their goals and were healthy."""
    if options.source is not None and options.save is not None:
        raise MultiQpError("--save cannot be combined with --from, which runs nothing")
    reports = _read(Path(options.source), options.scenes) if options.source is not None else _run_all(options)
    if options.json:
        print(json.dumps([row_of(report) for report in reports], indent=2))
    else:
        _print(reports)
    return 0 if all(map(succeeded, reports)) else 1


def _run_all(options: argparse.Namespace) -> list[Report]:
    for scene in options.scenes:
        require_known("SCENE", "scenario", scene, scenario_names())
    folder = output_folder("--save", options.save)
    return [_run_one(scene, folder) for scene in options.scenes or SCENES]


def _run_one(scene: str, folder: Path | None) -> Report:
    scenario = load_scenario(scene)
    world = make_backend("integrator", scenario)
    with run_progress(scene) as progress:
        result = Run(scenario, Controller(scenario), world).execute(progress)
    if folder is not None:
        write_json(folder / f"{scene}.json", result.report, allow_nan=False)
        with writing(folder / f"{scene}.npz"):
            result.log.save(folder / f"{scene}.npz")
    if not succeeded(result.report):
        why = "; ".join([result.report["ended"], *result.report["health"]["problems"]])
        print(f"multi-qp: {scene}: goals not reached or not healthy; {why}", file=sys.stderr)
    return result.report


def _read(folder: Path, scenes: list[str]) -> list[Report]:
    """Return the reports of a folder in the order of the paper, or those of the given scenes."""
    if not folder.is_dir():
        raise MultiQpError(f"--from: expected a folder with reports, got '{folder}'")
    reports = {report["scenario"]: report for report in map(_report, sorted(folder.glob("*.json"))) if report}
    if not reports:
        raise MultiQpError(f"--from: there is no report (*.json, of `multi-qp run --report`) in '{folder}'")
    for scene in scenes:
        require_known("SCENE", f"report in '{folder}'", scene, reports)
    known = [scene for scene in SCENES if scene in reports]
    return [reports[scene] for scene in scenes or [*known, *(name for name in reports if name not in SCENES)]]


def _report(path: Path) -> Report | None:
    """Return a report, None for other JSON files."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MultiQpError(f"{shown_path(path)}: cannot be read as JSON: {error}") from None
    complete = isinstance(report, dict) and {"scenario", "qp", "tick_ms", "worst", "goals", "health"} <= report.keys()
    return report if complete else None


def _print(reports: list[Report]) -> None:
    """Print a Markdown table with aligned columns."""
    rows = [row_of(report) for report in reports]
    lines = [["here (paper)", *(report["scenario"] for report in reports)]]
    lines += [[title, *(_beside(cell, row) for row in rows)] for title, cell in _TABLE_1]
    lines += [[title, *(figure(report) for report in reports)] for title, figure in _OURS]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")


def _beside(cell: Callable[[Row], str], row: Row) -> str:
    return cell(row) if row["paper"] is None else f"{cell(row)} ({cell(row['paper'])})"
