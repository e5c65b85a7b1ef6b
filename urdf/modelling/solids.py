"""Convex primitives used as collision shapes and as mass distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Triple = tuple[float, float, float]

MIRROR = np.diag([1.0, -1.0, 1.0])
"""Reflection through the sagittal (x-z) plane, which swaps left and right."""


@dataclass(frozen=True)
class Box:
    """Axis-aligned box.

    Attributes:
        center: Centre in the link frame [m].
        size: Full edge lengths along x, y, z [m].
    """

    center: Triple
    size: Triple

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return float(np.prod(self.size))

    def unit_inertia(self) -> Vector:
        """Rotational inertia about the centre for a mass of 1 kg, shape (3, 3) [m²]."""
        square = np.square(self.size)
        return np.diag((square.sum() - square) / 12.0)

    def mirrored(self) -> Box:
        """The same box on the other side of the body."""
        return replace(self, center=flip(self.center))


@dataclass(frozen=True)
class Sphere:
    """Sphere.

    Attributes:
        center: Centre in the link frame [m].
        radius: Radius [m].
    """

    center: Triple
    radius: float

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return 4.0 / 3.0 * np.pi * self.radius**3

    def unit_inertia(self) -> Vector:
        """Rotational inertia about the centre for a mass of 1 kg, shape (3, 3) [m²]."""
        return 0.4 * self.radius**2 * np.eye(3)

    def mirrored(self) -> Sphere:
        """The same sphere on the other side of the body."""
        return replace(self, center=flip(self.center))


@dataclass(frozen=True)
class Capsule:
    """Cylinder with hemispherical ends.

    Attributes:
        start: Centre of the first hemisphere in the link frame [m].
        end: Centre of the second hemisphere in the link frame [m].
        radius: Radius of cylinder and hemispheres [m].
    """

    start: Triple
    end: Triple
    radius: float

    @property
    def center(self) -> Triple:
        """Middle of the axis in the link frame [m]."""
        return triple(0.5 * (np.asarray(self.start) + np.asarray(self.end)))

    @property
    def length(self) -> float:
        """Distance between the centres of the hemispheres [m]."""
        return float(np.linalg.norm(np.subtract(self.end, self.start)))

    @property
    def axis(self) -> Vector:
        """Unit vector from start to end, shape (3,)."""
        return np.subtract(self.end, self.start) / self.length

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return np.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def unit_inertia(self) -> Vector:
        """Rotational inertia about the centre for a mass of 1 kg, shape (3, 3) [m²]."""
        r, h = self.radius, self.length
        cylinder = h / (h + 4.0 / 3.0 * r)  # share of the mass that is in the cylinder
        caps = 1.0 - cylinder
        along = cylinder * r**2 / 2.0 + caps * 0.4 * r**2
        across = cylinder * (r**2 / 4.0 + h**2 / 12.0) + caps * (0.4 * r**2 + h**2 / 4.0 + 0.375 * h * r)
        outer = np.outer(self.axis, self.axis)
        return along * outer + across * (np.eye(3) - outer)

    def mirrored(self) -> Capsule:
        """The same capsule on the other side of the body."""
        return replace(self, start=flip(self.start), end=flip(self.end))


Solid = Box | Sphere | Capsule


@dataclass(frozen=True)
class Inertial:
    """Mass properties of a link.

    Attributes:
        mass: Mass [kg].
        center: Centre of mass in the link frame, shape (3,) [m].
        inertia: Rotational inertia about the centre of mass, link axes, shape (3, 3) [kg m²].
    """

    mass: float
    center: Vector
    inertia: Vector

    def mirrored(self) -> Inertial:
        """Mass properties of the mirror image of the link."""
        return Inertial(self.mass, MIRROR @ self.center, MIRROR @ self.inertia @ MIRROR)


def inertial_of(solids: Sequence[Solid], mass: float) -> Inertial:
    """Spread a mass over solids in proportion to their volumes.

    The result is that of a real mass distribution, so it is physically consistent by construction.

    Args:
        solids: At least one solid; overlaps simply count twice.
        mass: Total mass [kg].

    Returns:
        The mass properties of the whole.
    """
    masses = mass * np.array([s.volume for s in solids]) / sum(s.volume for s in solids)
    centers = np.array([s.center for s in solids])
    center = masses @ centers / mass
    inertia = np.zeros((3, 3))
    for solid, m, p in zip(solids, masses, centers - center, strict=True):
        inertia += m * (solid.unit_inertia() + (p @ p) * np.eye(3) - np.outer(p, p))
    return Inertial(mass, center, inertia)


def triple(vector: Vector) -> Triple:
    """Plain floats of a 3-vector."""
    x, y, z = (float(v) for v in vector)
    return x, y, z


def flip(point: Triple) -> Triple:
    """Mirror image of a point, left for right."""
    return point[0], -point[1], point[2]
