"""Command `multi-qp motion`: recordings of people, and logs of runs, as reference motions of a robot."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from rich.table import Table

from multi_qp_cli.follow_scenario import write_scenario
from multi_qp_cli.options import output_path
from multi_qp_cli.output import Console, writing
from multi_qp_cli.pictures import size_of
from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_scene.builder import build_scene
from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.models import valid_model
from multi_qp_scene.motions.bvh import read_bvh
from multi_qp_scene.motions.contacts import SIDES, airborne, intervals
from multi_qp_scene.motions.deepmimic import read_deepmimic
from multi_qp_scene.motions.dynamics_correction import BalanceError
from multi_qp_scene.motions.key_frames import lifted
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.motions.retarget import Retargeted, RetargetedMotion, Retargeting
from multi_qp_scene.motions.skeleton import SkeletonMotion
from multi_qp_scene.motions.targets import LIMBS
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.resources import model_path
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.common import PoseSpec
from multi_qp_scene.schema.subsystems import SubsystemSpec
from multi_qp_simulator.log import Log
from multi_qp_simulator.log_motion import motion_of, scenario_of

if TYPE_CHECKING:
    from contact_invariant.recorded_dynamics import FeasibleMotion

#: Frames per second of reference motions and of their videos.
RATE, FPS = 60.0, 25.0


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("motion", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    text = (
        "make a reference motion of a robot from a recording of a person (.bvh, or .json of the DeepMimic release), "
        "which is retargeted, or from the log of a run (.npz of `multi-qp run --log`), which is taken as it is"
    )
    taken = actions.add_parser("import", help=text, description=text)
    taken.add_argument("file", help=".bvh, .json of the DeepMimic release, or .npz of `multi-qp run --log`")
    taken.add_argument("--robot", default="humanoid", metavar="MODEL", help="model with landmarks (default humanoid)")
    taken.add_argument("--scale", type=float, default=1.0, help="length of one unit of a .bvh file [m] (default 1)")
    taken.add_argument("--begin", type=float, default=0.0, metavar="S", help="begin of a recording (default 0) [s]")
    taken.add_argument("--end", type=float, metavar="S", help="its end (default the last frame) [s]")
    text = "length of the steps, relative to the recorded ones (default 1)"
    taken.add_argument("--stride", type=float, default=1.0, help=text)
    text = "correct the ZMP by a QP, or the dynamics of the full model by crocoddyl, which takes minutes (default zmp)"
    taken.add_argument("--dynamics", choices=("zmp", "full"), default="zmp", help=text)
    text = "with --dynamics full: longest flight (default: as long as the robot can jump) [s]"
    taken.add_argument("--flight", type=float, metavar="S", help=text)
    text = "with --dynamics full: duration of all but the flights, relative to the recorded one (default 1)"
    taken.add_argument("--slower", type=float, default=1.0, help=text)
    taken.add_argument("--scenario", metavar="SCENARIO", help="scenario of a log (default: by the name in it)")
    taken.add_argument("--subsystem", metavar="NAME", help="robot of a log (default: the only one)")
    taken.add_argument("--output", metavar="FILE.npz", help="write the reference motion here")
    text = "write a scenario here in which the robot starts in the first pose of the motion, and follows it"
    taken.add_argument("--follow", metavar="FILE.yaml", help=text)
    taken.add_argument("--video", metavar="FILE", help="draw the motion as .mp4 or .gif")
    taken.add_argument("--size", default="640x480", metavar="WxH", help="size of the video (default 640x480)")
    taken.set_defaults(run=run)
    text = "make a reference motion from two key frames: a robot's initial posture, and the same with its body higher"
    made = actions.add_parser("lift", help=text, description=text + "; all its surfaces in contacts keep their places")
    made.add_argument("scenario", help="scenario with the robot in its first posture")
    made.add_argument("--subsystem", metavar="NAME", help="the robot (default: the only one with a floating base)")
    made.add_argument("--height", type=float, required=True, metavar="M", help="of the second key frame over the first")
    made.add_argument("--duration", type=float, default=2.0, metavar="S", help="from one to the other (default 2)")
    made.add_argument("--hold", type=float, default=0.5, metavar="S", help="rest at both (default 0.5)")
    made.add_argument("--output", required=True, metavar="FILE.npz", help="write the reference motion here")
    made.set_defaults(run=lift)


def run(options: argparse.Namespace) -> int:
    """Read, retarget, report and write the motion."""
    output = output_path("--output", options.output, suffixes=(".npz",))
    follow = output_path("--follow", options.follow, suffixes=(".yaml",))
    video = output_path("--video", options.video, suffixes=(".mp4", ".gif"))
    width, height = size_of(options.size)
    if not (math.isfinite(options.scale) and 1e-6 <= options.scale <= 1e3):
        raise MultiQpError(f"--scale is {options.scale:g}, expected a length of 1e-06 to 1000 m")
    if not 0.1 <= options.stride <= 1.5:
        raise MultiQpError(f"--stride is {options.stride:g}, expected 0.1 to 1.5")
    if not 0.5 <= options.slower <= 4.0 or not 0.05 <= (options.flight or 0.2) <= 0.5:
        raise MultiQpError("--slower: expected 0.5 to 4; --flight: 0.05 to 0.5 s")
    if options.dynamics == "zmp" and (options.flight is not None or options.slower != 1.0):
        raise MultiQpError("--flight and --slower need --dynamics full")
    path, failure = Path(options.file), None
    if follow is not None and (output is None or path.suffix.lower() == ".npz"):
        raise MultiQpError("--follow needs --output, and a recording of a person")
    if path.suffix.lower() == ".npz":
        if options.begin or options.end is not None or options.stride != 1.0 or options.dynamics != "zmp":
            raise MultiQpError("--begin, --end, --stride and --dynamics are of recordings of people")
        log = Log.load(path)
        scenario = scenario_of(log, options.scenario)
        motion = motion_of(log, scenario, options.subsystem)
        scene, drawn = scenario.scene, log.q
        table = _contact_table(motion.times, motion.surfaces, motion.contacts)
    else:
        recorded = _read(path, options.scale).part(options.begin, options.end)
        scene, name, landmarks = _robot(options.robot)
        retargeting = Retargeting(scene, name, landmarks)
        joints = tuple(full.partition("/")[2] for full in scene.velocity_names[6:])
        soles = tuple(landmarks[f"{side}_sole"] for side in SIDES)
        source = recorded.source
        found: RetargetedMotion | FeasibleMotion
        if options.dynamics == "full":
            found, failure, table = _feasible(scene, name, retargeting, recorded, soles, options)
            source += f", --dynamics full --stride {options.stride:g} --slower {options.slower:g}"
            source += "" if options.flight is None else f" --flight {options.flight:g}"
        else:
            result = retargeting.retarget(recorded, rate=RATE, stride=options.stride)
            found, failure, table = result.motion, result.failure, _table(result)
        motion = ReferenceMotion(found.times, found.q, joints, found.contacts, soles, name, source)
        drawn = found.q
    Console().print(table)
    if failure is not None:
        Console().print(f"the dynamics are not corrected: {failure}")
    if output is not None:
        with writing(output):
            motion.save(output)
    if follow is not None and output is not None and failure is None:
        with writing(follow):
            write_scenario(follow, motion, output, options.robot, _link(scene, name, landmarks["chest"]))
    if video is not None:
        _draw(video, scene, motion.times, drawn, width, height)
    if failure is not None and (follow is not None or options.dynamics == "full"):
        raise MultiQpError(f"no scenario is written, as the dynamics are not corrected: {failure}")
    return 0


def _feasible(
    scene: Scene,
    robot: str,
    retargeting: Retargeting,
    recorded: SkeletonMotion,
    soles: Sequence[str],
    options: argparse.Namespace,
) -> tuple[FeasibleMotion, str | None, Table]:
    """Return the motion within the dynamics of the full model, why it is of no use, and the table."""
    from contact_invariant.recorded_dynamics import FeasibleMotions

    nominal = retargeting.nominal(
        recorded, rate=RATE, stride=options.stride, flight=options.flight, slower=options.slower
    )
    problem = FeasibleMotions(scene, robot, [f"{robot}/{sole}" for sole in soles])
    start = problem.start(nominal.q[0], [path[0] for path in nominal.soles])
    found = problem.solve(
        np.vstack([start, nominal.q[1:]]),
        nominal.clip.planted,
        nominal.soles,
        nominal.dt,
        lambda number, k, cost: Console().print(f"solution {number + 1}: iteration {k}, cost {cost:.4g}"),
    )
    errors = retargeting.measured(nominal, found.q[::2])  # at the samples of the recording
    table = _contact_table(found.times, [f"{side} foot" for side in SIDES], found.contacts)
    table.add_row("timing and dynamics", "corrected with the full model")
    for name, column in zip(_limb_names(), np.degrees(errors.direction_errors).T, strict=True):
        table.add_row(f"direction of {name}: median, largest", f"{np.median(column):.1f}°, {column.max():.1f}°")
    table.add_row("foot skate; soles under the ground", f"{1e3 * errors.skate:.1f} mm; {1e3 * errors.depth:.1f} mm")
    table.add_row("joint velocities; torques over their limits", f"{found.speed:.2f}; {found.torque:.2f}")
    table.add_row("forces outside of the cones of the soles", f"{found.outside:.3f} body weights")
    flights = [f"{(last - first) * found.times[1]:.2f} s" for first, last in intervals(airborne(found.contacts))]
    table.add_row("flights", ", ".join(flights) or "none")
    return found, found.failure, table


def lift(options: argparse.Namespace) -> int:
    """Make a motion from two key frames."""
    output = output_path("--output", options.output, suffixes=(".npz",))
    for name, low, high in (("height", -2.0, 2.0), ("duration", 0.1, 60.0), ("hold", 0.0, 60.0)):
        value = getattr(options, name)
        if not (low <= value <= high and (name != "height" or value)):
            raise MultiQpError(f"--{name} is {value:g}, expected {low:g} to {high:g}, not 0")
    scenario = load_scenario(options.scenario)
    floating = [name for name, body in scenario.scene.subsystems.items() if body.floating]
    robot = options.subsystem or (floating[0] if len(floating) == 1 else None)
    if robot not in floating:
        raise MultiQpError(f"--subsystem: expected one of {', '.join(floating)}")
    pairs = [place for contact in scenario.spec.contacts.values() for place in contact.surfaces]
    surfaces = list(dict.fromkeys(place.partition("/")[2] for place in pairs if place.startswith(f"{robot}/")))
    if not surfaces:
        raise MultiQpError(f"'{robot}' has no contacts in {options.scenario}")
    motion = lifted(
        scenario.scene, robot, surfaces, options.height, duration=options.duration, hold=options.hold, dt=1.0 / 120.0
    )
    Console().print(_contact_table(motion.times, motion.surfaces, motion.contacts))
    if output is not None:
        with writing(output):
            motion.save(output)
    return 0


def _read(path: Path, scale: float) -> SkeletonMotion:
    if path.suffix.lower() == ".bvh":
        return read_bvh(path, scale=scale)
    if path.suffix.lower() == ".json":
        return read_deepmimic(path)
    raise MultiQpError(f"'{path}': expected a .bvh file, or a .json of the DeepMimic release")


def _robot(model: str) -> tuple[Scene, str, dict[str, str]]:
    """Return a scene of one robot, its name, and its landmarks.

    Raises:
        MultiQpError: when the model is unknown or invalid, or has no floating base.
    """
    file = model_path(model)
    loaded = valid_model(file)
    if loaded.spec.root != "free_flyer":
        raise MultiQpError(f"{shown_path(file)} is not a model of a robot with a floating base")
    spec = SubsystemSpec(model=str(file), pose=PoseSpec())
    scene = build_scene(SceneParts(subsystems={file.stem: (loaded, spec)}))
    return scene, file.stem, {str(name): place for name, place in loaded.spec.landmarks.items()}


def _link(scene: Scene, robot: str, joint: str) -> str:
    """Return the first link that a joint moves."""
    moved, frames = scene.model.getJointId(f"{robot}/{joint}"), scene.model.frames
    link = next(f.name for f in frames if f.parentJoint == moved and f.type == pin.FrameType.BODY)
    return str(link.partition("/")[2])


def _table(result: Retargeted) -> Table:
    """Return what the motion is, and its errors; beside it the errors of the one that was not taken."""
    failure, found = result.failure, result.motion
    table = _contact_table(found.times, [f"{side} foot" for side in SIDES], found.contacts)
    table.add_row("timing and dynamics", "corrected" if failure is None else "as recorded")
    columns = (result.recorded, result.corrected)
    table.add_row("", "as recorded", "corrected" if failure is None else "corrected (not taken)")
    for k, limb in enumerate(_limb_names()):
        errors = [np.degrees(one.direction_errors[:, k]) for one in columns]
        table.add_row(
            f"direction of {limb}: median, largest", *(f"{np.median(e):.1f}°, {e.max():.1f}°" for e in errors)
        )
    table.add_row("foot skate", *(f"{1e3 * one.skate:.1f} mm" for one in columns))
    table.add_row("soles under the ground", *(f"{1e3 * one.depth:.1f} mm" for one in columns))
    table.add_row("joint velocities over their limits", *(f"{100.0 * one.speed:.0f} %" for one in columns))
    table.add_row(
        "ZMP outside the soles: share, largest", "", _outside(result.after), f"({_outside(result.before)} before)"
    )
    raw = result.after.unsmoothed
    table.add_row("the same, not smoothed", "", f"{100.0 * raw.max(initial=0.0):.1f} cm")
    table.add_row("centre of mass moved", "", f"{100.0 * result.after.shifted.max():.1f} cm")
    return table


def _limb_names() -> list[str]:
    return [f"{side} {a}-{b}" for side in SIDES for a, b in LIMBS]


def _outside(balance: BalanceError) -> str:
    """Return how far the ZMP is outside of the soles."""
    return f"{100.0 * float((balance.outside > 0.0).mean()):.0f} %, {100.0 * balance.outside.max(initial=0.0):.1f} cm"


def _contact_table(times: Array, names: Sequence[str], contacts: NDArray[np.bool_]) -> Table:
    """Return duration and contacts of a motion."""
    table = Table(box=None, show_header=False)
    table.add_row("motion", f"{times[-1]:.2f} s in {len(times)} frames")
    for name, planted in zip(names, contacts.T, strict=True):
        table.add_row(f"{name} planted", f"{100.0 * planted.mean():.0f} % of the time")
    return table


def _draw(path: Path, scene: Scene, times: Array, configurations: Array, width: int, height: int) -> None:
    from multi_qp_viewer import write_video

    snapshots: Sequence[Snapshot] = [
        Snapshot(float(time), q, "", "ok", 0.0) for time, q in zip(times, configurations, strict=True)
    ]
    with writing(path):
        write_video(path, scene, snapshots, fps=FPS, width=width, height=height, overlays=False)
