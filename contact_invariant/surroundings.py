"""Surfaces and solids around a character: nearest points of (3) and signed distances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from contact_invariant.capsules import owner
from contact_invariant.character import Character, RigidBody, behaviour_of
from contact_invariant.symbols import ca
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.errors import KeyedError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import StandTerm
from multi_qp_scene.surfaces import Surface

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
    """A box that must not be entered.

    Attributes:
        pose: in the world, or in the frame of the body that it is of.
        half: half extents, (3,) [m].
        level: height of the origin of that frame in the start pose [m].
        up: direction in that frame in which heights are measured, (3,).
        owner: name of the subsystem that it is of.
    """

    pose: pin.SE3
    half: Array
    level: float = 0.0
    up: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    owner: str = ""

    @property
    def top(self) -> float:
        """Height of its highest point in that frame [m]."""
        return float(self.up @ self.pose.translation + np.abs(self.up @ self.pose.rotation) @ self.half)

    @property
    def across(self) -> tuple[int, int]:
        """Its two axes that are not the one closest to `up`."""
        first, second, _ = np.argsort(np.abs(self.up @ self.pose.rotation), kind="stable")
        return int(first), int(second)

    @property
    def ease(self) -> float:
        """Factor that makes the ramps of a high solid no steeper in the cost than those of a low one."""
        return min(1.0, (EASY / max(self.top + self.level, EASY)) ** 2)

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
        trunks: faces and solids of trunks that the other character may touch, relative to their centres of mass, by
            index in `Character.bodies`.
        climbed: names of subsystems that terms name a surface of to stand on.
    """

    faces: tuple[TouchableRectangle, ...]
    solids: tuple[SolidBox, ...]
    prop: Surroundings | None = None
    sharpness: float = SHARPNESS
    trunks: Mapping[int, Surroundings] = field(default_factory=dict)
    climbed: frozenset[str] = frozenset()

    def only(self, name: str) -> Surroundings:
        """Return one face.

        Raises:
            MultiQpError: it is no planar surface of the fixed environment.
        """
        faces = tuple(face for face in self.faces if face.name == name)
        if not faces:
            raise KeyedError(("behaviour",), f"'{name}' is no planar surface of the fixed environment")
        return Surroundings(faces, ())

    def of(self, body: int, character: Character) -> Surroundings:
        """Return faces and solids of a moving body: the object, or a trunk that can be touched."""
        if body >= len(character.names) and self.prop is not None:
            return self.prop
        return self.trunks[body]

    def nearest(self, p: Any, margin: float) -> tuple[Any, Any]:
        """Return the virtual nearest point of a patch's symbolic middle and the normal there, (3, 1) each.

        Source: [Mordatch2012] (3), over the points of each face where the whole patch fits.

        Args:
            p: middle of the patch.
            margin: its largest half extent [m].

        Raises:
            MultiQpError: it fits on no face.
        """
        faces = list(self.weighted(p, margin))
        if not faces:
            raise KeyedError(("behaviour",), f"no surface of the surroundings has {2 * margin} m × {2 * margin} m")
        total, point, normal = 0, ca.SX.zeros(3), ca.SX.zeros(3)
        for eta, n, axis in faces:
            total, point, normal = total + eta, point + eta * n, normal + eta * axis
        return point / total, normal / total

    def weighted(self, p: Any, margin: float) -> Iterator[tuple[Any, Any, Any]]:
        """Yield of each face on which a patch fits the weight η of (3), the nearest point, and the normal.

        Args:
            p: symbolic middle of the patch.
            margin: its largest half extent [m].
        """
        for face in self.faces:
            if face.half.min() < margin:
                continue
            n = self._on(replace(face, half=face.half - margin), p)
            yield 1 / (1 + self.sharpness * ca.sumsqr(p - n)), n, ca.DM(face.pose.rotation[:, 2])

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
            highest: solids above this height are left out, as no limb goes over them, but for those that are climbed
                [m].
        """
        found = ca.inf
        for solid in self.solids:
            if solid.top > highest and solid.owner not in self.climbed:
                continue
            d = ca.fabs(ca.DM(solid.pose.rotation).T @ (p - ca.DM(solid.pose.translation))) - ca.DM(solid.half)
            aside = ca.sqrt(sum(ca.fmax(d[k], 0) ** 2 for k in solid.across) + 1e-12)
            found = ca.fmin(found, solid.ease * (ca.dot(ca.DM(solid.up), p) - (solid.top - RAMP * aside)))
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


def surroundings_of_behaviour(scenario: Scenario, character: Character) -> Surroundings:
    """Return all that a character may touch: fixed environment, object, and trunks of other characters.

    Raises:
        MultiQpError: the scene does not fit, see `surroundings_of` and `with_trunks`.
    """
    fixed = surroundings_of(scenario.scene, *character.names, prop=character.prop)
    named = [term.on for term in behaviour_of(scenario).terms if isinstance(term, StandTerm) and term.on is not None]
    climbed = frozenset(surface.split("/")[0] for surface in named)
    return replace(with_trunks(fixed, scenario.scene, character), climbed=climbed)


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
        raise KeyedError(("behaviour",), f"expected its characters and fixed surroundings, found '{others[0]}' as well")
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
        faces[of_prop].append(rectangle(surface, frames[of_prop].inverse() * data.oMf[surface.frame_id]))
    if not faces[0]:
        raise KeyedError(("behaviour",), "the surroundings have no planar surface to make contact with")
    for k, piece in enumerate(scene.collision_model.geometryObjects):
        owner = piece.name.split("/")[0]
        if owner in characters:
            continue
        if not isinstance(piece.geometry, coal.Box):
            raise KeyedError(("behaviour",), f"expected surroundings made of boxes, '{piece.name}' is another shape")
        of_prop = owner in own
        pose = frames[of_prop].inverse() * geometry.oMg[k]
        solids[of_prop].append(SolidBox(pose, np.asarray(piece.geometry.halfSide).copy(), owner=owner))
    moved = None if prop is None else Surroundings(tuple(faces[1]), tuple(solids[1]), sharpness=PROP_SHARPNESS)
    return Surroundings(tuple(faces[0]), tuple(solids[0]), moved)


def with_trunks(surroundings: Surroundings, scene: Scene, character: Character) -> Surroundings:
    """Return surroundings with the surfaces and boxes of trunks that the other character may touch.

    Args:
        surroundings: fixed ones.
        scene: the scene.
        character: with `touchable` surfaces, full names.

    Raises:
        MultiQpError: such a surface is not planar, or a limb moves it.
    """
    data, moved, trunks = scene.model.createData(), set(character.joints.indices), {}
    start = character.features_at(scene, scene.q0)
    pin.framesForwardKinematics(scene.model, data, character.nominal)
    geometry = scene.collision_model.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.collision_model, geometry)
    for body, names in enumerate(character.touchable):
        if not names:
            continue
        one = character.bodies[body]
        world = (data.oMi[one.root] * pin.SE3(np.eye(3), one.com)).inverse()
        level = float(start[character.body_features(body)][2])
        faces, solids = [], []
        for surface in (scene.surfaces[name] for name in names):
            if surface.kind != "planar" or owner(scene, surface.joint_id, moved) is not None:
                raise KeyedError(("behaviour",), f"expected a planar surface of the trunk, got '{surface.name}'")
            faces.append(rectangle(surface, world * data.oMf[surface.frame_id]))
        for k, piece in enumerate(scene.collision_model.geometryObjects):
            of_trunk = piece.name.split("/")[0] == one.name and owner(scene, piece.parentJoint, moved) is None
            if of_trunk and isinstance(piece.geometry, coal.Box):
                pose = world * geometry.oMg[k]
                up = _upward(pose.rotation, pin.exp3(start[character.body_features(body)][3:])[2])
                solids.append(SolidBox(pose, np.asarray(piece.geometry.halfSide).copy(), level, up))
        trunks[body] = Surroundings(tuple(faces), tuple(solids))
    return replace(surroundings, trunks=trunks)


def _upward(R: Array, vertical: Array) -> Array:
    """Return the axis of a box with rotation R, to either side, that is closest to a direction, (3,)."""
    along = vertical @ R
    k = int(np.abs(along).argmax())
    return np.asarray(np.sign(along[k]) * R[:, k])


def rectangle(surface: Surface, frame: pin.SE3) -> TouchableRectangle:
    """Return a planar surface whose frame has the given pose."""
    outline = surface.points[:, :2]
    middle = (outline.min(axis=0) + outline.max(axis=0)) / 2.0
    pose = frame * pin.SE3(np.eye(3), np.append(middle, 0.0))
    return TouchableRectangle(surface.name, pose, np.ptp(outline, axis=0) / 2.0)
