"""Candidate contact placements of a limb, in order of increasing cost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import CharacterModel
from contact_planner.clearance import CollisionChecker
from contact_planner.faces import Face
from contact_planner.reach import LimbReach
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, surface_pose

#: Passes in which placements are projected inside the edges of a non-rectangular face.
_SWEEPS = 3
_ANGLES = np.arange(8) * np.pi / 4
#: Horizontal directions in which the extent of the contacts beyond the centre of mass is measured, (2, 8).
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
#: Extra distance to each edge, against rounding [m].
_EDGE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class CandidateWeights:
    """Weights of the cost of a candidate placement; costs and rewards in metres.

    Attributes:
        thickness: largest distance of a sample's surface from a face at which it counts as touching [m].
        tilt: largest angle between the surface and the face [rad]; the whole-body posture corrects the rest.
        edge: distance of a contact from the edges of its face [m].
        nearness: cost per metre of distance from the limb's nominal placement.
        slack: reward for distance from joint limits.
        manipulability: reward for manipulability in the direction of motion of the base.
        steadiness: reward per metre by which the nominal centre of mass is inside the contacts.
        spread: least distance between two candidates [m].
        change: reward for a face that no earlier candidate uses.
        tries: largest number of candidates.
    """

    thickness: float = 0.04
    tilt: float = 0.7
    edge: float = 0.01
    nearness: float = 1.0
    slack: float = 0.05
    manipulability: float = 0.05
    steadiness: float = 0.1
    spread: float = 0.04
    change: float = 0.06
    tries: int = 6


@dataclass(frozen=True, eq=False)
class Side:
    """A half-space beside another limb's contact in which a limb has to stay, so that limbs do not cross.

    Attributes:
        point: in the world, (3,) [m].
        normal: unit vector from the nominal placement of that limb to that of this one, in the world, (3,).
        distance: offset of the half-space from the point along the normal [m].
    """

    point: Array
    normal: Array
    distance: float


@dataclass(frozen=True, eq=False)
class Place:
    """A candidate placement of a limb.

    Attributes:
        contact: resulting contact.
        angles: joint angles of the nearest sample of the limb, (k,) [rad].
    """

    contact: Contact
    angles: Array


@dataclass(frozen=True, eq=False)
class _Options:
    """Samples of a limb whose surface lies on a face.

    Attributes:
        face: the face.
        costs: (k,) [m].
        local: placements in the frame of the face, (k, 2) [m].
        forwards: +x of the limb's surface in the frame of the face, (k, 2).
        samples: indices in the database of the limb, (k,).
    """

    face: Face
    costs: Array
    local: Array
    forwards: Array
    samples: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _SupportExtent:
    """Horizontal extent of the contacts that persist.

    Attributes:
        com: centre of mass of the nominal configuration, (2,) [m].
        reach: extent of the contacts from it in each of `_DIRECTIONS`, (8,) [m].
    """

    com: Array
    reach: Array

    def margin(self, places: Array) -> Array:
        """Return the distance of the centre of mass inside these contacts and one more, (n,) [m].

        Args:
            places: horizontal positions of the additional contact, (n, 2) [m].
        """
        return np.asarray(np.maximum((places - self.com) @ _DIRECTIONS, self.reach).min(axis=1))


class Candidates:
    """Candidate placements, computed from the limb databases."""

    def __init__(
        self,
        body: CharacterModel,
        clearance: CollisionChecker,
        reaches: Mapping[str, LimbReach],
        faces: Sequence[Face],
        candidate_weights: CandidateWeights,
        *,
        helpers: Collection[str] = (),
    ) -> None:
        self._helpers = helpers
        self._facing_cache: dict[str, tuple[Array, NDArray[np.intp], Array]] = {}
        self.scatter(0.0, 0)
        self._clearance = clearance
        self._body, self._reaches, self._faces, self._candidate_weights = body, reaches, faces, candidate_weights
        self._com_in_base = body.base_pose(body.nominal).actInv(body.com(body.nominal))

    def scatter(self, amount: float, seed: int) -> None:
        """Add uniform noise of this amplitude to all costs [m], so that another attempt visits other candidates."""
        self._scatter, self._rng = amount, np.random.default_rng(seed)

    def places(
        self,
        limb: str,
        X_world_base: pin.SE3,
        home: pin.SE3,
        *,
        toward: Array | None = None,
        beside: Sequence[Side] = (),
        others: Sequence[Contact] = (),
        on: Sequence[Face] | None = None,
    ) -> Iterator[Place]:
        """Yield candidate placements of a limb for a pose of the base, in order of increasing cost.

        Args:
            limb: name of the limb.
            X_world_base: pose of the base.
            home: nominal placement of the limb's surface in the frame of the base.
            toward: direction of motion, unit vector in the frame of the base, (3,); none by default.
            beside: half-spaces in which the limb has to stay.
            others: contacts of the other limbs.
            on: candidate faces; all by default.
        """
        X_world_home = X_world_base * home
        support = self._support_extent(X_world_base, others)
        options = [
            option
            for face in (self._faces if on is None else on)
            if (option := self._on_face(limb, face, X_world_base, X_world_home, toward, beside, support)) is not None
        ]
        if options:
            yield from self._spread(limb, options, X_world_base)

    def _on_face(
        self,
        limb: str,
        face: Face,
        X_world_base: pin.SE3,
        X_world_home: pin.SE3,
        toward: Array | None,
        beside: Sequence[Side],
        support: _SupportExtent,
    ) -> _Options | None:
        """Return the samples of a limb that lie on a face, with their costs."""
        reach, candidate_weights = self._reaches[limb], self._candidate_weights
        R, p = X_world_base.rotation, X_world_base.translation
        if not face.is_near(R @ reach.centre + p, reach.radius):
            return None
        normal_in_base, height = R.T @ face.normal, face.normal @ (face.pose.translation - p)
        facing, heights = self._facing(limb, normal_in_base)
        near = facing[np.abs(heights - height) < candidate_weights.thickness]
        axes = face.pose.rotation[:, :2]
        to_face = R.T @ axes
        local = reach.positions[near] @ to_face - (face.pose.translation - p) @ axes
        inside = np.all(local @ face.edges.T < face.offsets, axis=1)
        near, local = near[inside], local[inside]
        for side in beside:
            here = side.normal @ (face.pose.translation - side.point) + local @ (axes.T @ side.normal) >= side.distance
            near, local = near[here], local[here]
        if len(near) == 0:
            return None
        at_home = float(X_world_home.rotation[:, 2] @ face.normal) < -np.cos(candidate_weights.tilt)
        forward = X_world_home.rotation[:, 0] @ axes if at_home else reach.forwards[near] @ to_face
        offsets = face.offsets - candidate_weights.edge - self._extent(limb, forward, face)
        moved, fits = _project_inside(local, face.edges, offsets)
        if not at_home and not fits.all():  # the heading is free: align it with an axis of the face if it does not fit
            forward = np.where(fits[:, None], forward, _along_an_axis(forward))
            offsets = face.offsets - candidate_weights.edge - self._extent(limb, forward, face)
            moved, fits = _project_inside(local, face.edges, offsets)
        near, local, forward = near[fits], moved[fits], np.broadcast_to(forward, local.shape)[fits]
        if len(near) == 0:
            return None
        home_local = (X_world_home.translation - face.pose.translation) @ axes
        distance = np.linalg.norm(local - home_local, axis=1)
        cost = (
            candidate_weights.nearness * distance
            - candidate_weights.slack * reach.slack[near]
            - candidate_weights.manipulability * reach.manipulability(near, toward)
        )
        cost -= candidate_weights.steadiness * support.margin(local @ axes[:2].T + face.pose.translation[:2])
        cost += self._scatter * self._rng.random(len(cost))
        if at_home and (face.edges @ home_local <= offsets).all() and distance.min() < candidate_weights.spread:
            # the nominal placement itself comes first if a sample is near it
            nearest = int(np.argmin(distance))
            cost[nearest] = cost.min() - 1.0
            local[nearest] = home_local
        return _Options(face, cost, local, forward, near)

    def _support_extent(self, X_world_base: pin.SE3, others: Sequence[Contact]) -> _SupportExtent:
        com = X_world_base.act(self._com_in_base)[:2]
        if not others:
            return _SupportExtent(com, np.full(_DIRECTIONS.shape[1], -np.inf))
        points = np.concatenate([contact.points_in_world[:, :2] for contact in others])
        return _SupportExtent(com, np.max((points - com) @ _DIRECTIONS, axis=0))

    def _facing(self, limb: str, normal: Array) -> tuple[NDArray[np.intp], Array]:
        """Return the samples that face a normal (base frame, (3,)), and their positions along it [m]."""
        cached = self._facing_cache.get(limb)
        if cached is None or not np.array_equal(cached[0], normal):  # neighbouring faces often share a normal
            reach = self._reaches[limb]
            facing = np.flatnonzero(reach.normals @ normal < -np.cos(self._candidate_weights.tilt))
            cached = self._facing_cache[limb] = (normal, facing, reach.positions[facing] @ normal)
        return cached[1], cached[2]

    def _spread(self, limb: str, options: Sequence[_Options], X_world_base: pin.SE3) -> Iterator[Place]:
        """Yield collision-free placements in order of increasing cost, at least `spread` apart."""
        costs = np.concatenate([option.costs for option in options])
        owners = np.repeat(np.arange(len(options)), [len(option.costs) for option in options])
        first = np.searchsorted(owners, np.arange(len(options)))
        places = np.concatenate([o.local @ o.face.pose.rotation[:, :2].T + o.face.pose.translation for o in options])
        costs_left = costs.copy()
        helps = limb in self._helpers
        yielded = examined = 0
        while (
            yielded < self._candidate_weights.tries and examined < (40 if helps else 10) * self._candidate_weights.tries
        ):
            best = int(np.argmin(costs_left))
            if not np.isfinite(costs_left[best]):
                return
            near = np.sum((places - places[best]) ** 2, axis=1) < self._candidate_weights.spread**2
            costs_left[best if helps else near] = np.inf
            option, k = options[owners[best]], best - first[owners[best]]
            contact = self._contact(limb, places[best], option, k)
            angles = self._reaches[limb].angles[option.samples[k]]
            examined += 1
            if contact is not None and self._is_free(limb, contact, angles, X_world_base):
                yielded += 1
                costs_left[near] = np.inf
                costs_left[owners == owners[best]] += self._candidate_weights.change
                yield Place(contact, angles)

    def _is_free(self, limb: str, contact: Contact, angles: Array, X_world_base: pin.SE3) -> bool:
        """Whether the last link of a limb is collision-free at a contact, and for helpers the whole limb."""
        member = self._body.limbs[limb]
        if not self._clearance.end_is_free(member, contact.pose, str(contact.other)):
            return False
        if limb not in self._helpers:  # legs stay near the nominal configuration, which their samples do not represent
            return True
        q = self._body.with_base(self._body.nominal, X_world_base)
        q[member.joints + 1] = angles
        return self._clearance.limb_is_free(member, q)

    def _extent(self, limb: str, forward: Array, face: Face) -> Array:
        """Return the extent of a limb's surface from its origin towards each edge of a face, (..., k) [m].

        Args:
            limb: name of the limb.
            forward: +x of the surface in the axes of the face, (..., 2).
            face: face with k edges.
        """
        surface = self._body.limbs[limb].surface
        if surface.kind != "planar":
            return np.zeros((*forward.shape[:-1], len(face.edges)))
        half = np.abs(surface.points[:, :2]).max(axis=0)
        unit = forward / np.maximum(np.linalg.norm(forward, axis=-1, keepdims=True), 1e-9)
        sideways = unit[..., ::-1] * [-1.0, 1.0]
        return np.asarray(half[0] * np.abs(unit @ face.edges.T) + half[1] * np.abs(sideways @ face.edges.T))

    def _contact(self, limb: str, place: Array, option: _Options, k: int) -> Contact | None:
        """Return the contact of an option, or None if +x of the surface is nearly normal to the face."""
        face = option.face
        forward = face.pose.rotation[:, :2] @ option.forwards[k]
        if forward @ forward < 0.01:
            return None
        pose = surface_pose(place, face.normal, forward)
        return contact_at(self._body, limb, pose, face.friction, face.name)


def _project_inside(points: Array, edges: Array, offsets: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return points projected into a polygon, edge by edge, and which of them are inside afterwards.

    Args:
        points: (n, 2) [m].
        edges: outward normals of k edges, (k, 2).
        offsets: distance of the edges from the origin, (k,), or per point (n, k) [m].
    """
    moved = points
    for _ in range(_SWEEPS):
        for k, normal in enumerate(edges):
            beyond = moved @ normal - offsets[..., k] + _EDGE_TOLERANCE
            moved = moved - np.maximum(beyond, 0.0)[:, None] * normal
        inside = np.all(moved @ edges.T <= offsets, axis=1)
        if inside.all():
            break
    return moved, inside


def _along_an_axis(directions: Array) -> Array:
    """Return the axis nearest to each direction in the plane, (n, 2)."""
    steep = np.abs(directions[:, 1]) > np.abs(directions[:, 0])
    axes = np.where(steep[:, None], [0.0, 1.0], [1.0, 0.0])
    return np.asarray(axes * np.where(directions < 0.0, -1.0, 1.0))


def contact_at(body: CharacterModel, limb: str, pose: pin.SE3, friction: float, other: str | None) -> Contact:
    """Return the contact of a limb's surface at a pose in the world."""
    surface = body.limbs[limb].surface
    effector = surface.name.split("/", 1)[1]
    size = (0.0, 0.0)
    if surface.kind == "planar":
        extent = 2.0 * np.abs(surface.points[:, :2]).max(axis=0)
        size = (float(extent[0]), float(extent[1]))
    return Contact(
        limb, body.name, effector, pose, surface.points, surface.normals, friction, surface.kind, size, other
    )
