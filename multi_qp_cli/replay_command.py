"""Command `multi-qp replay`: recomputation of a recorded tick, also with another solver or other weights."""

from __future__ import annotations

import argparse
import math
from typing import Any

from multi_qp_cli.options import add_qp_options, check_qp_options, output_path, parameters_from
from multi_qp_cli.output import Console, writing
from multi_qp_cli.replay_view import print_comparison, print_explanation, print_overview, print_verdict
from multi_qp_ros.recording import Bag, Replay
from multi_qp_ros.recording.replay import same_bits
from multi_qp_scene.errors import MultiQpError


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "replay",
        description="Recompute one tick of a recording (multi-qp run --record) and report whether it is bit-identical; "
        "solve it with other settings and show the differences. Without --at, show the contents of the recording.",
        epilog="Exit status: 0 the tick is bit-identical, 1 it is not, 2 invalid arguments or file.",
    )
    parser.add_argument("bag", metavar="FILE.mcap", help="a recording")
    parser.add_argument("--at", type=float, metavar="TIME", help="time of the tick since the start of its run [s]")
    parser.add_argument(
        "--run", type=int, dest="number", help="index of the run in the file, from 0 (default: the last)"
    )
    add_qp_options(parser)
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="solve it also with TASK.weight=5 (or stiffness, damping), regularisation.torque=0.01, or a parameter of "
        "the scenario; can be repeated",
    )
    parser.add_argument("--all", action="store_true", help="show all joints, contacts and tasks, not only the worst")
    parser.add_argument("--save-qp", metavar="FILE.npz", help="write the QP of a failing tick here")
    parser.add_argument(
        "--other-version", action="store_true", help="replay a recording of another version of this project"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Replay according to the options."""
    check_qp_options(options)
    if options.at is not None and not math.isfinite(options.at):
        raise MultiQpError(f"--at: expected a time in seconds, got {options.at:g}")
    settings = parameters_from(options.settings)
    problem_path = output_path("--save-qp", options.save_qp, suffixes=(".npz",))
    console = Console()
    with Bag(options.bag) as bag:
        if options.at is None:
            print_overview(console, bag)
            return 0
        tick = bag.tick(options.at, run=options.number)
        replay = Replay(bag, tick.run, other_version=options.other_version)
    again = replay.step(tick)
    same = same_bits(tick, again.command)
    print_verdict(console, replay, tick, again, same=same)
    print_explanation(console, again)
    if problem_path is not None:
        if again.problem is None:
            raise MultiQpError("--save-qp: the QP of this tick has a solution")
        with writing(problem_path):
            again.problem.save(problem_path)
    if options.solver or options.formulation or settings:
        other = replay.step(tick, solver=options.solver, formulation=options.formulation, settings=settings)
        print_comparison(console, again, other, everything=options.all)
        print_explanation(console, other)
    elif not same or options.all:
        print_comparison(console, again, again, everything=options.all, recorded=tick)
    return 0 if same else 1
