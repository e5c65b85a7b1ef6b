"""Command `multi-qp plot`: tick times from logs, as in [Vaillant2015] Figs. 10 and 11."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from multi_qp_cli.options import output_path
from multi_qp_cli.output import writing
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import check
from multi_qp_scene.npz_files import read_arrays
from multi_qp_simulator.log import QP_SIZE, WHAT

if TYPE_CHECKING:
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
        help="plot tick times from logs",
        description="Plot tick times from the logs of runs: over time, one panel per log, with state transitions "
        "dashed; or median and largest over the size of the QP.",
    )
    parser.add_argument("logs", nargs="+", metavar="LOG.npz", help="a log of `multi-qp run --log`")
    parser.add_argument("--over", choices=("time", "size"), default="time", help="abscissa (default time)")
    parser.add_argument("--output", metavar="FILE", required=True, help="output file: .png or .svg")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the logs and write the plot."""
    path = output_path("--output", options.output, suffixes=(".png", ".svg"))
    assert path is not None  # the option is required
    runs = [_times(Path(name)) for name in options.logs]
    from multi_qp_viewer import plots  # after the checks: matplotlib is slow to import

    draw = plots.plot_over_time if options.over == "time" else plots.plot_over_size
    with writing(path):
        draw(path, runs)
    return 0


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
