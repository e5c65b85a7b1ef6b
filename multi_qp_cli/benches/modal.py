"""Benchmark of modal-space control: motions in its linear simulation by window, weights and pushes; times."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multi_qp_cli.benches.generator_times import measure_ticks, table_of
from multi_qp_cli.benches.result import BenchResult, BenchTable, Columns
from multi_qp_scene.errors import MultiQpError

if TYPE_CHECKING:
    from modal_control.control import ControlSettings
    from modal_control.linear_simulation import LinearRun, LinearSimulation
    from multi_qp_scene.scene import Scene

SUMMARY = "modal-space control: motions in its linear simulation, by window, weights and pushes; times"
#: Windows of [Jain2011]: walk, squat, swing, bar.
WINDOWS = (12, 16, 24, 36)


class _Pushes(NamedTuple):
    """Pushes of [Jain2011] on a motion [N], for some steps from a step on, and the step at which it has recovered."""

    forces: tuple[float, ...]
    steps: int
    at: int
    until: int


class Form(NamedTuple):
    """Where the simulation differs from that of the paper: see `LinearSimulation` and `ControlSettings`."""

    keep_momentum: bool
    unit_modes: bool
    low_window: int | None = None


class Case(NamedTuple):
    """Settings of a simulation: window, ω² below which a mode is low [1/s²], one of `VARIANTS`, and form."""

    window: int
    threshold: float
    weights: str
    form: Form

    def settings(self, planned: tuple[int, int] | None = None) -> ControlSettings:
        """Return the settings of the control, with the modes that are planned instead of the low ones."""
        from modal_control.control import ControlSettings
        from modal_control.rigid_plan import RigidWeights

        return ControlSettings(
            window=self.window,
            threshold=self.threshold,
            rigid=RigidWeights(**VARIANTS[self.weights]),
            planned=planned,
            unit_modes=self.form.unit_modes,
            low_window=self.form.low_window,
        )


#: By motion: at the bottom of the squat, in the middle of a step, at 6 s, at the top.
PUSHES = {
    "squat": _Pushes((75.0, 150.0, 250.0), 20, 216, 480),
    "walk": _Pushes((100.0, 135.0, 175.0), 10, 516, 760),
    "jump": _Pushes((), 10, 0, 530),
    "swing": _Pushes((75.0, 125.0, 175.0), 20, 720, 1140),
    "chin_up": _Pushes((75.0, 175.0), 20, 330, 660),
    "jump_to_swing": _Pushes((), 20, 0, 1560),
}
#: Settings by title, and the largest error of the base [m] at the end of a push that counts as recovered.
VARIANTS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "W3 = 0.001": {"force": 1e-3},
    "feed-forward": {"feed_forward": True},
}
RECOVERED = 0.1
#: Mass of the humanoid [kg].
MASS = 39.0
#: Mass of the bar of [Jain2011] [kg].
BAR = 30.0
#: Number of modes that are planned with `--first-mode`, as in Fig. 5 of [Jain2011].
PLANNED = 12
#: Scene jump_to_swing: height of its floor [m]; times of the jump and of the swing at which it goes over from one into
#: the other, and the duration of the blend [s].
JUMP_FLOOR, JUMP_TO_SWING, BLEND = 0.26, (2.5, 0.2), 0.5
DIRECTIONS = {"ahead": (1.0, 0.0), "back": (-1.0, 0.0), "left": (0.0, 1.0), "right": (0.0, -1.0)}


def add_options(group: Any) -> None:
    """Declare the options."""
    text = f"window in steps of 1/120 s; repeatable (default {', '.join(map(str, WINDOWS))})"
    group.add_argument("--window", action="append", type=int, metavar="STEPS", help=text)
    text = "motion of config/motions that is followed (default squat)"
    group.add_argument("--motion", choices=list(PUSHES), default="squat", help=text)
    text = "push on the torso; repeatable (default those of [Jain2011]); 0 for none"
    group.add_argument("--push", action="append", type=float, metavar="N", help=text)
    text = "ω² below which a mode is low [1/s²]; repeatable (default 100)"
    group.add_argument("--threshold", action="append", type=float, metavar="SQUARE", help=text)
    text = f"instead: first of {PLANNED} modes that are planned, after the rigid ones; repeatable"
    group.add_argument("--first-mode", action="append", type=int, metavar="K", help=text)
    text = "also with the stiffness of the joints from the motion, in a table of its own, without pushes"
    group.add_argument("--fit-stiffness", action="store_true", help=text)
    text = "pushes are those of a body of this mass: scaled to the same change of velocity [kg]"
    group.add_argument("--body-mass", type=float, metavar="KG", help=text)
    text = "velocities after a step keep the momentum, which in the paper changes with the pose"
    group.add_argument("--keep-momentum", action="store_true", help=text)
    text = "weights of low modes are on modes of length 1, as (2) of [Jain2011] suggests, instead of mass 1"
    group.add_argument("--unit-modes", action="store_true", help=text)
    text = "steps over which low modes are planned, if less than the window (default the window)"
    group.add_argument("--low-window", type=int, metavar="STEPS", help=text)
    text = f"instead: squat with a bar of {BAR:g} kg so far ahead of the torso; repeatable"
    group.add_argument("--bar-ahead", action="append", type=float, metavar="M", help=text)
    text = "simulated time of ticks of the controller in MuJoCo that are measured (default 3; 0 for none) [s]"
    group.add_argument("--tick-seconds", type=float, default=3.0, metavar="S", help=text)
    group.add_argument("--steps", type=int, help="steps of the motion (default all)")


def run(options: argparse.Namespace) -> BenchResult:
    """Track the squat with each window and all weights; then push it at its bottom."""
    motion, windows, form = options.motion, options.window or list(WINDOWS), form_of(options)
    pushes = scaled_pushes(options.push or PUSHES[motion].forces, options.body_mass)
    for window in windows:
        if not 1 <= window <= 120:
            raise MultiQpError(f"--window: expected 1 to 120 steps, got {window}")
    if options.steps is not None and not 1 <= options.steps <= 10_000:
        raise MultiQpError(f"--steps: expected 1 to 10000, got {options.steps}")
    thresholds = options.threshold or [100.0]
    if not all(0.0 <= threshold <= 1e9 for threshold in thresholds):
        raise MultiQpError("--threshold: expected 0 to 1e+09")
    if not (options.tick_seconds == 0.0 or 0.2 <= options.tick_seconds <= 12.0):
        raise MultiQpError(f"--tick-seconds: expected 0, or 0.2 to 12, got {options.tick_seconds:g}")
    if options.bar_ahead and not all(0.0 <= ahead <= 0.4 for ahead in options.bar_ahead):
        raise MultiQpError("--bar-ahead: expected 0 to 0.4 m")
    firsts = options.first_mode or []
    if not all(0 <= first <= 30 for first in firsts):
        raise MultiQpError("--first-mode: expected 0 to 30")

    def cases(squares: list[float], first_variant: int = 0) -> list[Case]:
        return [Case(*each, form) for each in itertools.product(windows, squares, list(VARIANTS)[first_variant:])]

    if options.bar_ahead:
        rows = [_with_bar(ahead, case, options.steps) for ahead in options.bar_ahead for case in cases([100.0])]
        return BenchResult([_bar_table(rows)], {"bar": rows})
    if firsts:
        rows = [_shifted(motion, case, first, options.steps) for case in cases([0.0], 1) for first in firsts]
        return BenchResult([_shift_table(motion, rows)], {"modes": rows})
    if options.fit_stiffness:
        found = {
            title: [_tracked(motion, case, options.steps, fit=fit) for case in cases(thresholds)]
            for fit, title in ((False, "stiffness by mass"), (True, "stiffness from the motion"))
        }
        return BenchResult([_tracking_table(motion, rows, f", {title}") for title, rows in found.items()], found)
    tracked = [_tracked(motion, case, options.steps) for case in cases(thresholds)]
    # as printed, the weights carry the body with a short window of the low modes only
    carrying = cases(thresholds, 0 if form.low_window else 1)
    pushed = [_pushed(motion, case, push, reaction) for case in carrying for reaction in (0.0, 0.2) for push in pushes]
    tables = [_tracking_table(motion, tracked)]
    if pushed:
        tables.append(_push_table(motion, pushed))
    ticks = _ticks(windows, options.tick_seconds) if options.tick_seconds else {}
    if ticks:
        note = "36 degrees of freedom, and that of the bar; torques alone. CPU time of the thread."
        tables.append(table_of("ticks of the controller with the generator modal", ticks, note))
    return BenchResult(tables, {"tracking": tracked, "pushes": pushed, "ticks": ticks})


def form_of(options: argparse.Namespace) -> Form:
    """Return the form of the simulation that the options ask for.

    Raises:
        MultiQpError: when a window is out of range.
    """
    low_window = options.low_window
    if low_window is not None and not 1 <= low_window <= 120:
        raise MultiQpError(f"--low-window: expected 1 to 120 steps, got {low_window}")
    return Form(options.keep_momentum, options.unit_modes, low_window)


def scaled_pushes(pushes: Iterable[float], body_mass: float | None) -> list[float]:
    """Return pushes on the humanoid that change its velocity as those on a body of another mass do; zeros left out [N].

    Raises:
        MultiQpError: when a push or the mass is out of range.
    """
    if body_mass is not None and not 1.0 <= body_mass <= 1000.0:
        raise MultiQpError("--body-mass: expected 1 to 1000 kg")
    if not all(0.0 <= push <= 1e4 for push in pushes):
        raise MultiQpError("--push: expected 0 to 10000 N")
    return [push * (MASS / body_mass if body_mass else 1.0) for push in pushes if push]


def _ticks(windows: list[int], seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """Return the times of the generator and of the whole tick by window."""
    return {
        f"{scene}, window {window}": measure_ticks(scene, seconds, _methods, {"window": float(window)})
        for scene in ("swing", "walk_motion")
        for window in windows
    }


def _methods(controller: Any) -> Iterator[tuple[str, Any, str]]:
    for generator in controller.generators.values():
        yield "generator", generator, "update"


def _simulation(
    name: str, case: Case, planned: tuple[int, int] | None = None, scene: Scene | None = None, *, fit: bool = False
) -> LinearSimulation:
    from modal_control.character import ModalCharacter
    from modal_control.linear_simulation import LinearSimulation
    from modal_control.reference import Reference
    from modal_control.reference_stiffness import fitted_springs, reference_torques
    from modal_control.transition import BlendedReference
    from multi_qp_scene.motions.reference import ReferenceMotion
    from multi_qp_scene.resources import find_resource
    from multi_qp_scene.scenario import load_scenario

    settings, keep = case.settings(planned), case.form.keep_momentum
    scene = scene or load_scenario("stand").scene
    jumps = name == "jump_to_swing"
    motion = ReferenceMotion.load(find_resource(f"config/motions/{'jump_to_bar' if jumps else name}.npz"))
    character = ModalCharacter(scene, [f"humanoid/{surface}" for surface in motion.surfaces], scene.q0)
    reference = Reference.of(motion, character, prefix="humanoid/", dt=settings.dt)
    if jumps:
        if fit:
            raise MultiQpError("--fit-stiffness: not with jump_to_swing, which has two motions")
        swing = ReferenceMotion.load(find_resource("config/motions/tucked_swing.npz"))
        following = Reference.of(swing, character, prefix="humanoid/", dt=settings.dt)
        for each in (reference, following):
            each.q[:, 2] -= JUMP_FLOOR
        at, begin = (round(time / settings.dt) for time in JUMP_TO_SWING)
        blended = BlendedReference(reference, following, at=at, begin=begin, blend=BLEND, dt=settings.dt)
        # the hands of a blend do not stay where they are
        return LinearSimulation(character, blended, settings, keep_momentum=keep, grasps_move_high_modes=True)
    if fit:
        torques = reference_torques(character, reference, settings.dt)
        character.stiffness[6:], character.rest = fitted_springs(reference.q[:, 7:], torques, character.stiffness[6:])
    return LinearSimulation(character, reference, settings, keep_momentum=keep)


def _tracked(motion: str, case: Case, steps: int | None, *, fit: bool = False) -> dict[str, Any]:
    simulation = _simulation(motion, case, fit=fit)
    simulation.run(steps=1)  # compiles
    began = thread_time()
    found = simulation.run(steps=steps)
    count = len(found.contact_forces)
    return {
        "motion": motion,
        "window": case.window,
        "threshold": case.threshold,
        "low_modes": simulation.low_modes(found.q),
        "weights": case.weights,
        "worst_m": found.worst,
        "fallen": found.fallen,
        "unsolved": len(found.unsolved),
        "step_ms": 1e3 * (thread_time() - began) / count,
        "parts_ms": {part: 1e3 * time / count for part, time in found.times.items()},
    }


def _shifted(motion: str, case: Case, first: int, steps: int | None) -> dict[str, Any]:
    """Return the errors with `PLANNED` modes from one on in place of the low ones."""
    found = _simulation(motion, case, (first, PLANNED)).run(steps=steps)
    return {
        "motion": motion,
        "window": case.window,
        "first": first,
        "weights": case.weights,
        "worst_m": found.worst,
        "turned_rad": float(found.turned.max()),
        "fallen": found.fallen,
    }


def _with_bar(ahead: float, case: Case, steps: int | None) -> dict[str, Any]:
    """Return how the squat with the bar ends; the model of the control has it, the motion was recorded without it."""
    from multi_qp_scene.scenario import load_scenario

    scene = load_scenario("squat", parameters={"bar.mass": BAR, "bar.ahead": ahead}).scene
    found = _simulation("squat", case, scene=scene).run(steps=steps)
    x, y, z, w = found.q[:, 3:7].T
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    return {
        "ahead_m": ahead,
        "window": case.window,
        "weights": case.weights,
        "fallen": found.fallen,
        "pitch_rad": float(pitch[-1]),
        "moved_m": float((found.q - found.wanted)[-1, 0]),
        "worst_m": found.worst,
    }


def _bar_table(rows: list[dict[str, Any]]) -> BenchTable:
    columns: Columns = {
        "ahead [cm]": lambda row: f"{100.0 * row['ahead_m']:.1f}",
        "window": lambda row: str(row["window"]),
        "weights": lambda row: row["weights"],
        "result": lambda row: "holds" if row["fallen"] is None else f"falls at {row['fallen'] / 120.0:.1f} s",
        "pitch at the end [rad]": lambda row: f"{row['pitch_rad']:.2f}",
        "base ahead of its reference [cm]": lambda row: f"{100.0 * row['moved_m']:.1f}",
        "largest error [cm]": lambda row: f"{100.0 * row['worst_m']:.1f}",
    }
    note = "At the end, or at the fall. [Jain2011]: with 12 steps it topples ahead, with 36 it leans back and holds."
    return BenchTable.of(f"squat with {BAR:g} kg, linear simulation", columns, rows, note)


def _shift_table(motion: str, rows: list[dict[str, Any]]) -> BenchTable:
    columns: Columns = {
        "window": lambda row: str(row["window"]),
        "weights": lambda row: row["weights"],
        "first planned mode": lambda row: str(row["first"]),
        "largest error of the base [cm]": lambda row: f"{100.0 * row['worst_m']:.1f}",
        "of its orientation [rad]": lambda row: f"{row['turned_rad']:.2f}",
        "falls": lambda row: "no" if row["fallen"] is None else f"step {row['fallen']}",
    }
    note = (
        f"{PLANNED} modes from this one on, after the rigid ones, are planned over the window, all others in one step."
    )
    return BenchTable.of(f"{motion}, linear simulation, as Fig. 5 of [Jain2011]", columns, rows, note)


def _pushed(motion: str, case: Case, push: float, reaction: float) -> dict[str, Any]:
    from modal_control.linear_simulation import Push

    simulation, recovered, pushes = _simulation(motion, case), {}, PUSHES[motion]
    for name, (x, y) in DIRECTIONS.items():
        force = Push("humanoid/torso", (push * x, push * y, 0.0), pushes.at, pushes.steps)
        recovered[name] = _recovered(simulation.run(pushes=(force,), reaction=reaction, steps=pushes.until))
    return {
        "window": case.window,
        "threshold": case.threshold,
        "weights": case.weights,
        "push_N": push,
        "reaction_s": reaction,
        "recovered": recovered,
    }


def _recovered(found: LinearRun) -> bool:
    return found.fallen is None and float(found.errors[-1]) < RECOVERED


def _tracking_table(motion: str, rows: list[dict[str, Any]], which: str = "") -> BenchTable:
    columns: Columns = {
        "window": lambda row: str(row["window"]),
        "low modes": lambda row: "{} to {}".format(*row["low_modes"]),
        "weights": lambda row: row["weights"],
        "largest error of the base [cm]": lambda row: f"{100.0 * row['worst_m']:.1f}",
        "falls": lambda row: "no" if row["fallen"] is None else f"step {row['fallen']}",
        "unsolved": lambda row: str(row["unsolved"]),
        "a step [ms]": lambda row: f"{row['step_ms']:.1f}",
        "modes": lambda row: f"{row['parts_ms']['modes']:.1f}",
        "forces, low modes": lambda row: f"{row['parts_ms']['plan']:.1f}",
        "contacts": lambda row: f"{row['parts_ms']['complementarity']:.1f}",
    }
    note = "[Jain2011] walks with a window of 12, squats with 16; a step is 8.33 ms. CPU time of the thread [ms]: "
    note += "linearisation and modes, forces and low modes of the window, complementarity problem."
    return BenchTable.of(f"{motion}, linear simulation{which}", columns, rows, note)


def _push_table(motion: str, rows: list[dict[str, Any]]) -> BenchTable:
    columns: Columns = {
        "window": lambda row: str(row["window"]),
        "weights": lambda row: row["weights"],
        "reaction [ms]": lambda row: f"{1e3 * row['reaction_s']:.0f}",
        "push [N]": lambda row: f"{row['push_N']:.0f}",
        "recovered from pushes": lambda row: ", ".join(k for k, good in row["recovered"].items() if good) or "none",
    }
    pushes = PUSHES[motion]
    note = f"{pushes.steps} steps on the torso from step {pushes.at}; recovered: within {100.0 * RECOVERED:.0f} cm at "
    note += f"step {pushes.until}. [Jain2011] recovers from all of its pushes after a reaction time of 200 ms."
    return BenchTable.of(f"{motion} with pushes, linear simulation", columns, rows, note)
