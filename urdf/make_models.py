"""Writer of the models of this folder: `python urdf/make_models.py`.

URDF files and meshes are written to `urdf/`, model files to `config/models/`; all of them are committed, and a test
compares them with the output of this program. docs/models.md describes how to add a robot.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from modelling.acrobats import podium
from modelling.bag import bag
from modelling.causeway import NAME as CAUSEWAY
from modelling.causeway import causeway
from modelling.door import door
from modelling.files import GENERATED, model_text, urdf_text
from modelling.funambulist import barbell, beam
from modelling.gate import fence, gate
from modelling.hexapod import hexapod
from modelling.high_bar import high_bar
from modelling.humanoid import humanoid, with_pack
from modelling.humanoid_figures import HumanoidFigures
from modelling.lever import lever
from modelling.litter import litter
from modelling.loft import detail
from modelling.objects import apple, carton, ground, long_table, mat, table
from modelling.plant import plant
from modelling.quadruped import quadruped
from modelling.robot import Robot
from modelling.sword import sword
from modelling.tall_figures import tall
from modelling.tree import Branch, tree
from modelling.valve import valve


def models() -> list[Robot]:
    """All the models of the project."""
    with detail(0.6):  # their meshes stay below a megabyte together
        others = [humanoid(tall()), quadruped(), hexapod()]
    objects = [carton(), table(), long_table(), ground(), beam(), barbell(), litter(), sword(), podium(), mat()]
    plants = [
        plant("plant", 1.4, 1.25, pieces=3, flower=0.11, stiffness=12.0),
        plant("small_plant", 1.15, 1.0, pieces=2, flower=0.08, stiffness=8.0),
    ]
    trees = [
        tree(
            "tree",
            2.3,
            10.0,
            (
                Branch(1.8, "x", 0.75, ((0.65, 1.0), (1.0, 1.1))),
                Branch(1.75, "y", 0.7, ((0.6, 0.95), (1.0, 1.05))),
                Branch(1.85, "-x", 0.8, ((0.55, 1.0), (1.0, 1.15))),
                Branch(1.8, "-y", 0.7, ((0.6, 1.05), (1.0, 1.0))),
            ),
        ),
        tree(
            "young_tree",
            2.0,
            7.0,
            (
                Branch(1.7, "x", 0.65, ((0.55, 0.9), (1.0, 1.0))),
                Branch(1.75, "y", 0.65, ((1.0, 1.0),)),
                Branch(1.7, "-y", 0.7, ((0.5, 0.95), (1.0, 0.9))),
            ),
            stiffness=300.0,
        ),
    ]
    return [
        humanoid(HumanoidFigures()),
        *others,
        *objects,
        door(),
        valve(),
        lever(),
        bag(),
        gate(),
        fence(),
        high_bar(),
        apple(),
        *plants,
        *trees,
    ]


def files_of(robot: Robot) -> dict[str, str]:
    """Text of all files of a model by path, relative to the root of the project."""
    files = {
        f"urdf/{robot.name}.urdf": urdf_text(robot),
        f"config/models/{robot.name}.yaml": model_text(robot),
    }
    return files | meshes_of(robot)


def meshes_of(robot: Robot) -> dict[str, str]:
    """Text of the meshes of a model by path, without those of another model."""
    files = {}
    for link in robot.links:
        for visual in (visual for visual in link.visuals if not visual.model):
            files[f"urdf/meshes/{robot.name}/{visual.name}.obj"] = visual.mesh.obj(f"{visual.name}. {GENERATED}")
    return files


def terrain() -> dict[str, str]:
    """Text of the meshes that scenarios name themselves, by path, relative to the root of the project."""
    return {f"urdf/meshes/{CAUSEWAY}/{CAUSEWAY}.obj": causeway().obj(f"a causeway of rock. {GENERATED}")}


def main() -> None:
    """Write every file below the output folder."""
    parser = argparse.ArgumentParser(description="Write URDF files, meshes and model files.")
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--output", type=Path, default=root, help="root of the project to write into")
    output = parser.parse_args().output
    packed = with_pack(humanoid(HumanoidFigures()))  # its model file, which extends the humanoid's, is written by hand
    files = terrain() | meshes_of(packed) | {f"urdf/{packed.name}.urdf": urdf_text(packed)}
    for robot in models():
        files |= files_of(robot)
    for name, text in files.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
