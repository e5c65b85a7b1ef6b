"""Check a scenario without planning or running it; report all errors, each with file, line and key."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from multi_qp_cli.options import add_scenario_options, load_from
from multi_qp_controller.contacts.contact_gap import check_start
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.surface_fit import surface_fit
from multi_qp_scene.yaml_document import located_in
from multi_qp_simulator.touches import TouchMonitor


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("check", description=__doc__)
    add_scenario_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check one scenario; errors are raised."""
    scenario = load_from(options)
    check_start(scenario)
    scene, lines = scenario.scene, list[str]()
    TouchMonitor(scenario).check_start(scene.initial_state())
    found = f"{len(scene.subsystems)} subsystems, {scene.nv} degrees of freedom, {scene.na} actuated"
    if scenario.spec.contact_sequence is not None:
        from motion_generation.sequences import check_sequence  # takes half a second to import

        found += f", {len(check_sequence(scenario).phases)} contact phases"
    elif scenario.spec.turns is not None:
        found += f", {scenario.spec.turns.count} turns for the contact planner"
    elif scenario.spec.behaviour is not None:
        lines = _start_contacts(scenario)
        found += f", {len(scenario.spec.behaviour.terms)} task terms for the synthesis of a motion"
    elif scenario.spec.plan is None:
        pairs = watched_pairs(scene, scenario.spec.collisions)
        found += (
            f", {len(scenario.spec.contacts)} contacts, {len(pairs)} monitored pairs of convex pieces, "
            f"{len(scenario.spec.states)} states"
        )
    else:
        found += ", a goal for the contact planner"
    print(f"{scenario.name}: valid; {found}")
    for line in (*lines, *_surfaces(scenario)):
        print(f"  {line}")
    return 0


def _start_contacts(scenario: Scenario) -> list[str]:
    """Return a line for each effector of a behaviour in the start pose; without CasADi, none."""
    try:
        from contact_invariant.start_pose import start_contacts  # imports CasADi
    except MultiQpError as error:
        return [f"contacts of the start pose are not checked: {error}"]
    with located_in(scenario.path):
        return start_contacts(scenario)


def _surfaces(scenario: Scenario) -> Iterator[str]:
    """Yield a line for each surface of the contacts, with the distance of its link's collision shapes."""
    scene = scenario.scene
    own = {name for contact in scenario.spec.contacts.values() for name in contact.surfaces} or set(scene.surfaces)
    surfaces = [scene.surfaces[name] for name in sorted(own) if name.partition("/")[0] in scene.subsystems]
    for surface in surfaces:
        if surface.kind == "grasp":
            continue
        fit = surface_fit(scene, surface)
        pad = "" if fit.fits else "; in MuJoCo it touches by a pad of its own, see `pad` of contacts"
        yield f"surface {surface.name}: {fit}{pad}"
