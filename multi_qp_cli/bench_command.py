"""Command `multi-qp bench`: benchmarks on this machine, together with comparable software."""

from __future__ import annotations

import argparse
import platform
from importlib import import_module
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.measure import Measurement
from rich.table import Table

from multi_qp_cli.benches import TARGETS
from multi_qp_cli.benches.result import BenchResult, BenchTable
from multi_qp_cli.options import output_path
from multi_qp_cli.output import Console, write_json, writing

#: Largest width of a table [columns].
_WIDEST = 400


def add_to(commands: Any) -> None:
    """Declare the command."""
    modules = {name: import_module(module) for name, module in TARGETS.items()}
    parser = commands.add_parser(
        "bench",
        description="Run a benchmark on this machine; all candidates are measured in one run, interleaved.",
        epilog="targets: " + "; ".join(f"{name}: {module.SUMMARY}" for name, module in modules.items()),
    )
    parser.add_argument("target", nargs="?", choices=sorted(TARGETS), default="qp", help="what to measure (default qp)")
    parser.add_argument("--json", metavar="FILE.json", help="write the results here")
    parser.add_argument("--plot", metavar="FILE.png", help="plot the results here")
    for name, module in modules.items():
        module.add_options(parser.add_argument_group(f"target {name}", module.SUMMARY))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure one target; print, write and plot the results."""
    data_path = output_path("--json", options.json, suffixes=(".json",))
    plot_path = output_path("--plot", options.plot, suffixes=(".png", ".svg", ".pdf"))
    result: BenchResult = import_module(TARGETS[options.target]).run(options)
    console = Console()
    for table in result.tables:
        _print(console, table)
    if data_path is not None:
        data = {"target": options.target, "machine": platform.machine(), "python": platform.python_version()}
        write_json(data_path, {**data, **result.data})
    if plot_path is not None and result.draw is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.0, 5.0), layout="constrained")
        result.draw(figure)
        with writing(plot_path):
            figure.savefig(plot_path, dpi=120)
    return 0


def _print(console: Console, table: BenchTable) -> None:
    """Print a table without truncated cells: headers are wrapped, and a table that is still too wide overflows."""
    shown = Table(title=table.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(table.columns):
        head = column.replace(" ", "\n").replace("/", "/\n")
        shown.add_column(head, justify="left" if k == 0 else "right", no_wrap=True)
    for row in table.rows:
        shown.add_row(*row)
    needed = Measurement.get(console, console.options.update(width=_WIDEST), shown).maximum
    Console(width=max(needed, console.width)).print(shown)
    if table.note:
        console.print(f"{table.note}\n", style="italic", markup=False)
