"""Pushes and edits of [Jain2011] on the scenes of modal-space control, in the QP."""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pinocchio as pin

from multi_qp_cli.benches.result import BenchResult, BenchTable, Columns
from multi_qp_cli.output import Console
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.modal import ModalSpec

if TYPE_CHECKING:
    from multi_qp_scene.scenario import Scenario
    from multi_qp_scene.schema.states import StateSpec
    from multi_qp_simulator.runner import RunResult

SUMMARY = "modal-space control in the QP: pushes and edits of the paper on walk and squat, by backend"
LINK = "humanoid/torso"
DIRECTIONS = {"ahead": (1.0, 0.0), "left": (0.0, 1.0), "back": (-1.0, 0.0), "right": (0.0, -1.0)}
#: Largest tilt of the trunk of a robot that stands at the end [rad].
UPRIGHT = 0.35


class _Scene(NamedTuple):
    """Pushes of [Jain2011] on a scene [N], their duration [s], when they act [s], and parameters of the scene."""

    forces: tuple[float, ...]
    duration: float
    at: float
    parameters: dict[str, float]


class _Case(NamedTuple):
    """One run: its title, parameters of the scene, and a push [N] with its direction."""

    title: str
    parameters: dict[str, float]
    force: float
    direction: str


SCENES = {
    "squat": _Scene((75.0, 150.0, 250.0), 20 / 120, 1.8, {}),
    "walk_motion": _Scene((100.0, 135.0, 175.0), 10 / 120, 4.3, {"cycles": 1.0}),
}
#: Edits of the walk of [Jain2011] by title, and the force of a push to the back [N].
EDITS: dict[str, tuple[dict[str, float], float]] = {
    "slope 3°": ({"slope": 3.0}, 0.0),
    "slope -5°": ({"slope": -5.0}, 0.0),
    "stride +10 cm": ({"stride": 0.1}, 0.0),
    "stride -15 cm": ({"stride": -0.15}, 0.0),
    "speed +10 %, stride +15 cm": ({"speed": 1.1, "stride": 0.15}, 0.0),
    "175 N back, for 1 s slower by 25 %": ({"slow_down": 0.75}, 175.0),
    "250 N back": ({}, 250.0),
    "250 N back, for 1 s slower by 25 %": ({"slow_down": 0.75}, 250.0),
}


def add_options(group: Any) -> None:
    """Declare the options."""
    text = "scene; repeatable (default both)"
    group.add_argument("--modal-scene", action="append", choices=list(SCENES), help=text)
    text = "backend of the runs (default integrator)"
    group.add_argument("--modal-backend", choices=["integrator", "mujoco"], default="integrator", help=text)
    text = "push on the torso; repeatable (default those of [Jain2011]); 0 for none"
    group.add_argument("--modal-push", action="append", type=float, metavar="N", help=text)
    text = "height of a plate on the ground of walk_motion that the model does not contain [m]; repeatable; in mujoco"
    group.add_argument("--modal-plate", action="append", type=float, metavar="M", help=text)
    text = "when surfaces land: at a contact force (touch, the default), or when the motion plants them"
    group.add_argument("--modal-landing", choices=["touch", "motion"], default="touch", help=text)
    group.add_argument("--no-edits", action="store_true", help="only the pushes")


def run(options: argparse.Namespace) -> BenchResult:
    """Run each scene with its pushes, and the walk with its edits; write a line for each run when it has ended."""
    pushes = options.modal_push
    if pushes is not None and not all(0.0 <= push <= 1e4 for push in pushes):
        raise MultiQpError("--modal-push: expected 0 to 10000 N")
    backend, tables, data = options.modal_backend, [], {}
    plates = options.modal_plate or []
    if plates and backend != "mujoco":
        raise MultiQpError("--modal-plate: needs --modal-backend mujoco, as the integrator's world is the model's")
    run_one = functools.partial(_ran, backend=backend, landing=options.modal_landing)
    console = Console(stderr=True)
    for name in options.modal_scene or list(SCENES):
        scene, rows = SCENES[name], []
        forces = scene.forces if pushes is None else [push for push in pushes if push]
        edits = EDITS if name == "walk_motion" and not options.no_edits else {}
        for case in _cases(scene, forces, edits, plates if name == "walk_motion" else []):
            row = {"case": case.title} | run_one(name, case.parameters, case.force, DIRECTIONS[case.direction])
            rows.append(row)
            console.print(f"{name}, {backend}: {_line(row)}", highlight=False, markup=False, soft_wrap=True)
        tables.append(_table(name, backend, rows))
        data[name] = rows
    return BenchResult(tables, {"backend": backend, "scenes": data})


def _cases(
    scene: _Scene, forces: Sequence[float], edits: dict[str, tuple[dict[str, float], float]], plates: Sequence[float]
) -> Iterator[_Case]:
    """Yield pushes in all directions, then edits, then plates."""
    own = scene.parameters
    for force in forces:
        for direction in DIRECTIONS:
            yield _Case(f"{force:g} N {direction}", own, force, direction)
    for title, (changes, force) in edits.items():
        yield _Case(title, own | changes, force, "back")
    for height in plates:
        yield _Case(f"plate {100.0 * height:g} cm", own | {"plate": height}, 0.0, "ahead")


