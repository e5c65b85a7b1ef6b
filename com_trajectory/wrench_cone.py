"""Cone of the wrenches that a set of contacts can exert.

All quantities are per unit of weight: forces as a fraction of m g, moments in metres (m g times a lever of one metre).
The quasi-static problem is independent of the mass, and so is (1) divided by m g.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from com_trajectory.cone_kernel import fill_generators
from com_trajectory.simplex import distances_to_cone
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError

GRAVITY = 9.81
"""Acceleration of free fall [m/s²]."""


def cross(a: Array, b: Array) -> Array:
    """Return a × b of vectors, (..., 3); about ten times faster than numpy's for small arrays."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    product[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    product[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    product[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


class WrenchCone:
    """The wrenches G β, β ≥ 0, that contacts can exert on a body.

    Attributes:
        G: unit rays about `origin`, force then moment [m], in the world, (6, r).
        origin: mean of the contact points, (3,) [m].

    Source: [Tonneau2018] (1), (12).
    """

    def __init__(self, contacts: Sequence[Contact]) -> None:
        """Compute the rays.

        Raises:
            MultiQpError: there are none.
        """
        if not contacts:
            raise MultiQpError("wrench cone: there are no contacts; expected at least one")
        points = np.concatenate([contact.points_in_world for contact in contacts])
        rays = np.concatenate([contact.rays() for contact in contacts])
        self._init(points, rays)

    def _init(self, points: Array, rays: Array) -> None:
        self.origin: Array = np.empty(3)
        self.G: Array = np.empty((6, rays.shape[0] * rays.shape[1]))
        fill_generators(points, rays, self.origin, self.G)
        self.rays: Array = rays

    @classmethod
    def of_rays(cls, points: Array, rays: Array) -> WrenchCone:
        """Return the cone of unit forces along rays, (k, e, 3), at points, (k, 3) [m], all in the world.

        Raises:
            MultiQpError: there are no points, or a number is not finite.
        """
        points, rays = np.asarray(points, dtype=float), np.asarray(rays, dtype=float)
        if len(points) == 0:
            raise MultiQpError("wrench cone: there are no contact points; expected at least one")
        if not (np.isfinite(points).all() and np.isfinite(rays).all()):
            raise MultiQpError("wrench cone: points and rays must be finite")
        cone = cls.__new__(cls)
        cone._init(points, rays)
        return cone

    def wrench(self, com: Array, acceleration: Array | None = None) -> Array:
        """Return the wrench required by a centre of mass, about `origin` and per unit of weight, (..., 6).

        Args:
            com: position, (..., 3) [m].
            acceleration: (..., 3) [m/s²]; zero if None. The angular momentum about the centre of mass is constant.

        Source: [Tonneau2018] (1), divided by m g.
        """
        force = np.zeros_like(np.asarray(com, dtype=float))
        force[..., 2] = 1.0
        if acceleration is not None:
            force = force + np.asarray(acceleration) / GRAVITY
        return np.concatenate([force, cross(np.asarray(com) - self.origin, force)], axis=-1)

    def violations(self, wrenches: Array) -> Array:
        """Return the distances of wrenches, (..., 6), from the cone, (...): the least Σ|w − G β|; 0 inside."""
        wrenches = np.asarray(wrenches, dtype=float)
        distances, _ = distances_to_cone(self.G, np.ascontiguousarray(wrenches.reshape(-1, 6)))
        return np.asarray(distances.reshape(wrenches.shape[:-1]))

    def violation(self, wrench: Array) -> float:
        """Return the distance of one wrench, (6,), from the cone; see `violations`."""
        return float(self.violations(wrench))

    def cuts(self, wrenches: Array) -> tuple[Array, Array]:
        """Return the distances of wrenches, (k, 6), from the cone, (k,), and the separating facets, (k, 6).

        A facet y has y · v ≤ 0 for every wrench v of the cone, and y · w > 0 for a wrench w that is outside.
        """
        distances, facets = distances_to_cone(self.G, np.ascontiguousarray(wrenches))
        return distances, facets

    def holds(self, com: Array, acceleration: Array | None = None, *, tolerance: float = 1e-6) -> bool:
        """Whether the contacts can exert the wrench required by a centre of mass, (3,); see `wrench`."""
        return self.violation(self.wrench(com, acceleration)) <= tolerance
