"""Random contact sets and contact transitions for `multi-qp bench com`, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from com_trajectory.polytope import Polytope
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence

MOST_CONTACTS = 6


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Contacts with a common friction coefficient.

    Attributes:
        points: (k, 3) [m].
        normals: (k, 3).
        friction: Coulomb coefficient.
    """

    points: Array
    normals: Array
    friction: float

    def cone(self) -> WrenchCone:
        """Return the cone with the rays of hpp-centroidal-dynamics, which depend on its choice of tangents."""
        return WrenchCone.of_rays(self.points, peer_rays(self.normals, self.friction))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"points": self.points.tolist(), "normals": self.normals.tolist(), "friction": self.friction}

    def contacts(self) -> tuple[Contact, ...]:
        """Return the contacts of 4 points with the rays of `cone`."""
        found = []
        for k in range(0, len(self.points), 4):
            ray = peer_rays(self.normals[k : k + 1], self.friction)[0, 0]
            down = -self.normals[k]
            ahead = ray - (ray @ down) * down
            ahead /= np.linalg.norm(ahead)
            pose = pin.SE3(np.column_stack([ahead, np.cross(down, ahead), down]), self.points[k : k + 4].mean(axis=0))
            points = (self.points[k : k + 4] - pose.translation) @ pose.rotation
            name, normals = f"contact_{k // 4}", np.tile([0.0, 0.0, -1.0], (4, 1))
            found.append(Contact(name, "robot", name, pose, points, normals, self.friction))
        return tuple(found)


def peer_rays(normals: Array, friction: float) -> Array:
    """Return the rays of hpp-centroidal-dynamics at points, (k, 4, 3): edges midway between its tangents."""
    first = np.cross(normals, [0.0, 1.0, 0.0])
    along_y = np.linalg.norm(first, axis=1) < 1e-5
    first[along_y] = np.cross(normals[along_y], [1.0, 0.0, 0.0])
    second = np.cross(normals, first)
    first /= np.linalg.norm(first, axis=1)[:, None]
    second /= np.linalg.norm(second, axis=1)[:, None]
    angles = np.pi / 4.0 + np.arange(4) * np.pi / 2.0
    edges = np.sin(angles)[None, :, None] * first[:, None] + np.cos(angles)[None, :, None] * second[:, None]
    rays = normals[:, None] + friction * edges
    return np.asarray(rays / np.linalg.norm(rays, axis=2, keepdims=True))


def contact_set(
    random: np.random.Generator,
    contacts: int,
    *,
    tilt: float = 0.4,
    points: int = 4,
    size: tuple[float, float] = (0.2, 0.1),
) -> ContactSet:
    """Return contacts of 4 points each, or of one, with normals near the vertical."""
    places, normals = [], []
    for _ in range(contacts):
        normal = np.array([0.0, 0.0, 1.0]) + tilt * random.normal(size=3)
        normal /= np.linalg.norm(normal)
        first = np.cross(normal, random.normal(size=3))
        first /= np.linalg.norm(first)
        second = np.cross(normal, first)
        corners = [(0.0, 0.0)] if points == 1 else [(0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)]
        centre = random.uniform([-0.5, -0.5, -0.3], [0.5, 0.5, 0.3])
        places += [centre + x * size[0] * first + y * size[1] * second for x, y in corners]
        normals += [normal] * len(corners)
    return ContactSet(np.array(places), np.array(normals), float(random.uniform(0.3, 0.9)))


@dataclass(frozen=True, eq=False)
class EquilibriumQuery:
    """Query whether a centre of mass with an acceleration is in equilibrium on contacts."""

    contacts: ContactSet
    com: Array
    acceleration: Array

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **self.contacts.as_dict(),
            "com": self.com.tolist(),
            "acceleration": self.acceleration.tolist(),
        }


def verdicts(count: int, seed: int) -> list[EquilibriumQuery]:
    """Return equilibrium queries: 1 to 6 contacts of one or four points, alternately static and accelerated."""
    random = np.random.default_rng(seed)
    found = []
    for k in range(count):
        number = 1 + k % MOST_CONTACTS
        contacts = contact_set(random, number, points=4 if k % 4 or number < 3 else 1)
        com = contacts.points.mean(axis=0) + random.normal(size=3) * np.array([0.15, 0.15, 0.4])
        acceleration = random.normal(size=3) if k % 2 else np.zeros(3)
        found.append(EquilibriumQuery(contacts, com, acceleration))
    return found


@dataclass(frozen=True, eq=False)
class TransitionCase:
    """Break of the last contact: transition point and curve of the centre of mass are to be found.

    Attributes:
        before: all contacts.
        after: without the last.
        reach: kinematic polytope of the centre of mass before.
        start: initial centre of mass, (3,) [m].
        goal: final centre of mass, (3,) [m].
    """

    before: ContactSet
    after: ContactSet
    reach: Polytope
    start: Array
    goal: Array

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; each phase lasts 4 s, which is quasi-static."""
        reach = {"K": self.reach.A.tolist(), "k": self.reach.b.tolist()}
        return {
            "phases": [{**self.before.as_dict(), **reach}, {**self.after.as_dict(), **reach}],
            "c0": self.start.tolist(),
            "c1": self.goal.tolist(),
            "durations": [4.0, 4.0],
        }

    def sequence(self) -> tuple[ContactSequence, dict[str, Polytope]]:
        """Return the arguments of `plan_com`: two phases, and the reach in the frame of the first contact."""
        contacts = self.before.contacts()
        pose = contacts[0].pose
        reach = Polytope(self.reach.A @ pose.rotation, self.reach.b - self.reach.A @ pose.translation)
        phases = (
            ContactPhase(contacts, com={"robot": self.start}),
            ContactPhase(contacts[:-1], com={"robot": self.goal}),
        )
        return ContactSequence(phases), {contacts[0].effector: reach}


def transitions(count: int, contacts: int, seed: int) -> list[TransitionCase]:
    """Return transitions after which `contacts` contacts remain, each with a reach polytope of 60 faces."""
    from com_trajectory.equilibrium import equilibrium_region

    random = np.random.default_rng([seed, contacts])
    found: list[TransitionCase] = []
    while len(found) < count:
        before = contact_set(random, contacts + 1, tilt=0.15)
        after = ContactSet(before.points[:-4], before.normals[:-4], before.friction)
        all_of_them, fewer = equilibrium_region(before.cone()), equilibrium_region(after.cone())
        if fewer.empty:
            continue
        middle = before.points.mean(axis=0) + np.array([0.0, 0.0, 0.7])
        faces = random.normal(size=(60, 3))
        faces /= np.linalg.norm(faces, axis=1)[:, None]
        reach = Polytope(faces, faces @ middle + 0.6)
        leaving = before.points[-4:, :2].mean(axis=0)
        nearest = all_of_them.corners[np.linalg.norm(all_of_them.corners - leaving, axis=1).argmin()]
        start = np.append(0.2 * all_of_them.corners.mean(axis=0) + 0.8 * nearest, middle[2])
        goal = np.append(fewer.corners.mean(axis=0), middle[2])
        if reach.contains(np.array([start, goal])).all():
            found.append(TransitionCase(before, after, reach, start, goal))
    return found
