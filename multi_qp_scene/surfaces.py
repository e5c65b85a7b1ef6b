"""Contact surfaces on links, and their friction cones: cones of contact wrenches."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.cones import facets_of

SurfaceKind = Literal["planar", "grasp", "point"]

#: Edges of the friction pyramid of one contact point, the inner approximation of its friction cone. The time to find
#: the facets of a surface's cone grows with the fifth power of it: 10 ms for 4 points with 4 edges, seconds with 8.
PYRAMID_EDGES = 4
#: Largest distance of the contact points from a collision shape that fits [m].
FITTING = 1e-3


@dataclass(frozen=True)
class Ball:
    """The ball on which a point surface lies: it touches at its lowest point when its link tilts.

    Attributes:
        centre: in the surface frame, (3,) [m].
        radius: [m].
    """

    centre: Array
    radius: float


#: A ball without extent, for surfaces that lie on none.
NO_BALL = Ball(np.zeros(3), 0.0)


@dataclass(frozen=True)
class Surface:
    """A contact surface of a link.

    Attributes:
        name: full name, "<subsystem>/<surface>"; also the name of its frame in the scene's model.
        kind: "planar" (a rectangle or another convex polygon), "grasp" (around a cylinder) or "point".
        link: full name of the link that carries it.
        frame_id: index of its frame in the scene's model.
        joint_id: index of the joint that moves it (0 for the environment).
        X_link_surface: placement of the surface frame in the link frame; +z is the outward normal.
        points: contact points in the surface frame, (k, 3) [m].
        normals: unit direction of the contact force on the body at each point, in the surface frame, (k, 3).
        ball: of a point surface: the sphere, or end of a capsule, among the shapes of its link on which it lies.
    """

    name: str
    kind: SurfaceKind
    link: str
    frame_id: int
    joint_id: int
    X_link_surface: pin.SE3
    points: Array
    normals: Array
    ball: Ball = NO_BALL
    _rays: dict[float, Array] = field(default_factory=dict, init=False, repr=False, compare=False)

    def rays(self, friction: float) -> Array:
        """Return W, whose columns are the unit rays of the wrench cone, (6, `PYRAMID_EDGES` k).

        The wrench W Λ, Λ ≥ 0, is (force, moment) at the surface's origin, in its frame, acting on its body:
        every point carries a pyramid inscribed in its Coulomb cone.

        Args:
            friction: Coulomb coefficient of the contact.

        Source: [Vaillant2015] section 3.4, (25).
        """
        if friction in self._rays:
            return self._rays[friction].copy()
        forces = []
        for normal in self.normals:
            for force in pyramid(normal, friction):
                forces.append(force / np.linalg.norm(force))
        at = np.repeat(self.points, PYRAMID_EDGES, axis=0)
        rays = np.hstack([forces, np.cross(at, forces)]).T
        self._rays[friction] = rays
        return rays.copy()

    def facets(self, friction: float) -> Array:
        """Return F, the facets of the same cone: F w ≥ 0 for the wrench w, (facets, `equality_rows`).

        For a point, w is its force, (3,). A grasp that can push in every direction has no facets, (0, 6).
        """
        return facets_of(self.rays(friction)[: self.equality_rows])

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """Edges of a planar surface: points x of its plane with N x ≤ d; N, (k, 2), and d, (k,) [m]."""
        return half_planes(self.points[:, :2])

    @property
    def equality_rows(self) -> int:
        """Rows of its no-slip constraint: 6, or 3 for a point contact, which may rotate."""
        return 3 if self.kind == "point" else 6


def tangents(normal: Array) -> tuple[Array, Array]:
    """Return two unit vectors that complete `normal` to a right-handed orthonormal basis, (3,) each."""
    axis = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = axis - normal * (axis @ normal)
    first /= np.linalg.norm(first)
    second: Array = np.asarray(np.cross(normal, first), dtype=np.float64)
    return first, second


def pyramid(normal: Array, friction: float) -> Array:
    """Return the edges of the friction pyramid of a point, with normal component 1, (`PYRAMID_EDGES`, 3).

    They lie in the planes through the normal and the two `tangents`, where the friction coefficient is exact, and, if
    there are more than four, at equal angles between these.
    """
    angles = 2.0 * np.pi * np.arange(PYRAMID_EDGES) / PYRAMID_EDGES
    first, second = tangents(normal)
    # rounded, so that a multiple of 90° is exact
    along = np.outer(np.round(np.cos(angles), 15), first) + np.outer(np.round(np.sin(angles), 15), second)
    return normal + friction * along


def half_planes(outline: Array) -> tuple[Array, Array]:
    """Return the edges of a convex polygon: x is inside where N x ≤ d, with rows of N of unit length.

    Args:
        outline: corners, anticlockwise, (k, 2) [m].

    Returns:
        N, (k, 2), and d, (k,) [m].
    """
    along = np.roll(outline, -1, axis=0) - outline
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
    return normals, np.einsum("ij,ij->i", normals, outline)


def planar_points(size: tuple[float, float]) -> tuple[Array, Array]:
    """Return the corners of a rectangle of `size` [m] in the x-y plane, and their normals -z."""
    x, y = size[0] / 2.0, size[1] / 2.0
    return polygon_points(np.array([[x, y], [-x, y], [-x, -y], [x, -y]]))


def polygon_points(outline: Array) -> tuple[Array, Array]:
    """Return the corners of a polygon in the x-y plane, (k, 2) [m], and their normals -z."""
    count = len(outline)
    return np.column_stack([outline, np.zeros(count)]), np.tile([0.0, 0.0, -1.0], (count, 1))


def grasp_points(radius: float, length: float, *, encloses: bool) -> tuple[Array, Array]:
    """Return 4 points around a cylinder along x, and their normals.

    Opposite points share an end of the cylinder, so that the grasp resists forces in every direction and moments about
    every axis. Contact forces point outwards on a hand that encloses the cylinder, inwards on the handle.

    Args:
        radius: of the cylinder [m].
        length: distance between the two pairs of points [m].
        encloses: whether the body is the hand around the cylinder.
    """
    angles = np.arange(4) * np.pi / 2.0
    radial = np.stack([np.zeros(4), np.cos(angles), np.sin(angles)], axis=1)
    points: Array = np.array(radius * radial, dtype=np.float64)
    points[:, 0] = np.array([1.0, -1.0, 1.0, -1.0]) * length / 2.0
    normals: Array = radial if encloses else -radial
    return points, normals


def single_point() -> tuple[Array, Array]:
    """Return the point of a point surface, its origin, and its normal -z."""
    return np.zeros((1, 3)), np.array([[0.0, 0.0, -1.0]])
