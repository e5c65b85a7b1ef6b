"""Compute the kinematic polytopes of a robot by sampling: reach of its centre of mass from each surface."""

from __future__ import annotations

import argparse
from pathlib import Path

from com_trajectory.kinematics import RobotPolytopes, generate_polytopes, save_polytopes
from com_trajectory.kinematics.generate import DEFAULT_FACES, DEFAULT_SAMPLES
from com_trajectory.kinematics.store import polytopes_path
from multi_qp_cli.output import Console, figures_table, writing
from multi_qp_cli.progress import run_progress
from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.models import valid_model
from multi_qp_scene.resources import model_path

SUMMARY = "compute the kinematic polytopes of a robot"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("robot", help="name of a shipped model, or path of a model file")
    parser.add_argument("--samples", type=int, default=DEFAULT_SAMPLES, help=f"default {DEFAULT_SAMPLES:,}")
    parser.add_argument(
        "--faces", type=int, default=DEFAULT_FACES, help=f"largest number of faces (default {DEFAULT_FACES})"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (default 0)")
    parser.add_argument("--processes", type=int, help="number of processes (default: one per core)")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="output file (default: next to the URDF)")


def run(options: argparse.Namespace) -> int:
    """Compute and write the polytopes."""
    loaded = valid_model(model_path(options.robot))
    if options.processes is not None and options.processes < 1:
        raise MultiQpError(f"--processes: expected at least 1, got {options.processes}")
    path = options.output or polytopes_path(loaded)
    with run_progress(f"polytopes of {options.robot}") as progress:
        polytopes = generate_polytopes(
            options.robot,
            samples=options.samples,
            max_faces=options.faces,
            seed=options.seed,
            processes=options.processes,
            progress=progress,
        )
    with writing(path):
        save_polytopes(polytopes, path)
    _show(polytopes)
    print(f"written to {shown_path(path)}")
    return 0


def _show(polytopes: RobotPolytopes) -> None:
    title = f"{polytopes.robot}: {polytopes.free:,} of {polytopes.samples:,} configurations are collision-free"
    table = figures_table(("surface", "faces", "volume [m³]", "lost [%]"), "surface", title=title)
    for name, effector in polytopes.effectors.items():
        volume = effector.polytope.volume()
        table.add_row(name, str(effector.polytope.size), f"{volume:.3f}", f"{100 * effector.loss:.1f}")
    Console().print(table)
