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
    scene = scenario.scene
    found = f"{len(scene.subsystems)} subsystems, {scene.nv} degrees of freedom, {scene.na} actuated"
    if scenario.spec.contact_sequence is not None:
        from multi_qp_controller.sequences import follow_sequence  # loads compiled kernels: only where it is needed

        followed = follow_sequence(scenario)
        found += f", {len(followed.trajectory.phases)} contact phases, {len(followed.scenario.spec.states)} states"
    elif scenario.spec.turns is not None:
        found += f", {scenario.spec.turns.count} turns for the contact planner"
    elif scenario.spec.plan is None:
        controller = Controller(scenario)
        found += (
            f", {len(scenario.spec.contacts)} contacts, {len(controller.pairs)} pairs of convex pieces watched, "
            f"{len(scenario.spec.states)} states"
        )
    else:
        found += ", a goal for the contact planner"
    print(f"{scenario.name}: valid; {found}")
    return 0
