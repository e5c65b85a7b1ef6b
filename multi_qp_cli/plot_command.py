"""`multi-qp plot`: tick times from the logs of runs, as the paper's Figs. 10 and 11."""

from __future__ import annotations

import argparse
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multi_qp_cli.options import output_path
from multi_qp_cli.output import writing
from multi_qp_scene.errors import MultiQpError

if TYPE_CHECKING:
    from multi_qp_viewer.plots import RunTimes

_NEEDED = ("time", "tick_ms", "state", "qp_size", "scenario")


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "plot",
        help="plot tick times from logs",
        description="Plot tick times from the logs of runs: over time, a panel a log, changes of state dashed; "
        "or median and largest over the size of the QP.",
    )
    parser.add_argument("logs", nargs="+", metavar="LOG.npz", help="what `multi-qp run --log` wrote")
    parser.add_argument("--over", choices=("time", "size"), default="time", help="tick time over what (default time)")
    parser.add_argument("--output", metavar="FILE", required=True, help="where to: .png or .svg")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the logs and write the plot."""
    path = output_path("--output", options.output, suffixes=(".png", ".svg"))
    assert path is not None  # the option is required
    runs = [_times(Path(name)) for name in options.logs]
    from multi_qp_viewer import plots  # after the checks: matplotlib takes its time

    draw = plots.plot_over_time if options.over == "time" else plots.plot_over_size
    with writing(path):
        draw(path, runs)
    return 0


def _times(path: Path) -> RunTimes:
    from multi_qp_viewer.plots import RunTimes

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in _NEEDED}
    except (zipfile.BadZipFile, ValueError, EOFError, TypeError, AttributeError):
        raise MultiQpError(f"'{path}' is not a log: expected an .npz file of `multi-qp run --log`") from None
    except KeyError as error:
        missing = str(error.args[0]).split(" ")[0].strip("'")
        raise MultiQpError(f"'{path}' holds no '{missing}': expected an .npz file of `multi-qp run --log`") from None
    except OSError as error:
        raise MultiQpError(f"'{path}' cannot be read: {error.strerror}") from None
    if not len(arrays["time"]):
        raise MultiQpError(f"'{path}' holds no tick")
    about = json.loads(str(arrays["scenario"]))
    return RunTimes(
        name=about["name"],
        time=arrays["time"],
        tick_ms=arrays["tick_ms"],
        state=arrays["state"],
        dt=about["dt"],
        variables=int(arrays["qp_size"][:, 0].max()),
    )
