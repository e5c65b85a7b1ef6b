"""Edits and pushes of [Jain2011] on the walk in the linear simulation, with steps that move with the feet."""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from multi_qp_cli.benches.modal import DIRECTIONS, PUSHES, RECOVERED, Case, form_of, scaled_pushes
from multi_qp_cli.benches.modal_runs import EDITS, LINK
from multi_qp_cli.benches.result import BenchResult, BenchTable, Columns
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.modal import ModalSpec

if TYPE_CHECKING:
    from modal_control.linear_simulation import LinearSimulation

SUMMARY = "modal-space control in its linear simulation: edits and pushes of the paper on the walk; options of modal"
#: Window of [Jain2011], and the weights with which the walk is tracked.
WINDOW, WEIGHTS = 12, "W3 = 0.001"
#: Steps after the end of the motion at which a run ends.
AFTER = 60


def add_options(group: Any) -> None:
    """Declare the options; the others, as --window and --push, are those of `modal`."""
    text = "edit of the walk instead of all, e.g. 'slope 3°'; 'none' for the walk itself; repeatable"
    group.add_argument("--edit", action="append", choices=["none", *EDITS], help=text)


def run(options: argparse.Namespace) -> BenchResult:
    """Walk with each edit, and with pushes in four directions, without delay and with the reaction time."""
    pushes = scaled_pushes(PUSHES["walk"].forces if options.push is None else options.push, options.body_mass)
    edits: dict[str, tuple[dict[str, float], float]] = {"none": ({}, 0.0), **EDITS}
    titles = options.edit or ([*edits] if options.push is None else [])
    scale = scaled_pushes([1.0], options.body_mass)[0]
    form = form_of(options)
    rows: list[dict[str, Any]] = []
    for window, threshold in itertools.product(options.window or [WINDOW], options.threshold or [100.0]):
        case = Case(window, threshold, WEIGHTS, form)
        common: dict[str, Any] = {"window": window, "threshold": threshold, **form._asdict()}
        for title in titles:
            changes, push = edits[title]
            simulation = walk(changes, case)
            for reaction in (0.0, 0.2) if push else (0.0,):
                rows.append({"case": title} | common | _ran(simulation, (-scale * push, 0.0), reaction, options.steps))
        if options.edit:
            continue
        simulation = walk({}, case)
        for reaction, push in itertools.product((0.0, 0.2), pushes):
            for name, (x, y) in DIRECTIONS.items():
                found = _ran(simulation, (push * x, push * y), reaction, options.steps)
                rows.append({"case": f"{push:.0f} N {name}"} | common | found)
    if not rows:
        raise MultiQpError("modal-edits: nothing to run; --push 0 needs an --edit")
    return BenchResult([_table(rows)], {"edits": rows})


def walk(changes: dict[str, float], case: Case) -> LinearSimulation:
    """Return the simulation of the scene `walk_motion` with changed parameters."""
    from modal_control.character import ModalCharacter
    from modal_control.linear_simulation import LinearSimulation
    from modal_control.moving_reference import MovingReference
    from multi_qp_scene.scenario import load_scenario

    scenario = load_scenario("walk_motion", parameters={"cycles": 1.0, "window": float(case.window)} | changes)
    scene, spec = scenario.scene, scenario.spec.states["walk"].generators["walk"]
    if not isinstance(spec, ModalSpec):
        raise MultiQpError("scene walk_motion: expected a generator of type modal")
    floor = scene.model.frames[scene.surfaces["ground/floor"].frame_id].placement.rotation
    character = ModalCharacter(scene, [f"humanoid/{surface}" for surface in spec.contacts], scene.q0, ground=floor)
    reference = MovingReference("walk", spec, scenario, character)
    return LinearSimulation(character, reference, case.settings(), keep_momentum=case.form.keep_momentum)


def _ran(simulation: LinearSimulation, push: tuple[float, float], reaction: float, steps: int | None) -> dict[str, Any]:
    """Return the figures of one run with a push (x, y) [N] in the middle of a step."""
    from modal_control.linear_simulation import Push

    own = PUSHES["walk"]
    pushes = (Push(LINK, (*push, 0.0), own.at, own.steps),) if any(push) else ()
    count = len(simulation.reference) + AFTER
    found = simulation.run(pushes=pushes, reaction=reaction, steps=min(count, steps or count))
    upright = 1.0 - 2.0 * np.sum(found.q[:, 3:5] ** 2, axis=1)
    return {
        "reaction_s": reaction,
        "recovered": found.fallen is None and float(found.errors[-1]) < RECOVERED,
        "fallen": found.fallen,
        "worst_m": found.worst,
        "end_m": float(found.errors[-1]),
        "tilt_rad": float(np.arccos(np.clip(upright, -1.0, 1.0)).max()),
        "moved_m": float(np.linalg.norm(found.q[-1, :2] - found.q[0, :2])),
        "unsolved": len(found.unsolved),
    }


def _table(rows: list[dict[str, Any]]) -> BenchTable:
    columns: Columns = {
        "case": lambda row: row["case"],
        "window": lambda row: str(row["window"]),
        "threshold": lambda row: f"{row['threshold']:g}",
        "reaction [ms]": lambda row: f"{1e3 * row['reaction_s']:.0f}",
        "recovers": lambda row: "yes" if row["recovered"] else "no",
        "falls": lambda row: "no" if row["fallen"] is None else f"{row['fallen'] / 120.0:.1f} s",
        "largest error of the base [cm]": lambda row: f"{100.0 * row['worst_m']:.1f}",
        "tilt [rad]": lambda row: f"{row['tilt_rad']:.2f}",
        "distance [m]": lambda row: f"{row['moved_m']:.2f}",
    }
    note = f"{WEIGHTS}; scene walk_motion, one cycle; errors against the motion with the present footholds. Pushes: "
    note += f"{PUSHES['walk'].steps} steps on the torso from step {PUSHES['walk'].at}; recovered: within "
    note += f"{100.0 * RECOVERED:.0f} cm at the end."
    return BenchTable.of("walk with steps that move with the feet, linear simulation", columns, rows, note)
