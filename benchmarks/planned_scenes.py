"""Execution of plans in randomised scenes: `python benchmarks/planned_scenes.py beam table --seeds 20`.

Ten small scenes, randomised by their seed, are planned and run in the integrator and in MuJoCo. Prints a Markdown table
and, to the standard error, each run with the reason of a failure. `--write FOLDER` only writes the scenario files, for
other commands such as `multi-qp run` and `multi-qp robustness`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import yaml

from motion_generation.planning import carried_out, goals_of, make_planner
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.run_monitor import succeeded
from multi_qp_simulator.runner import run_scenario

Data = dict[str, Any]

BACKENDS = ("integrator", "mujoco")
_HUMANOID_LIMBS = {"left_foot": "left_sole", "right_foot": "right_sole"}
_HANDS = {"left_hand": "left_palm", "right_hand": "right_palm"}
_QUADRUPED_LIMBS = {f"{side}_{end}": f"{side}_{end}_foot" for end in ("front", "hind") for side in ("left", "right")}
_HEIGHT = {"humanoid": 0.71, "quadruped": 0.49}  # of the base above its feet [m]


def main() -> int:
    """Run the scenes and print the table; return 1 if an execution failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", help=f"of {', '.join(SCENES)} (all by default)")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each scene (default 20)")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of the seeds (default 0)")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="default: both")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="only write the scenario files")
    options = parser.parse_args()
    if options.write is not None:
        write_scenes(options.write)
        return 0
    if unknown := sorted(set(options.scenes) - set(SCENES)):
        parser.error(f"unknown scenes {', '.join(unknown)} (scenes: {', '.join(SCENES)})")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    columns = ("scene", "planned", *(f"executed, {name}" for name in options.backend or BACKENDS), "motion [s]")
    with tempfile.TemporaryDirectory() as folder:
        write_scenes(Path(folder))
        print("| " + " | ".join(columns) + " | computing per second of motion [s] |")
        print("|---" * (len(columns) + 1) + "|", flush=True)
        rows = [_row(Path(folder), name, seeds, options.backend or BACKENDS) for name in options.scenes or SCENES]
    return 0 if all(rows) else 1


@dataclass(frozen=True)
class PlannedTrial:
    """Planning and one execution of a scene.

    Attributes:
        failure: why the execution failed; empty if it reached its goals and was healthy, None without a plan.
        motion: simulated time [s].
        computing: CPU time of planning and run [s].
    """

    failure: str | None
    motion: float = 0.0
    computing: float = 0.0


def _row(folder: Path, name: str, seeds: range, backends: tuple[str, ...]) -> bool:
    trials: dict[str, list[PlannedTrial]] = {backend: [] for backend in backends}
    for seed in seeds:
        planned = plan(folder, name, seed)
        for backend, each in trials.items():
            each.append(trial := execute(planned, backend))
            why = "no plan" if trial.failure is None else trial.failure or "executed"
            print(f"  {name} {seed} {backend}: {why} ({trial.motion:.1f} s)", file=sys.stderr, flush=True)
    first = trials[backends[0]]
    cells = [name, f"{sum(trial.failure is not None for trial in first)} of {len(seeds)}"]
    for each in trials.values():
        cells.append(f"{sum(trial.failure == '' for trial in each)} of {len(seeds)}")
    well = [trial for each in trials.values() for trial in each if trial.failure == ""]
    cells.append(f"{np.median([trial.motion for trial in well]):.1f}" if well else "–")
    cells.append(f"{np.median([trial.computing / trial.motion for trial in well]):.2f}" if well else "–")
    print("| " + " | ".join(cells) + " |", flush=True)
    return all(trial.failure == "" for each in trials.values() for trial in each)


@dataclass(frozen=True)
class Planned:
    """A planned scene.

    Attributes:
        scenario: with the states of the plan; None without a plan.
        computing: CPU time of planning [s].
    """

    scenario: Scenario | None
    computing: float


def plan(folder: Path, name: str, seed: int) -> Planned:
    """Plan a scene of `write_scenes` with a seed."""
    scenario = load_scenario(str(folder / f"{name}.yaml"), seed=seed)
    began = process_time()
    found = make_planner(scenario).plan(goals_of(scenario))
    states = carried_out(scenario, found) if found.complete else None
    return Planned(states, process_time() - began)


def execute(planned: Planned, backend: str) -> PlannedTrial:
    """Run a planned scene."""
    if planned.scenario is None:
        return PlannedTrial(None)
    began = process_time()
    try:
        report = run_scenario(planned.scenario, backend=backend).report
    except MultiQpError as error:
        return PlannedTrial(f"refused: {error}")
    return PlannedTrial(_failure(report), report["sim_time"], planned.computing + process_time() - began)


