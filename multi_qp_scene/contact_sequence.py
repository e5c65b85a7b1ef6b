"""Contact sequences: contacts, contact phases and sequences of phases.

The contact planner returns a sequence; the centre-of-mass trajectory and the controller use it. `sequence_file.py`
reads and writes its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.surfaces import SurfaceKind, planar_points, pyramid

_UNIT = 1e-6  # [-] how far a normal's length may be from 1, and a rotation from orthogonal


@lru_cache(maxsize=256)
def _rays(normals: tuple[tuple[float, float, float], ...], friction: float) -> Array:
    """Return the unit edges of the pyramids around normals, (k, edges, 3), read only."""
    edges = np.stack([pyramid(np.array(normal), friction) for normal in normals])
    rays: Array = edges / np.linalg.norm(edges, axis=-1, keepdims=True)
    rays.flags.writeable = False
    return rays


@dataclass(frozen=True, eq=False)
class Contact:
    """Contact of one surface of a body at a fixed placement.

    Attributes:
        name: name of the contact, for messages.
        subsystem: name of the subsystem that has the surface.
        effector: name of the surface on the subsystem, as in its model file.
        pose: placement of the surface frame in the world; its +z points out of the body, into the touched surface.
        points: contact points in the surface frame, (k, 3) [m].
        normals: unit directions of the contact force on the body at each point, in the surface frame, (k, 3).
        friction: Coulomb coefficient, ≥ 0.
        kind: "planar", "grasp" or "point".
        size: extent of a planar surface along its x and y [m]; (0, 0) for others.
        other: full name of the touched surface, if known.
    """

    name: str
    subsystem: str
    effector: str
    pose: pin.SE3
    points: Array
    normals: Array
    friction: float
    kind: SurfaceKind = "planar"
    size: tuple[float, float] = (0.0, 0.0)
    other: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            MultiQpError: a value is not finite, μ < 0, there is no point, a normal is not a unit vector, or the pose
                has no valid rotation matrix.
        """
        where = f"contact {self.name!r}"
        points, normals = np.array(self.points, dtype=float), np.array(self.normals, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0 or normals.shape != points.shape:
            shapes = f"{points.shape} and {normals.shape}"
            raise MultiQpError(f"{where}: expected points and normals (k, 3) with k ≥ 1, got {shapes}")
        for what, value in (("points", points), ("normals", normals), ("pose", self.pose.homogeneous)):
            if not np.isfinite(value).all():
                raise MultiQpError(f"{where}: {what} must be finite, got {value.ravel().tolist()}")
        if not (np.isfinite(self.friction) and self.friction >= 0.0):
            raise MultiQpError(f"{where}: friction must be finite and at least 0, got {self.friction}")
        lengths = np.linalg.norm(normals, axis=1)
        if (abs(lengths - 1.0) > _UNIT).any():
            worst = float(lengths[np.argmax(abs(lengths - 1.0))])
            raise MultiQpError(f"{where}: normals must have length 1, got one of {worst:.6g}")
        rotation = self.pose.rotation
        if not np.allclose(rotation @ rotation.T, np.eye(3), atol=_UNIT) or np.linalg.det(rotation) < 0.0:
            raise MultiQpError(f"{where}: the pose's rotation matrix is not a rotation")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "normals", normals)

    @classmethod
    def planar(
        cls,
        name: str,
        pose: pin.SE3,
        size: tuple[float, float],
        *,
        friction: float,
        subsystem: str = "robot",
        other: str | None = None,
    ) -> Contact:
        """Return a rectangular contact of `size` [m]; its effector has the contact's name."""
        points, normals = planar_points(size)
        return cls(name, subsystem, name, pose, points, normals, friction, "planar", size, other)

    @property
    def surface(self) -> str:
        """Full name of the surface, "<subsystem>/<effector>"."""
        return f"{self.subsystem}/{self.effector}"

    @property
    def points_in_world(self) -> Array:
        """The contact points, (k, 3) [m]."""
        return self.points @ self.pose.rotation.T + self.pose.translation

    @property
    def normal(self) -> Array:
        """Outward unit normal of the touched surface, world frame, (3,)."""
        return -self.pose.rotation[:, 2]

    def rays(self) -> Array:
        """Return unit rays of the friction pyramid at each point, in the world, (k, edges, 3).

        The pyramid is inscribed in the Coulomb cone; see `multi_qp_scene.surfaces.pyramid`.
        """
        rays = _rays(tuple(map(tuple, self.normals.tolist())), self.friction)
        return np.asarray(rays @ self.pose.rotation.T)

    def same_as(self, another: Contact) -> bool:
        """Whether both contacts have the same surface at the same placement, to a micrometre."""
        same = self.effector == another.effector and self.subsystem == another.subsystem
        return same and bool(self.pose.isApprox(another.pose, 1e-6))


