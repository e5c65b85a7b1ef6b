"""Surfaces and solids around a character: nearest points of (3) and signed distances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from contact_invariant.character import RigidBody
from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene

#: k of (3) [1/m²], and that of an object, whose faces are close to each other: far from all of them it has no effect.
SHARPNESS, PROP_SHARPNESS = 1e4, 1e6
#: Slope of the ramps of `Surroundings.height_above`.
RAMP = 3.0
#: Height of a solid above which its ramps are eased [m]: they would keep limbs before it.
EASY = 0.2


@dataclass(frozen=True)
class TouchableRectangle:
    """A rectangle that can be touched.

    Attributes:
        name: full name of the surface.
        pose: in the world; z is the outward normal.
        half: half extents along x and y, (2,) [m].
    """

    name: str
    pose: pin.SE3
    half: Array


@dataclass(frozen=True)
class SolidBox:
    """A box that must not be entered: pose in the world, half extents, (3,) [m]."""

    pose: pin.SE3
    half: Array

    @property
    def top(self) -> float:
        """Height of its highest point [m]."""
        return float(self.pose.translation[2] + np.abs(self.pose.rotation[2]) @ self.half)

    @property
    def ease(self) -> float:
        """Factor that makes the ramps of a high solid no steeper in the cost than those of a low one."""
        return min(1.0, (EASY / max(self.top, EASY)) ** 2)

    def edges(self, spacing: float) -> Array:
        """Return points on its edges at most as far apart as given [m], (k, 3)."""
        axes = [np.linspace(-1.0, 1.0, 1 + math.ceil(2.0 * half / spacing)) for half in self.half]
        signs = np.array([point for point in product(*axes) if (np.abs(point) == 1.0).sum() >= 2])
        return np.asarray((signs * self.half) @ self.pose.rotation.T + self.pose.translation)


@dataclass(frozen=True)
class Surroundings:
    """Faces and solids of the fixed environment.

    Attributes:
        faces: that can be touched.
        solids: that must not be entered.
        prop: faces and solids of the object, relative to its centre of mass.
        sharpness: k of (3) [1/m²].
    """

    faces: tuple[TouchableRectangle, ...]
    solids: tuple[SolidBox, ...]
    prop: Surroundings | None = None
    sharpness: float = SHARPNESS

    def nearest(self, p: Any, margin: float) -> tuple[Any, Any]:
        """Return the virtual nearest point of a patch's symbolic middle and the normal there, (3, 1) each.

        Source: [Mordatch2012] (3), over the points of each face where the whole patch fits.

        Args:
            p: middle of the patch.
            margin: its largest half extent [m].

        Raises:
            MultiQpError: it fits on no face.
        """
        total, point, normal = 0, ca.SX.zeros(3), ca.SX.zeros(3)
        faces = [replace(face, half=face.half - margin) for face in self.faces if face.half.min() >= margin]
        if not faces:
            raise MultiQpError(f"behaviour: no surface of the surroundings has {2 * margin} m × {2 * margin} m")
        for face in faces:
            n = self._on(face, p)
            eta = 1 / (1 + self.sharpness * ca.sumsqr(p - n))
            total, point = total + eta, point + eta * n
            normal = normal + eta * ca.DM(face.pose.rotation[:, 2])
        return point / total, normal / total

    @staticmethod
    def _on(face: TouchableRectangle, p: Any) -> Any:
        R, origin, half = ca.DM(face.pose.rotation), ca.DM(face.pose.translation), face.half
        d = R.T @ (p - origin)
        x, y = (ca.fmin(ca.fmax(d[k], -half[k]), half[k]) for k in range(2))
        return origin + R @ ca.vertcat(x, y, 0)

    def distance(self, p: Any) -> Any:
        """Return the signed distance of a symbolic point from the nearest solid [m]."""
        found = None
        for solid in self.solids:
            d = ca.fabs(ca.DM(solid.pose.rotation).T @ (p - ca.DM(solid.pose.translation))) - ca.DM(solid.half)
            outside = ca.sqrt(sum(ca.fmax(d[k], 0) ** 2 for k in range(3)) + 1e-12)
            signed = outside + ca.fmin(ca.fmax(ca.fmax(d[0], d[1]), d[2]), 0)
            found = signed if found is None else ca.fmin(found, signed)
        return found

    def height_above(self, p: Any, highest: float = np.inf) -> Any:
        """Return the height of a symbolic point above the solids that are not too high, whose sides are ramps [m].

        Inside a solid its gradient points up, where that of `distance` may point back to the side it came from. Heights
        are scaled by `SolidBox.ease`.

        Args:
            p: the point.
            highest: solids above this height are left out: no limb goes over them [m].
        """
        found = ca.inf
        for solid in self.solids:
            if solid.top > highest:
                continue
            d = ca.fabs(ca.DM(solid.pose.rotation).T @ (p - ca.DM(solid.pose.translation))) - ca.DM(solid.half)
            aside = ca.sqrt(ca.fmax(d[0], 0) ** 2 + ca.fmax(d[1], 0) ** 2 + 1e-12)
            found = ca.fmin(found, solid.ease * (p[2] - (solid.top - RAMP * aside)))
        return found

    def distances(self, points: Array) -> Array:
        """Return the signed distance of points, (m, 3), from the nearest solid, (m,) [m]."""
        found = np.full(len(points), np.inf)
        for solid in self.solids:
            d = np.abs((points - solid.pose.translation) @ solid.pose.rotation) - solid.half
            signed = np.linalg.norm(np.maximum(d, 0.0), axis=1) + np.minimum(d.max(axis=1), 0.0)
            found = np.minimum(found, signed)
        return found

    def touched(self, points: Array) -> tuple[Array, Array]:
        """Return the nearest point on any face and that face's normal, for points, (m, 3); (m, 3) each."""
        near, index = self._projected(points)
        return near, np.array([face.pose.rotation[:, 2] for face in self.faces])[index]

    def name_at(self, point: Array) -> str:
        """Return the full name of the surface nearest to a point, (3,)."""
        return self.faces[int(self._projected(point[None])[1][0])].name

    def _projected(self, points: Array) -> tuple[Array, Indices]:
        """Return the nearest point on any face, and the index of that face."""
        best, near, index = np.full(len(points), np.inf), points.copy(), np.zeros(len(points), dtype=np.intp)
        for k, face in enumerate(self.faces):
            local = (points - face.pose.translation) @ face.pose.rotation
            local[:, :2], local[:, 2] = np.clip(local[:, :2], -face.half, face.half), 0.0
            on = local @ face.pose.rotation.T + face.pose.translation
            distance = np.linalg.norm(points - on, axis=1)
            closer = distance < best
            best[closer], near[closer], index[closer] = distance[closer], on[closer], k
        return near, index


