"""Interface of a drawable scene, its drawn geometry and its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_viewer.meshes import is_unbounded, local_bounds
from multi_qp_viewer.pose import ScenePose

# A fixed body with its top this near z = 0 and at least this width is the ground, which the floor represents.
FLOOR_TOLERANCE = 2e-3  # [m]
FLOOR_WIDTH = 6.0  # [m]
SURROUNDINGS = 1.5  # margin around moving bodies within which the environment is framed [m]


class DrawableScene(Protocol):
    """Part of a scene that the viewer uses."""

    @property
    def model(self) -> pin.Model:
        """Model of all subsystems."""
        ...

    @property
    def visual_model(self) -> pin.GeometryModel:
        """Visual geometry."""
        ...

    @property
    def collision_model(self) -> pin.GeometryModel:
        """Collision geometry."""
        ...

    @property
    def q0(self) -> Array:
        """Initial configuration, (nq,)."""
        ...

    @property
    def subsystems(self) -> Mapping[str, Any]:
        """Subsystems by name."""
        ...


def drawn_geometry(scene: DrawableScene) -> list[pin.GeometryObject]:
    """Return what to draw: visual geometry, and collision geometry for subsystems that have no visuals.

    Ground planes are left out, since both renderers draw a floor of their own.
    """
    visual = list(scene.visual_model.geometryObjects)
    seen = {subsystem_of(geometry.name) for geometry in visual}
    collision = scene.collision_model.geometryObjects
    invisible = [geometry for geometry in collision if subsystem_of(geometry.name) not in seen]
    return [geometry for geometry in visual + invisible if not is_floor(geometry)]


def subsystem_of(name: str) -> str:
    """Return the subsystem's name in "<subsystem>/<rest>"."""
    return name.split("/", 1)[0]


def is_floor(geometry: pin.GeometryObject) -> bool:
    """Whether the geometry is the ground at z = 0, or is unbounded and cannot be drawn as a body."""
    if is_unbounded(geometry):
        return True
    if geometry.parentJoint != 0:
        return False
    lower, upper = placed_bounds(geometry, geometry.placement.rotation, geometry.placement.translation)
    width = np.min((upper - lower)[:2])
    return bool(abs(upper[2]) < FLOOR_TOLERANCE and width > FLOOR_WIDTH)


def placed_bounds(geometry: pin.GeometryObject, rotation: Array, position: Array) -> tuple[Array, Array]:
    """Return the world axis-aligned box of a geometry at a pose: lower and upper corner, (3,) each [m]."""
    lower, upper = local_bounds(geometry)
    center, half = (lower + upper) / 2, (upper - lower) / 2
    world_center = rotation @ center + position
    world_half = np.abs(rotation) @ half
    return world_center - world_half, world_center + world_half


def scene_bounds(scene: DrawableScene, q: Array, *, only: str | None = None) -> tuple[Array, Array]:
    """Return the world box around the moving bodies at q and their surroundings, or around one subsystem.

    Args:
        scene: the scene.
        q: configuration, (nq,).
        only: a subsystem's name; everything if None.

    Raises:
        ValueError: if `only` names no subsystem with geometry.
    """
    geometries = drawn_geometry(scene)
    rotations, positions = ScenePose(scene.model, geometries).placements(q)
    boxes = [
        (*placed_bounds(geometry, rotation, position), geometry.parentJoint != 0)
        for geometry, rotation, position in zip(geometries, rotations, positions, strict=True)
        if only is None or subsystem_of(geometry.name) == only
    ]
    if not boxes and only is not None:
        names = sorted({subsystem_of(geometry.name) for geometry in geometries})
        raise ValueError(f"no geometry belongs to subsystem {only!r}; there are: {', '.join(names)}")
    if not boxes:
        return np.array([-0.5, -0.5, 0.0]), np.array([0.5, 0.5, 1.0])
    return _join(boxes)


def moving_subsystems(scene: DrawableScene) -> list[str]:
    """Return the names of the subsystems that have geometry on a joint, in the scene's order."""
    moving = {subsystem_of(g.name) for g in drawn_geometry(scene) if g.parentJoint != 0}
    return [name for name in scene.subsystems if name in moving]


def _join(boxes: list[tuple[Array, Array, bool]]) -> tuple[Array, Array]:
    """Return the union of boxes; fixed boxes count only near the moving ones."""
    lower, upper, moving = (np.array(column) for column in zip(*boxes, strict=True))
    if not np.any(moving):
        return lower.min(axis=0), upper.max(axis=0)
    low, high = lower[moving].min(axis=0), upper[moving].max(axis=0)
    near_low, near_high = low - SURROUNDINGS, high + SURROUNDINGS
    seen = np.all((lower < near_high) & (upper > near_low), axis=1)
    low = np.maximum(lower[seen].min(axis=0), near_low)
    high = np.minimum(upper[seen].max(axis=0), near_high)
    return low, high


def character_weight(scene: DrawableScene) -> float:
    """Return the weight of the heaviest subsystem [N]; force arrows are scaled by it."""
    weights: dict[str, float] = {}
    for name, inertia in zip(scene.model.names, scene.model.inertias, strict=True):
        key = subsystem_of(name)
        weights[key] = weights.get(key, 0.0) + 9.81 * float(inertia.mass)
    return max(max(weights.values(), default=0.0), 1.0)
