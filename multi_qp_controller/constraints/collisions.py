"""Collision avoidance between any two bodies, as rows on q̈."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.constraints.damper_kernel import add_side, near_pairs
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.memory import Memory
from multi_qp_controller.qp.labels import Block
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


class Side:
    """The joint that moves one body of a pair.

    Attributes:
        joint: its index; 0 for the environment.
        columns: entries of v that move it.
    """

    def __init__(self, model: pin.Model, joint: int) -> None:
        self.joint = joint
        above = [model.joints[k] for k in model.supports[joint] if k]
        self.columns = np.array([c for j in above for c in range(j.idx_v, j.idx_v + j.nv)], dtype=np.intp)


class CollisionConstraint:
    """Rows D q̈ >= d: velocity dampers on the distance of watched pairs, [Vaillant2015] (21)–(24).

    With d the signed distance, u the unit vector between the witness points and ḋ = u·(ṗ_1 − ṗ_2), a pair within δ_i
    gets d̈ >= (−ξ (d − δ_s)/(δ_i − δ_s) − ḋ)/Δt. The rate u̇ of (24) is the change of u since the last tick: for flat
    faces the witness points slide, so that (I − uuᵀ)(ṗ_1 − ṗ_2)/d would not be it.

    Attributes:
        pairs: the distance of each pair of convex pieces, refreshed by `update`.
        count: number of active rows.
    """

    def __init__(
        self, scene: Scene, pairs: tuple[WatchedPair, ...], *, dt: float, horizon: float | None = None
    ) -> None:
        self._dt = dt
        self._horizon = dt if horizon is None else horizon
        self._model = scene.model
        self._geometry = _geometry_of(scene, pairs)
        self._data = _geometry_data(self._geometry)
        self.pairs = [PairDistance(pair) for pair in pairs]
        joints = [
            tuple(self._geometry.geometryObjects[k].parentJoint for k in (p.first, p.second))
            for p in self._geometry.collisionPairs
        ]
        sides = {joint: Side(scene.model, joint) for pair in joints for joint in pair}
        self._sides = [(sides[a], sides[b]) for a, b in joints]
        # only the pieces that some pair watches
        pieces = sorted({k for p in self._geometry.collisionPairs for k in (p.first, p.second)})
        place = {piece: k for k, piece in enumerate(pieces)}
        self._placements = [self._data.oMg[k] for k in pieces]  # they refer into the data
        self._poses = np.zeros((len(pieces), 4, 4))
        self._last_poses = np.zeros((len(pieces), 4, 4))
        self._travelled = np.zeros(len(pieces))
        self._safe_until = np.full(len(pairs), -np.inf)
        self._radii = _bounding_radii(self._geometry)[pieces]
        self._centres = np.array([_local_centres(self._geometry)[k] for k in pieces]).reshape(-1, 3)
        self._first = np.array([place[p.first] for p in self._geometry.collisionPairs], dtype=np.intp)
        self._second = np.array([place[p.second] for p in self._geometry.collisionPairs], dtype=np.intp)
        self._reach = np.array([pair.influence for pair in pairs])
        self._near = np.zeros(len(pairs), dtype=np.intp)
        self._measured: list[int] = []
        self._results = self._data.distanceResults
        self._last_normals: dict[int, Array] = {}
        self._D = np.zeros((len(pairs), scene.nv))
        self._d = np.zeros(len(pairs))
        self._rows: list[int] = []
        self._warm_up(scene)
        self.names = tuple(pair.name for pair in pairs)
        self.count = 0

    def _warm_up(self, scene: Scene) -> None:
        """Have the kernels compiled, or loaded, before the first pair comes near."""
        if not self.pairs or scene.nv < 2:
            return
        data, joint = scene.model.createData(), scene.model.njoints - 1
        columns, zeros = np.zeros(0, dtype=np.intp), np.zeros(3)
        pose, twist, drift = data.oMi[joint].homogeneous, data.v[joint].np, data.a[joint].np
        add_side(1.0, zeros, zeros, columns, data.J, pose, twist, drift, np.zeros(scene.nv), np.zeros(3))

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
        self._last_normals = {}

    def memory(self) -> Memory:
        """Return the normals of the last tick, whose change is u̇."""
        return {"pairs": list(self._last_normals), "normals": list(self._last_normals.values())}

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self._last_normals = dict(zip(memory["pairs"], memory["normals"], strict=True))

    def update(self, kinematics: Kinematics) -> None:
        """Measure the distances and write the rows of the pairs within their influence distance."""
        pin.updateGeometryPlacements(self._model, kinematics.data, self._geometry, self._data)
        for k in self._measured:  # of the last tick
            pair = self.pairs[k]
            pair.distance, pair.normal, pair.active = np.inf, None, False
        self._measured = self._find_near()
        normals: dict[int, Array] = {}
        self._rows.clear()
        self.count = 0
        for k in self._measured:
            pair = self.pairs[k]
            pin.computeDistance(self._geometry, self._data, k)
            result = self._results[k]
            pair.distance = result.min_distance
            if pair.distance >= pair.pair.influence:
                a, b = self._first[k], self._second[k]
                self._safe_until[k] = self._travelled[a] + self._travelled[b] + pair.distance - pair.pair.influence
                continue
            pair.point_a = np.array(result.getNearestPoint1())
            pair.point_b = np.array(result.getNearestPoint2())
            # coal's normal goes from the first body to the second and stays defined in contact
            pair.normal = normals[k] = -np.array(result.normal)
            if pair.pair.damper and not pair.exempt:
                pair.active = True
                self._write_row(k, pair, kinematics)
        self._last_normals = normals

    def _find_near(self) -> list[int]:
        """Return which pairs may be within their influence distance."""
        if not len(self._first):
            return []
        for k, placement in enumerate(self._placements):
            self._poses[k] = placement.homogeneous
        found = near_pairs(
            self._poses,
            self._last_poses,
            self._travelled,
            self._centres,
            self._radii,
            self._first,
            self._second,
            self._reach,
            self._safe_until,
            self._near,
        )
        return self._near[:found].tolist()

    def _write_row(self, k: int, pair: PairDistance, kinematics: Kinematics) -> None:
        u, a, b = pair.normal, pair.point_a, pair.point_b
        if u is None or a is None or b is None:
            return
        row, data = self._D[self.count], kinematics.data
        J = data.J if data.J.ndim == 2 else data.J[:, None]  # a Jacobian of one column comes as a vector
        row[:] = 0.0
        velocity, drift = np.zeros(3), 0.0
        for side, point, sign in zip(self._sides[k], (a, b), (1.0, -1.0), strict=True):
            if side.joint == 0:
                continue
            pose, twist = data.oMi[side.joint].homogeneous, data.v[side.joint].np
            at_rest = data.a[side.joint].np
            drift += add_side(sign, u, point, side.columns, J, pose, twist, at_rest, row, velocity)
        parameters = pair.pair
        rate = float(u @ velocity)
        room = (pair.distance - parameters.security) / (parameters.influence - parameters.security)
        allowed = min(-parameters.damping * room, RECOVERY_SPEED)
        self._d[self.count] = (allowed - rate) / self._horizon - drift - self._turning(k, u, velocity)
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


def _geometry_data(geometry: pin.GeometryModel) -> pin.GeometryData:
    """Return data whose distances depend on the placements alone, to the last bit.

    By default each search begins where the last one of its pair ended.
    """
    data = pin.GeometryData(geometry)
    with warnings.catch_warnings():  # the switch is deprecated, but what replaces it does not turn it off
        warnings.simplefilter("ignore", DeprecationWarning)
        for request in data.distanceRequests:
            request.enable_signed_distance = True
            request.enable_cached_gjk_guess = False
    return data


def _bounding_radii(geometry: pin.GeometryModel) -> Array:
    radii = []
    for item in geometry.geometryObjects:
        item.geometry.computeLocalAABB()
        radii.append(item.geometry.aabb_radius)
    return np.array(radii)


def _local_centres(geometry: pin.GeometryModel) -> list[Array]:
    return [np.array(item.geometry.aabb_center) for item in geometry.geometryObjects]