@dataclass(frozen=True, eq=False)
class ContactPhase:
    """A time interval with a constant contact set.

    Attributes:
        contacts: active contacts, at least one.
        name: name for messages.
        com: centre of mass by subsystem at an instant of the phase, if known, (3,) [m].
        duration: nominal duration, if known [s].
    """

    contacts: tuple[Contact, ...]
    name: str = ""
    com: Mapping[str, Array] = field(default_factory=dict)
    duration: float | None = None

    def __post_init__(self) -> None:
        """Check the contacts and numbers.

        Raises:
            MultiQpError: there is no contact, a surface is used twice, a number is not finite, or the duration is not
                positive.
        """
        where = f"phase {self.name!r}" if self.name else "phase"
        object.__setattr__(self, "contacts", tuple(self.contacts))
        if not self.contacts:
            raise MultiQpError(f"{where}: there are no contacts; a phase needs at least one")
        surfaces = [contact.surface for contact in self.contacts]
        for surface in surfaces:
            if surfaces.count(surface) > 1:
                raise MultiQpError(f"{where}: the surface {surface!r} is in two contacts at once")
        com = {subsystem: np.array(value, dtype=float) for subsystem, value in self.com.items()}
        for subsystem, value in com.items():
            if value.shape != (3,) or not np.isfinite(value).all():
                raise MultiQpError(f"{where}: com of {subsystem!r} must be 3 finite numbers, got {value.tolist()}")
        object.__setattr__(self, "com", com)
        if self.duration is not None and not (np.isfinite(self.duration) and self.duration > 0.0):
            raise MultiQpError(f"{where}: duration must be finite and above 0 s, got {self.duration}")

    def contacts_of(self, subsystem: str) -> tuple[Contact, ...]:
        """Return the contacts of one subsystem."""
        return tuple(contact for contact in self.contacts if contact.subsystem == subsystem)

    def maintained(self, following: ContactPhase) -> tuple[Contact, ...]:
        """Return the contacts that are also active in the following phase, at the same placement."""
        return tuple(c for c in self.contacts if any(c.same_as(other) for other in following.contacts))

    def made(self, following: ContactPhase) -> tuple[Contact, ...]:
        """Return the contacts of the following phase that are not in this one."""
        own = {id(contact) for contact in self.contacts}  # most contacts are maintained
        new = [contact for contact in following.contacts if id(contact) not in own]
        if not new:
            return ()
        return tuple(c for c in new if not any(c.same_as(other) for other in self.contacts))

    def broken(self, following: ContactPhase) -> tuple[Contact, ...]:
        """Return the contacts that are not in the following phase."""
        return following.made(self)


@dataclass(frozen=True, eq=False)
class ContactSequence:
    """Contact phases, one after the other.

    Attributes:
        phases: at least one.
        models: model of each subsystem: a shipped model's name or a path.
        name: name for messages.
        description: one line.
    """

    phases: tuple[ContactPhase, ...]
    models: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        """Check that there are phases. Raises MultiQpError otherwise."""
        object.__setattr__(self, "phases", tuple(self.phases))
        if not self.phases:
            raise MultiQpError(f"contact sequence {self.name!r}: there are no phases; it needs at least one")

    @property
    def subsystems(self) -> tuple[str, ...]:
        """Names of the subsystems that have contacts, in the order of their first."""
        return tuple(dict.fromkeys(contact.subsystem for phase in self.phases for contact in phase.contacts))

    def of(self, subsystem: str) -> ContactSequence:
        """Return the sequence of one subsystem; adjacent phases that become equal are merged.

        Raises:
            MultiQpError: the subsystem has no contact in some phase.
        """
        phases: list[ContactPhase] = []
        for number, phase in enumerate(self.phases):
            contacts = phase.contacts_of(subsystem)
            if not contacts:
                label = phase.name or f"number {number + 1}"
                raise MultiQpError(f"contact sequence {self.name!r}: {subsystem!r} has no contact in phase {label}")
            com = {subsystem: phase.com[subsystem]} if subsystem in phase.com else {}
            own = ContactPhase(contacts, phase.name, com, phase.duration)
            if phases and not phases[-1].made(own) and not phases[-1].broken(own):
                phases[-1] = _joined(phases[-1], own)
            else:
                phases.append(own)
        models = {subsystem: self.models[subsystem]} if subsystem in self.models else {}
        return ContactSequence(tuple(phases), models, self.name, self.description)

    def with_single_changes(self) -> list[tuple[ContactPhase, int | None]]:
        """Return the phases with their indices, each transition of which only makes or only breaks contacts.

        Where the sequence does both at once, a phase with the remaining contacts is inserted, without an index.

        Raises:
            MultiQpError: two consecutive phases share no contact.
        """
        found: list[tuple[ContactPhase, int | None]] = [(self.phases[0], 0)]
        for number, (before, phase) in enumerate(pairwise(self.phases), 1):
            if before.made(phase) and before.broken(phase):
                remaining = before.maintained(phase)
                if not remaining:
                    raise MultiQpError(
                        f"contact sequence {self.name!r}: phases {number} and {number + 1} share no contact; "
                        "flight is not quasi-static, so there is no transition point"
                    )
                found.append((ContactPhase(remaining, f"{before.name} to {phase.name}"), None))
            found.append((phase, number))
        return found


def _joined(first: ContactPhase, second: ContactPhase) -> ContactPhase:
    known = first.duration is not None and second.duration is not None
    duration = first.duration + second.duration if known else None  # type: ignore[operator]
    return ContactPhase(first.contacts, first.name, {**first.com, **second.com}, duration)


def surface_pose(xyz: Array, normal: Array, forward: Array) -> pin.SE3:
    """Return the placement of a surface frame in contact with another surface.

    Args:
        xyz: its origin in the world, (3,) [m].
        normal: outward unit normal of the touched surface, (3,); the surface's +z points the other way.
        forward: direction of the surface's +x, (3,); projected onto the tangent plane.

    Raises:
        MultiQpError: the normal is not a unit vector, or `forward` is parallel to it.
    """
    length = float(np.linalg.norm(normal))
    if not abs(length - 1.0) <= _UNIT:  # also NaN
        raise MultiQpError(f"normal: expected a vector of length 1, got one of length {length:.6g}")
    z = -np.asarray(normal, dtype=float) / length
    x = np.asarray(forward, dtype=float) - z * float(np.dot(z, forward))
    across = float(np.linalg.norm(x))
    if not across > 1e-6:
        raise MultiQpError(f"forward: expected a vector that is not along the normal, got {list(map(float, forward))}")
    x = x / across
    return pin.SE3(np.column_stack([x, np.cross(z, x), z]), np.asarray(xyz, dtype=float))
