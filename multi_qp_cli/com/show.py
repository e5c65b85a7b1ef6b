"""Plan the centre of mass through a contact sequence; show phases, margins, timings and a plot."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from com_trajectory.costs import COSTS
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.polytope import Polytope
from com_trajectory.trajectory import ComTrajectory, Validity, validate
from multi_qp_cli.options import output_path, require_known, require_within
from multi_qp_cli.output import Console, figures_table, writing
from multi_qp_scene import former_names
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.former_names import present_name
from multi_qp_scene.sequence_file import load_contact_sequence

CURVES = ("2pac", "polyline", "smooth")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("sequence", help="name of a shipped contact sequence, or the path of a .yaml file")
    parser.add_argument("--subsystem", help="subsystem, if the sequence has several")
    parser.add_argument("--curve", choices=CURVES, default="2pac", help="default 2pac")
    parser.add_argument("--timing", choices=("feasible", "empirical"), default="feasible", help="default feasible")
    parser.add_argument(
        "--dynamic", action="store_true", help="allow dynamic phases, in which the body falls from contact to contact"
    )
    parser.add_argument("--stop", action="store_true", help="come to rest after each window")
    parser.add_argument(
        "--cost", metavar="NAME", default="nearest", help=f"one of {', '.join(COSTS)} (default nearest)"
    )
    parser.add_argument(
        "--point",
        metavar="N=X,Y,Z",
        action="append",
        default=[],
        help="move transition point N here, projected to its polytope; can be repeated",
    )
    parser.add_argument("--step", type=float, default=0.01, help="time step of the validation [s]")
    parser.add_argument("--plot", metavar="FILE.png", help="plot the trajectory here")
    parser.add_argument("--json", metavar="FILE.json", help="write the sampled trajectory here")


def run(options: argparse.Namespace) -> int:
    """Plan, validate, print and plot; the exit status is 1 if a constraint is violated."""
    cost = present_name("--cost:", options.cost, former_names.COSTS)
    require_known("--cost", "cost", cost, COSTS)
    require_within("--step", options.step, "time")
    plot = output_path("--plot", options.plot, suffixes=(".png", ".svg", ".pdf"))
    data = output_path("--json", options.json, suffixes=(".json",))
    sequence = load_contact_sequence(options.sequence)
    plan = PlanOptions(
        curve=options.curve,
        timing=options.timing,
        sliding=not options.stop,
        cost=cost,
        points=_points(options.point),
        dynamic=options.dynamic,
    )
    polytopes = polytopes_of(sequence, options.subsystem)
    plan_com(sequence, polytopes, subsystem=options.subsystem, options=plan)  # compiles
    start = time.perf_counter()
    trajectory = plan_com(sequence, polytopes, subsystem=options.subsystem, options=plan)
    took = time.perf_counter() - start
    valid = validate(trajectory, step=options.step)
    _print(sequence, trajectory, valid, took)
    if data is not None:
        with writing(data):
            data.write_text(json.dumps(_as_data(trajectory, valid)) + "\n", encoding="utf-8")
    if plot is not None:
        from multi_qp_cli.com.draw import draw

        with writing(plot):
            draw(trajectory, valid, sequence.name).savefig(plot, dpi=110)
    return 0 if valid.dynamic_share == 1.0 and valid.kinematic_share == 1.0 else 1


def polytopes_of(sequence: ContactSequence, subsystem: str | None) -> dict[str, Polytope]:
    """Return the shipped polytopes of the sequence's robot; empty if the sequence has no model.

    Raises:
        MultiQpError: the robot has no polytopes, or they are stale.
    """
    from com_trajectory.kinematics import load_polytopes

    name = subsystem or sequence.subsystems[0]
    model = sequence.models.get(name)
    if model is None:
        return {}
    return {effector: found.polytope for effector, found in load_polytopes(model).effectors.items()}


def _points(settings: list[str]) -> dict[int, list[float]]:
    points = {}
    for setting in settings:
        number, equals, text = setting.partition("=")
        try:
            place = [float(value) for value in text.split(",")]
            if not equals or len(place) != 3:
                raise ValueError
            points[int(number)] = place
        except ValueError:
            raise MultiQpError(f"--point: expected N=X,Y,Z, got '{setting}'") from None
    return points


def _print(sequence: ContactSequence, trajectory: ComTrajectory, valid: Validity, took: float) -> None:
    console = Console()
    columns = "phase", "contacts", "ends [s]", "margin [mm]", "(1) holds", "next transition [m]", "slack [mm]"
    table = figures_table(columns, "phase", "contacts", title=f"{sequence.name}: {sequence.description}")
    for number, phase in enumerate(trajectory.phases):
        own = valid.phase == number
        margin = valid.margin[own].min() if own.any() else np.nan
        held = float((valid.wrench[own] <= 1e-6).mean()) if own.any() else np.nan
        cells = ["", ""]
        if number < len(trajectory.transitions):
            found = trajectory.transitions[number]
            cells = [" ".join(f"{value:.3f}" for value in found.point), _slack(found.slack)]
        table.add_row(
            phase.phase.name or str(number),
            " ".join(contact.effector for contact in phase.phase.contacts),
            f"{trajectory.phase_ends[number]:.2f}",
            f"{1e3 * margin:.1f}",
            f"{held:.0%}",
            *cells,
        )
    console.print(table)
    console.print(
        f"{trajectory.method}: {trajectory.duration:.2f} s, planned in {1e3 * took:.1f} ms; (1) holds at "
        f"{valid.dynamic_share:.1%} of {len(valid.times)} instants, (4) at {valid.kinematic_share:.1%}; "
        f"largest violation: {valid.wrench.max():.3f} of the weight, {1e3 * valid.reach.max():.1f} mm of the reach"
    )
    for note in trajectory.notes:
        console.print(f"note: {note}")


def _slack(slack: float) -> str:
    return f"{1e3 * slack:.1f}" if np.isfinite(slack) else "nowhere"


def _as_data(trajectory: ComTrajectory, valid: Validity) -> dict[str, Any]:
    times = valid.times
    return {
        "method": trajectory.method,
        "time": times.tolist(),
        "position": trajectory.position(times).tolist(),
        "velocity": trajectory.velocity(times).tolist(),
        "acceleration": trajectory.acceleration(times).tolist(),
        "phase": valid.phase.tolist(),
        "phase_ends": trajectory.phase_ends.tolist(),
        "transition_points": [found.point.tolist() for found in trajectory.transitions],
        "notes": list(trajectory.notes),
    }
