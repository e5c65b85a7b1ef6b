"""Benchmark of the control tick and its QP: scenes × formulations × solvers, interleaved in one run."""

from __future__ import annotations

import argparse
from typing import Any

from multi_qp_cli.benches.qp_coverage import families_table, measure_families
from multi_qp_cli.benches.qp_growth import SIZES, measure_growth
from multi_qp_cli.benches.qp_infeasible import measure_infeasible
from multi_qp_cli.benches.qp_profile import PARTS
from multi_qp_cli.benches.qp_scenes import SceneTimes, measure_again, measure_scene
from multi_qp_cli.benches.qp_tsid import measure_single
from multi_qp_cli.benches.result import BenchResult, BenchTable, Columns, spread
from multi_qp_cli.options import require_known
from multi_qp_controller.qp import solver_names
from multi_qp_controller.qp.formulations import FORMULATIONS
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_names, scenario_path
from multi_qp_scene.yaml_document import YamlDocument

SUMMARY = "the control tick and its QP, by scene, formulation and solver"


def add_options(group: Any) -> None:
    """Declare the options."""
    group.add_argument("--scene", action="append", metavar="NAME", help="only this scene; can be repeated")
    group.add_argument("--solver", action="append", metavar="NAME", help="only this solver; can be repeated")
    group.add_argument("--formulation", action="append", metavar="NAME", help="only this formulation; can be repeated")
    group.add_argument("--samples", type=int, default=20, help="recorded QPs per scene (default 20)")
    group.add_argument("--profile", action="store_true", help="profile the parts of a tick")
    group.add_argument(
        "--crowd", type=int, action="append", metavar="N", help="sizes of the growth curve; can be repeated"
    )
    group.add_argument(
        "--families", type=int, metavar="N",
        help="instead: solve N random QPs of 28 families and verify the results (2000 in docs/qp.md)",
    )  # fmt: skip
    group.add_argument("--ticks", type=int, help="largest number of ticks per scene")
    group.add_argument(
        "--repeats", type=int, default=3, metavar="N",
        help="runs of each scene; the minimum over the runs excludes interference from the machine (default 3)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> BenchResult:
    """Measure."""
    if min(options.samples, options.repeats) < 1 or (options.ticks is not None and options.ticks < 20):
        raise MultiQpError("--samples and --repeats: expected 1 or above, --ticks: 20 or above")
    if any(size < 1 for size in options.crowd or []):
        raise MultiQpError("--crowd: expected 1 or above")
    if options.families is not None:
        return _families(options.families, options.solver or solver_names())
    scenes = options.scene or [name for name in scenario_names() if _has_states(name)]
    for scene in scenes:
        require_known("--scene", "scene", scene, scenario_names())
    for solver in options.solver or []:
        require_known("--solver", "solver", solver, solver_names())
    for formulation in options.formulation or []:
        require_known("--formulation", "formulation", formulation, FORMULATIONS)
    measured = [
        measure_scene(
            scene,
            solvers=options.solver or solver_names(),
            formulations=options.formulation or list(FORMULATIONS),
            samples=options.samples,
            ticks=options.ticks,
            profile=options.profile,
        )
        for scene in scenes
    ]
    for _ in range(options.repeats - 1):  # interleaved: a temporary slow-down affects each scene once
        for times in measured:
            measure_again(times)
    tables = [_ticks(measured), *([_parts(measured)] if options.profile else []), _solvers(measured)]
    data: dict[str, Any] = {"scenes": {times.scene: times.as_dict() for times in measured}}
    growth: dict[str, Any] = {}
    if options.scene is None or options.crowd:
        data["single"] = single = measure_single()
        data["growth"] = growth = measure_growth(options.crowd or list(SIZES))
        data["tower"] = tower = measure_growth([n for n in options.crowd or SIZES if n > 1] or [2], "tower")
        data["hopeless"] = infeasible = measure_infeasible()
        hand_in_hand = _growth("N humanoids hand in hand, full tick, CPU time [ms]", growth)
        holding = _growth("N humanoids around a tower of N/2 boxes, full tick, CPU time [ms]", tower)
        tables += [_single(single), hand_in_hand, holding, _infeasible(infeasible)]
    return BenchResult(tables, data, draw=lambda figure: _draw(figure, measured, growth))


def _families(count: int, solvers: list[str]) -> BenchResult:
    if count < 1:
        raise MultiQpError("--families: expected 1 or above")
    for solver in solvers:
        require_known("--solver", "solver", solver, solver_names())
    measured = measure_families(solvers, count)
    return BenchResult([families_table(measured, count)], {"families": measured})


def _has_states(scene: str) -> bool:
    """Whether a scene can be run without planning."""
    return "states" in YamlDocument.load(scenario_path(scene)).data


def _parts(measured: list[SceneTimes]) -> BenchTable:
    rows = []
    for times in measured:
        total = sum(times.parts.values())
        parts = [f"{times.parts[part]:.0f}" for part in PARTS]
        rows.append([times.scene, *parts, f"{100 * times.parts['dynamics'] / total:.0f} %"])
    return BenchTable(
        "Parts of a tick, medians [µs]",
        ("scene", *PARTS, "pure dynamics"),
        rows,
        "dynamics: pinocchio, with the relative motions shared by contacts and tasks; condense: formulation of the QP",
    )


def _single(single: dict[str, Any]) -> BenchTable:
    rows = [
        [name, f"{single[key]['median']:.3f}", f"{single[key]['iqr']:.3f}", f"{single[key]['p99']:.3f}"]
        for name, key in (("ours", "ours_ms"), ("TSID", "tsid_ms"))
    ]
    return BenchTable(
        "One standing humanoid, equal tasks, full tick, ms",
        ("", "median", "IQR", "p99"),
        rows,
        f"TSID / ours {single['ratio']:.2f}; solutions differ by {single['acceleration_difference']:.1e} in q̈ and "
        f"{single['torque_difference']:.1e} in τ relative to the largest entry; ours includes joint limits",
    )


def _growth(title: str, growth: dict[str, Any]) -> BenchTable:
    rows = [[f"{size}", f"{t['median']:.3f}", f"{t['iqr']:.3f}", f"{t['p99']:.3f}"] for size, t in growth["ms"].items()]
    exponent = growth["exponent"]
    note = "exponent of the fit for N of 4 and more: " + ("-" if exponent is None else f"{exponent:.2f}")
    return BenchTable(title, ("N", "median", "IQR", "p99"), rows, note)


def _infeasible(infeasible: dict[str, Any]) -> BenchTable:
    columns: Columns = {
        "": lambda found: found[0],
        "median": lambda found: f"{found[1]['recognised_ms']:.3f}",
        "in median ticks": lambda found: f"{found[1]['recognised_ms'] / found[1]['tick_ms']:.1f}",
        "slowest in median ticks": lambda found: f"{found[1]['slowest_ms'] / found[1]['tick_ms']:.1f}",
        "status": lambda found: ", ".join(f"{count} × {answer}" for answer, count in found[1]["answers"].items()),
    }
    note = "each at a state of a run, after the preceding regular tick; median ticks are over all ticks of this run"
    return BenchTable.of("Infeasible ticks of `king`, full tick, CPU time [ms]", columns, infeasible.items(), note)


def _ticks(measured: list[SceneTimes]) -> BenchTable:
    rows, runs = [], 1 + max(len(times.again) for times in measured)
    for times in measured:
        tick, cpu, own, answer = (spread(t[10:]) for t in (times.tick, times.cpu, times.own(), times.answer))
        rows.append([
            times.scene,
            f"{times.dofs}",
            f"{tick['median']:.3f}",
            f"{tick['iqr']:.3f}",
            f"{tick['p99']:.3f}",
            f"{tick['max']:.3f}",
            f"{cpu['max'] / cpu['median']:.1f}",
            f"{own['max'] / own['median']:.1f}",
            f"{answer['median']:.3f}",
            f"{answer['max'] / answer['median']:.1f}",
            *(f"{times.ratio(*key):.1f}" for key in (("reduced", "quadprog"), ("reduced", None))),
        ])  # fmt: skip
    return BenchTable(
        "Full tick: `step` and `post_update`, ms",
        (
            "scene", "DoF", "median", "IQR", "p99", "max", "max/median", "own max/median", "step", "step max/median",
            "quadprog/tick", "best/tick",
        ),
        rows,
        "without the first 10 ticks; ratios are of CPU times; own: of each tick the minimum over "
        f"{runs} runs, in medians\nof each run; the other columns are of the first run; step: from state to command, "
        "CPU time;\nquadprog/tick: its time on `reduced` alone; best: of the other solvers, warm-started, on `reduced`",
    )  # fmt: skip


def _solvers(measured: list[SceneTimes]) -> BenchTable:
    rows = []
    for times in measured:
        for (formulation, solver, start), solves in sorted(times.solves.items()):
            found = spread(solves.milliseconds)
            rows.append([
                times.scene,
                formulation,
                solver,
                start,
                f"{found['median']:.3f}",
                f"{found['iqr']:.3f}",
                f"{found['p99']:.3f}",
                f"{solves.failures}/{len(solves.milliseconds)}",
                f"{solves.difference:.1e}",
            ])  # fmt: skip
    return BenchTable(
        "Recorded QPs, CPU time [ms]",
        ("scene", "formulation", "solver", "start", "median", "IQR", "p99", "failed", "difference"),
        rows,
        "difference: the largest in q̈ and τ from the solution of the run, relative to the largest entry",
    )


def _draw(figure: Any, measured: list[SceneTimes], growth: dict[str, Any]) -> None:
    """Plot the time of each solver on `reduced` and of the full tick by scene, and the growth curve."""
    axes = figure.add_subplot(1, 2 if growth else 1, 1)
    if growth:
        curve = figure.add_subplot(1, 2, 2)
        curve.loglog([int(n) for n in growth["ms"]], [t["median"] for t in growth["ms"].values()], "o-")
        curve.set_xlabel("humanoids hand in hand")
        curve.set_ylabel("full tick, median [ms]")
    keys = sorted({key for times in measured for key in times.solves if key[0] == "reduced"})
    for key in keys:
        ys = [spread(times.solves[key].milliseconds).get("median") for times in measured if key in times.solves]
        axes.plot([times.scene for times in measured if key in times.solves], ys, "o-", label=" ".join(key[1:]))
    axes.plot([t.scene for t in measured], [spread(t.tick)["median"] for t in measured], "ks--", label="full tick")
    axes.set_yscale("log")
    axes.set_ylabel("median [ms]")
    axes.set_title("QP `reduced` by solver, and the full tick")
    axes.legend()
