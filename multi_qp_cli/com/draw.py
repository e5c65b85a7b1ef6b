"""Plots of a centre-of-mass trajectory: top view, position over time, and constraint margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from com_trajectory.trajectory import ComTrajectory, Validity


def draw(trajectory: ComTrajectory, valid: Validity, title: str) -> Any:
    """Return a matplotlib figure of a trajectory."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 8.0), layout="constrained")
    axes = figure.subplot_mosaic([["above", "above"], ["place", "margin"]], height_ratios=[1.2, 1.0])
    _from_above(axes["above"], trajectory, valid)
    times = valid.times
    place = trajectory.position(times)
    for k, (name, color) in enumerate(zip("xyz", ("tab:red", "tab:green", "tab:blue"), strict=True)):
        axes["place"].plot(times, place[:, k], color=color, label=name)
        axes["place"].plot(times, trajectory.velocity(times)[:, k], color=color, ls=":", lw=1)
    axes["place"].set(xlabel="time [s]", ylabel="position [m], dotted: velocity [m/s]")
    axes["place"].legend(loc="upper left")
    margin = np.clip(valid.margin, -0.2, 0.3)
    axes["margin"].plot(times, margin, color="tab:purple", label="inside the equilibrium region [m]")
    axes["margin"].plot(times, -valid.reach, color="tab:brown", label="violation of the reach [m], downwards")
    broken = valid.wrench > 1e-6
    axes["margin"].scatter(times[broken], np.zeros(broken.sum()), s=8, color="red", label="(1) violated", zorder=3)
    axes["margin"].axhline(0.0, color="black", lw=0.8)
    axes["margin"].set(xlabel="time [s]")
    axes["margin"].legend(loc="upper left", fontsize=8)
    for name in ("place", "margin"):
        for end in trajectory.phase_ends[:-1]:
            axes[name].axvline(end, color="0.8", lw=0.8, zorder=0)
    figure.suptitle(f"{title}: {trajectory.method}, {trajectory.duration:.1f} s")
    return figure


def _from_above(axes: Any, trajectory: ComTrajectory, valid: Validity) -> None:
    from matplotlib import colormaps

    seen = set()
    colors = colormaps["viridis"](np.linspace(0.0, 0.9, len(trajectory.phases)))
    for phase, color in zip(trajectory.phases, colors, strict=True):
        region = phase.region
        if region.bounded and len(region.corners) > 2:
            axes.fill(*region.corners.T, color=color, alpha=0.10, lw=0.8, ec=color)
        for contact in phase.phase.contacts:
            if contact.name in seen:
                continue
            seen.add(contact.name)
            points = contact.points_in_world[:, :2]
            if len(points) > 1:
                axes.fill(*points.T, fill=False, ec="0.3", lw=1.2)
            axes.annotate(contact.name, points.mean(axis=0), fontsize=6, ha="center", va="center", color="0.3")
    place = trajectory.position(valid.times)
    satisfied = valid.wrench <= 1e-6
    axes.plot(*place[:, :2].T, color="0.5", lw=1)
    axes.scatter(*place[satisfied, :2].T, s=4, color="tab:blue", label="centre of mass")
    if not satisfied.all():
        axes.scatter(*place[~satisfied, :2].T, s=6, color="red", label="(1) violated")
    points = np.array([found.point for found in trajectory.transitions]).reshape(-1, 3)
    axes.scatter(*points[:, :2].T, marker="x", color="black", s=30, label="transition points")
    axes.set_aspect("equal")
    axes.set(xlabel="x [m]", ylabel="y [m]", title="top view: contacts, equilibrium regions (early dark, late light)")
    axes.legend(loc="upper left", fontsize=8)
