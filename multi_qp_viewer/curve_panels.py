"""Panels of curves that share axes: their bounds, range and colours, for figures and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_viewer.curves import Curve

#: Colour-blind safe [Okabe, Ito], in the order of use.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
BOUND, SUPPORT = "#c23b22", "#dfe6dc"


@dataclass(frozen=True)
class CurvePanel:
    """Curves of one panel and unit.

    Attributes:
        name: of the panel.
        unit: of the values.
        curves: at least one.
    """

    name: str
    unit: str
    curves: Sequence[Curve]

    @property
    def is_support(self) -> bool:
        """Whether lower and upper bound are the extent of a support polygon."""
        return self.name.startswith("balance/")

    @property
    def has_legend(self) -> bool:
        """Whether the curves have labels."""
        return any(curve.label for curve in self.curves)

    @property
    def bounds(self) -> list[tuple[Array | None, Array | None]]:
        """Bounds of the curves without repetition."""
        distinct: dict[tuple[bytes, ...], tuple[Array | None, Array | None]] = {}
        for curve in self.curves:
            pair = curve.lower, curve.upper
            distinct.setdefault(tuple(b"" if b is None else b.tobytes() for b in pair), pair)
        return list(distinct.values())

    @property
    def limits(self) -> str:
        """Constant bounds of a single curve as text: they may be outside of what is drawn."""
        bounds = [b for b in (self.curves[0].lower, self.curves[0].upper) if b is not None and np.isfinite(b).any()]
        if len(self.curves) > 1 or len(bounds) < 2 or any(np.ptp(_finite(b)) > 0.0 for b in bounds):
            return ""
        return "   [{:.4g}, {:.4g}]".format(*(_finite(b)[0] for b in bounds))

    @property
    def shown_range(self) -> tuple[float, float]:
        """Limits of the ordinate: all values, and bounds that are not much farther than the values reach."""
        values = _finite(*(curve.values for curve in self.curves))
        if not len(values):
            return 0.0, 1.0
        lower, upper = float(values.min()), float(values.max())
        reach = max(upper - lower, 0.5 * max(abs(lower), abs(upper)))
        bounds = _finite(*(bound for pair in self.bounds for bound in pair if bound is not None))
        near = bounds[(bounds >= lower - reach) & (bounds <= upper + reach)]
        lower, upper = min(lower, *near, lower), max(upper, *near, upper)
        space = max(0.08 * (upper - lower), 1e-4)  # no digits of rounding errors
        return lower - space, upper + space


def panels_of(curves: Sequence[Curve]) -> list[CurvePanel]:
    """Return the panels of curves, in the order of their first curves."""
    panels: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        panels.setdefault((curve.panel, curve.unit), []).append(curve)
    return [CurvePanel(name, unit, together) for (name, unit), together in panels.items()]


def _finite(*arrays: Array) -> Array:
    values = np.concatenate([np.zeros(0), *arrays])
    return values[np.isfinite(values)]
