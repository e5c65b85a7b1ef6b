"""Where the centre of mass can rest on a set of contacts: A c ≤ a, exact, and its polygon.

The horizontal place of the centre of mass is linear in the ray loads β:

    F β = e_z,  m_z β = 0,  (c_x, c_y) = (−m_y β, m_x β),  β ≥ 0,

with F and m the force and moment rows of G. The region is the shadow of that polytope on the plane. Its
corners are found
by linear programs: each edge that is not proven to be on the boundary yields a new corner outside it, until
all are proven.
Corners are vertices of the programs, so that the polygon is exact and not an approximation that was stopped.

Source: [Tonneau2018] (2), (12); the projection is that of [Bretl2008], run to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, dist, hypot, pi, sin

import numpy as np
from numpy.typing import ArrayLike, NDArray

from com_trajectory.polytope import Polytope
from com_trajectory.simplex import CornerSearch, UnboundedError
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError

Array = NDArray[np.float64]
Place = tuple[float, float]  # in the plane [m]

HORIZON = 100.0
"""How far from the contacts a region is followed that has no end, as between two walls [m]."""

_SAME = 1e-8  # [m] corners closer than this are one
_MOST_CORNERS = 10_000
_DIRECTIONS = [(cos(angle), sin(angle)) for angle in (0.1, 0.1 + pi / 2.0, 0.1 + pi, 0.1 + 1.5 * pi)]
_FLAT = 1e-10  # [m] an edge that can be pushed out by less is on the boundary


@dataclass(frozen=True, eq=False)
class EquilibriumRegion:
    """Where the centre of mass can rest: A c ≤ a, whatever its height.

    Attributes:
        A: unit outward normals in the plane, (m, 3), third column 0.
        a: offsets, (m,) [m].
        corners: of the polygon, counterclockwise, (k, 2) [m]: none if it is empty, 1 for a point, 2 for a segment.
        bounded: false where the region goes on beyond `HORIZON`; the corners there are cut off, A and a are not.
    """

    A: Array
    a: Array
    corners: Array
    bounded: bool

    @property
    def empty(self) -> bool:
        """Whether no centre of mass can rest on these contacts."""
        return len(self.corners) == 0

    @property
    def polytope(self) -> Polytope:
        """The region as a polytope without top and bottom."""
        return Polytope(self.A, self.a)

    def margin(self, com: ArrayLike) -> Array:
        """Return how far inside the region points, (..., 3) or (..., 2), are [m]; negative is the distance to it.

        It is −inf for an empty region and +inf for one without boundary.
        """
        points = np.asarray(com, dtype=float)[..., :2]
        if self.empty:
            return np.full(points.shape[:-1], -np.inf)
        if len(self.a) == 0:
            return np.full(points.shape[:-1], np.inf)
        margin = np.asarray((self.a - points @ self.A[:, :2].T).min(axis=-1))
        outside = margin < 0.0
        if outside.any():
            margin[outside] = -self._distance(points[outside])
        return margin

    def _distance(self, points: Array) -> Array:
        starts, ends = self.corners, np.roll(self.corners, -1, axis=0)
        along = ends - starts
        lengths = np.maximum((along**2).sum(axis=1), 1e-30)
        offsets = points[..., None, :] - starts
        share = np.clip((offsets * along).sum(axis=-1) / lengths, 0.0, 1.0)
        return np.asarray(np.linalg.norm(offsets - share[..., None] * along, axis=-1).min(axis=-1))

    def shrunk(self, margin: float) -> EquilibriumRegion:
        """Return the points that are at least `margin` [m] inside; empty if there are none.

        Raises:
            MultiQpError: the margin is negative or not finite.
        """
        if not (np.isfinite(margin) and margin >= 0.0):
            raise MultiQpError(f"margin: expected 0 m or more, got {margin}")
        if margin == 0.0 or self.empty:
            return self
        corners = self.corners
        for normal, offset in zip(self.A[:, :2], self.a - margin, strict=True):
            corners = _clipped(corners, normal, offset)
        return EquilibriumRegion(self.A, self.a - margin, corners, self.bounded)


def equilibrium_region(
    contacts: Sequence[Contact] | WrenchCone, *, margin: float = 0.0, least_load: float = 0.0
) -> EquilibriumRegion:
    """Return where the centre of mass can rest on contacts.

    Args:
        contacts: any number above 0, placed anyhow; or their wrench cone.
        margin: keep this far from the boundary [m].
        least_load: every friction ray carries at least this share of the weight, so that force errors are survived.

    Raises:
        MultiQpError: no contacts, or a margin that is negative or not finite.

    Source: [Tonneau2018] (2); `least_load` is b0 of [DelPrete2016].
    """
    if not (np.isfinite(least_load) and least_load >= 0.0):
        raise MultiQpError(f"least_load: expected 0 or more, got {least_load}")
    cone = contacts if isinstance(contacts, WrenchCone) else WrenchCone(contacts)
    shadow = _Shadow(cone, least_load)
    corners, bounded = shadow.corners()
    A, a = _edges(corners, None if bounded else HORIZON)
    origin = cone.origin[:2]
    A3 = np.zeros((len(A), 3))
    A3[:, :2] = A
    return EquilibriumRegion(A3, a + A @ origin, corners + origin, bounded).shrunk(margin)


class _Shadow:
    """The corners of the region about the cone's origin."""

    def __init__(self, cone: WrenchCone, least_load: float) -> None:
        loads = cone.G.sum(axis=1) * least_load
        self._places = np.column_stack([-cone.G[4], cone.G[3]])  # (r, 2): β → c_x, c_y about the cone's origin
        self._shift = float(-loads[4]), float(loads[3])
        self._M = cone.G[[0, 1, 2, 5]]
        self._e = np.array([0.0, 0.0, 1.0, 0.0]) - loads[[0, 1, 2, 5]]
        self._search = CornerSearch(self._M, self._e, self._places)

    def corners(self) -> tuple[Array, bool]:
        """Return the corners, counterclockwise, and whether the region is bounded."""
        if not self._search.feasible:
            return np.zeros((0, 2)), True
        try:
            return self._polygon(), True
        except UnboundedError:
            self._wall_in()
            return self._polygon() if self._search.feasible else np.zeros((0, 2)), False

    def _wall_in(self) -> None:
        """Keep the centre of mass inside a square of the horizon's size: four rows, each with its own slack."""
        square = np.concatenate([self._places.T, -self._places.T])
        limits = HORIZON - np.array([*self._shift, -self._shift[0], -self._shift[1]])
        M = np.block([[self._M, np.zeros((4, 4))], [square, np.eye(4)]])
        self._places = np.vstack([self._places, np.zeros((4, 2))])
        self._search = CornerSearch(M, np.concatenate([self._e, limits]), self._places)

    def _polygon(self) -> Array:
        found: list[Place] = []
        for direction in _DIRECTIONS:
            corner = self._furthest(*direction)
            if all(dist(corner, other) > _SAME for other in found):
                found.append(corner)
        if len(found) == 1:
            return np.array(found)
        return np.array(_without_collinear(self._grown(found)))

    def _grown(self, found: list[Place]) -> list[Place]:
        """Push every edge outwards until it does not move; the starting corners are in counterclockwise order."""
        done: list[Place] = []
        waiting = [*found, found[0]]
        while len(waiting) > 1:
            start, end = waiting[0], waiting[1]
            length = dist(start, end)
            if length < _SAME:  # its direction would be noise
                waiting.pop(1 if len(waiting) > 2 else 0)
                continue
            x, y = (end[1] - start[1]) / length, (start[0] - end[0]) / length
            corner = self._furthest(x, y)
            new = x * (corner[0] - start[0]) + y * (corner[1] - start[1]) > _FLAT
            if new and min(dist(corner, start), dist(corner, end)) > _SAME:
                waiting.insert(1, corner)
            else:
                done.append(waiting.pop(0))
            if len(done) + len(waiting) > _MOST_CORNERS:
                raise MultiQpError(f"equilibrium: the region has more than {_MOST_CORNERS} corners")
        return done

    def _furthest(self, x: float, y: float) -> Place:
        """Return the region's corner furthest along a direction. Raises UnboundedError if there is none."""
        place = self._search.furthest(x, y)
        return place[0] + self._shift[0], place[1] + self._shift[1]


