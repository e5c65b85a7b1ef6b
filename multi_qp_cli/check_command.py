"""`multi-qp check`: is a scenario valid? Every error at once, with file, line and key."""

from __future__ import annotations

import argparse
from typing import Any

from multi_qp_cli.options import add_scenario_options, load_from
from multi_qp_controller.controller import Controller


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("check", help="is a scenario file valid?", description=__doc__)
    add_scenario_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check one scenario; its errors are raised."""
    scenario = load_from(options)
    controller = Controller(scenario)
    scene = scenario.scene
    print(
        f"{scenario.name}: valid; {len(scene.subsystems)} subsystems, {scene.nv} degrees of freedom, {scene.na} "
        f"actuated, {len(scenario.spec.contacts)} contacts, {len(controller.pairs)} pairs of convex pieces watched, "
        f"{len(scenario.spec.states)} states"
    )
    return 0
