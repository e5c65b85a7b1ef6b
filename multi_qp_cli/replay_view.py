"""Console output of a replayed tick."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from multi_qp_controller.command import Command
from multi_qp_ros.recording import Bag, RecordedTick, Replay
from multi_qp_ros.recording.reader import TickHead
from multi_qp_ros.recording.replay import ReplayedTick

#: Rows of a table without --all.
_SHOWN = 8
#: Largest number of states that the overview lists.
_MOST_STATES = 1000
#: Smaller relative differences are due to rounding and not shown.
_ROUNDING = 1e-6


def print_overview(console: Console, bag: Bag) -> None:
    """Print the contents of a bag."""
    runs = [_Run() for _ in bag.recordings]
    for head in bag.heads():
        if 0 <= head.run < len(runs):
            runs[head.run].add(head)
    for number, (recording, run) in enumerate(zip(bag.recordings, runs, strict=True)):
        scenario = recording["scenario"]
        settings = "".join(f", {k}={v:g}" for k, v in scenario["parameters"].items())
        console.print(
            f"[bold]run {number}[/bold]: {escape(scenario['name'] + settings)}, seed {scenario['seed']}; "
            + escape(f"{recording['backend']}, {recording['formulation']}, {recording['solver']}; ")
            + escape(f"version {recording['version']}")
        )
        if not run.ticks:
            continue
        console.print(f"{run.ticks} ticks of {recording['dt'] * 1e3:g} ms, {run.begin:g} s to {run.end:g} s")
        console.print(run.states())
        for head in run.failing:
            console.print(f"  failing tick at {head.time:g} s: {head.command.message}", markup=False)
        if run.failed > len(run.failing):
            more = run.failed - len(run.failing)
            console.print(f"  and {more} more failing ticks, to {run.last_failing:g} s")
    if not bag.complete:
        console.print("[yellow]the file was not closed: its last moments may be missing[/yellow]")


class _Run:
    """Overview of a run, accumulated tick by tick, as a recording may have millions."""

    def __init__(self) -> None:
        self.ticks = self.failed = 0
        self.begin = self.end = self.last_failing = 0.0
        self.failing: list[TickHead] = []
        self._spans: list[tuple[float, float, str]] = []
        self._more_spans = 0

    def add(self, head: TickHead) -> None:
        if not self.ticks:
            self.begin = head.time
        self.ticks, self.end = self.ticks + 1, head.time
        if self._spans and self._spans[-1][2] == head.command.state:
            self._spans[-1] = self._spans[-1][0], head.time, head.command.state
        elif len(self._spans) < _MOST_STATES:
            self._spans.append((head.time, head.time, head.command.state))
        else:
            self._more_spans += 1
        if head.failed:
            self.failed, self.last_failing = self.failed + 1, head.time
            if len(self.failing) < _SHOWN:
                self.failing.append(head)

    def states(self) -> Table:
        table = Table("from", "to", "state", box=None, pad_edge=False)
        for begin, end, state in self._spans:
            table.add_row(f"{begin:g} s", f"{end:g} s", escape(state))
        if self._more_spans:
            table.add_row("…", "", "more states than can be shown")
        return table


def print_verdict(console: Console, replay: Replay, tick: RecordedTick, again: ReplayedTick, *, same: bool) -> None:
    """Print the tick and whether its result is bit-identical."""
    then = tick.command
    count = f"τ {len(then['tau'])}, q̈ {len(then['a'])}, {len(then['wrenches'])} wrenches"
    verdict = f"[green]the same to the last bit[/green] ({count})" if same else f"[red]not the same[/red] ({count})"
    console.print(
        f"[bold]{escape(replay.scenario.name)}[/bold] at {tick.given.time:.6g} s in state "
        f"'{escape(then['state'])}': {verdict}"
    )
    if then["message"]:
        console.print(f"recorded: {then['status']}: {then['message']}", markup=False)
    if not same:
        diagnostics = again.command.diagnostics
        console.print(f"replayed: {diagnostics.status}: {diagnostics.message}", markup=False)
        for name, (before, now) in replay.differences().items():
            console.print(f"  {name}: recorded with {before}, this is {now}", markup=False)


def print_explanation(console: Console, answer: ReplayedTick) -> None:
    """Print why a QP is infeasible, if it is."""
    slack = answer.command.diagnostics.slack
    if slack:
        table = Table("relaxed", "by", "", box=None, pad_edge=False)
        for row, (amount, unit) in sorted(slack.items(), key=lambda item: -item[1][0])[:_SHOWN]:
            table.add_row(escape(row), f"{amount:.4g}", unit)
        console.print(table)
    if answer.explanation is not None:
        console.print(answer.explanation.message, markup=False)
        table = Table("violated", "by", "", box=None, pad_edge=False)
        for violation in answer.explanation.violated:
            table.add_row(escape(violation.row), f"{violation.slack:.4g}", violation.unit)
        if answer.explanation.violated:
            console.print(table)
        for member in answer.explanation.conflict:
            console.print(f"  in conflict: {member.row}", markup=False)


def print_comparison(
    console: Console, one: ReplayedTick, other: ReplayedTick, *, everything: bool, recorded: RecordedTick | None = None
) -> None:
    """Print the differences between two results, or between the recording and a result."""
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
        table.add_row(name, escape(str(getattr(one.diagnostics, get))), escape(str(getattr(other.diagnostics, get))))
    return table


def _print_rows(
    console: Console, titles: tuple[str, str, str], rows: list[tuple[str, float, float]], *, everything: bool
) -> None:
    """Print two columns of numbers, the largest differences first."""
    differing = [row for row in rows if not abs(row[2] - row[1]) <= _ROUNDING * (1.0 + abs(row[1]))]
    shown = rows if everything else sorted(differing, key=lambda row: -abs(row[2] - row[1]))[:_SHOWN]
    worst = max((abs(y - x) for _, x, y in rows), default=0.0)
    if not shown:
        console.print(f"{titles[0]}: no difference above rounding (largest {worst:.2g})", markup=False)
        return
    table = Table(titles[0].replace("[", r"\["), titles[1], titles[2], "difference", box=None, pad_edge=False)
    for name, x, y in shown:
        table.add_row(escape(name), f"{x:.6g}", f"{y:.6g}", f"{y - x:+.3g}")
    console.print(table)
    if len(differing) > len(shown):
        console.print(f"  and {len(differing) - len(shown)} more (--all)")


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
        console.print(f"  {text}: {name}", markup=False)
    if not lines:
        console.print("nothing is at its limit")
