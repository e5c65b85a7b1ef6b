"""What can be stepped on or held: the planar surfaces of the surroundings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.forest import place_frames
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]

#: Thickness of the plates that stand for faces where a limb's reach is tested [m].
_PLATE = 1e-3


@dataclass(frozen=True, eq=False)
class Face:
    """A rectangle that may be touched.

    Attributes:
        name: full name of its surface.
        pose: of its frame in the world; +z is the outward normal.
        half: half its extent along x and y of its frame, (2,) [m].
        friction: Coulomb coefficient.
        plate: thin box for tests of reach, centred on the face.
    """

    name: str
    pose: pin.SE3
    half: Array
    friction: float
    plate: coal.CollisionObject

    @property
    def normal(self) -> Array:
        """Outward unit normal in the world, (3,)."""
        return np.asarray(self.pose.rotation[:, 2])

    def is_near(self, point: Array, distance: float) -> bool:
        """Whether some of the face is within a distance [m] of a point in the world, (3,)."""
        local = self.pose.rotation.T @ (point - self.pose.translation)
        beyond = np.maximum(np.abs(local[:2]) - self.half, 0.0)
        return bool(local[2] ** 2 + beyond @ beyond <= distance**2)

    def holds(self, points: Array, margin: float = 0.0) -> bool:
        """Whether points in the world, (k, 3), projected on the face, are at least `margin` [m] inside its edges."""
        local = (points - self.pose.translation) @ self.pose.rotation[:, :2]
        return bool(np.all(np.abs(local) <= self.half - margin))


def faces_of(
    scene: Scene, q: Array, *, names: Iterable[str] | None = None, friction: float, frictions: Mapping[str, float]
) -> tuple[Face, ...]:
    """Return the planar surfaces that a character may touch.

    Args:
        scene: the scene.
        q: configuration of all, (nq,): surfaces of other characters are where it puts them.
        names: full names of the surfaces; all planar surfaces of the environment if left out.
        friction: Coulomb coefficient of those that `frictions` does not name.
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
        plate = coal.CollisionObject(
            coal.Box(2 * half[0], 2 * half[1], _PLATE), coal.Transform3s(pose.rotation, pose.translation)
        )
        faces.append(Face(name, pose, half, frictions.get(name, friction), plate))
    return tuple(faces)
