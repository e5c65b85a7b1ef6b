"""Velocity-damper constraints for collision avoidance, as rows on q̈."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Annotated, Any

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.constraints.base import LinkPairs, RowConstraint
from multi_qp_controller.constraints.damper_kernel import (
    DamperData,
    NearPairData,
    damper_rows,
    least_distance,
    near_pairs,
)
from multi_qp_controller.constraints.distance_views import Distances
from multi_qp_controller.contacts.contact import JointGroups
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.qp.labels import LabelBlock
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.geometry_data import geometry_data
from multi_qp_scene.kernel_data import KernelData
from multi_qp_scene.pairs import WatchedPair, watched_pairs
from multi_qp_scene.pinocchio_views import POSE, pose_views
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene, columns_above

#: Largest speed at which bodies closer than δ_s separate [m/s].
RECOVERY_SPEED = 0.1
#: Largest rotation of a normal between two ticks [rad] for which its rate is used; beyond, it changed features.
MAX_NORMAL_STEP = 0.3


@dataclass
class PairDistance:
    """The distance of one pair of convex pieces at one tick.

    Attributes:
        pair: the watched pair.
        distance: signed distance [m].
        point_a: witness point on the first body, world frame, (3,) [m].
        point_b: witness point on the second body, world frame, (3,) [m].
        normal: unit vector from the second body to the first, world frame, (3,).
        active: whether the pair is a row of the QP.
        exempt: whether the two bodies are in contact and may touch.
    """

    pair: WatchedPair
    distance: float = np.inf
    point_a: Array | None = None
    point_b: Array | None = None
    normal: Array | None = None
    active: bool = False
    exempt: bool = False


class CollisionConstraint(RowConstraint):
    """Rows D q̈ >= d: velocity dampers on the distance of watched pairs, [Vaillant2015] (21)–(24).

    With d the signed distance, u the unit vector between the witness points and ḋ = u·(ṗ_1 − ṗ_2), a pair within δ_i
    has the row d̈ >= (−ξ (d − δ_s)/(δ_i − δ_s) − ḋ)/Δt. Beyond δ_i, ḋ is bounded by what can be braked until there; a
    pair that is faster than its bound is braked with bounded deceleration, see `separation`. The rate u̇ of (24) is the
    change of u since the last tick: between flat faces the witness points slide, and (I − uuᵀ)(ṗ_1 − ṗ_2)/d would be
    wrong.

    Attributes:
        watched: the pairs.
    """

    @dataclass
    class Checkpoint(RowConstraint.Checkpoint):
        """Normals u of the pairs that were near at the last tick, by index."""

        near: list[int]
        normals: Annotated[Array, None, 3]

    def __init__(
        self, scene: Scene, pairs: tuple[WatchedPair, ...], *, dt: float, horizon: float | None = None
    ) -> None:
        self.watched = pairs
        self._dt = dt
        self._horizon = dt if horizon is None else horizon
        self._model = scene.model
        self._geometry = _geometry_of(scene, pairs)
        self._data = _geometry_data(self._geometry)
        self._pairs = [PairDistance(pair) for pair in pairs]
        self._links = [frozenset(pair.links) for pair in pairs]
        ends = [(p.first, p.second) for p in self._geometry.collisionPairs]
        self._joints = _joints_of(self._geometry)[np.array(ends, dtype=np.intp).reshape(-1, 2)]
        moving = [columns_above(scene.model, joint) for joint in range(scene.model.njoints)]
        self._starts = np.cumsum([0, *map(len, moving)]).astype(np.intp)
        self._columns = np.concatenate(moving).astype(np.intp)
        self._parameters = np.array([(p.influence, p.security, p.damping) for p in pairs]).reshape(-1, 3)
        self._limits = np.array([dt, self._horizon, RECOVERY_SPEED, MAX_NORMAL_STEP])
        # only pieces of watched pairs
        pieces = sorted({k for p in self._geometry.collisionPairs for k in (p.first, p.second)})
        place = {piece: k for k, piece in enumerate(pieces)}
        self._pieces = np.array(pieces, dtype=np.intp)
        shared = pose_views(self._data.oMg) if pieces else None
        self._shares, n = shared is not None, len(self._geometry.geometryObjects)
        self._poses = np.zeros((n, POSE)) if shared is None else shared
        self._last_poses = np.zeros((len(pieces), POSE))
        self._travelled = np.zeros(len(pieces))
        self._safe_until = np.full(len(pairs), -np.inf)
        self._radii = _bounding_radii(self._geometry)[pieces]
        self._centres = np.array([_local_centres(self._geometry)[k] for k in pieces]).reshape(-1, 3)
        self._first = np.array([place[p.first] for p in self._geometry.collisionPairs], dtype=np.intp)
        self._second = np.array([place[p.second] for p in self._geometry.collisionPairs], dtype=np.intp)
        self._near = np.zeros(len(pairs), dtype=np.intp)
        self._distances = Distances(self._geometry, self._data)
        self._watched = np.array([pair.damper for pair in pairs], dtype=np.intp)
        self._dampers = np.array([pair.damper for pair in pairs], dtype=bool)
        self._counts = np.ones(len(pairs), dtype=bool)
        self._exempt = np.zeros(len(pairs), dtype=bool)
        self._exemptions: dict[tuple[LinkPairs, JointGroups], tuple[NDArray[Any], ...]] = {}
        self._measured: list[int] = []
        self._reported: list[int] = []
        self._is_reported = True
        self._normals = np.full((len(pairs), 3), np.nan)
        self._last_normals = self._normals.copy()
        self._has_normals = False
        self._active = np.zeros(len(pairs), dtype=np.intp)
        self._near_data, self._damper_data = self._near_pair_data(), self._kernel_data()
        self.names = tuple(pair.name for pair in pairs)

    def _near_pair_data(self) -> KernelData:
        return KernelData(
            NearPairData(
                pieces=self._pieces,
                poses=self._poses,
                last=self._last_poses,
                travelled=self._travelled,
                joints=_joints_of(self._geometry)[self._pieces],
                centres=self._centres,
                radii=self._radii,
                first=self._first,
                second=self._second,
                parameters=self._parameters,
                safe_until=self._safe_until,
                out=self._near,
            )
        )

    def _kernel_data(self) -> KernelData:
        return KernelData(
            DamperData(
                near=self._near,
                found=self._distances.found,
                first=self._first,
                second=self._second,
                watched=self._watched,
                travelled=self._travelled,
                safe_until=self._safe_until,
                joints=self._joints,
                starts=self._starts,
                columns=self._columns,
                parameters=self._parameters,
                normals=self._normals,
                last_normals=self._last_normals,
                limits=self._limits,
                active=self._active,
            )
        )

    @classmethod
    def of(cls, scenario: Scenario, dt: float, horizon: float) -> CollisionConstraint:
        """Create it for a scenario; see `make_constraints`."""
        pairs = watched_pairs(scenario.scene, scenario.spec.collisions)
        return cls(scenario.scene, pairs, dt=dt, horizon=horizon)

    @property
    def size(self) -> int:
        """Number of watched pairs."""
        return len(self.names)

    @property
    def pairs(self) -> list[PairDistance]:
        """The distance of each pair of convex pieces at the last `update`; computed on access."""
        if not self._is_reported:
            for k in self._reported:
                pair = self._pairs[k]
                pair.distance, pair.normal, pair.active = np.inf, None, False
            for k in self._measured:
                self._write_distance(self._pairs[k], self._distances.found[k])
            for k in self._active[: self.count]:
                self._pairs[k].active = True
            for pair, exempt in zip(self._pairs, self._exempt.tolist(), strict=True):
                pair.exempt = exempt
            self._reported, self._is_reported = self._measured, True
        return self._pairs

    @property
    def closest(self) -> float:
        """Smallest distance at the last `update` of pairs that are not exempt [m]; inf if none is near."""
        return self.least(self._counts)

    def least(self, which: NDArray[np.bool_]) -> float:
        """Return the smallest distance [m] at the last `update` of masked pairs, (pairs,); inf if none is near."""
        return float(least_distance(self._distances.found, self._near, len(self._measured), which))

    @staticmethod
    def _write_distance(pair: PairDistance, found: Array) -> None:
        pair.distance = float(found[0])
        if pair.distance < pair.pair.influence:
            pair.point_a, pair.point_b, pair.normal = found[4:7].copy(), found[7:].copy(), -found[1:4]

    def label(self) -> LabelBlock:
        """Return the names of the active rows."""
        return LabelBlock(name="collision", unit="m/s²", rows=tuple(self.names[k] for k in self._active[: self.count]))

    def exempt(self, links: LinkPairs, fixed: JointGroups = frozenset()) -> None:
        """Exclude these pairs of links; pairs that contacts fix have no row, but are still counted as watched."""
        masks = self._exemptions.get((links, fixed))
        if masks is None:
            exempt = np.array([both in links for both in self._links], dtype=bool)
            is_fixed = np.zeros(len(exempt), dtype=bool)
            for group in fixed:
                is_fixed |= np.isin(self._joints, list(group)).all(axis=1)
            masks = exempt, ~exempt, (self._dampers & ~exempt & ~is_fixed).astype(np.intp)
            self._exemptions[links, fixed] = masks
        self._is_reported &= masks[0] is self._exempt
        self._exempt, self._counts[:], self._watched[:] = masks

    def reset(self) -> None:
        """Discard the normals of the last tick, after a discontinuity of the state."""
        self._normals[:] = np.nan

    def snapshot(self) -> CollisionConstraint:
        """Return a copy with the labels of this tick."""
        one = copy.copy(self)
        one._active = self._active.copy()
        return one

    def get_state(self) -> Checkpoint:
        """Return the normals of the last tick, whose change is u̇, of the pairs that were near."""
        near = np.flatnonzero(~np.isnan(self._normals[:, 0]))
        return self.Checkpoint(near.tolist(), self._normals[near])

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state."""
        self._normals[:] = np.nan
        self._normals[saved.near] = saved.normals
        self._has_normals = True

    def update(self, kinematics: Kinematics, D: Array, d: Array) -> None:
        """Measure the distances and write the rows of the pairs within reach."""
        pin.updateGeometryPlacements(self._model, kinematics.data, self._geometry, self._data)
        views = kinematics.views
        self._measured, self._is_reported, self.count = self._find_near(views.poses, views.twists), False, 0
        if not self._measured and not self._has_normals:
            return
        self._distances.measure(self._measured)
        self._has_normals = bool(self._measured)
        moving = kinematics.J, views.poses, views.twists, views.drifts
        self.count = damper_rows(len(self._measured), *moving, D, d, self._damper_data.table)

    def _find_near(self, poses: Array, twists: Array) -> list[int]:
        """Return the indices of the pairs that may be within reach, from the poses and twists of all joints."""
        if not len(self._first):
            return []
        if not self._shares:
            for k in self._pieces:
                pose = self._data.oMg[int(k)]
                self._poses[k, :9], self._poses[k, 9:] = pose.rotation.ravel("F"), pose.translation
        found = near_pairs(poses, twists, self._near_data.table)
        return self._near[:found].tolist() if found else []


