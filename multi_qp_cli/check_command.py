"""Check a scenario without planning or running it; report all errors, each with file, line and key."""

from __future__ import annotations

import argparse
from typing import Any

from multi_qp_cli.options import add_scenario_options, load_from
from multi_qp_controller.contacts.contact_gap import check_start
from multi_qp_scene.pairs import watched_pairs


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("check", description=__doc__)
    add_scenario_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check one scenario; errors are raised."""
    scenario = load_from(options)
    check_start(scenario)
    scene = scenario.scene
    found = f"{len(scene.subsystems)} subsystems, {scene.nv} degrees of freedom, {scene.na} actuated"
    if scenario.spec.contact_sequence is not None:
        from motion_generation.sequences import check_sequence  # takes half a second to import

        found += f", {len(check_sequence(scenario).phases)} contact phases"
    elif scenario.spec.turns is not None:
        found += f", {scenario.spec.turns.count} turns for the contact planner"
    elif scenario.spec.plan is None:
        pairs = watched_pairs(scene, scenario.spec.collisions)
        found += (
            f", {len(scenario.spec.contacts)} contacts, {len(pairs)} monitored pairs of convex pieces, "
            f"{len(scenario.spec.states)} states"
        )
    else:
        found += ", a goal for the contact planner"
    print(f"{scenario.name}: valid; {found}")
    return 0
