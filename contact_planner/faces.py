"""Planar surfaces of the surroundings on which contacts can be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import Surface

#: Thickness of the plates that represent faces in tests of reach [m].
_PLATE = 1e-3


@dataclass(frozen=True, eq=False)
class Face:
    """A convex polygon that may be touched.

    Attributes:
        name: full name of its surface.
        pose: of its frame in the world; +z is the outward normal.
        half: half extents of its bounding rectangle along x and y of its frame, (2,) [m].
        edges: outward normals of its edges in its frame, (k, 2).
        offsets: distances of the edges, (k,) [m]: a point x of the plane is on the face if edges x ≤ offsets.
        friction: Coulomb coefficient.
        plate: thin box for tests of reach, centred on the face.
    """

    name: str
    pose: pin.SE3
    half: Array
    edges: Array
    offsets: Array
    friction: float
    plate: coal.CollisionObject

    @property
    def normal(self) -> Array:
        """Outward unit normal in the world, (3,)."""
        return np.asarray(self.pose.rotation[:, 2])

    def is_near(self, point: Array, distance: float) -> bool:
        """Whether its bounding rectangle is within a distance [m] of a point in the world, (3,)."""
        local = self.pose.rotation.T @ (point - self.pose.translation)
        beyond = np.maximum(np.abs(local[:2]) - self.half, 0.0)
        return bool(local[2] ** 2 + beyond @ beyond <= distance**2)

    def holds(self, points: Array, margin: float = 0.0) -> bool:
        """Whether points in the world, (k, 3), projected on the face, are at least `margin` [m] inside its edges."""
        local = (points - self.pose.translation) @ self.pose.rotation[:, :2]
        return bool(np.all(local @ self.edges.T <= self.offsets - margin))


def faces_of(
    scene: Scene, q: Array, *, names: Iterable[str] | None = None, friction: float, frictions: Mapping[str, float]
) -> tuple[Face, ...]:
    """Return the planar surfaces that a character may touch.

    Args:
        scene: the scene.
        q: configuration of the whole scene, (nq,), which also places the surfaces of other characters.
        names: full names of the surfaces; all planar surfaces of the environment by default.
        friction: Coulomb coefficient of surfaces that are not in `frictions`.
        frictions: Coulomb coefficients by full name.
    """
    data = place_frames(scene.model, q)
    if names is None:
        names = [name for name, surface in scene.surfaces.items() if surface.joint_id == 0]
    faces = []
    for name in names:
        surface = scene.surfaces[name]
        if surface.kind != "planar":
            continue
        pose = data.oMf[surface.frame_id].copy()
        half = np.abs(surface.points[:, :2]).max(axis=0)
        plate = coal.CollisionObject(_plate(surface), coal.Transform3s(pose.rotation, pose.translation))
        faces.append(Face(name, pose, half, *surface.edges, frictions.get(name, friction), plate))
    return tuple(faces)


def _plate(surface: Surface) -> coal.ShapeBase:
    half = np.abs(surface.points[:, :2]).max(axis=0)
    if len(surface.points) == 4 and np.allclose(np.abs(surface.points[:, :2]), half):
        return coal.Box(2 * half[0], 2 * half[1], _PLATE)  # faster to test than a hull
    corners = coal.StdVec_Vec3s()
    for height in (-0.5 * _PLATE, 0.5 * _PLATE):
        corners.extend(list(surface.points + [0.0, 0.0, height]))
    return coal.Convex.convexHull(corners, True, "Qt")
