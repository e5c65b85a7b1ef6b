"""Figures of curves: over time in panels, and the balance of characters from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from multi_qp_viewer.curves import POINTS, BalanceSeries, Curve, words
from multi_qp_viewer.plots import draw_states, label_of

Array = NDArray[np.float64]

#: Largest number of panels of a figure.
MOST_PANELS = 60
#: Colour-blind safe [Okabe, Ito], in the order of use.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
_BOUND, _SUPPORT = "#c23b22", "#dfe6dc"


def draw_curves(figure: Figure, time: Array, state: NDArray[np.str_], curves: Sequence[Curve]) -> None:
    """Draw curves over time; curves of one panel and unit share axes, bounds are dashed, the support is shaded.

    Args:
        figure: to draw on; its size is set.
        time: (T,) [s].
        state: name of the FSM state, (T,).
        curves: of at most `MOST_PANELS` panels.
    """
    panels: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        panels.setdefault((curve.panel, curve.unit), []).append(curve)
    columns = 1 if len(panels) <= 4 else 2 if len(panels) <= 12 else 3
    rows = ceil(len(panels) / columns)
    figure.set_size_inches(9.0 if columns == 1 else 6.5 * columns, 0.6 + 1.9 * rows)
    grid = np.atleast_1d(np.asarray(figure.subplots(rows, columns, sharex=True, squeeze=False), dtype=object))
    for k, ((name, unit), together) in enumerate(panels.items()):
        axes = grid[k // columns, k % columns]
        _draw_panel(axes, time, together)
        axes.set_ylabel(f"[{unit}]" if unit else "")
        axes.set_title(
            label_of(name) + _limits(together), fontsize=9, loc="left", pad=14 if k < columns else 3, parse_math=False
        )
        draw_states(axes, time, state, named=k < columns, width=columns)
        if k + columns >= len(panels):
            axes.set_xlabel("simulated time [s]")
            axes.tick_params(labelbottom=True)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)


def _draw_panel(axes: Axes, time: Array, curves: Sequence[Curve]) -> None:
    for k, curve in enumerate(curves):
        style = ("-", "--", ":")[k // len(COLOURS) % 3]
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(time, curve.values, style, color=colour, linewidth=0.9, label=label_of(curve.label))
    for k, (lower, upper) in enumerate(_bounds(curves)):
        if curves[0].panel.startswith("balance/") and lower is not None and upper is not None:
            axes.fill_between(time, lower, upper, color=_SUPPORT, linewidth=0, label="" if k else "support", zorder=0)
            continue
        for bound in (lower, upper):
            if bound is not None:
                axes.plot(time, bound, "--", color=_BOUND, linewidth=0.8)
    axes.set_ylim(*_range(curves))
    axes.grid(axis="y", alpha=0.3)
    if any(curve.label for curve in curves):
        small = len(curves) > 6
        axes.legend(fontsize=5 if small else 7, framealpha=0.5, edgecolor="none", ncols=2 if small else 1)


def _limits(curves: Sequence[Curve]) -> str:
    """Return constant bounds of a single curve as text: they may be outside of what is drawn."""
    bounds = [b for b in (curves[0].lower, curves[0].upper) if b is not None and np.isfinite(b).any()]
    if len(curves) > 1 or len(bounds) < 2 or any(np.ptp(_finite(b)) > 0.0 for b in bounds):
        return ""
    return "   [{:.4g}, {:.4g}]".format(*(_finite(b)[0] for b in bounds))


def _bounds(curves: Sequence[Curve]) -> list[tuple[Array | None, Array | None]]:
    """Return the bounds of curves without repetition."""
    distinct: dict[tuple[bytes, ...], tuple[Array | None, Array | None]] = {}
    for curve in curves:
        pair = curve.lower, curve.upper
        distinct.setdefault(tuple(b"" if b is None else b.tobytes() for b in pair), pair)
    return list(distinct.values())


def _range(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return the limits of the ordinate: all values, and bounds that are not much farther than the values reach."""
    values = _finite(*(curve.values for curve in curves))
    if not len(values):
        return 0.0, 1.0
    lower, upper = float(values.min()), float(values.max())
    reach = max(upper - lower, 0.5 * max(abs(lower), abs(upper)))
    bounds = _finite(*(bound for pair in _bounds(curves) for bound in pair if bound is not None))
    near = bounds[(bounds >= lower - reach) & (bounds <= upper + reach)]
    lower, upper = min(lower, *near, lower), max(upper, *near, upper)
    space = max(0.08 * (upper - lower), 1e-4)  # no digits of rounding errors
    return lower - space, upper + space


def _finite(*arrays: Array) -> Array:
    values = np.concatenate([np.zeros(0), *arrays])
    return values[np.isfinite(values)]


def draw_balance(figure: Figure, balances: Mapping[str, BalanceSeries]) -> None:
    """Draw paths of CoM, ZMP and capture point over the support polygons, seen from above; one panel a character."""
    figure.set_size_inches(6.5 * len(balances) + 1.5, 6.0)
    for axes, (name, balance) in zip(
        figure.subplots(1, len(balances), squeeze=False)[0], balances.items(), strict=True
    ):
        for polygon in _distinct_polygons(balance.polygons):
            axes.fill(polygon[:, 0], polygon[:, 1], facecolor=_SUPPORT, edgecolor="#8a9a80", linewidth=0.8, alpha=0.6)
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
