"""Console output of a run's report."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from multi_qp_cli.output import Console
from multi_qp_simulator.run_monitor import reached_goals

_WORST = {
    "contact_slip_m": ("contact slip", 1e3, "mm"),
    "contact_twist_rad": ("angular slip", 1e3, "mrad"),
    "penetration_m": ("penetration", 1e3, "mm"),
    "torque_ratio": ("torque / limit", 1.0, ""),
    "torque_step_ratio": ("torque step / limit", 1.0, ""),
    "joint_limit_violation_rad": ("outside joint limits", 1e3, "mrad"),
    "velocity_ratio": ("velocity / limit", 1.0, ""),
    "dynamics_residual": ("dynamics residual", 1.0, ""),
}


def print_report(report: dict[str, Any]) -> None:
    """Print a summary of a report."""
    console = Console()
    verdict = "[green]reached[/green]" if reached_goals(report) else "[red]not reached[/red]"
    if not report["health"]["healthy"]:
        verdict += ", [red]not healthy[/red]"
    if report.get("incomplete"):
        verdict += f", but [red]{escape(report['incomplete'])}[/red]"
    console.print(f"[bold]{escape(report['scenario'])}[/bold]: goals {verdict}; {escape(report['ended'])}")
    if report["waited_for"]:
        console.print(f"  {report['waited_for']}", markup=False)
    for problem in report["health"]["problems"]:
        console.print(f"  {problem}", markup=False)
    if report["health"]["problems"] and report["touches"] and report["backend"] == "integrator":
        console.print("  in the integrator, bodies pass through each other; with --backend mujoco they collide")
    console.print(_facts(report))
    if report["goals"]:
        console.print(_goals(report["goals"]))
    recording = report.get("recording")
    if recording and (recording["lost"] or recording["failure"]):
        total = recording["ticks"] + recording["lost"]
        console.print(f"[red]recording[/red]: {recording['ticks']} of {total} ticks are in {escape(recording['file'])}")
    if report["failure"]:
        _print_failure(console, report["failure"])


def _facts(report: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    qp, tick = report["qp"], report["tick_ms"]
    table.add_row("simulated", f"{report['sim_time']:.2f} s in {report['ticks']} ticks of {report['dt'] * 1e3:g} ms")
    table.add_row(
        "scene",
        f"{report['subsystems']} subsystems, {report['dofs']} DoF ({report['actuated_dofs']} actuated), "
        f"{report['planar_contact_points']} planar and {report['grasp_contact_points']} grasp contact points, "
        f"{report['collision_pairs']} collision pairs",
    )
    table.add_row(
        "QP",
        f"{qp['variables']} variables, {qp['equalities']} equalities, {qp['inequalities']} inequalities; "
        f"{report['formulation']}, {report['solver']}",
    )
    table.add_row(
        "tick",
        f"median {tick['median']:.2f} ms, p99 {tick['p99']:.2f} ms, max {tick['max']:.2f} ms; "
        f"{report['realtime_factor']:.1f} x real time",
    )
    table.add_row("QP failures", f"{report['qp_failures']} ({report['relaxed_ticks']} ticks with relaxed limits)")
    for key, (name, factor, unit) in _WORST.items():
        table.add_row(f"worst {name}", f"{report['worst'][key] * factor:.3g} {unit}")
    if tracked := _task_errors(report.get("task_errors", {})):
        table.add_row("largest task errors, RMS", escape(tracked))
    if needed := _friction(report.get("friction", {})):
        table.add_row("friction needed", escape(needed))
    for phase, of_phase in report.get("contact_forces", {}).items():
        if of_phase["relative"] is not None:
            table.add_row(
                f"forces, {phase}",
                f"predicted {of_phase['relative'] * 100.0:.1f} % off the simulated ones "
                f"(RMS {of_phase['rms_error_n']:.2f} N of {of_phase['rms_force_n']:.1f} N)",
            )
    if unplanned := report.get("unplanned_forces"):
        listed = [f"{name} ({of['force_n']:.3g} N, {of['ticks']} ticks)" for name, of in unplanned.items()]
        table.add_row("forces of inactive contacts", escape("; ".join(listed[:5])))
    if report["touches"]:
        table.add_row("touches without a contact", "; ".join(escape(_touch(touch)) for touch in report["touches"][:5]))
    table.add_row("states", escape(" → ".join(report["states_visited"])))
    return table


def _task_errors(errors: dict[str, dict[str, Any]]) -> str:
    """Return the parts of tasks with the largest RMS of each unit."""
    found: dict[str, str] = {}
    for name, error in sorted(errors.items(), key=lambda item: -item[1]["rms"]):
        unit = f" {error['unit']}".rstrip()
        found.setdefault(unit, f"{name} {error['rms']:.3g}{unit} (at the end {error['last']:.3g}{unit})")
    return "; ".join(found.values())


def _friction(contacts: dict[str, dict[str, Any]]) -> str:
    """Return the figures of the contact whose median is the largest part of its friction."""
    pressing = [(name, of) for name, of in contacts.items() if of["median"] is not None and of["allowed"]]
    if not pressing:
        return ""
    name, of = max(pressing, key=lambda item: item[1]["median"] / item[1]["allowed"])
    return f"{name} median {of['median']:.2g}, at most {of['largest']:.2g} ({of['allowed']:.2g} allowed)"


def _touch(touch: dict[str, Any]) -> str:
    parts = [f"{1e3 * touch['overlap_m']:.3g} mm"] if touch["overlap_m"] else []
    parts += [] if touch["force_n"] is None else [f"{touch['force_n']:.3g} N"]
    return f"{' and '.join(touch['bodies'])} ({', '.join(parts)})"


def _goals(goals: dict[str, dict[str, Any]]) -> Table:
    table = Table("goal", "error", "tolerance", "", box=None, pad_edge=False)
    for name, goal in goals.items():
        table.add_row(
            escape(name),
            "" if goal["error"] is None else f"{goal['error']:.4g}",
            "" if goal["tolerance"] is None else f"{goal['tolerance']:.4g}",
            _verdict(goal),
        )
    return table


def _verdict(goal: dict[str, Any]) -> str:
    """Return whether a goal is reached; if not, or without a bound, at what, if its value is a name."""
    unbounded = goal["error"] is not None and goal["tolerance"] is None
    if goal["reached"] and not unbounded:
        return "[green]reached[/green]"
    what = f": {escape(goal['value'])}" if isinstance(goal["value"], str) else ""
    return ("not bounded" if unbounded else "[red]not reached[/red]") + what


def _print_failure(console: Console, failure: dict[str, Any]) -> None:
    console.print(
        f"[red]first failing tick[/red] at {failure['time']:.3f} s in state '{escape(failure['state'])}': "
        + escape(failure["message"])
    )
    for row in failure["relaxed"][:8]:
        console.print(f"  relaxed: {row['row']} by {row['slack']:.4g} {row['unit']}", markup=False)
    unreconciled = failure.get("unreconciled") or {}
    if unreconciled.get("message"):
        console.print(f"  {unreconciled['message']}", markup=False)
    for row in unreconciled.get("violated", []):
        console.print(f"  violated: {row['row']}, by {row['slack']:.4g} {row['unit']}", markup=False)
    for row in unreconciled.get("conflict", [])[:8]:
        console.print(f"  in conflict: {row['row']}", markup=False)
