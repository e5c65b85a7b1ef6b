"""Convex primitives used as collision shapes and as mass distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
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

    def inertia(self, mass: float) -> pin.Inertia:
        """Inertia of a mass spread over it, in the link frame."""
        return _placed(pin.Inertia.FromBox(mass, *self.size), self.center)

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

    def inertia(self, mass: float) -> pin.Inertia:
        """Inertia of a mass spread over it, in the link frame."""
        return _placed(pin.Inertia.FromSphere(mass, self.radius), self.center)

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

    def inertia(self, mass: float) -> pin.Inertia:
        """Inertia of a mass spread over it, in the link frame."""
        turned = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), self.axis).matrix()
        return _placed(pin.Inertia.FromCapsule(mass, self.radius, self.length), self.center, turned)

    def mirrored(self) -> Capsule:
        """The same capsule on the other side of the body."""
        return replace(self, start=flip(self.start), end=flip(self.end))


Solid = Box | Sphere | Capsule


def inertial_of(solids: Sequence[Solid], mass: float) -> pin.Inertia:
    """Spread a mass over solids in proportion to their volumes.

    The result is that of a real mass distribution, so it is physically consistent by construction.

    Args:
        solids: At least one solid; overlaps simply count twice.
        mass: Total mass [kg].
    """
    volume = sum(solid.volume for solid in solids)
    return sum((solid.inertia(mass * solid.volume / volume) for solid in solids), pin.Inertia.Zero())


def _placed(inertia: pin.Inertia, center: Triple, rotation: Vector | None = None) -> pin.Inertia:
    """An inertia moved to a place in the link frame."""
    return pin.SE3(np.eye(3) if rotation is None else rotation, np.array(center)).act(inertia)


def triple(vector: Vector) -> Triple:
    """Plain floats of a 3-vector."""
    x, y, z = (float(v) for v in vector)
    return x, y, z


def flip(point: Triple) -> Triple:
    """Mirror image of a point, left for right."""
    return point[0], -point[1], point[2]
