"""Command `multi-qp show`: a picture of a model with the faces and axes of its contact surfaces."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rich.table import Table

from multi_qp_cli.options import output_path, require_known
from multi_qp_cli.output import Console, writing
from multi_qp_cli.pictures import size_of
from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.builder import build_scene
from multi_qp_scene.models import valid_model
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.resources import model_path
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.common import PoseSpec
from multi_qp_scene.schema.subsystems import SubsystemSpec
from multi_qp_scene.surfaces import Surface

#: Height of the lowest point of the model over the floor of the picture, so that soles are visible [m].
CLEARANCE = 0.25


def add_to(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("show", description=__doc__)
    parser.add_argument("model", help="name of a shipped model, or the path of a model file")
    parser.add_argument("--surfaces", nargs="*", metavar="NAME", help="draw these surfaces (without names: all)")
    parser.add_argument("--posture", help="a posture of the model (default zero)")
    parser.add_argument("--output", metavar="FILE.png", help="draw the picture here")
    parser.add_argument("--size", default="960x720", metavar="WxH", help="size of the picture (default 960x720)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table of surfaces and draw the picture."""
    path = output_path("--output", options.output, suffixes=(".png",))
    width, height = size_of(options.size)
    scene, name, base = _scene(options.model, options.posture)
    surfaces = {full.partition("/")[2]: surface for full, surface in scene.surfaces.items()}
    for chosen in options.surfaces or ():
        require_known("--surfaces", "surface", chosen, surfaces)
    if options.surfaces is not None:
        surfaces = {key: surfaces[key] for key in options.surfaces or surfaces}
        Console().print(_table(scene, surfaces, base))
    if path is not None:
        _draw(path, scene, name, list(surfaces.values()) if options.surfaces is not None else [], width, height)
    return 0


def _scene(model: str, posture: str | None) -> tuple[Scene, str, float]:
    """Return a scene of one model, a little above the floor of the picture, its name, and the height of its base [m].

    Raises:
        MultiQpError: when the model is unknown or invalid, or has no such posture.
    """
    file = model_path(model)
    loaded = valid_model(file)
    require_known("--posture", "posture", posture, ["zero", *loaded.spec.postures])
    from multi_qp_viewer.scene_view import scene_bounds

    spec = SubsystemSpec(model=str(file), posture=posture, pose=PoseSpec())
    scene = build_scene(SceneParts(subsystems={file.stem: (loaded, spec)}))
    height = CLEARANCE - float(scene_bounds(scene, scene.q0)[0][2])
    above = spec.model_copy(update={"pose": PoseSpec(xyz=(0.0, 0.0, height))})
    return build_scene(SceneParts(subsystems={file.stem: (loaded, above)})), file.stem, height


def _table(scene: Scene, surfaces: dict[str, Surface], height: float) -> Table:
    """Return the surfaces with the directions of their axes at this posture, and their places, in the base frame.

    The place of a ball is its lowest point.
    """
    table = Table("surface", "type", "size [m]", "z", "x", "place [m]", box=None)
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for name, surface in surfaces.items():
        R = data.oMf[surface.frame_id].rotation
        place = data.oMf[surface.frame_id].act(surface.ball.centre) - [0.0, 0.0, height + surface.ball.radius]
        shown = "({:.3f}, {:.3f}, {:.3f})".format(*(place.round(3) + 0.0))
        extent = "" if surface.kind == "point" else "{:.3f} x {:.3f}".format(*np.ptp(surface.points, axis=0)[:2])
        table.add_row(name, surface.kind, extent, _direction(R[:, 2]), _direction(R[:, 0]), shown)
    return table


def _direction(axis: np.ndarray) -> str:
    names = ("ahead", "left", "up"), ("back", "right", "down")
    k = int(np.abs(axis).argmax())
    return names[int(axis[k] < 0.0)][k] if abs(axis[k]) > 0.99 else "({:.2f}, {:.2f}, {:.2f})".format(*(axis + 0.0))


def _draw(path: Path, scene: Scene, name: str, surfaces: list[Surface], width: int, height: int) -> None:
    from PIL import Image

    from multi_qp_viewer import render_frame
    from multi_qp_viewer.surface_marks import surface_overlays

    marks = surface_overlays(scene.model, scene.q0, surfaces)
    snapshot = Snapshot(0.0, scene.q0, name, "ok", 0.0)
    picture = render_frame(scene, snapshot, width=width, height=height, overlays=False, extra=marks)
    with writing(path):
        Image.fromarray(picture).save(path)
