"""Command `multi-qp plan`: contact plans of scenarios with a goal, printed and saved."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multi_qp_cli.options import add_scenario_options, load_from, output_path
from multi_qp_cli.output import Console, figures_table, writing
from multi_qp_cli.pictures import camera_of
from multi_qp_cli.progress import run_progress, synthesis_progress
from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.sequence_file import save_contact_sequence

if TYPE_CHECKING:  # imports of compiled kernels and OMPL are slow
    from contact_planner.stance import ContactPlan
    from motion_generation.planning import PlannedScenario


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "plan",
        description="Plan the contacts of a scenario that has a `plan`: print them, and save them as an editable file.",
        epilog="Exit status: 0 the plan reaches the goal, 1 it does not (the best partial plan is shown), 2 bad input.",
    )
    add_scenario_options(parser)
    parser.add_argument("--output", metavar="FILE.yaml", help="write the contact sequence here")
    parser.add_argument("--picture", metavar="FILE.png", help="write a picture of the postures of the plan here")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plan, and return the exit status."""
    output = output_path("--output", options.output, suffixes=(".yaml", ".yml"))
    picture = output_path("--picture", options.picture, suffixes=(".png",))
    scenario = load_from(options)
    if scenario.spec.turns is not None:
        return _run_turns(scenario, output, picture)
    from motion_generation.planning import plan_scenario

    planned = plan_scenario(scenario)
    print_plan(scenario.name, planned.plan)
    if output is not None:
        with writing(output):
            save_contact_sequence(planned.plan.sequence, output)
    if picture is not None:
        with writing(picture):
            _draw(planned, picture)
    return 0 if planned.plan.complete else 1


def _run_turns(scenario: Scenario, output: Path | None, picture: Path | None) -> int:
    """Plan the turns of a scenario, and return the exit status."""
    if output is not None:
        raise MultiQpError(f"--output: {scenario.name} has a sequence for each turn, but a file contains one")
    from motion_generation.turns import plan_turns
    from multi_qp_cli.turns_view import print_turns

    planned = plan_turns(scenario)
    print_turns(scenario.name, planned.sequence)
    if picture is not None:
        body = {name: scenario.scene.subsystems[name].q_slice for name in planned.sequence.first}
        postures = []
        for turn in planned.sequence.turns:
            for posture in turn.plan.postures[1:]:
                q = turn.q.copy()
                q[body[turn.player]] = posture
                postures.append((f"{turn.player} {turn.limb}", q))
        with writing(picture):
            draw_sheet(scenario, postures, picture)
    return 0 if planned.sequence.complete else 1


def with_plan(scenario: Scenario) -> tuple[Scenario, str]:
    """Return a scenario with states, generated if it has none, and what they miss, "" if nothing; print it."""
    from motion_generation.state_generation import generate_states

    if scenario.spec.behaviour is None:
        answer = generate_states(scenario)
    else:
        with run_progress(scenario.name) as bar:
            answer = generate_states(scenario, progress=synthesis_progress(bar))
    console = Console(stderr=True)
    for note in answer.notes:
        console.print(note)
    if answer.failure:
        console.print(f"[bold]{answer.failure}[/bold]; it is run all the same")
    return answer.scenario, answer.failure


def print_plan(name: str, plan: ContactPlan) -> None:
    """Print a plan as a table."""
    from com_trajectory.equilibrium import equilibrium_region

    console = Console()
    verdict = "reaches the goal" if plan.complete else f"does not reach the goal: {plan.reason}"
    took = ", ".join(f"{part} {1e3 * seconds:.0f} ms" for part, seconds in plan.seconds.items())
    console.print(f"[bold]{name}[/bold]: {plan.moves} moves; {verdict}  ({took})")
    columns = "", "limb", "goes to", "x [m]", "y [m]", "z [m]", "balance margin during the move [mm]"
    table = figures_table(columns, "limb", "goes to", box=None, header_style="dim")
    for number, stance in enumerate(plan.stances):
        if stance.moved is None:
            for limb, contact in stance.contacts.items():
                table.add_row("start", limb, contact.other or "", *_place(contact.pose.translation), "")
            continue
        made = stance.contacts.get(stance.moved)
        place = ("lets go", "", "", "") if made is None else (made.other or "", *_place(made.pose.translation))
        phase = next(p for p, _ in zip(plan.sequence.phases, plan.postures, strict=True) if p.name.startswith(
            f"{number}_"))  # fmt: skip
        rest = [c for limb, c in stance.contacts.items() if limb != stance.moved]
        margin = float(equilibrium_region(rest).margin(next(iter(phase.com.values()))))
        table.add_row(str(number), stance.moved, *place, f"{1e3 * margin:.0f}")
    console.print(table)


def _place(xyz: np.ndarray) -> list[str]:
    return [f"{value:.3f}" for value in xyz]


def _draw(planned: PlannedScenario, path: Path) -> None:
    """Write one image with all postures of the plan."""
    scenario, plan = planned.scenario, planned.plan
    part, postures = scenario.scene.subsystems[plan.sequence.subsystems[0]].q_slice, []
    for phase, posture in zip(plan.sequence.phases, plan.postures, strict=True):
        q = scenario.scene.q0.copy()
        q[part] = posture
        postures.append((phase.name, q))
    draw_sheet(scenario, postures, path)


def draw_sheet(scenario: Scenario, postures: list[tuple[str, np.ndarray]], path: Path) -> None:
    """Write one image of configurations of the whole scene, (nq,) each, with their names."""
    from PIL import Image

    from multi_qp_viewer import render_frame

    camera, pictures = camera_of(scenario), []
    for name, q in postures:
        snapshot = Snapshot(math.nan, q, name, "ok", 0.0)
        pictures.append(Image.fromarray(render_frame(scenario.scene, snapshot, camera=camera, width=400, height=300)))
    columns = min(5, len(pictures))
    sheet = Image.new("RGB", (400 * columns, 300 * -(-len(pictures) // columns)), "white")
    for number, image in enumerate(pictures):
        sheet.paste(image, (400 * (number % columns), 300 * (number // columns)))
    sheet.save(path)
