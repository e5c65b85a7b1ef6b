"""Sampling of whole-body configurations, with the centre of mass seen from each surface."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.geometry_data import geometry_data
from multi_qp_scene.models import LoadedModel, valid_model
from multi_qp_scene.placement import pose_of

#: Fraction of the samples drawn between a posture of the model file and a uniform sample, instead of at the latter.
NEAR_POSTURES = 0.3
#: Largest lean [rad] and turn [rad] of a body from upright over the normal of a point, which transmits no moment.
POINT_TILT, POINT_YAW = 0.45, 0.45
_LOWEST = 0.01  # [m] surfaces within this height of the lowest one of a posture support the robot


@dataclass(frozen=True)
class SampledSurface:
    """A surface from which the centre of mass is sampled.

    Attributes:
        name: of the surface.
        kind: "planar", "grasp" or "point".
        joint: index of its parent joint.
        X_joint_surface: its placement in the joint's frame.
        carries: whether the robot stands on it in one of its postures; the centre of mass is then above it.
        R_surface_base: of a point: rotation of the base in the surface's frame when the robot stands upright.
    """

    name: str
    kind: str
    joint: int
    X_joint_surface: pin.SE3
    carries: bool
    R_surface_base: Array


class SampledRobot:
    """Sampler of collision-free configurations of a floating-base robot.

    Attributes:
        effectors: its surfaces.
    """

    def __init__(self, path: Path) -> None:
        """Read a model file.

        Raises:
            ConfigError: the file or its URDF is wrong.
            MultiQpError: the base is fixed, or the robot has no joints or no surfaces.
        """
        loaded = valid_model(path)
        if loaded.spec.root != "free_flyer" or loaded.urdf.model.nv <= 6 or not loaded.spec.surfaces:
            message = "expected a robot with a floating base, joints and surfaces"
            raise MultiQpError(f"{shown_path(path)}: {message}")
        self.loaded = loaded
        self.model: pin.Model = loaded.urdf.model
        self.data = self.model.createData()
        self._lower, self._upper = _ranges(self.model)
        self.postures = _postures(loaded)
        self.geometry = _collision_geometry(loaded, self.postures)
        self._geometry_data = geometry_data(self.geometry)
        self.effectors = _effectors(loaded, self.postures)

    def draw(self, random: np.random.Generator, count: int) -> Array:
        """Return joint displacements from the neutral configuration, (count, nv − 6) [rad or m]."""
        uniform = random.uniform(self._lower, self._upper, (count, len(self._lower)))
        near = random.random(count) < NEAR_POSTURES
        start = self.postures[random.integers(len(self.postures), size=count)]
        share = np.where(near, random.random(count), 1.0)[:, None]
        joints = np.asarray(start + share * (uniform - start))
        for follower, mimic in self.loaded.urdf.mimics.items():
            k, leader = (self.model.joints[self.model.getJointId(name)].idx_v - 6 for name in (follower, mimic.leader))
            joints[:, k] = mimic.multiplier * joints[:, leader] + mimic.offset
        return joints

    def configuration(self, joints: Array) -> Array:
        """Return the configuration with the base at the origin, (nq,)."""
        q = pin.neutral(self.model)
        return np.asarray(pin.integrate(self.model, q, np.concatenate([np.zeros(6), joints])))

    def collides(self) -> bool:
        """Whether two bodies overlap in the last configuration, apart from adjacent and always overlapping pairs."""
        pin.updateGeometryPlacements(self.model, self.data, self.geometry, self._geometry_data)
        return bool(pin.computeCollisions(self.geometry, self._geometry_data, True))

    def views(self, random: np.random.Generator, count: int) -> tuple[list[Array], int]:
        """Draw configurations and return the position of the centre of mass relative to each effector.

        Returns:
            For each effector the positions in its frame, (k, 3) [m]; and the number of collision-free configurations.
        """
        seen: list[list[Array]] = [[] for _ in self.effectors]
        lean = random.uniform(-1.0, 1.0, (count, len(self.effectors), 3)) * [POINT_TILT, POINT_TILT, POINT_YAW]
        joints = self.draw(random, count)
        free = 0
        for k in range(count):
            com = pin.centerOfMass(self.model, self.data, self.configuration(joints[k]), False).copy()
            if self.collides():
                continue
            free += 1
            for e, effector in enumerate(self.effectors):
                place = self._seen_from(effector, com, lean[k, e])
                if not effector.carries or place[2] < 0.0:
                    seen[e].append(place)
        return [np.array(places).reshape(-1, 3) for places in seen], free

    def _seen_from(self, effector: SampledSurface, com: Array, lean: Array) -> Array:
        X_base_surface = self.data.oMi[effector.joint] * effector.X_joint_surface
        if effector.kind != "point":
            return np.asarray(X_base_surface.actInv(com))
        # a point contact leaves rotation free: its frame is aligned with the environment, and the body leans over it
        R = effector.R_surface_base @ pin.rpy.rpyToMatrix(lean)
        return np.asarray(R @ (com - X_base_surface.translation))


def _ranges(model: pin.Model) -> tuple[Array, Array]:
    """Return the joint ranges as displacements from neutral; ± π for joints without limits, (nv − 6,)."""
    lower, upper = np.full(model.nv - 6, -np.pi), np.full(model.nv - 6, np.pi)
    for joint in list(model.joints)[2:]:
        k, i = joint.idx_v - 6, joint.idx_q
        ends = model.lowerPositionLimit[i], model.upperPositionLimit[i]
        if joint.nq == 1 and np.isfinite(ends).all() and max(abs(ends[0]), abs(ends[1])) < 1e3:
            lower[k], upper[k] = ends
    return lower, upper


def _postures(loaded: LoadedModel) -> Array:
    """Return the postures of the model file, and zero, as displacements from neutral, (n, nv − 6)."""
    model = loaded.urdf.model
    rows = [np.zeros(model.nv - 6)]
    for angles in loaded.spec.postures.values():
        row = np.zeros(model.nv - 6)
        for joint, angle in angles.items():
            row[model.joints[model.getJointId(joint)].idx_v - 6] = angle
        rows.append(row)
    return np.array(rows)


def _collision_geometry(loaded: LoadedModel, postures: Array) -> pin.GeometryModel:
    """Return the geometry with all pairs of bodies except adjacent ones and those overlapping in a posture."""
    model, geometry = loaded.urdf.model, loaded.urdf.collision_model.copy()
    geometry.removeAllCollisionPairs()
    parents = [item.parentJoint for item in geometry.geometryObjects]
    for i, j in combinations(range(len(parents)), 2):
        a, b = parents[i], parents[j]
        if a != b and model.parents[a] != b and model.parents[b] != a:
            geometry.addCollisionPair(pin.CollisionPair(i, j))
    data, found = model.createData(), geometry_data(geometry)
    always: set[tuple[int, int]] = set()
    for joints in postures:
        q = pin.integrate(model, pin.neutral(model), np.concatenate([np.zeros(6), joints]))
        pin.computeCollisions(model, data, geometry, found, q, False)
        for pair, result in zip(geometry.collisionPairs, found.collisionResults, strict=True):
            if result.isCollision():
                always.add((parents[pair.first], parents[pair.second]))
    for pair in list(geometry.collisionPairs):
        if (parents[pair.first], parents[pair.second]) in always:
            geometry.removeCollisionPair(pair)
    return geometry


def _effectors(loaded: LoadedModel, postures: Array) -> tuple[SampledSurface, ...]:
    model, data = loaded.urdf.model, loaded.urdf.model.createData()
    carrying: set[str] = set()
    upright: dict[str, Array] = {}
    for joints in postures[::-1]:  # the first posture of the file takes precedence
        pin.framesForwardKinematics(
            model, data, pin.integrate(model, pin.neutral(model), np.concatenate([np.zeros(6), joints]))
        )
        places = {
            name: data.oMf[model.getFrameId(spec.link, pin.FrameType.BODY)] * pose_of(spec)
            for name, spec in loaded.spec.surfaces.items()
        }
        lowest = min(place.translation[2] for place in places.values())
        for name, place in places.items():
            if place.translation[2] < lowest + _LOWEST and place.rotation[2, 2] < -0.9:
                carrying.add(name)
                upright[name] = place.rotation.T
    effectors = []
    for name, spec in loaded.spec.surfaces.items():
        frame = model.frames[model.getFrameId(spec.link, pin.FrameType.BODY)]
        upside_down = np.diag([1.0, -1.0, -1.0])
        effectors.append(
            SampledSurface(
                name,
                spec.type,
                frame.parentJoint,
                frame.placement * pose_of(spec),
                name in carrying,
                np.asarray(upright.get(name, upside_down)),
            )
        )
    return tuple(effectors)