def _failure(report: Data) -> str:
    if succeeded(report):
        return ""
    missed = [goal for goal, data in report["goals"].items() if not data["reached"]]
    health = [str(problem) for problem in report["health"]["problems"]]
    ended = report["failure"]["message"] if report["failure"] else report["ended"]
    parts = [f"{ended} ({report['states_visited'][-1]})", *(f"missed {goal}" for goal in missed), *health]
    if report["qp_failures"]:
        parts.append(f"{report['qp_failures']} QP failures")
    return "; ".join(parts)


# ------------------------------------------------------------------------------------------------------- scenes
def write_scenes(folder: Path) -> None:
    """Write the scenario files and the mesh that one of them uses."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "field.obj").write_text(_field(), encoding="utf-8")
    for name, scene in SCENES.items():
        text = yaml.safe_dump(scene, sort_keys=False, width=1000)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def _noise(k: int, low: float, high: float) -> str:
    """Return a number between two bounds that depends on the seed, as an expression."""
    return f"({low} + {high - low} * noise(seed, {k}))"


def _scene(
    robot: str, what: str, environment: Data, goal: Any, arrived: list[Any], spread: float = 0.1, **plan: Any
) -> Data:
    """Return a scenario; its robot starts at the origin, displaced by up to half of `spread` [m]."""
    limbs = _HUMANOID_LIMBS if robot == "humanoid" else _QUADRUPED_LIMBS
    posture = "half_sitting" if robot == "humanoid" else "standing"
    place = [f"${{{_noise(k, -0.5 * spread, 0.5 * spread)}}}" for k in (100, 101)]
    bounds = {"xyz_min": [-0.5, -1, 0.3], "xyz_max": [3, 1, 2.5], "rpy_min": [0, -0.6, -0.5], "rpy_max": [0, 0.6, 0.5]}
    body = {"model": robot, "posture": posture}
    return {
        "description": what,
        "dt": 0.005,
        "subsystems": {
            robot: {**body, "place": {"surfaces": list(limbs.values()), "onto": "ground/floor", "xy": place}}
        },
        "environment": {"ground": {"model": "ground"}, **environment},
        "collisions": {"self_collisions": [robot]},
        "plan": {
            "character": robot, "limbs": limbs, "posture": posture, "goal": goal, "bounds": bounds, "seed": "${seed}",
            **plan,
        },
        "goals": {
            "arrived": {"type": "pose", "frame": f"{robot}/base_link", "target": arrived, "tolerance": 0.15}
        },
    }  # fmt: skip


def _box(size: list[Any], xyz: list[Any], rpy: list[Any] | None = None) -> Data:
    pose: Data = {"xyz": xyz} if rpy is None else {"xyz": xyz, "rpy": rpy}
    return {"box": size, "pose": pose}


def _slope(robot: str, degrees: float, width: float = 2.4) -> Data:
    """Return a scene of an inclined plane, steeper or flatter by up to a degree."""
    a = f"rad({_noise(0, degrees - 1.0, degrees + 1.0)})"
    c, s = f"cos(180 / 3.14159265359 * {a})", f"sin(180 / 3.14159265359 * {a})"
    ramp = _box(
        [3.0, width, 0.2], [f"${{0.6 + 1.5 * {c} + 0.1 * {s}}}", 0, f"${{1.5 * {s} - 0.1 * {c}}}"], [0, f"${{-{a}}}", 0]
    )
    up = "" if robot == "humanoid" else f" - {_HEIGHT[robot]} * {s}"
    arrived = [f"${{0.6 + 1.1 * {c}{up}}}", 0, f"${{1.1 * {s} + {_HEIGHT[robot]}}}"]
    return _scene(
        robot, f"a {robot} on a slope of {degrees:g} degrees", {"ramp": ramp}, {"onto": "ramp/top", "xy": [-0.4, 0]},
        arrived, friction=0.8,
    )  # fmt: skip


def _stairs() -> Data:
    rise, run = _noise(0, 0.08, 0.13), _noise(1, 0.28, 0.34)
    steps = {}
    for k in (1, 2, 3):
        middle = [f"${{0.35 + {k - 0.5} * {run}}}", 0, f"${{{0.5 * k} * {rise}}}"]
        steps[f"step_{k}"] = _box([f"${{{run}}}", 1.4, f"${{{k} * {rise}}}"], middle)
    steps["landing"] = _box([1.0, 1.4, f"${{4 * {rise}}}"], [f"${{0.85 + 3 * {run}}}", 0, f"${{2 * {rise}}}"])
    arrived = [f"${{0.75 + 3 * {run}}}", 0, f"${{0.71 + 4 * {rise}}}"]
    return _scene("humanoid", "a humanoid on stairs", steps, {"onto": "landing/top", "xy": [-0.1, 0]}, arrived)


def _beam() -> Data:
    y = _noise(0, -0.03, 0.03)
    beam = _box([1.6, 0.14, 0.1], [1.1, f"${{{y}}}", 0.05], [0, 0, f"${{{_noise(1, -0.05, 0.05)}}}"])
    end = _box([1.0, 1.4, 0.1], [2.4, 0, 0.05])
    return _scene(
        "humanoid", "a humanoid on a beam of 14 cm", {"beam": beam, "bank": end}, {"onto": "bank/top", "xy": [-0.1, 0]},
        [2.3, 0, 0.81],
    )  # fmt: skip


def _stones() -> Data:
    stones = {}
    for k in range(6):
        x, y = 0.42 + 0.17 * k, 0.14 if k % 2 else -0.14
        middle = [f"${{{_noise(3 * k + axis, at - 0.02, at + 0.02)}}}" for axis, at in enumerate((x, y, -0.02))]
        stones[f"stone_{k}"] = _box([0.3, 0.24, 0.2], middle, [0, 0, f"${{{_noise(50 + k, -0.2, 0.2)}}}"])
    bank = _box([1.0, 1.4, 0.1], [2.15, 0, 0.05])
    return _scene(
        "humanoid", "a humanoid on stepping stones", {**stones, "bank": bank}, {"onto": "bank/top", "xy": [-0.1, 0]},
        [2.05, 0, 0.81],
    )  # fmt: skip


def _field_scene(robot: str) -> Data:
    field = {"mesh": "field.obj", "pose": {"xyz": [1.35, f"${{{_noise(0, -0.15, 0.15)}}}", 0]}}
    return _scene(
        robot, f"a {robot} on a field of facets in a mesh", {"field": field}, {"onto": "ground/floor", "xy": [2.75, 0]},
        [2.75, 0, _HEIGHT[robot]], stride=0.5,
    )  # fmt: skip


def _field() -> str:
    """Return a closed mesh in OBJ format: five by four columns whose tops have random heights and tilts."""
    random = np.random.default_rng(7)
    vertices: list[Array] = []
    faces: list[tuple[int, int, int]] = []
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    sides = [(k, (k + 1) % 4, (k + 1) % 4 + 4) for k in range(4)] + [(k, (k + 1) % 4 + 4, k + 4) for k in range(4)]
    for x in range(5):
        for y in range(4):
            centre = np.array([0.34 * (x - 2.0), 0.36 * (y - 1.5)])
            top = random.uniform(0.03, 0.12) + corners * [0.16, 0.17] @ random.uniform(-0.12, 0.12, 2)
            first = len(vertices)
            outline = centre + corners * [0.16, 0.17]
            vertices += [np.append(point, -0.05) for point in outline]
            vertices += [np.append(point, max(z, 0.01)) for point, z in zip(outline, top, strict=True)]
            faces += [(first + a, first + b, first + c) for a, b, c in sides]
            faces += [(first + a, first + b, first + c) for a, b, c in ((4, 5, 6), (4, 6, 7), (2, 1, 0), (3, 2, 0))]
    lines = [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in vertices]
    return "\n".join([*lines, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces)]) + "\n"


def _table() -> Data:
    """Return a scene of a step beside a table: with the required margin, a hand has to rest on the table."""
    height, step = _noise(0, 0.72, 0.8), _noise(1, 0.14, 0.18)
    environment = {
        "step": _box([0.8, 1.0, f"${{{step}}}"], [0.75, 0, f"${{0.5 * {step}}}"]),
        "table": _box([1.6, 0.4, 0.04], [0.6, f"${{{_noise(2, 0.5, 0.54)}}}", f"${{{height} + 0.1}}"]),
    }
    scene = _scene(
        "humanoid", "a humanoid steps up with a hand on a table", environment, {"onto": "step/top", "xy": [-0.15, 0]},
        [0.6, 0, f"${{0.71 + {step}}}"], spread=0.04, helpers=list(_HANDS), margin=0.055, clearance=0.003, stride=0.55,
        budget=5,
    )  # fmt: skip
    scene["plan"]["limbs"] = {**_HUMANOID_LIMBS, **_HANDS}
    return scene


SCENES: dict[str, Data] = {
    "stairs": _stairs(),
    "ramp": _slope("humanoid", 15.0),
    "slope_20": _slope("quadruped", 20.0),
    # 30 degrees need 0.58 of friction; by default the controller uses 0.7 of the coefficient, 0.56
    "slope_30": {**_slope("quadruped", 30.0), "closed_loop": {"friction": 0.82}},
    "slope_20_humanoid": _slope("humanoid", 20.0),
    "field": _field_scene("humanoid"),
    "field_quadruped": _field_scene("quadruped"),
    "beam": _beam(),
    "stones": _stones(),
    "table": _table(),
}


if __name__ == "__main__":
    sys.exit(main())
