"""Places for a limb's next contact, the best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True)
class Taste:
    """What makes a place good; costs and gains in metres.

    Attributes:
        thickness: how far a configuration's end may be from a face to count as touching it [m].
        tilt: largest angle between the end and the face [rad]; the whole body makes up for the rest.
        edge: distance that a contact keeps to the edge of its face [m].
        nearness: cost of the distance from where the limb's end is in the liked posture.
        slack: gain for joints far from their limits.
        ease: gain for manipulability.
        spread: distance between two places that are tried [m].
        tries: how many places are tried at most.
    """

    thickness: float = 0.04
    tilt: float = 0.7
    edge: float = 0.01
    nearness: float = 1.0
    slack: float = 0.05
    ease: float = 0.05
    spread: float = 0.04
    tries: int = 6


class Candidates:
    """Finds places for limbs from their databases."""

    def __init__(
        self,
        body: Body,
        clearance: Clearance,
        reaches: dict[str, LimbReach],
        faces: Sequence[Face],
        taste: Taste,
    ) -> None:
        self._clearance = clearance
        self._body, self._reaches, self._faces, self._taste = body, reaches, faces, taste
        body.place(body.with_base(body.nominal, pin.SE3.Identity()))
        self.home = {name: body.surface_pose(limb).copy() for name, limb in body.limbs.items()}

    def places(self, limb: str, X_world_base: pin.SE3, *, on: Sequence[Face] | None = None) -> Iterator[Contact]:
        """Yield contacts of a limb for a pose of the base, the best first.

        Args:
            limb: its name.
            X_world_base: pose of the base.
            on: faces to choose from; all if left out.
        """
        reach, taste = self._reaches[limb], self._taste
        positions = reach.positions @ X_world_base.rotation.T + X_world_base.translation
        normals = reach.normals @ X_world_base.rotation.T
        home = X_world_base.act(self.home[limb])
        costs, places, owners, samples = [], [], [], []
        for number, face in enumerate(self._faces if on is None else on):
            heights = (positions - face.pose.translation) @ face.normal
            near = np.flatnonzero((np.abs(heights) < taste.thickness) & (normals @ face.normal < -np.cos(taste.tilt)))
            if len(near) == 0:
                continue
            room = face.half - self._taste.edge - self._extent(limb, face, home)
            axes = face.pose.rotation[:, :2]
            local = (positions[near] - face.pose.translation) @ axes
            inside = (np.abs(local) < face.half).all(axis=1)
            if (room < 0.0).any() or not inside.any():
                continue
            near = near[inside]
            on_face = face.pose.translation + np.clip(local[inside], -room, room) @ axes.T
            at_home = home.translation - face.normal * ((home.translation - face.pose.translation) @ face.normal)
            away = np.linalg.norm(on_face - at_home, axis=1)
            cost = taste.nearness * away - taste.slack * reach.slack[near] - taste.ease * reach.ease[near]
            if (np.abs((at_home - face.pose.translation) @ axes) <= room).all() and away.min() < taste.spread:
                # the place that the liked posture has, where the limb comes that way
                nearest = int(np.argmin(away))
                cost[nearest] = cost.min() - 1.0
                on_face[nearest] = at_home
            costs.append(cost)
            places.append(on_face)
            owners.append(np.full(len(near), number))
            samples.append(near)
        if costs:
            options = (np.concatenate(costs), np.concatenate(places), np.concatenate(owners), np.concatenate(samples))
            yield from self._spread(limb, options, list(self._faces if on is None else on), home, X_world_base)

    def _spread(
        self,
        limb: str,
        options: tuple[Array, Array, NDArray[np.intp], NDArray[np.intp]],
        faces: list[Face],
        home: pin.SE3,
        X_world_base: pin.SE3,
    ) -> Iterator[Contact]:
        """Yield the best option, then the best of those that are far enough from it, and so on."""
        costs, places, owners, samples = options
        left = np.ones(len(costs), dtype=bool)
        found = looked = 0
        while found < self._taste.tries and looked < 10 * self._taste.tries and left.any():
            best = int(np.flatnonzero(left)[np.argmin(costs[left])])
            left &= np.linalg.norm(places - places[best], axis=1) >= self._taste.spread
            face, sample = faces[owners[best]], int(samples[best])
            contact = self._contact(limb, places[best], face, sample, home, X_world_base)
            looked += 1
            if contact is not None and self._clearance.end_is_free(self._body.limbs[limb], contact.pose, face.name):
                found += 1
                yield contact

    def _extent(self, limb: str, face: Face, home: pin.SE3) -> Array:
        """Return half the extent of a limb's surface along the axes of a face, (2,) [m]."""
        surface = self._body.limbs[limb].surface
        if surface.kind != "planar":
            return np.zeros(2)
        half = np.abs(surface.points[:, :2]).max(axis=0)
        if home.rotation[:, 2] @ face.normal >= -np.cos(self._taste.tilt):
            return np.full(2, float(np.linalg.norm(half)))  # however it is turned
        forward = surface_pose(home.translation, face.normal, home.rotation[:, 0]).rotation[:, 0]
        along = np.abs(face.pose.rotation[:, :2].T @ forward)
        return np.asarray(along * half[0] + along[::-1] * half[1])

    def _contact(
        self, limb: str, place: Array, face: Face, sample: int, home: pin.SE3, X_world_base: pin.SE3
    ) -> Contact | None:
        """Return the contact there, or None where it would hang over the edge of the face."""
        if home.rotation[:, 2] @ face.normal < -np.cos(self._taste.tilt):
            forward = home.rotation[:, 0]
        else:
            forward = X_world_base.rotation @ self._reaches[limb].forwards[sample]
        if np.linalg.norm(forward - face.normal * (forward @ face.normal)) < 0.1:
            return None
        pose = surface_pose(place, face.normal, forward)
        surface = self._body.limbs[limb].surface
        corners = surface.points @ pose.rotation.T + pose.translation
        if surface.kind == "planar" and not face.holds(corners, self._taste.edge - 1e-9):
            return None
        return contact_at(self._body, limb, pose, face.friction, face.name)


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
