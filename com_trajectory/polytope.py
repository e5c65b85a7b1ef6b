"""Polytopes of centre-of-mass positions as linear inequalities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError


@dataclass(frozen=True, eq=False)
class Polytope:
    """The points c with A c ≤ b; the rows of A are unit vectors, so that A c − b is a signed distance [m].

    Attributes:
        A: outward normals, (m, 3).
        b: offsets, (m,) [m].

    Source: [Tonneau2018] (3), (4).
    """

    A: Array
    b: Array

    def __post_init__(self) -> None:
        """Normalise the rows.

        Raises:
            MultiQpError: a wrong shape, a number that is not finite, or a row of zeros.
        """
        A = np.array(self.A, dtype=float)
        b = np.array(self.b, dtype=float)
        if A.ndim != 2 or A.shape[1] != 3 or b.shape != (A.shape[0],):
            raise MultiQpError(f"polytope: expected A (m, 3) and b (m,), got {A.shape} and {b.shape}")
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise MultiQpError("polytope: A and b must be finite")
        norms = np.linalg.norm(A, axis=1)
        if (norms < 1e-12).any():
            raise MultiQpError(f"polytope: row {int(np.argmin(norms))} of A is zero")
        object.__setattr__(self, "A", A / norms[:, None])
        object.__setattr__(self, "b", b / norms)

    @classmethod
    def _of_unit_rows(cls, A: Array, b: Array) -> Polytope:
        """Return a polytope from rows that are already normalised."""
        found = object.__new__(cls)
        object.__setattr__(found, "A", A)
        object.__setattr__(found, "b", b)
        return found

    @classmethod
    def everywhere(cls) -> Polytope:
        """Return the whole space: no inequality."""
        return cls(np.zeros((0, 3)), np.zeros(0))

    @classmethod
    def box(cls, lower: ArrayLike, upper: ArrayLike) -> Polytope:
        """Return the axis-aligned box between two corners, (3,) [m]."""
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        return cls(np.vstack([np.eye(3), -np.eye(3)]), np.concatenate([upper, -lower]))

    @classmethod
    def hull(cls, points: ArrayLike) -> Polytope:
        """Return the convex hull of points, (k, 3) [m].

        Raises:
            MultiQpError: fewer than 4 points, or all of them in a plane.
        """
        try:
            equations = ConvexHull(np.asarray(points, dtype=float)).equations
        except (QhullError, ValueError) as error:
            raise MultiQpError(f"polytope: the points span no volume ({str(error).splitlines()[0]})") from None
        equations = np.unique(equations.round(12), axis=0)  # coplanar triangles of one face
        return cls(equations[:, :3], -equations[:, 3])

    @classmethod
    def intersection(cls, polytopes: Iterable[Polytope]) -> Polytope:
        """Return the points that are in all polytopes; everywhere if there are none."""
        all_of_them = list(polytopes)
        if not all_of_them:
            return cls.everywhere()
        return cls._of_unit_rows(np.concatenate([p.A for p in all_of_them]), np.concatenate([p.b for p in all_of_them]))

    @property
    def size(self) -> int:
        """Number of inequalities."""
        return len(self.b)

    def transformed(self, X_world_frame: pin.SE3) -> Polytope:
        """Return the same points in the world, when A and b are of a frame with that placement."""
        A = self.A @ X_world_frame.rotation.T
        return self._of_unit_rows(A, self.b + A @ X_world_frame.translation)

    def violation(self, points: ArrayLike) -> Array:
        """Return how far points, (..., 3), are outside: the largest A c − b, (...) [m]; negative inside."""
        if self.size == 0:
            return np.full(np.shape(points)[:-1], -np.inf)
        return np.asarray((np.asarray(points) @ self.A.T - self.b).max(axis=-1))

    def contains(self, points: ArrayLike, *, tolerance: float = 1e-9) -> NDArray[np.bool_]:
        """Return for each of the points, (..., 3), whether it is inside, up to a tolerance [m]."""
        return np.asarray(self.violation(points) <= tolerance)

    def chebyshev(self) -> tuple[Array, float]:
        """Return the centre of the largest ball inside and its radius [m]; negative if the polytope is empty.

        A negative radius is the least r with A c − b ≤ −r: the offset of all faces at which a single point remains.

        Raises:
            MultiQpError: the polytope is unbounded.
        """
        cost = np.array([0.0, 0.0, 0.0, -1.0])
        rows = np.hstack([self.A, np.ones((self.size, 1))])
        found = linprog(cost, A_ub=rows, b_ub=self.b, bounds=[(None, None)] * 4, method="highs")
        if found.x is None:
            raise MultiQpError("polytope: it is not bounded, so there is no largest ball in it")
        return found.x[:3], float(found.x[3])

    def vertices(self) -> Array:
        """Return the corners, (k, 3) [m]; none if the interior is empty.

        Raises:
            MultiQpError: the polytope is not bounded.
        """
        centre, radius = self.chebyshev()
        if radius < 1e-9:
            return np.zeros((0, 3))
        try:
            corners = HalfspaceIntersection(np.column_stack([self.A, -self.b]), centre).intersections
        except QhullError:
            corners = np.full((1, 3), np.inf)
        if not np.isfinite(corners).all():
            raise MultiQpError("polytope: it is not bounded, so it has no finite set of corners")
        corners = corners[ConvexHull(corners).vertices]
        return np.unique(corners.round(10), axis=0)

    def faces(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the corners, (k, 3) [m], and a triangulation of the surface, (f, 3)."""
        corners = self.vertices()
        if len(corners) < 4:
            return corners, np.zeros((0, 3), dtype=np.int64)
        return corners, ConvexHull(corners).simplices.astype(np.int64)

    def volume(self) -> float:
        """Return the volume [m³]; 0 if empty or flat."""
        corners = self.vertices()
        return float(ConvexHull(corners).volume) if len(corners) >= 4 else 0.0
