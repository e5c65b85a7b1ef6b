"""Collision avoidance between any two bodies, as rows on q̈."""

from __future__ import annotations

from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.qp.labels import Block
from multi_qp_controller.vectors import cross
from multi_qp_scene.pairs import WatchedPair
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]

#: Bodies closer than δ_s are moved apart no faster than this [m/s].
RECOVERY_SPEED = 0.1
#: A normal that turns further than this between two ticks [rad] has jumped to another feature: its rate is noise.
MAX_NORMAL_STEP = 0.1


@dataclass
class PairDistance:
    """The distance of one pair of convex pieces at one tick.

    Attributes:
        pair: what was asked for.
        distance: signed [m].
        point_a: witness point on the first body, world frame, (3,) [m].
        point_b: witness point on the second body, world frame, (3,) [m].
        normal: unit vector from the second body to the first, world frame, (3,).
        active: whether it is a row of the QP.
        exempt: whether a contact holds the two bodies together now.
    """

    pair: WatchedPair
    distance: float = np.inf
    point_a: Array | None = None
    point_b: Array | None = None
    normal: Array | None = None
    active: bool = False
    exempt: bool = False


class CollisionConstraint:
    """Rows D q̈ >= d: velocity dampers on the distance of watched pairs, [Vaillant2015] (21)–(24).

    With d the signed distance, u the unit vector between the witness points and ḋ = u·(ṗ_1 − ṗ_2), a pair within δ_i
    gets d̈ >= (−ξ (d − δ_s)/(δ_i − δ_s) − ḋ)/Δt. The rate u̇ of (24) is the change of u since the last tick: for flat
    faces the witness points slide, so that (I − uuᵀ)(ṗ_1 − ṗ_2)/d would not be it.

    Attributes:
        pairs: the distance of each pair of convex pieces, refreshed by `update`.
        count: number of active rows.
    """

    def __init__(self, scene: Scene, pairs: tuple[WatchedPair, ...], *, dt: float) -> None:
        self._dt = dt
        self._model = scene.model
        self._geometry = _geometry_of(scene, pairs)
        self._data = pin.GeometryData(self._geometry)
        for request in self._data.distanceRequests:
            request.enable_signed_distance = True
        self.pairs = [PairDistance(pair) for pair in pairs]
        self._joints = [
            (
                self._geometry.geometryObjects[p.first].parentJoint,
                self._geometry.geometryObjects[p.second].parentJoint,
            )
            for p in self._geometry.collisionPairs
        ]
        self._radii = _bounding_radii(self._geometry)
        self._centres = _local_centres(self._geometry)
        self._first = np.array([p.first for p in self._geometry.collisionPairs], dtype=np.intp)
        self._second = np.array([p.second for p in self._geometry.collisionPairs], dtype=np.intp)
        self._reach = np.array([pair.influence for pair in pairs])
        self._last_normals: dict[int, Array] = {}
        self._D = np.zeros((len(pairs), scene.nv))
        self._d = np.zeros(len(pairs))
        self._rows: list[int] = []
        self.names = tuple(pair.name for pair in pairs)
        self.count = 0

    @property
    def D(self) -> Array:
        """Left-hand side of the active rows, (count, nv)."""
        return self._D[: self.count]

    @property
    def d(self) -> Array:
        """Least value of the active rows, (count,)."""
        return self._d[: self.count]

    def label(self) -> Block:
        """Name the active rows."""
        return Block(name="collision", unit="m/s²", rows=tuple(self.names[k] for k in self._rows))

    def exempt(self, links: set[frozenset[str]]) -> None:
        """Leave out the pairs of links that contacts hold together."""
        for pair in self.pairs:
            pair.exempt = frozenset(pair.pair.links) in links

    def reset(self) -> None:
        """Forget the last tick, after a jump of the state."""
        self._last_normals.clear()

    def update(self, kinematics: Kinematics) -> None:
        """Measure the distances and write the rows of the pairs within their influence distance."""
        pin.updateGeometryPlacements(self._model, kinematics.data, self._geometry, self._data)
        near = self._near()
        normals: dict[int, Array] = {}
        self._rows.clear()
        self.count = 0
        for k, pair in enumerate(self.pairs):
            pair.active = False
            if not near[k]:
                pair.distance, pair.normal = np.inf, None
                continue
            self._measure(k, pair)
            if pair.normal is None or pair.distance >= pair.pair.influence:
                continue
            normals[k] = pair.normal
            if pair.pair.damper and not pair.exempt:
                pair.active = True
                self._write_row(k, pair, kinematics)
        self._last_normals = normals

    def _near(self) -> NDArray[np.bool_]:
        """Return which pairs may be within their influence distance, by bounding spheres."""
        placements = self._data.oMg
        centres = np.array([placements[k].act(c) for k, c in enumerate(self._centres)])
        if not len(centres) or not len(self._first):
            return np.zeros(len(self._first), dtype=bool)
        gap = np.linalg.norm(centres[self._first] - centres[self._second], axis=1)
        return gap - self._radii[self._first] - self._radii[self._second] <= self._reach

    def _measure(self, k: int, pair: PairDistance) -> None:
        pin.computeDistance(self._geometry, self._data, k)
        result = self._data.distanceResults[k]
        pair.distance = result.min_distance
        pair.point_a = np.array(result.getNearestPoint1())
        pair.point_b = np.array(result.getNearestPoint2())
        # coal's normal goes from the first body to the second and stays defined in contact
        pair.normal = -np.array(result.normal)

    def _write_row(self, k: int, pair: PairDistance, kinematics: Kinematics) -> None:
        u, a, b = pair.normal, pair.point_a, pair.point_b
        if u is None or a is None or b is None:
            return
        joint_a, joint_b = self._joints[k]
        row = self._D[self.count]
        row[:] = 0.0
        velocity, drift = np.zeros(3), 0.0
        for joint, point, sign in ((joint_a, a, 1.0), (joint_b, b, -1.0)):
            if joint == 0:
                continue
            J = pin.getJointJacobian(kinematics.model, kinematics.data, joint, pin.WORLD)
            push = np.concatenate((u, cross(point, u)))
            row += sign * (push @ J)
            point_velocity, turning = _point_velocity(kinematics, joint, point)
            velocity += sign * point_velocity
            # classical acceleration of the point: spatial acceleration plus ω × v
            drift += sign * float(push @ _world_acceleration(kinematics, joint) + u @ cross(turning, point_velocity))
        parameters = pair.pair
        rate = float(u @ velocity)
        room = (pair.distance - parameters.security) / (parameters.influence - parameters.security)
        allowed = min(-parameters.damping * room, RECOVERY_SPEED)
        self._d[self.count] = (allowed - rate) / self._dt - drift - self._turning(k, u, velocity)
        self._rows.append(k)
        self.count += 1

    def _turning(self, k: int, normal: Array, velocity: Array) -> float:
        """Return u̇·(ṗ_1 − ṗ_2)."""
        last = self._last_normals.get(k)
        if last is None:
            return 0.0
        step = normal - last
        if step @ step > MAX_NORMAL_STEP**2:
            return 0.0
        return float(step @ velocity) / self._dt


