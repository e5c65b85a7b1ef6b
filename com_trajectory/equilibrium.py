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
from math import hypot

import numpy as np
from numpy.typing import ArrayLike, NDArray

from com_trajectory.polytope import Polytope
from com_trajectory.simplex import CornerSearch, UnboundedError
from com_trajectory.wrench_cone import WrenchCone
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError

Array = NDArray[np.float64]

HORIZON = 100.0
"""How far from the contacts a region is followed that has no end, as between two walls [m]."""

_SAME = 1e-8  # [m] corners closer than this are one
_MOST_CORNERS = 10_000
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
    A3 = np.hstack([A, np.zeros((len(A), 1))])
    return EquilibriumRegion(A3, a + A @ origin, corners + origin, bounded).shrunk(margin)


class _Shadow:
    """The corners of the region about the cone's origin."""

    def __init__(self, cone: WrenchCone, least_load: float) -> None:
        loads = cone.G.sum(axis=1) * least_load
        self._places = np.array([-cone.G[4], cone.G[3]])  # (2, r): β → c_x, c_y about the cone's origin
        self._shift = np.array([-loads[4], loads[3]])
        self._M = cone.G[[0, 1, 2, 5]]
        self._e = np.array([0.0, 0.0, 1.0, 0.0]) - loads[[0, 1, 2, 5]]
        self._search = CornerSearch(self._M, self._e)

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
        square = np.concatenate([self._places, -self._places])
        limits = HORIZON - np.concatenate([self._shift, -self._shift])
        M = np.block([[self._M, np.zeros((4, 4))], [square, np.eye(4)]])
        self._places = np.hstack([self._places, np.zeros((2, 4))])
        self._search = CornerSearch(M, np.concatenate([self._e, limits]))

    def _polygon(self) -> Array:
        angles = np.arange(4) * np.pi / 2.0 + 0.1
        found: list[Array] = []
        for angle in angles:
            corner = self._furthest(np.array([np.cos(angle), np.sin(angle)]))
            if all(_apart(corner, other) > _SAME for other in found):
                found.append(corner)
        if len(found) == 1:
            return np.array(found)
        polygon = self._grown(found)
        return _without_collinear(polygon)

    def _grown(self, found: list[Array]) -> Array:
        """Push every edge outwards until it does not move; the starting corners are in counterclockwise order."""
        done: list[Array] = []
        waiting = [*found, found[0]]
        while len(waiting) > 1:
            start, end = waiting[0], waiting[1]
            length = _apart(start, end)
            if length < _SAME:  # its direction would be noise
                waiting.pop(1 if len(waiting) > 2 else 0)
                continue
            normal = np.array([end[1] - start[1], start[0] - end[0]]) / length
            corner = self._furthest(normal)
            new = normal @ (corner - start) > _FLAT
            if new and min(_apart(corner, start), _apart(corner, end)) > _SAME:
                waiting.insert(1, corner)
            else:
                done.append(waiting.pop(0))
            if len(done) + len(waiting) > _MOST_CORNERS:
                raise MultiQpError(f"equilibrium: the region has more than {_MOST_CORNERS} corners")
        return np.array(done)

    def _furthest(self, direction: Array) -> Array:
        """Return the region's corner furthest along a direction. Raises UnboundedError if there is none."""
        return np.asarray(self._places @ self._search.maximise(direction @ self._places) + self._shift)


def _apart(first: Array, second: Array) -> float:
    return hypot(first[0] - second[0], first[1] - second[1])


def _without_collinear(polygon: Array) -> Array:
    """Drop corners that lie on the line between their neighbours; a flat polygon becomes its two ends."""
    if len(polygon) < 3:
        return polygon
    from_first = polygon - polygon[0]
    furthest = from_first[int((from_first**2).sum(axis=1).argmax())]
    length = hypot(*furthest)
    along = furthest / max(length, 1e-30)
    heights = from_first[:, 1] * along[0] - from_first[:, 0] * along[1]
    if float(np.ptp(heights)) < 1e-8:
        places = from_first @ along
        return polygon[[int(places.argmin()), int(places.argmax())]]
    before, after = polygon[np.arange(-1, len(polygon) - 1)], polygon[np.arange(1, len(polygon) + 1) % len(polygon)]
    chord = after - before
    lengths = np.maximum(np.sqrt((chord**2).sum(axis=1)), 1e-30)
    offset = polygon - before
    heights = (chord[:, 0] * offset[:, 1] - chord[:, 1] * offset[:, 0]) / lengths
    return polygon[np.abs(heights) > 1e-10]


def _edges(corners: Array, horizon: float | None) -> tuple[Array, Array]:
    """Return the inequalities of a polygon; edges that lie on the horizon are none."""
    if len(corners) == 0:  # 0 ≤ −1: nothing satisfies it, and a row must not be zero
        return np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0])
    if len(corners) == 1:
        A = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        return A, A @ corners[0]
    along = corners[np.arange(1, len(corners) + 1) % len(corners)] - corners
    lengths = np.sqrt((along**2).sum(axis=1, keepdims=True))
    normals = np.column_stack([along[:, 1], -along[:, 0]]) / lengths
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
