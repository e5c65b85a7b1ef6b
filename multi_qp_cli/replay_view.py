"""A replayed tick as a person reads it."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from rich.console import Console
from rich.table import Table

from multi_qp_controller.command import Command
from multi_qp_simulator.bags import Bag, RecordedTick, Replay
from multi_qp_simulator.bags.reader import TickHead
from multi_qp_simulator.bags.replay import Answer

#: Rows of a table, unless all are asked for.
_SHOWN = 8
#: Differences below this are of rounding: not shown.
_ROUNDING = 1e-6


def print_overview(console: Console, bag: Bag) -> None:
    """Print what a bag holds."""
    heads = list(bag.heads())
    for number, recording in enumerate(bag.recordings):
        ticks = [head for head in heads if head.run == number]
        settings = "".join(f", {k}={v:g}" for k, v in recording["scenario"]["parameters"].items())
        console.print(
            f"[bold]run {number}[/bold]: {recording['scenario']['name']}{settings}, seed "
            f"{recording['scenario']['seed']}; {recording['backend']}, {recording['formulation']}, "
            f"{recording['solver']}; version {recording['version']}",
            highlight=False,
        )
        if not ticks:
            continue
        console.print(
            f"{len(ticks)} ticks of {recording['dt'] * 1e3:g} ms, {ticks[0].time:g} s to {ticks[-1].time:g} s",
            highlight=False,
        )
        console.print(_states(ticks))
        failed = [head for head in ticks if head.failed]
        for head in failed[:_SHOWN]:
            console.print(f"  failing tick at {head.time:g} s: {head.command.message}", highlight=False, markup=False)
        if len(failed) > _SHOWN:
            console.print(f"  and {len(failed) - _SHOWN} more failing ticks, to {failed[-1].time:g} s", highlight=False)
    if not bag.complete:
        console.print("[yellow]the file was not closed: its last moments may be missing[/yellow]", highlight=False)


def _states(ticks: list[TickHead]) -> Table:
    table = Table("from", "to", "state", box=None, pad_edge=False)
    for state, group in groupby(ticks, key=lambda head: head.command.state):
        times = [head.time for head in group]
        table.add_row(f"{times[0]:g} s", f"{times[-1]:g} s", state)
    return table


def print_verdict(console: Console, replay: Replay, tick: RecordedTick, again: Answer, *, same: bool) -> None:
    """Print which tick it is, and whether it came out the same."""
    then = tick.command
    count = f"τ {len(then['tau'])}, q̈ {len(then['a'])}, {len(then['wrenches'])} wrenches"
    verdict = f"[green]the same to the last bit[/green] ({count})" if same else f"[red]not the same[/red] ({count})"
    console.print(
        f"[bold]{replay.scenario.name}[/bold] at {tick.given.time:.6g} s in state '{then['state']}': {verdict}",
        highlight=False,
    )
    if then["message"]:
        console.print(f"recorded: {then['status']}: {then['message']}", highlight=False, markup=False)
    if not same:
        console.print(f"replayed: {again.command.diagnostics.status}: {again.command.diagnostics.message}")
        for name, (before, now) in replay.differences().items():
            console.print(f"  {name}: recorded with {before}, this is {now}", highlight=False, markup=False)


def print_explanation(console: Console, answer: Answer) -> None:
    """Print why a QP has no solution as stated, if it has none."""
    slack = answer.command.diagnostics.slack
    if slack:
        table = Table("relaxed", "by", "", box=None, pad_edge=False)
        for row, (amount, unit) in sorted(slack.items(), key=lambda item: -item[1][0])[:_SHOWN]:
            table.add_row(row, f"{amount:.4g}", unit)
        console.print(table)
    if answer.explanation is not None:
        console.print(answer.explanation.message, highlight=False, markup=False)
        table = Table("cannot be kept", "short by", "", box=None, pad_edge=False)
        for violation in answer.explanation.violated:
            table.add_row(violation.row, f"{violation.slack:.4g}", violation.unit)
        if answer.explanation.violated:
            console.print(table)
        for member in answer.explanation.conflict:
            console.print(f"  in conflict: {member.row}", highlight=False, markup=False)


def print_comparison(
    console: Console, one: Answer, other: Answer, *, everything: bool, recorded: RecordedTick | None = None
) -> None:
    """Print what differs between two answers; or between what was recorded and one of them."""
    a, b = ("recorded", "replayed") if recorded is not None else ("as it was", "otherwise")
    tau = recorded.command["tau"] if recorded is not None else one.command.tau
    wrenches = recorded.command["wrenches"] if recorded is not None else one.command.wrenches
    console.print(_verdicts(one.command, other.command, a, b))
    rows = [(name, float(x), float(y)) for name, x, y in zip(one.names, tau, other.command.tau, strict=True)]
    _print_rows(console, ("τ [N m]", a, b), rows, everything=everything)
    _print_wrenches(console, wrenches, other.command.wrenches, a, b, everything=everything)
    residuals = [
        (name, one.residuals.get(name, np.nan), other.residuals.get(name, np.nan))
        for name in dict.fromkeys([*one.residuals, *other.residuals])
    ]
    _print_rows(console, ("task, ‖J q̈ − b‖ [SI]", a, b), residuals, everything=everything)
    _print_active(console, one.active, other.active, b)


def _verdicts(one: Command, other: Command, a: str, b: str) -> Table:
    table = Table("", a, b, box=None, pad_edge=False)
    for name, get in (("status", "status"), ("solver", "solver_status"), ("iterations", "iterations")):
        table.add_row(name, str(getattr(one.diagnostics, get)), str(getattr(other.diagnostics, get)))
    return table


def _print_rows(
    console: Console, titles: tuple[str, str, str], rows: list[tuple[str, float, float]], *, everything: bool
) -> None:
    """Print numbers side by side, those that differ most first."""
    differing = [row for row in rows if not abs(row[2] - row[1]) <= _ROUNDING * (1.0 + abs(row[1]))]
    shown = rows if everything else sorted(differing, key=lambda row: -abs(row[2] - row[1]))[:_SHOWN]
    worst = max((abs(y - x) for _, x, y in rows), default=0.0)
    if not shown:
        console.print(f"{titles[0]}: no difference above rounding (largest {worst:.2g})", highlight=False, markup=False)
        return
    table = Table(titles[0].replace("[", r"\["), titles[1], titles[2], "difference", box=None, pad_edge=False)
    for name, x, y in shown:
        table.add_row(name, f"{x:.6g}", f"{y:.6g}", f"{y - x:+.3g}")
    console.print(table)
    if len(differing) > len(shown):
        console.print(f"  and {len(differing) - len(shown)} more (--all)", highlight=False)


def _print_wrenches(
    console: Console,
    one: dict[str, np.ndarray],
    other: dict[str, np.ndarray],
    a: str,
    b: str,
    *,
    everything: bool,
) -> None:
    axes = ("force x [N]", "force y [N]", "force z [N]", "moment x [N m]", "moment y [N m]", "moment z [N m]")
    nothing = np.full(6, np.nan)
    rows = [
        (f"{name} {axis}", float(x), float(y))
        for name in dict.fromkeys([*one, *other])
        for axis, x, y in zip(axes, one.get(name, nothing), other.get(name, nothing), strict=True)
    ]
    _print_rows(console, ("wrench on the first surface", a, b), rows, everything=everything)


def _print_active(console: Console, one: tuple[str, ...], other: tuple[str, ...], b: str) -> None:
    both = [name for name in one if name in other]
    lines = [("at its limit", name) for name in both]
    lines += [(f"at its limit only {b}", name) for name in other if name not in one]
    lines += [("no longer at its limit", name) for name in one if name not in other]
    for text, name in lines:
        console.print(f"  {text}: {name}", highlight=False, markup=False)
    if not lines:
        console.print("nothing is at its limit", highlight=False)