def surroundings_of(scene: Scene, *characters: str, prop: RigidBody | None = None) -> Surroundings:
    """Return the fixed environment of a scene, and faces and solids of the object.

    Args:
        scene: the scene.
        characters: names of the characters; other moving subsystems are not supported.
        prop: the object.

    Raises:
        MultiQpError: there is no planar surface, another moving subsystem, or a shape that is not a box.
    """
    own = {*characters} if prop is None else {*characters, prop.name}
    others = [name for name in scene.subsystems if name not in own]
    if others:
        raise MultiQpError(f"behaviour: expected its characters and fixed surroundings, found '{others[0]}' as well")
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    geometry = scene.collision_model.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.collision_model, geometry)
    faces: tuple[list[TouchableRectangle], list[TouchableRectangle]] = ([], [])
    solids: tuple[list[SolidBox], list[SolidBox]] = ([], [])
    frames = (pin.SE3.Identity(), pin.SE3.Identity())
    if prop is not None:
        frames = (frames[0], data.oMi[prop.root] * pin.SE3(np.eye(3), prop.com))
    for surface in scene.surfaces.values():
        owner = surface.name.split("/")[0]
        if owner in characters or surface.kind != "planar":
            continue
        of_prop = owner in own
        if not of_prop and surface.name.endswith("/bottom"):
            continue
        outline = surface.points[:, :2]
        middle = (outline.min(axis=0) + outline.max(axis=0)) / 2.0
        pose = frames[of_prop].inverse() * data.oMf[surface.frame_id] * pin.SE3(np.eye(3), np.append(middle, 0.0))
        faces[of_prop].append(TouchableRectangle(surface.name, pose, np.ptp(outline, axis=0) / 2.0))
    if not faces[0]:
        raise MultiQpError("behaviour: the surroundings have no planar surface to make contact with")
    for k, piece in enumerate(scene.collision_model.geometryObjects):
        owner = piece.name.split("/")[0]
        if owner in characters:
            continue
        if not isinstance(piece.geometry, coal.Box):
            raise MultiQpError(f"behaviour: expected surroundings made of boxes, '{piece.name}' is another shape")
        of_prop = owner in own
        pose = frames[of_prop].inverse() * geometry.oMg[k]
        solids[of_prop].append(SolidBox(pose, np.asarray(piece.geometry.halfSide).copy()))
    moved = None if prop is None else Surroundings(tuple(faces[1]), tuple(solids[1]), sharpness=PROP_SHARPNESS)
    return Surroundings(tuple(faces[0]), tuple(solids[0]), moved)
