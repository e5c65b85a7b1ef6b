"""Benchmark of modal-space control in its linear simulation: a squat by window and weights, and pushes."""

from __future__ import annotations

import argparse
from time import thread_time
from typing import TYPE_CHECKING, Any

from multi_qp_cli.benches.result import BenchResult, BenchTable
from multi_qp_scene.errors import MultiQpError

if TYPE_CHECKING:
    from modal_control.linear_simulation import LinearRun, LinearSimulation

SUMMARY = "modal-space control: a squat in its linear simulation, by window, weights and pushes"
#: Windows of [Jain2011]: walk, squat, swing, bar.
WINDOWS = (12, 16, 24, 36)
#: Pushes of its squat [N], for 20 steps; they begin at this step, at the bottom of the squat.
PUSHES, PUSHED_STEPS, PUSHED_AT = (75.0, 150.0, 250.0), 20, 216
#: Settings by title, and the largest error of the base [m] at the end of a push that counts as recovered.
VARIANTS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "W3 = 0.001": {"force": 1e-3},
    "feed-forward": {"feed_forward": True},
}
RECOVERED = 0.1
_DIRECTIONS = {"ahead": (1.0, 0.0), "back": (-1.0, 0.0), "left": (0.0, 1.0), "right": (0.0, -1.0)}


def add_options(group: Any) -> None:
    """Declare the options."""
    text = f"window in steps of 1/120 s; repeatable (default {', '.join(map(str, WINDOWS))})"
    group.add_argument("--window", action="append", type=int, metavar="STEPS", help=text)
    text = "push on the torso; repeatable (default 75, 150, 250); 0 for none"
    group.add_argument("--push", action="append", type=float, metavar="N", help=text)
    text = "ω² below which a mode is low [1/s²]; repeatable (default 100)"
    group.add_argument("--threshold", action="append", type=float, metavar="SQUARE", help=text)
    group.add_argument("--steps", type=int, help="steps of the motion (default all)")


def run(options: argparse.Namespace) -> BenchResult:
    """Track the squat with each window and all weights; then push it at its bottom."""
    windows, pushes = options.window or list(WINDOWS), [push for push in options.push or PUSHES if push]
    for window in windows:
        if not 1 <= window <= 120:
            raise MultiQpError(f"--window: expected 1 to 120 steps, got {window}")
    if not all(0.0 < push <= 1e4 for push in pushes):
        raise MultiQpError("--push: expected 0 to 10000 N")
    if options.steps is not None and not 1 <= options.steps <= 10_000:
        raise MultiQpError(f"--steps: expected 1 to 10000, got {options.steps}")
    thresholds = options.threshold or [100.0]
    if not all(0.0 <= threshold <= 1e9 for threshold in thresholds):
        raise MultiQpError("--threshold: expected 0 to 1e+09")
    tracked = [
        _tracked(window, threshold, variant, options.steps)
        for window in windows
        for threshold in thresholds
        for variant in VARIANTS
    ]
    pushed = [
        _pushed(window, threshold, variant, push, reaction)
        for window in windows
        for threshold in thresholds
        for variant in list(VARIANTS)[1:]
        for reaction in (0.0, 0.2)
        for push in pushes
    ]
    tables = [_tracking_table(tracked)]
    if pushed:
        tables.append(_push_table(pushed))
    return BenchResult(tables, {"tracking": tracked, "pushes": pushed})


def _simulation(window: int, threshold: float, variant: str) -> LinearSimulation:
    from modal_control.character import Character
    from modal_control.control import ControlSettings
    from modal_control.linear_simulation import LinearSimulation
    from modal_control.reference import Reference
    from modal_control.rigid_plan import RigidWeights
    from multi_qp_scene.motions.reference import ReferenceMotion
    from multi_qp_scene.resources import find_resource
    from multi_qp_scene.scenario import load_scenario

    settings = ControlSettings(window=window, threshold=threshold, rigid=RigidWeights(**VARIANTS[variant]))
    scene = load_scenario("stand").scene
    character = Character(scene, ["humanoid/left_sole", "humanoid/right_sole"], scene.q0)
    motion = ReferenceMotion.load(find_resource("config/motions/squat.npz"))
    return LinearSimulation(character, Reference.of(motion, character, prefix="humanoid/", dt=settings.dt), settings)


def _tracked(window: int, threshold: float, variant: str, steps: int | None) -> dict[str, Any]:
    simulation = _simulation(window, threshold, variant)
    simulation.run(steps=1)  # compiles
    began = thread_time()
    found = simulation.run(steps=steps)
    return {
        "window": window,
        "threshold": threshold,
        "low_modes": simulation.low_modes(found.q),
        "weights": variant,
        "worst_m": found.worst,
        "fallen": found.fallen,
        "unsolved": len(found.unsolved),
        "step_ms": 1e3 * (thread_time() - began) / len(found.contact_forces),
    }


def _pushed(window: int, threshold: float, variant: str, push: float, reaction: float) -> dict[str, Any]:
    from modal_control.linear_simulation import Push

    simulation, recovered = _simulation(window, threshold, variant), {}
    for name, (x, y) in _DIRECTIONS.items():
        force = Push("humanoid/torso", (push * x, push * y, 0.0), PUSHED_AT, PUSHED_STEPS)
        recovered[name] = _recovered(simulation.run(pushes=(force,), reaction=reaction))
    return {
        "window": window,
        "threshold": threshold,
        "weights": variant,
        "push_N": push,
        "reaction_s": reaction,
        "recovered": recovered,
    }


def _recovered(found: LinearRun) -> bool:
    return found.fallen is None and float(found.errors[-1]) < RECOVERED


def _tracking_table(rows: list[dict[str, Any]]) -> BenchTable:
    lines = [
        [
            str(row["window"]),
            "{} to {}".format(*row["low_modes"]),
            row["weights"],
            f"{100.0 * row['worst_m']:.1f}",
            "no" if row["fallen"] is None else f"step {row['fallen']}",
            str(row["unsolved"]),
            f"{row['step_ms']:.1f}",
        ]
        for row in rows
    ]
    columns = ("window", "low modes", "weights", "largest error of the base [cm]", "falls", "unsolved", "a step [ms]")
    note = "[Jain2011] tracks its squat with a window of 16; a step is 8.33 ms. CPU time of the thread, compiled."
    return BenchTable("squat, linear simulation", columns, lines, note)


def _push_table(rows: list[dict[str, Any]]) -> BenchTable:
    lines = [
        [
            str(row["window"]),
            row["weights"],
            f"{1e3 * row['reaction_s']:.0f}",
            f"{row['push_N']:.0f}",
            ", ".join(name for name, good in row["recovered"].items() if good) or "none",
        ]
        for row in rows
    ]
    note = f"20 steps on the torso at the bottom; recovered: within {100.0 * RECOVERED:.0f} cm at the end. "
    note += "[Jain2011] recovers from 75 to 250 N after a reaction time of 200 ms, with a person of unstated mass."
    columns = ("window", "weights", "reaction [ms]", "push [N]", "recovered from pushes")
    return BenchTable("squat with pushes, linear simulation", columns, lines, note)
