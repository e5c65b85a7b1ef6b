"""Command `multi-qp plot`: curves of a run by name, or tick times as in [Vaillant2015] Figs. 10 and 11."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multi_qp_cli.options import output_path
from multi_qp_cli.output import Console, writing
from multi_qp_cli.plot_logs import curves_of, times_of
from multi_qp_scene.errors import MultiQpError
from multi_qp_viewer.curves import CURVE_KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from multi_qp_viewer.plots import RunTimes


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "plot",
        description="Plot a log: with --curves, quantities of the run by name, with their bounds; with --over plane, "
        "the centre of mass, ZMP and capture point over the support polygon, from above; otherwise the tick times of "
        "any number of logs, with state transitions dashed, or over the size of the QP.",
    )
    parser.add_argument("logs", nargs="+", metavar="LOG.npz", help="a log of `multi-qp run --log`")
    parser.add_argument(
        "--curves",
        nargs="+",
        action="extend",
        metavar="NAME",
        help=f"curves by name, with wildcards: 'force/left_*', or a kind: {', '.join(CURVE_KINDS)}",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the curves of a log")
    parser.add_argument(
        "--over", choices=("time", "size", "plane"), default="time", help="abscissa, or `plane` (default time)"
    )
    parser.add_argument(
        "--scenario", metavar="FILE.yaml", help="scenario of the log, if it is not among those of `multi-qp list`"
    )
    parser.add_argument("--output", metavar="FILE", help="output file: .png or .svg (default: a window)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the logs and write or show the plot."""
    path = output_path("--output", options.output, suffixes=(".png", ".svg"))
    paths = [Path(name) for name in options.logs]
    of_run = options.curves is not None or options.list or options.over == "plane"
    if of_run and len(paths) > 1:
        raise MultiQpError("LOG.npz: expected one log with --curves, --list or --over plane")
    if options.curves is not None and options.over != "time":
        raise MultiQpError("--curves cannot be combined with --over")
    if options.scenario is not None and not of_run:
        raise MultiQpError("--scenario is of use with --curves, --list or --over plane only")
    if options.list:
        Console().print("\n".join(curves_of(paths[0], options.scenario)[0].names), markup=False)
        return 0
    if of_run:
        draw = curve_drawing(paths[0], options.scenario, options.curves)
    else:
        runs = [times_of(name) for name in paths]
        draw = partial(tick_drawing, runs, options.over)
    from multi_qp_viewer import plots  # after the checks: matplotlib is slow to import

    if path is None:
        plots.show(draw)
        return 0
    with writing(path):
        plots.write(path, draw)
    return 0


def tick_drawing(runs: Sequence[RunTimes], over: str, figure: Figure) -> None:
    """Draw tick times over time or size."""
    from multi_qp_viewer import plots

    (plots.draw_over_time if over == "time" else plots.draw_over_size)(figure, runs)


def curve_drawing(path: Path, scenario_file: str | None, globs: Sequence[str] | None) -> Callable[[Figure], None]:
    """Return the drawing of the curves that match patterns, or, without patterns, of the balance from above.

    Raises:
        MultiQpError: as `curves_of`; when a pattern matches no curve, or the curves need too many panels.
    """
    curves, series, scenario = curves_of(path, scenario_file)
    from multi_qp_viewer import curve_plots  # imports matplotlib

    if globs is None:
        characters = [c.name for c in scenario.scene.characters]
        if not characters:
            raise MultiQpError("--over plane: the scene has no characters")
        balances = {name: curves.balance(name) for name in characters}
        return lambda figure: curve_plots.draw_balance(figure, balances)
    chosen = [curves.curve(name) for name in curves.match(globs)]
    panels = len({(curve.panel, curve.unit) for curve in chosen})
    if panels > curve_plots.MOST_PANELS:
        raise MultiQpError(f"--curves: {panels} panels, expected at most {curve_plots.MOST_PANELS}; name fewer curves")
    return lambda figure: curve_plots.draw_curves(figure, series.time, series.state, chosen)
