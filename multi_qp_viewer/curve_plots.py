"""Figures of curves: over time in panels, and the balance of characters from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_viewer.curve_panels import BOUND, COLOURS, SUPPORT, CurvePanel, panels_of
from multi_qp_viewer.curves import POINTS, BalanceSeries, Curve, words
from multi_qp_viewer.plots import draw_states, label_of

#: Largest number of panels of a figure.
MOST_PANELS = 60


def draw_curves(figure: Figure, time: Array, state: NDArray[np.str_], curves: Sequence[Curve]) -> None:
    """Draw curves over time; curves of one panel and unit share axes, bounds are dashed, the support is shaded.

    Args:
        figure: to draw on; its size is set.
        time: (T,) [s].
        state: name of the FSM state, (T,).
        curves: of at most `MOST_PANELS` panels.
    """
    panels = panels_of(curves)
    columns = 1 if len(panels) <= 4 else 2 if len(panels) <= 12 else 3
    rows = ceil(len(panels) / columns)
    figure.set_size_inches(9.0 if columns == 1 else 6.5 * columns, 0.6 + 1.9 * rows)
    grid = np.atleast_1d(np.asarray(figure.subplots(rows, columns, sharex=True, squeeze=False), dtype=object))
    for k, panel in enumerate(panels):
        axes = grid[k // columns, k % columns]
        _draw_panel(axes, time, panel)
        axes.set_ylabel(f"[{panel.unit}]" if panel.unit else "")
        axes.set_title(
            label_of(panel.name) + panel.limits, fontsize=9, loc="left", pad=14 if k < columns else 3, parse_math=False
        )
        draw_states(axes, time, state, named=k < columns, width=columns)
        if k + columns >= len(panels):
            axes.set_xlabel("simulated time [s]")
            axes.tick_params(labelbottom=True)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)


def _draw_panel(axes: Axes, time: Array, panel: CurvePanel) -> None:
    curves = panel.curves
    for k, curve in enumerate(curves):
        style = ("-", "--", ":")[k // len(COLOURS) % 3]
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(time, curve.values, style, color=colour, linewidth=0.9, label=label_of(curve.label))
    for k, (lower, upper) in enumerate(panel.bounds):
        if panel.is_support and lower is not None and upper is not None:
            axes.fill_between(time, lower, upper, color=SUPPORT, linewidth=0, label="" if k else "support", zorder=0)
            continue
        for bound in (lower, upper):
            if bound is not None:
                axes.plot(time, bound, "--", color=BOUND, linewidth=0.8)
    axes.set_ylim(*panel.shown_range)
    axes.grid(axis="y", alpha=0.3)
    if panel.has_legend:
        small = len(curves) > 6
        axes.legend(fontsize=5 if small else 7, framealpha=0.5, edgecolor="none", ncols=2 if small else 1)


def draw_balance(figure: Figure, balances: Mapping[str, BalanceSeries]) -> None:
    """Draw paths of CoM, ZMP and capture point over the support polygons, seen from above; one panel a character."""
    figure.set_size_inches(6.5 * len(balances) + 1.5, 6.0)
    for axes, (name, balance) in zip(
        figure.subplots(1, len(balances), squeeze=False)[0], balances.items(), strict=True
    ):
        for polygon in _distinct_polygons(balance.polygons):
            axes.fill(polygon[:, 0], polygon[:, 1], facecolor=SUPPORT, edgecolor="#8a9a80", linewidth=0.8, alpha=0.6)
        for point, colour in zip(POINTS, COLOURS, strict=False):
            path = balance.points[point]
            axes.plot(path[:, 0], path[:, 1], color=colour, linewidth=1.0, label=words(point))
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        axes.set_title(label_of(name), fontsize=9, loc="left", parse_math=False)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0))


def _distinct_polygons(polygons: Sequence[Array | None]) -> list[Array]:
    """Return polygons whose corners differ by more than a millimetre."""
    found: dict[bytes, Array] = {}
    for polygon in polygons:
        if polygon is not None:
            found.setdefault(np.round(polygon[:, :2], 3).tobytes(), polygon)
    return list(found.values())
