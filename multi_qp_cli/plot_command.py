"""Command `multi-qp plot`: curves of a run by name, or tick times as in [Vaillant2015] Figs. 10 and 11."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from multi_qp_cli.options import output_path
from multi_qp_cli.output import Console, writing
from multi_qp_cli.plot_curves import curve_drawing, curves_of
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import check
from multi_qp_scene.npz_files import read_arrays
from multi_qp_simulator.log import QP_SIZE, WHAT
from multi_qp_viewer.curves import CURVE_KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from multi_qp_viewer.plots import RunTimes

#: Arrays of a log that are plotted, with their kinds of dtype.
_KINDS = {"time": "f", "tick_ms": "f", "state": "U", "qp_size": "i", "scenario": "U"}
#: Largest uncompressed size of a log [B], about 3 million ticks.
_LARGEST = 256 << 20
#: Longest run [s].
_LONGEST = 1e8


class _About(msgspec.Struct):
    """Plotted part of the JSON in a log."""

    name: str
    dt: float


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
        runs = [_times(name) for name in paths]
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


def _times(path: Path) -> RunTimes:
    """Read the tick times of a log.

    Raises:
        MultiQpError: when it is not a log, is empty, or contains invalid numbers.
    """
    from multi_qp_viewer.plots import RunTimes

    arrays = read_arrays(path, _KINDS, what=WHAT, largest=_LARGEST)
    ticks = arrays["time"].shape[:1]
    shapes = {"time": ticks, "tick_ms": ticks, "state": ticks, "qp_size": (*ticks, len(QP_SIZE)), "scenario": ()}
    for name, kinds in _KINDS.items():
        array = arrays[name]
        if array.dtype.kind not in kinds or array.shape != shapes[name]:
            raise MultiQpError(f"'{path}': {name} has dtype {array.dtype} and shape {array.shape}; is not {WHAT}")
    if ticks == (0,):
        raise MultiQpError(f"'{path}' contains no ticks")
    time, tick_ms = arrays["time"].astype(float), arrays["tick_ms"].astype(float)
    if not (np.abs(time) <= _LONGEST).all() or (np.diff(time) < 0.0).any():
        raise MultiQpError(f"'{path}': time is not finite and increasing")
    if not ((tick_ms >= 0.0) & (tick_ms <= 1e3 * _LONGEST)).all():
        raise MultiQpError(f"'{path}': tick_ms is not finite and positive")
    try:
        about = msgspec.json.decode(str(arrays["scenario"]), type=_About)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MultiQpError(f"'{path}': scenario: {error}; is not {WHAT}") from None
    check("period", about.dt, f"'{path}': dt")
    return RunTimes(
        name=about.name,
        time=time,
        tick_ms=tick_ms,
        state=arrays["state"],
        dt=about.dt,
        variables=int(arrays["qp_size"][:, 0].max()),
    )
