"""`multi-qp replay`: makes a tick of a recording again, to the last bit, and with another solver or other weights."""

from __future__ import annotations

import argparse
import math
from typing import Any

from multi_qp_cli.options import output_path, parameters_from, require_known
from multi_qp_cli.output import Console, writing
from multi_qp_cli.replay_view import print_comparison, print_explanation, print_overview, print_verdict
from multi_qp_controller.formulations import FORMULATIONS
from multi_qp_controller.qp import solver_names
from multi_qp_scene.errors import MultiQpError
from multi_qp_simulator.bags import Bag, Replay
from multi_qp_simulator.bags.replay import same_bits


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "replay",
        help="make a tick of a recording again",
        description="Make one tick of a recording (multi-qp run --record) again and say whether it came out the same, "
        "to the last bit; solve it otherwise and show what differs. Without --at, say what the recording holds.",
        epilog="Exit status: 0 the tick came out the same, 1 it did not, 2 bad arguments or a bad file.",
    )
    parser.add_argument("bag", metavar="FILE.mcap", help="a recording")
    parser.add_argument("--at", type=float, metavar="TIME", help="time of the tick since the beginning of its run [s]")
    parser.add_argument("--run", type=int, dest="number", help="which run of the file, from 0 (default: the last)")
    parser.add_argument("--solver", help=f"solve it also with: {', '.join(solver_names())}")
    parser.add_argument("--formulation", help=f"write it also as: {', '.join(FORMULATIONS)}")
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
        "--other-version", action="store_true", help="replay what another version of this project recorded"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Replay what the options name."""
    require_known("--solver", "solver", options.solver, solver_names())
    require_known("--formulation", "formulation", options.formulation, FORMULATIONS)
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
    again = replay.answer(tick)
    same = same_bits(tick, again.command)
    print_verdict(console, replay, tick, again, same=same)
    print_explanation(console, again)
    if problem_path is not None:
        if again.problem is None:
            raise MultiQpError("--save-qp: the QP of this tick has a solution")
        with writing(problem_path):
            again.problem.save(problem_path)
    if options.solver or options.formulation or settings:
        other = replay.answer(tick, solver=options.solver, formulation=options.formulation, settings=settings)
        print_comparison(console, again, other, everything=options.all)
        print_explanation(console, other)
    elif not same or options.all:
        print_comparison(console, again, again, everything=options.all, recorded=tick)
    return 0 if same else 1
