"""Plots of tick times: over simulated time, and over the size of the QP; figures in files and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError, printable

_TICK, _PERIOD, _MEDIAN, _CHANGE = "#2a6fb0", "#c23b22", "#14395b", "#8a8a8a"
_LONGEST_NAME = 60
_LABEL_WIDTH = 0.0075  # per character of a state's name, as a fraction of the plot width
STYLE: Any = {
    "font.size": 9.0,
    "svg.hashsalt": "multi-qp",  # the same plot gives the same bytes
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class RunTimes:
    """Tick times of one run.

    Attributes:
        name: of the scene.
        time: simulated, (T,) [s].
        tick_ms: from state to command, (T,) [ms].
        state: name of the FSM state, (T,).
        dt: control period [s].
        variables: largest number of variables of the QP, as the paper counts them.
    """

    name: str
    time: Array
    tick_ms: Array
    state: NDArray[np.str_]
    dt: float
    variables: int


def draw_over_time(figure: Figure, runs: Sequence[RunTimes]) -> None:
    """Draw tick time over simulated time, one panel per run, with state transitions as dashed lines.

    Source: [Vaillant2015] Fig. 11.
    """
    figure.set_size_inches(9.0, 0.5 + 2.1 * len(runs))
    panels = np.atleast_1d(np.asarray(figure.subplots(len(runs), 1), dtype=object))
    for axes, run in zip(panels, runs, strict=True):
        _draw_run(axes, run)
    panels[-1].set_xlabel("simulated time [s]")


def draw_over_size(figure: Figure, runs: Sequence[RunTimes]) -> None:
    """Draw median and largest tick time over the number of variables of the QP, one mark per run.

    Source: [Vaillant2015] Fig. 10.
    """
    order = sorted(runs, key=lambda run: run.variables)
    sizes = [run.variables for run in order]
    figure.set_size_inches(7.0, 4.4)
    axes: Axes = figure.subplots()
    axes.plot(sizes, [run.tick_ms.max() for run in order], "s--", color=_PERIOD, label="largest tick")
    axes.plot(sizes, [1e3 * run.dt for run in order], "_", color=_CHANGE, markersize=14, label="Δt")
    axes.plot(sizes, [np.median(run.tick_ms) for run in order], "o-", color=_TICK, label="median tick")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(axis="y", alpha=0.3)
    axes.set(xlabel="variables of the QP", ylabel="time [ms]")
    for together in _neighbours(order):
        lowest = min(together, key=lambda run: float(np.median(run.tick_ms)))
        place = (together[-1].variables, float(np.median(lowest.tick_ms)))
        names = "\n".join(label_of(run.name) for run in together)
        axes.annotate(
            names,
            place,
            (0, -8),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            parse_math=False,
        )
    axes.margins(x=0.08, y=0.22)
    axes.legend(loc="lower right", frameon=False)


def _neighbours(order: Sequence[RunTimes]) -> list[list[RunTimes]]:
    """Return runs, sorted by size, in groups whose labels would overlap."""
    close = 0.05 * (order[-1].variables - order[0].variables)
    groups = [[order[0]]]
    for run in order[1:]:
        if run.variables - groups[-1][-1].variables <= close:
            groups[-1].append(run)
        else:
            groups.append([run])
    return groups


def label_of(name: str) -> str:
    """Return a name from a log as a label: one line of limited length."""
    short = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return printable(short).replace("\n", " ")


def _draw_run(axes: Axes, run: RunTimes) -> None:
    axes.plot(run.time, run.tick_ms, color=_TICK, linewidth=0.6)
    median = float(np.median(run.tick_ms))
    axes.axhline(median, color=_MEDIAN, linewidth=0.8)
    axes.axhline(1e3 * run.dt, color=_PERIOD, linewidth=0.8)
    # rare peaks would compress the scale: clip them, and give the largest in the title
    ceiling = 1.25 * max(float(np.percentile(run.tick_ms, 99.8)), 1e3 * run.dt)
    axes.set_ylim(0.0, ceiling)
    draw_states(axes, run.time, run.state)
    axes.set_ylabel("tick [ms]")
    figures = f"median {median:.2f} ms (black), largest {run.tick_ms.max():.1f} ms, Δt {1e3 * run.dt:.4g} ms (red)"
    axes.set_title(f"{label_of(run.name)}: {figures}", fontsize=9, loc="left", pad=16, parse_math=False)


def draw_states(axes: Axes, time: Array, state: NDArray[np.str_], *, named: bool = True, width: int = 1) -> None:
    """Mark state transitions by dashed lines, with the names of the states where they fit.

    Args:
        axes: to draw on; its abscissa is set to the whole run.
        time: (T,) [s].
        state: name of the FSM state, (T,).
        named: whether the names are written.
        width: number of panels side by side.
    """
    span = float(time[-1] - time[0]) or 1.0
    axes.set_xlim(time[0], time[0] + span)
    entered = np.flatnonzero(np.r_[True, state[1:] != state[:-1]])
    free_from = -np.inf
    changes = time[entered[1:]]
    axes.vlines(changes, 0, 1, transform=axes.get_xaxis_transform(), color=_CHANGE, linestyle="--", linewidth=0.7)
    for tick in entered if named else ():
        name = label_of(str(state[tick]))
        if time[tick] >= free_from:
            axes.annotate(
                name.replace("_", " "),
                (time[tick], 1.0),
                (1, 2),
                xycoords=axes.get_xaxis_transform(),
                textcoords="offset points",
                fontsize=7,
                color=_CHANGE,
                annotation_clip=False,
                parse_math=False,
            )
            free_from = time[tick] + span * _LABEL_WIDTH * (1 + 0.5 * (width - 1)) * (len(name) + 1)


def write(path: Path, draw: Callable[[Figure], None]) -> None:
    """Write a figure; without a date, for reproducible files."""
    with mpl.rc_context(STYLE):
        figure = Figure(layout="constrained")
        draw(figure)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        figure.savefig(path, dpi=110, metadata=metadata)


def show(draw: Callable[[Figure], None]) -> None:
    """Show a figure in a window until it is closed.

    Raises:
        MultiQpError: when matplotlib finds no display.
    """
    from matplotlib import pyplot  # selects a backend

    with mpl.rc_context(STYLE):
        figure = pyplot.figure(layout="constrained")
        if pyplot.get_backend().lower() in ("agg", "svg", "pdf", "cairo", "ps", "template"):
            pyplot.close(figure)
            raise MultiQpError("there is no display, or no window toolkit for matplotlib: add --output FILE.png")
        draw(figure)
        pyplot.show()
