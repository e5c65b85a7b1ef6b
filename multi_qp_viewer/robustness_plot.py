"""Plots of `multi-qp robustness`: success rate by scene, slip and force errors; largest push by direction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure


def plot_robustness(path: Path, results: dict[str, dict[str, Any]]) -> None:
    """Plot success rate, worst slip of each run and error of the predicted forces, one row per scene.

    Args:
        path: output file, .png or .svg.
        results: `robustness.statistics` by scene.
    """
    names = list(results)
    figure = Figure(figsize=(11, 1.6 + 0.4 * len(names)))
    rate, slip, forces = figure.subplots(1, 3, sharey=True)
    rows = range(len(names))
    rate.barh(rows, [100.0 * results[name]["success_rate"] for name in names], color="#3b6ea5")
    rate.set(xlim=(0, 100), xlabel="runs that succeeded [%]", yticks=list(rows), yticklabels=names)
    rate.invert_yaxis()
    for row, name in enumerate(names):
        for run in results[name]["each"]:
            color = "#3b6ea5" if run["succeeded"] else "#c0392b"
            slip.plot(max(run["slip"] * 1e3, 1e-3), row, "o", color=color, alpha=0.5, markersize=4)
        for phase, marker in (("static", "o"), ("moving", "s"), ("change", "^")):
            value = results[name]["forces"][phase]
            if value is not None:
                label = phase if row == 0 else None
                forces.plot(100.0 * value, row, marker, color="#444444", label=label, markersize=5)
    slip.set(xscale="log", xlim=(0.03, 300.0), xlabel="worst slip of a contact [mm]")
    forces.set(xscale="log", xlim=(0.1, 100.0), xlabel="predicted off simulated forces, RMS [%]")
    forces.axvline(10.0, color="#999999", linewidth=1, linestyle="--")
    forces.legend(fontsize=7, frameon=False)
    for axes in (rate, slip, forces):
        axes.grid(axis="x", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def plot_pushes(path: Path, found: dict[str, list[dict[str, float | None]]]) -> None:
    """Plot the largest push withstood by direction, one line per scene; 0° is forward (world x), 90° left.

    Args:
        path: output file, .png or .svg.
        found: direction [deg] and force [N] by scene; a force is None where its search was lost.
    """
    figure = Figure(figsize=(5, 5))
    axes: Any = figure.add_subplot(projection="polar")
    for name, pushes in found.items():
        angles = np.radians(np.array([push["direction_deg"] for push in pushes], dtype=float))
        forces = np.array([push["force_n"] for push in pushes], dtype=float)  # None becomes NaN, a gap in the line
        axes.plot([*angles, angles[0]], [*forces, forces[0]], "o-", label=name)
    axes.set_theta_zero_location("N")
    axes.set_ylim(bottom=0.0)
    axes.set_title("largest push of 0.1 s withstood [N]", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