def _without_collinear(polygon: list[Place]) -> list[Place]:
    """Drop corners that lie on the line between their neighbours; a flat polygon becomes its two ends."""
    if len(polygon) < 3:
        return polygon
    first = polygon[0]
    length, far = max((dist(first, corner), corner) for corner in polygon)
    length = max(length, 1e-30)
    x, y = (far[0] - first[0]) / length, (far[1] - first[1]) / length
    heights = [(q - first[1]) * x - (p - first[0]) * y for p, q in polygon]
    if max(heights) - min(heights) < 1e-8:
        places = [(p - first[0]) * x + (q - first[1]) * y for p, q in polygon]
        return [polygon[places.index(min(places))], polygon[places.index(max(places))]]
    kept = []
    for before, corner, after in zip([polygon[-1], *polygon], polygon, [*polygon[1:], polygon[0]], strict=False):
        chord = after[0] - before[0], after[1] - before[1]
        height = chord[0] * (corner[1] - before[1]) - chord[1] * (corner[0] - before[0])
        if abs(height) > 1e-10 * max(hypot(*chord), 1e-30):
            kept.append(corner)
    return kept


def _edges(corners: Array, horizon: float | None) -> tuple[Array, Array]:
    """Return the inequalities of a polygon; edges that lie on the horizon are none."""
    if len(corners) == 0:  # 0 ≤ −1: nothing satisfies it, and a row must not be zero
        return np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0])
    if len(corners) == 1:
        A = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        return A, A @ corners[0]
    along = np.empty_like(corners)
    along[:-1], along[-1] = corners[1:] - corners[:-1], corners[0] - corners[-1]
    lengths = np.sqrt((along**2).sum(axis=1, keepdims=True))
    normals = along[:, ::-1] * (1.0, -1.0) / lengths
    offsets = (normals * corners).sum(axis=1)
    if len(corners) == 2:
        normals = np.concatenate([normals, along / lengths])
        offsets = (normals * np.concatenate([corners, corners[::-1]])).sum(axis=1)
    if horizon is not None:
        on_it = np.isclose(offsets, horizon, atol=1e-6) & (np.abs(normals).max(axis=1) > 1.0 - 1e-9)
        normals, offsets = normals[~on_it], offsets[~on_it]
    return normals, offsets


def _clipped(polygon: Array, normal: Array, offset: float) -> Array:
    """Return the part of a convex polygon with normal · p ≤ offset."""
    if len(polygon) == 0:
        return polygon
    heights = polygon @ normal - offset
    kept: list[Array] = []
    for k, (point, height) in enumerate(zip(polygon, heights, strict=True)):
        if height <= 0.0:
            kept.append(point)
        following, other = polygon[(k + 1) % len(polygon)], heights[(k + 1) % len(polygon)]
        if height * other < 0.0:
            kept.append(point + (following - point) * height / (height - other))
    return np.array(kept).reshape(-1, 2)
