"""Draw the four strategies side by side: `python examples/two_masses/compare.py --output two_masses.png`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parent))

from strategies import TARGET, StrategyRun, block_first, block_first_in_contact, integrated, lift_first  # noqa: E402

ONE, TWO, LIMIT = "#2a6fb0", "#d9851a", "#c23b22"


def main() -> None:
    """Run the strategies, print their results, and plot them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("two_masses.png"), help="picture to write: .png or .svg")
    output = parser.parse_args().output
    motions = [integrated(), lift_first(), block_first(), block_first_in_contact()]
    for motion in motions:
        gap = np.max(np.subtract(motion.block, motion.lift))
        print(
            f"{motion.title}: ends {1e3 * abs(motion.block[-1] - TARGET):.1f} mm from the target; largest effort "
            f"{max(motion.effort):.1f} N of {motion.limit:g} N; largest gap {1e3 * gap:.1f} mm"
        )
        if motion.conflict is not None:
            print(
                f"  within the limit: {motion.conflict.message}: " + ", ".join(c.row for c in motion.conflict.conflict)
            )
    draw(motions, output)


def draw(motions: list[StrategyRun], path: Path) -> None:
    """Plot heights above, efforts below."""
    figure = Figure(figsize=(12.0, 4.6), layout="constrained")
    rows = figure.subplots(2, len(motions), sharex=True, sharey="row")
    for heights, efforts, motion in zip(*rows, motions, strict=True):
        _draw_heights(heights, motion)
        _draw_effort(efforts, motion)
    rows[0, 0].set_ylabel("height [m]")
    rows[1, 0].set_ylabel("effort of the motor [N]")
    rows[0, 0].legend(fontsize=8, frameon=False, loc="lower right")
    rows[1, 0].legend(fontsize=8, frameon=False, loc="upper right")
    figure.savefig(path, dpi=100)


def _draw_heights(axes: Axes, motion: StrategyRun) -> None:
    axes.set_title(motion.title.replace(": ", "\n"), fontsize=10)
    axes.axhline(TARGET, color="#8a8a8a", linestyle=":", label="target of object 2")
    axes.plot(motion.time, motion.block, color=TWO, linewidth=2.5, label="object 2, no motor")
    axes.plot(motion.time, motion.lift, color=ONE, linewidth=1.2, label="object 1, with motor")
    gaps = np.subtract(motion.block, motion.lift)
    if gaps.max() > 1e-3:
        tick = int(np.argmax(gaps))
        place = (motion.time[tick], 0.5 * (motion.block[tick] + motion.lift[tick]))
        _annotate(axes, f"{1e3 * gaps.max():.0f} mm\nof air", place, (50, -30))
    if abs(motion.block[-1] - TARGET) > 1e-3:
        _annotate(axes, f"{1e3 * (TARGET - motion.block[-1]):.0f} mm short", (1.5, motion.block[-100]), (-20, -40))


def _draw_effort(axes: Axes, motion: StrategyRun) -> None:
    axes.axhline(motion.limit, color=LIMIT, linestyle="--", label="limit")
    axes.plot(motion.time, motion.effort, color=ONE)
    over = np.maximum(motion.effort, motion.limit)
    axes.fill_between(motion.time, motion.limit, over, color=LIMIT, alpha=0.4, linewidth=0)
    axes.set_xlabel("time [s]")
    axes.set_ylim(0.0, 66.0)
    if max(motion.effort) > 1.001 * motion.limit:
        _annotate(axes, f"{max(motion.effort):.0f} N", (motion.time[0], max(motion.effort)), (40, -8))


def _annotate(axes: Axes, text: str, place: tuple[float, float], offset: tuple[float, float]) -> None:
    """Add an arrow that points at a position; `offset` of the text from it [points]."""
    arrow = {"arrowstyle": "->", "color": LIMIT}
    axes.annotate(text, place, offset, textcoords="offset points", color=LIMIT, fontsize=9, arrowprops=arrow)


if __name__ == "__main__":
    main()
