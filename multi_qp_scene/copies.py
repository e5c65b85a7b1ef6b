"""Expansion of the copies of subsystems and of pieces of the environment in a scenario file."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.limits import excess
from multi_qp_scene.problems import Problems
from multi_qp_scene.schema.common import PoseSpec, Vector2
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.schema.subsystems import CopiesSpec, EnvironmentSpec, SubsystemSpec
from multi_qp_scene.yaml_document import YamlDocument

#: Number of random places that are tried for each copy.
TRIALS = 1000


def with_copies(document: YamlDocument, spec: ScenarioFile, problems: Problems) -> ScenarioFile:
    """Return a scenario file with all copies under names of their own; problems are added to the list."""
    subsystems: dict[str, SubsystemSpec] = {}
    for name, one in spec.subsystems.items():
        made = {name: one} if one.copies is None else _copies(document, name, one, one.copies, problems)
        for twice in made.keys() & subsystems.keys():
            problems.add(document.location(("subsystems", name)), f"'{twice}' is the name of two subsystems")
        subsystems |= made
    environment: dict[str, EnvironmentSpec] = {}
    for name, piece in spec.environment.items():
        pieces = {name: piece} if piece.copies is None else _pieces(document, name, piece, problems)
        for twice in pieces.keys() & environment.keys():
            problems.add(document.location(("environment", name)), f"'{twice}' is the name of two pieces")
        environment |= pieces
    return spec.model_copy(update={"subsystems": subsystems, "environment": environment})


def _pieces(
    document: YamlDocument, name: str, piece: EnvironmentSpec, problems: Problems
) -> dict[str, EnvironmentSpec]:
    """Return the copies of a piece of the environment by name."""
    copies = piece.copies
    assert copies is not None
    if (message := excess("bodies", math.prod(copies.grid))) is not None:
        problems.add(document.location(("environment", name, "copies")), message)
        return {}
    heights = np.random.default_rng(copies.seed).uniform(*copies.heights, math.prod(copies.grid))
    made = {}
    for k, ((x, y), height) in enumerate(zip(_grid(copies.region, copies.grid), heights, strict=True), 1):
        at = piece.pose.xyz
        xyz = (at[0] + float(x), at[1] + float(y), at[2] + float(height))
        pose = PoseSpec(xyz=xyz, rpy=piece.pose.rpy)
        made[f"{name}_{k}"] = piece.model_copy(update={"copies": None, "pose": pose})
    return made


def _copies(
    document: YamlDocument, name: str, one: SubsystemSpec, copies: CopiesSpec, problems: Problems
) -> dict[str, SubsystemSpec]:
    """Return the copies of one subsystem by name."""
    count = copies.count or math.prod(copies.grid or (0,))
    key = ("subsystems", name, "copies")
    if (message := excess("bodies", count)) is not None:
        problems.add(document.location(key), message)
        return {}
    if one.place is not None:
        problems.add(document.location((*key[:2], "place")), "copies are placed by `pose`")
    random = np.random.default_rng(copies.seed)
    places = _grid(copies.region, copies.grid) if copies.grid is not None else _scattered(copies, random)
    if len(places) < count:
        message = f"{len(places)} of {count} copies fit into the region at a distance of {copies.distance:g} m"
        problems.add(document.location(key), message)
    return {f"{name}_{k}": _copy(one, copies, place, random) for k, place in enumerate(places, 1)}


def _copy(one: SubsystemSpec, copies: CopiesSpec, place: Array, random: np.random.Generator) -> SubsystemSpec:
    """Return the copy at a place, (2,) [m]."""
    at = one.pose or PoseSpec()
    x, y, (roll, pitch, yaw) = at.xyz[0] + float(place[0]), at.xyz[1] + float(place[1]), at.rpy
    model, mass = one.model, one.mass
    if copies.grid is None:
        yaw += float(random.uniform(-math.pi, math.pi))
        model = str(random.choice(copies.models)) if copies.models else model
        mass = float(random.uniform(*copies.mass)) if copies.mass else mass
    pose, release = PoseSpec(xyz=(x, y, at.xyz[2]), rpy=(roll, pitch, yaw)), one.release
    if copies.release is not None:
        (first, _), (last, _) = copies.region
        release = float(np.interp((place[0] - first) / (last - first or 1.0), (0.0, 1.0), copies.release))
    return one.model_copy(update={"copies": None, "pose": pose, "model": model, "mass": mass, "release": release})


def _grid(region: tuple[Vector2, Vector2], grid: tuple[int, int]) -> Array:
    """Return the centres of the cells of a grid in a region, row by row along x, (n, 2) [m]."""
    (x0, y0), (x1, y1) = region
    columns, rows = grid
    x = x0 + (np.arange(columns) + 0.5) / columns * (x1 - x0)
    y = y0 + (np.arange(rows) + 0.5) / rows * (y1 - y0)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _scattered(copies: CopiesSpec, random: np.random.Generator) -> Array:
    """Return random places in the region, as many as fit, (n, 2) [m]."""
    assert copies.count is not None
    low, high = np.min(copies.region, axis=0), np.max(copies.region, axis=0)
    places = np.zeros((0, 2))
    for _ in range(TRIALS * copies.count):
        place = random.uniform(low, high)
        if (np.linalg.norm(places - place, axis=1) >= copies.distance).all():
            places = np.vstack([places, place])
        if len(places) == copies.count:
            break
    return places
