"""Places for a limb's next contact, the best first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_planner.body import Body
from contact_planner.clearance import Clearance
from contact_planner.faces import Face
from contact_planner.reach import LimbReach
from multi_qp_scene.contact_sequence import Contact, surface_pose

Array = NDArray[np.float64]


#: How often places are moved off the edges of a face that is no rectangle, until they are off all of them.
_SWEEPS = 3
_AROUND = np.arange(8) * np.pi / 4
#: Horizontal directions in which it is asked how far the contacts reach beyond the centre of mass, (2, 8).
_DIRECTIONS = np.stack([np.cos(_AROUND), np.sin(_AROUND)])
#: What fits exactly does not count as fitting: numbers are rounded [m].
_HAIR = 1e-9


@dataclass(frozen=True)
class Taste:
    """What makes a place good; costs and gains in metres.

    Attributes:
        thickness: how far a configuration's end may be from a face to count as touching it [m].
        tilt: largest angle between the end and the face [rad]; the whole body makes up for the rest.
        edge: distance that a contact keeps to the edge of its face [m].
        nearness: cost of the distance from where the limb's end is in the liked posture.
        slack: gain for joints far from their limits.
        ease: gain for manipulability, towards where the body is going.
        steadiness: gain for each metre that the centre of mass of the liked posture is then inside the contacts.
        spread: distance between two places that are tried [m].
        change: gain for another face than those of the places that are tried before.
        tries: how many places are tried at most.
    """

    thickness: float = 0.04
    tilt: float = 0.7
    edge: float = 0.01
    nearness: float = 1.0
    slack: float = 0.05
    ease: float = 0.05
    steadiness: float = 0.1
    spread: float = 0.04
    change: float = 0.06
    tries: int = 6


@dataclass(frozen=True, eq=False)
class Side:
    """A half-space: the side of another limb's contact on which a limb has to stay, so that they do not cross.

    Attributes:
        point: in the world, (3,) [m].
        normal: unit vector from that limb's home to this one's, in the world, (3,).
        distance: how far beyond the point it begins [m].
    """

    point: Array
    normal: Array
    distance: float


@dataclass(frozen=True, eq=False)
class Place:
    """A place for a limb.

    Attributes:
        contact: that it would make.
        angles: of the limb's joints, (k,) [rad], near those that bring it there.
    """

    contact: Contact
    angles: Array


@dataclass(frozen=True, eq=False)
class _Options:
    """Samples of a limb that end on a face.

    Attributes:
        face: the face.
        costs: the lower the better, (k,) [m].
        local: places in the face's frame, (k, 2) [m].
        forwards: +x of the limb's surface in the face's frame, (k, 2).
        samples: indices in the limb's database, (k,).
    """

    face: Face
    costs: Array
    local: Array
    forwards: Array
    samples: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _Standing:
    """Contacts that stay, seen from above.

    Attributes:
        com: centre of mass of the liked posture, (2,) [m].
        reach: how far they go beyond it in each of `_DIRECTIONS`, (8,) [m].
    """

    com: Array
    reach: Array

    def margin(self, places: Array) -> Array:
        """Return how far inside them and one more contact the centre of mass would be, (n,) [m].

        Args:
            places: of that contact, seen from above, (n, 2) [m].
        """
        return np.asarray(np.maximum((places - self.com) @ _DIRECTIONS, self.reach).min(axis=1))


class Candidates:
    """Finds places for limbs from their databases."""

    def __init__(
        self,
        body: Body,
        clearance: Clearance,
        reaches: Mapping[str, LimbReach],
        faces: Sequence[Face],
        taste: Taste,
        *,
        helpers: Collection[str] = (),
    ) -> None:
        self._helpers = helpers
        self._faced: dict[str, tuple[Array, NDArray[np.intp], Array]] = {}
        self.scatter(0.0, 0)
        self._clearance = clearance
        self._body, self._reaches, self._faces, self._taste = body, reaches, faces, taste
        self._com_in_base = body.base_pose(body.nominal).actInv(body.com(body.nominal))

    def scatter(self, amount: float, seed: int) -> None:
        """From now on take places as they come, within so much of their cost [m]: a search that failed tries others."""
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
        """Yield places for a limb and a pose of the base, the best first.

        Args:
            limb: its name.
            X_world_base: pose of the base.
            home: where the limb's surface is in the liked posture, in the base's frame.
            toward: where the body is going, unit vector in the base's frame, (3,); anywhere if left out.
            beside: sides of other limbs' contacts on which it has to stay.
            others: contacts of the other limbs.
            on: faces to choose from; all if left out.
        """
        X_world_home = X_world_base * home
        standing = self._standing(X_world_base, others)
        options = [
            option
            for face in (self._faces if on is None else on)
            if (option := self._on_face(limb, face, X_world_base, X_world_home, toward, beside, standing)) is not None
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
        standing: _Standing,
    ) -> _Options | None:
        """Return where on a face the limb's samples end."""
        reach, taste = self._reaches[limb], self._taste
        R, p = X_world_base.rotation, X_world_base.translation
        if not face.is_near(R @ reach.centre + p, reach.radius):
            return None
        normal_in_base, height = R.T @ face.normal, face.normal @ (face.pose.translation - p)
        facing, heights = self._facing(limb, normal_in_base)
        near = facing[np.abs(heights - height) < taste.thickness]
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
        at_home = float(X_world_home.rotation[:, 2] @ face.normal) < -np.cos(taste.tilt)
        forward = X_world_home.rotation[:, 0] @ axes if at_home else reach.forwards[near] @ to_face
        room = face.offsets - taste.edge - self._extent(limb, forward, face)
        moved, fits = _moved_inside(local, face.edges, room)
        if not at_home and not fits.all():  # how it is turned does not matter: along an axis where it would hang over
            forward = np.where(fits[:, None], forward, _along_an_axis(forward))
            room = face.offsets - taste.edge - self._extent(limb, forward, face)
            moved, fits = _moved_inside(local, face.edges, room)
        near, local, forward = near[fits], moved[fits], np.broadcast_to(forward, local.shape)[fits]
        if len(near) == 0:
            return None
        home_local = (X_world_home.translation - face.pose.translation) @ axes
        away = np.linalg.norm(local - home_local, axis=1)
        cost = taste.nearness * away - taste.slack * reach.slack[near] - taste.ease * reach.ease(near, toward)
        cost -= taste.steadiness * standing.margin(local @ axes[:2].T + face.pose.translation[:2])
        cost += self._scatter * self._rng.random(len(cost))
        if at_home and (face.edges @ home_local <= room).all() and away.min() < taste.spread:
            # the place that the liked posture has, where the limb comes that way
            nearest = int(np.argmin(away))
            cost[nearest] = cost.min() - 1.0
            local[nearest] = home_local
        return _Options(face, cost, local, forward, near)

    def _standing(self, X_world_base: pin.SE3, others: Sequence[Contact]) -> _Standing:
        com = X_world_base.act(self._com_in_base)[:2]
        if not others:
            return _Standing(com, np.full(_DIRECTIONS.shape[1], -np.inf))
        points = np.concatenate([contact.points_in_world[:, :2] for contact in others])
        return _Standing(com, np.max((points - com) @ _DIRECTIONS, axis=0))

    def _facing(self, limb: str, normal: Array) -> tuple[NDArray[np.intp], Array]:
        """Return the samples whose end faces a normal, in the base's frame, (3,), and how far along it they are [m]."""
        known = self._faced.get(limb)
        if known is None or not np.array_equal(known[0], normal):  # neighbouring faces mostly have the same
            reach = self._reaches[limb]
            facing = np.flatnonzero(reach.normals @ normal < -np.cos(self._taste.tilt))
            known = self._faced[limb] = (normal, facing, reach.positions[facing] @ normal)
        return known[1], known[2]

    def _spread(self, limb: str, options: Sequence[_Options], X_world_base: pin.SE3) -> Iterator[Place]:
        """Yield the best option, then the best of those that are far enough from it, and so on."""
        costs = np.concatenate([option.costs for option in options])
        owners = np.repeat(np.arange(len(options)), [len(option.costs) for option in options])
        first = np.searchsorted(owners, np.arange(len(options)))
        places = np.concatenate([o.local @ o.face.pose.rotation[:, :2].T + o.face.pose.translation for o in options])
        costs_left = costs.copy()
        helps = limb in self._helpers
        found = looked = 0
        while found < self._taste.tries and looked < (40 if helps else 10) * self._taste.tries:
            best = int(np.argmin(costs_left))
            if not np.isfinite(costs_left[best]):
                return
            near = np.sum((places - places[best]) ** 2, axis=1) < self._taste.spread**2
            costs_left[best if helps else near] = np.inf
            option, k = options[owners[best]], best - first[owners[best]]
            contact = self._contact(limb, places[best], option, k)
            angles = self._reaches[limb].angles[option.samples[k]]
            looked += 1
            if contact is not None and self._is_free(limb, contact, angles, X_world_base):
                found += 1
                costs_left[near] = np.inf
                costs_left[owners == owners[best]] += self._taste.change
                yield Place(contact, angles)

    def _is_free(self, limb: str, contact: Contact, angles: Array, X_world_base: pin.SE3) -> bool:
        """Whether the end of a limb hits nothing at a contact, nor a helper's limb on its way there."""
        member = self._body.limbs[limb]
        if not self._clearance.end_is_free(member, contact.pose, str(contact.other)):
            return False
        if limb not in self._helpers:  # legs stay near the liked posture: their samples say little
            return True
        q = self._body.with_base(self._body.nominal, X_world_base)
        q[member.joints + 1] = angles
        return self._clearance.limb_is_free(member, q)

    def _extent(self, limb: str, forward: Array, face: Face) -> Array:
        """Return how far a limb's surface extends beyond its origin towards each edge of a face, (..., k) [m].

        Args:
            limb: which.
            forward: of the surface's +x, along the axes of the face, (..., 2).
            face: the face, of k edges.
        """
        surface = self._body.limbs[limb].surface
        if surface.kind != "planar":
            return np.zeros((*forward.shape[:-1], len(face.edges)))
        half = np.abs(surface.points[:, :2]).max(axis=0)
        unit = forward / np.maximum(np.linalg.norm(forward, axis=-1, keepdims=True), 1e-9)
        sideways = unit[..., ::-1] * [-1.0, 1.0]
        return np.asarray(half[0] * np.abs(unit @ face.edges.T) + half[1] * np.abs(sideways @ face.edges.T))

    def _contact(self, limb: str, place: Array, option: _Options, k: int) -> Contact | None:
        """Return the contact there, or None where the limb's end points into the face."""
        face = option.face
        forward = face.pose.rotation[:, :2] @ option.forwards[k]
        if forward @ forward < 0.01:
            return None
        pose = surface_pose(place, face.normal, forward)
        return contact_at(self._body, limb, pose, face.friction, face.name)


def _moved_inside(points: Array, edges: Array, room: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return points moved into a polygon, from each edge straight to it, and which of them are inside then.

    Args:
        points: (n, 2) [m].
        edges: outward normals of k edges, (k, 2).
        room: how far out the edges are, (k,) or for each point (n, k) [m].
    """
    moved = points
    for _ in range(_SWEEPS):
        for k, normal in enumerate(edges):
            beyond = moved @ normal - room[..., k] + _HAIR
            moved = moved - np.maximum(beyond, 0.0)[:, None] * normal
        inside = np.all(moved @ edges.T <= room, axis=1)
        if inside.all():
            break
    return moved, inside


def _along_an_axis(directions: Array) -> Array:
    """Return the axis nearest to each direction in the plane, (n, 2)."""
    steep = np.abs(directions[:, 1]) > np.abs(directions[:, 0])
    axes = np.where(steep[:, None], [0.0, 1.0], [1.0, 0.0])
    return np.asarray(axes * np.where(directions < 0.0, -1.0, 1.0))


def contact_at(body: Body, limb: str, pose: pin.SE3, friction: float, other: str | None) -> Contact:
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