def _point_velocity(kinematics: Kinematics, joint: int, point: Array) -> tuple[Array, Array]:
    """Return the velocity of the material point of a joint's body at `point`, and the body's ω, world frame, (3,)."""
    twist = kinematics.data.oMi[joint].act(kinematics.data.v[joint])
    omega = twist.angular
    return twist.linear + cross(omega, point), omega


def _world_acceleration(kinematics: Kinematics, joint: int) -> Array:
    """Return the spatial drift acceleration of a joint's body, at the world's origin and in its axes, (6,)."""
    return kinematics.data.oMi[joint].act(kinematics.data.a[joint]).vector


def _geometry_of(scene: Scene, pairs: tuple[WatchedPair, ...]) -> pin.GeometryModel:
    """Return the scene's collision geometry with exactly these pairs; meshes in them become their convex hulls."""
    geometry = scene.collision_model.copy()
    geometry.removeAllCollisionPairs()
    for pair in pairs:
        for index in (pair.first, pair.second):
            item = geometry.geometryObjects[index]
            if isinstance(item.geometry, coal.BVHModelBase):
                item.geometry.buildConvexHull(True, "Qt")
                item.geometry = item.geometry.convex
        geometry.addCollisionPair(pin.CollisionPair(pair.first, pair.second))
    return geometry


def _bounding_radii(geometry: pin.GeometryModel) -> Array:
    radii = []
    for item in geometry.geometryObjects:
        item.geometry.computeLocalAABB()
        radii.append(item.geometry.aabb_radius)
    return np.array(radii)


def _local_centres(geometry: pin.GeometryModel) -> list[Array]:
    return [np.array(item.geometry.aabb_center) for item in geometry.geometryObjects]