def _line(row: dict[str, Any]) -> str:
    """Return the figures of a run in one line, for those who wait for the table."""
    found = "stands" if row["stands"] else "falls"
    return (
        f"{row['case']}: {found}, failed QPs {row['failed_qps']}, slip {1e3 * row['slip_m']:.1f} mm, "
        f"largest tilt {row['tilt_rad']:.2f} rad"
    )


def _ran(
    name: str, parameters: dict[str, float], force: float, direction: tuple[float, float], *, backend: str, landing: str
) -> dict[str, Any]:
    """Return the figures of one run."""
    from multi_qp_scene.scenario import load_scenario
    from multi_qp_scene.schema.mismatch import PushSpec
    from multi_qp_simulator.runner import run_scenario

    scenario, scene = load_scenario(name, parameters=parameters), SCENES[name]
    toward = (*direction, 0.0)
    pushes = [PushSpec(link=LINK, direction=toward, force=force, duration=scene.duration, at=scene.at)] if force else []
    mismatch = scenario.spec.mismatch.model_copy(update={"pushes": pushes})
    changed = scenario.spec.model_copy(
        update={"mismatch": mismatch, "states": _landing_by(scenario.spec.states, landing)}
    )
    result = run_scenario(replace(scenario, spec=changed), backend=backend)
    tilts = _tilts(scenario, result)
    report = result.report
    return {
        "stands": str(result.log.state[-1]) == "stand" and bool(tilts[-1] < UPRIGHT),
        "reached": result.succeeded,
        "failed_qps": int(report["qp_failures"]),
        "slip_m": float(report["worst"]["contact_slip_m"]),
        "tilt_rad": float(tilts.max()),
        "states": list(dict.fromkeys(result.log.state.tolist())),
        "planted_hold_N": _held(scenario, result, scene, direction) if force and name == "squat" else None,
    }


def _landing_by(states: dict[str, StateSpec], landing: str) -> dict[str, StateSpec]:
    """Return states whose motions land by touch or by their clock."""
    found = {}
    for name, state in states.items():
        generators = {
            key: one.model_copy(update={"landing": landing}) if isinstance(one, ModalSpec) else one
            for key, one in state.generators.items()
        }
        found[name] = state.model_copy(update={"generators": generators})
    return found


def _tilts(scenario: Scenario, result: RunResult) -> Array:
    """Return the tilt of the trunk over time, (n,) [rad]."""
    model, data = scenario.scene.model, scenario.scene.model.createData()
    frame, found = model.getFrameId(LINK), np.zeros(len(result.log.q))
    for k, q in enumerate(result.log.q):
        pin.forwardKinematics(model, data, q)
        up = float(pin.updateFramePlacement(model, data, frame).rotation[2, 2])
        found[k] = math.acos(min(max(up, -1.0), 1.0))
    return found


def _held(scenario: Scenario, result: RunResult, scene: _Scene, direction: tuple[float, float]) -> float:
    """Return the largest push that planted feet hold, at the configuration in which the push begins [N]."""
    from modal_control.planted_feet import largest_push

    model, data = scenario.scene.model, scenario.scene.model.createData()
    q = result.log.q[int(np.searchsorted(result.log.time, scene.at - 1e-9))]
    com = pin.centerOfMass(model, data, q).copy()
    pin.updateFramePlacements(model, data)
    link = model.frames[model.getFrameId(LINK)].parentJoint
    way = np.array(direction)
    corners = [
        (data.oMf[surface.frame_id].act(point)[:2] - com[:2]) @ way
        for surface in (scenario.scene.surfaces[f"humanoid/{side}_sole"] for side in ("left", "right"))
        for point in surface.points
    ]
    return largest_push(
        mass=pin.computeTotalMass(model),
        height=float(com[2]),
        point=float(data.oMi[link].act(model.inertias[link].lever)[2]),
        edge=float(max(corners)),
        duration=scene.duration,
    )


def _table(name: str, backend: str, rows: list[dict[str, Any]]) -> BenchTable:
    columns: Columns = {
        "case": lambda row: row["case"],
        "stands": lambda row: "yes" if row["stands"] else "no",
        "goals, health": lambda row: "yes" if row["reached"] else "no",
        "failed QPs": lambda row: str(row["failed_qps"]),
        "slip [mm]": lambda row: f"{1e3 * row['slip_m']:.1f}",
        "largest tilt [rad]": lambda row: f"{row['tilt_rad']:.2f}",
        "planted feet hold": lambda row: "-" if row["planted_hold_N"] is None else f"{row['planted_hold_N']:.0f} N",
        "steps": lambda row: "yes" if "step" in row["states"] else "-",
    }
    scene = SCENES[name]
    note = (
        f"Pushes at the torso for {scene.duration:.3f} s at {scene.at:g} s; stands: ends in the state `stand`, trunk "
    )
    note += f"within {UPRIGHT} rad. Planted feet hold: bound of the pendulum without angular momentum."
    return BenchTable.of(f"{name}, {backend}", columns, rows, note)
