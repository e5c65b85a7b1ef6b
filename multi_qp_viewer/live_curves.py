"""Curves of a run on the page, while it runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import viser

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene
from multi_qp_viewer.curve_panels import BOUND, COLOURS, CurvePanel, panels_of
from multi_qp_viewer.curves import CURVE_KINDS, Curve, RunCurves, Series

logger = logging.getLogger(__name__)


#: Largest number of charts on the page.
MOST_CHARTS = 8
#: Largest number of ticks in a chart; of longer runs, every second, fourth, … tick is shown.
MOST_TICKS = 400
NONE = "none"
_HINT = "Names with wildcards, as of `multi-qp plot --curves`: force/left_* task"
_WIDTH, _HEIGHT = 430, 150  # of a chart [px]
_SHADE = "#6a8a6030"  # of the support, over the curves
_DIGITS = 5  # of values after the point: no digits of rounding errors


class CurveSource(Protocol):
    """Run whose curves are shown."""

    scene: Scene

    def __len__(self) -> int:
        """Return the number of ticks so far."""

    def series(self, ticks: slice) -> Series:
        """Return some of the ticks."""


class LiveCurves:
    """Widgets that choose curves by name, and their charts."""

    def __init__(self, server: viser.ViserServer, source: CurveSource, *, order: float) -> None:
        """Add the widgets; charts appear when curves are chosen.

        Args:
            server: of the page.
            source: of the curves.
            order: of the widgets in the panel.
        """
        self._server, self._source = server, source
        self._lock = threading.RLock()
        self._charts: list[_Chart] = []
        self._globs: list[str] = []
        self._next, self._stride = 0, 1  # the next tick to read, ticks between two that are shown
        self._time: Array = np.zeros(0)
        self._curves: dict[str, Curve] = {}
        self._window: viser.PanelHandle | None = None
        self._folder = server.gui.add_folder("Curves", order=order)
        with self._folder:
            names = RunCurves(source.scene, source.series(slice(0, 0))).names
            kinds = [
                kind for kind in CURVE_KINDS if kind == "task" or any(name.startswith(f"{kind}/") for name in names)
            ]
            panels = dict.fromkeys(name.rsplit("/", 1)[0] for name in names if name.count("/") > 1)
            self._choice = server.gui.add_dropdown("Show", [NONE, *kinds, *panels], initial_value=NONE)
            self._text = server.gui.add_text("By name", "", hint=_HINT)
            self._message = server.gui.add_markdown("")
        self._choice.on_update(lambda event: self._take_choice(event.target.value))
        self._text.on_update(lambda event: self.choose(event.target.value.split()))

    def choose(self, globs: Sequence[str]) -> None:
        """Show the curves that match patterns; if there is none, or a pattern matches none, a message says so."""
        with self._lock:
            self._globs = list(globs)
            self._begin()
            self.update()

    def show(self, source: CurveSource) -> None:
        """Show the same curves of another run."""
        with self._lock:
            self._source = source
            self._begin()

    def remove(self) -> None:
        """Remove widgets and charts."""
        with self._lock:
            self._folder.remove()
            self._remove_charts()

    def update(self) -> None:
        """Append the ticks since the last call."""
        with self._lock:
            ticks = len(self._source)
            if not self._globs or ticks <= self._next:
                return
            while ticks > self._stride * MOST_TICKS:
                self._stride *= 2
                self._time, self._curves = self._time[::2], {n: _changed(c, _halved) for n, c in self._curves.items()}
                self._next = len(self._time) * self._stride
            series = self._source.series(slice(self._next, ticks, self._stride))
            self._next += len(series.time) * self._stride
            self._append(RunCurves(self._source.scene, series), series.time)

    def _take_choice(self, choice: str) -> None:
        name = "" if choice == NONE else choice if choice in CURVE_KINDS else f"{choice}/*"
        self._text.value = name  # type: ignore[misc]  # viser hides the setter

    def _begin(self) -> None:
        """Discard all ticks."""
        self._next, self._stride, self._time, self._curves = 0, 1, np.zeros(0), {}
        self._remove_charts()
        self._message.content = ""

    def _append(self, curves: RunCurves, time: Array) -> None:
        """Append curves of further ticks, and draw."""
        names, message = [], ""
        try:
            names = curves.match(self._globs)
        except MultiQpError as error:
            message = str(error)
        before = len(self._time)
        self._time = np.concatenate([self._time, time])
        for name in names:
            new = curves.curve(name)
            old = self._curves.get(name) or _empty(new, before)
            self._curves[name] = _joined(old, new)
        for name in self._curves.keys() - set(names):
            self._curves[name] = _joined(self._curves[name], _empty(self._curves[name], len(time)))
        panels = panels_of(list(self._curves.values()))
        if len(panels) > MOST_CHARTS:
            message = f"{MOST_CHARTS} of {len(panels)} charts are shown; name fewer curves."
        self._message.content = _plain(message)
        self._draw(panels[:MOST_CHARTS])

    def _draw(self, shown: Sequence[CurvePanel]) -> None:
        if [chart.shape for chart in self._charts] != [_Chart.shape_of(panel) for panel in shown]:
            self._remove_charts()
            if shown:
                self._window = self._server.gui.add_panel()
                self._window.dock_left()
                self._window.set_width(_WIDTH)
                with self._window.add_tab("Curves", viser.Icon.CHART_LINE):
                    self._charts = [_Chart(self._server, panel) for panel in shown]
        for chart, panel in zip(self._charts, shown, strict=True):
            chart.draw(self._time, panel)

    def _remove_charts(self) -> None:
        self._charts = []
        if self._window is not None:
            self._window.remove()
            self._window = None


class _Chart:
    """Chart of a panel.

    Attributes:
        shape: what is constant in it: title, labels, and which curves have gaps.
    """

    def __init__(self, server: viser.ViserServer, panel: CurvePanel) -> None:
        self.shape = self.shape_of(panel)
        series: list[Any] = [viser.uplot.Series(label="t [s]")]
        for k, curve in enumerate(panel.curves):
            series.append(_style(curve.label or "value", COLOURS[k % len(COLOURS)], gaps=_has_gaps(curve.values)))
        bands = []
        for lower, upper in panel.bounds:
            if panel.is_support and lower is not None and upper is not None:
                bands.append(viser.uplot.Band(series=(len(series) + 1, len(series)), fill=_SHADE))
            names = ("support from", "to") if panel.is_support else ("lower limit", "upper limit")
            for label, bound in zip(names, (lower, upper), strict=True):
                if bound is not None:
                    series.append(_style(label, BOUND, gaps=_has_gaps(bound), dash=True))
        self._count = len(series)
        self._plot = server.gui.add_uplot(
            tuple(np.zeros(2) for _ in series),
            tuple(series),
            title=f"{panel.name} [{panel.unit}]" + (f" within {panel.limits.strip()}" if panel.limits else ""),
            bands=tuple(bands),
            legend=viser.uplot.Legend(show=panel.has_legend, markers=viser.uplot.Legend_Markers(width=2)),
            height=_HEIGHT,
        )
        self._range = np.nan, np.nan

    @staticmethod
    def shape_of(panel: CurvePanel) -> tuple[Any, ...]:
        """Return what is constant in a chart."""
        bounds = tuple(None if bound is None else _has_gaps(bound) for pair in panel.bounds for bound in pair)
        curves = tuple((curve.label, _has_gaps(curve.values)) for curve in panel.curves)
        return panel.name, panel.unit, panel.limits, bounds, curves

    def draw(self, time: Array, panel: CurvePanel) -> None:
        """Show the present values; bounds far from the values are left out."""
        lowest, highest = panel.shown_range
        rows = [time, *(np.round(curve.values, _DIGITS) for curve in panel.curves)]
        for bound in (bound for pair in panel.bounds for bound in pair if bound is not None):
            rows.append(np.where((bound >= lowest) & (bound <= highest), bound, np.nan))
        assert len(rows) == self._count
        self._fit(lowest, highest)
        self._plot.data = tuple(rows)

    def _fit(self, lowest: float, highest: float) -> None:
        """Set the range of the ordinate, if the present one is too small or far too large: a change resets a zoom.

        uPlot finds no range of values of which some are NaN.
        """
        lower, upper = self._range
        if lower <= lowest and highest <= upper and upper - lower < 4.0 * (highest - lowest):
            return
        space = 0.15 * (highest - lowest)
        self._range = lowest - space, highest + space
        self._plot.scales = {"x": viser.uplot.Scale(time=False), "y": viser.uplot.Scale(range=self._range)}


def _style(label: str, colour: str, *, gaps: bool, dash: bool = False) -> viser.uplot.Series:
    """Return the style of a curve: a line, or dots where it has gaps, which uPlot would bridge by lines."""
    if not gaps:
        none, pattern = viser.uplot.Series_Points(show=False), (4.0, 4.0) if dash else ()
        return viser.uplot.Series(label=label, stroke=colour, width=1 if dash else 1.5, dash=pattern, points=none)
    dots = viser.uplot.Series_Points(show=True, size=2.5, width=0, fill=colour)
    return viser.uplot.Series(label=label, stroke=colour, width=0, points=dots)


def _has_gaps(values: Array) -> bool:
    """Whether values are missing between others."""
    present = np.flatnonzero(np.isfinite(values))
    return len(present) > 0 and bool(present[-1] - present[0] >= len(present))


def _changed(curve: Curve, change: Callable[[Array], Array]) -> Curve:
    """Return a curve with its values and bounds changed."""
    lower = None if curve.lower is None else change(curve.lower)
    upper = None if curve.upper is None else change(curve.upper)
    return replace(curve, values=change(curve.values), lower=lower, upper=upper)


def _halved(array: Array) -> Array:
    return array[::2]


def _empty(curve: Curve, ticks: int) -> Curve:
    """Return a curve of as many ticks, without values."""
    return _changed(curve, lambda _: np.full(ticks, np.nan))


def _joined(first: Curve, second: Curve) -> Curve:
    """Return a curve of the ticks of both."""
    lower = None if first.lower is None or second.lower is None else np.concatenate([first.lower, second.lower])
    upper = None if first.upper is None or second.upper is None else np.concatenate([first.upper, second.upper])
    return replace(second, values=np.concatenate([first.values, second.values]), lower=lower, upper=upper)


def _plain(text: str) -> str:
    """Return a text without markup of Markdown and HTML."""
    return "".join(f"&#{ord(c)};" if c in "<>&*_`[]()#!|\\$:/" else c for c in text)