def _geometry_of(scene: Scene, pairs: tuple[WatchedPair, ...]) -> pin.GeometryModel:
    """Return the scene's collision geometry with exactly these pairs; meshes are replaced by their convex hulls."""
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
    """Return geometry data whose distances depend only on the placements, bit for bit.

    By default, each search starts at the result of the last one of its pair.
    """
    data = geometry_data(geometry)
    with warnings.catch_warnings():  # deprecated, but its replacement does not disable the cache
        warnings.simplefilter("ignore", DeprecationWarning)
        for request in data.distanceRequests:
            request.enable_signed_distance = True
            request.enable_cached_gjk_guess = False
    return data


def _joints_of(geometry: pin.GeometryModel) -> Indices:
    """Return the joint that moves each piece, (pieces,); 0 for the environment."""
    return np.array([item.parentJoint for item in geometry.geometryObjects], dtype=np.intp)


def _bounding_radii(geometry: pin.GeometryModel) -> Array:
    radii = []
    for item in geometry.geometryObjects:
        item.geometry.computeLocalAABB()
        radii.append(item.geometry.aabb_radius)
    return np.array(radii)


def _local_centres(geometry: pin.GeometryModel) -> list[Array]:
    return [np.array(item.geometry.aabb_center) for item in geometry.geometryObjects]
