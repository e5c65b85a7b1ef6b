"""Static equilibrium regions of the centre of mass, and the interface of functions that compute them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError


@dataclass(frozen=True, eq=False)
class EquilibriumRegion:
    """Set of horizontal centre-of-mass positions in static equilibrium: A c ≤ a, for any height.

    Attributes:
        A: unit outward normals in the plane, (m, 3), third column 0.
        a: offsets, (m,) [m].
        corners: of the polygon, counterclockwise, (k, 2) [m]: none if it is empty, 1 for a point, 2 for a segment.
        bounded: false for an unbounded region; its corners are clipped far away, A and a are not.
    """

    A: Array
    a: Array
    corners: Array
    bounded: bool

    @property
    def empty(self) -> bool:
        """Whether no centre-of-mass position is in equilibrium."""
        return len(self.corners) == 0

    @property
    def centre(self) -> Array:
        """Mean of the corners, (2,) [m]."""
        return np.asarray(self.corners.mean(axis=0))

    def margin(self, com: ArrayLike) -> Array:
        """Return the distance of points, (..., 3) or (..., 2), inside the region to its boundary [m]; negative outside.

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
        """Return the region shrunk by `margin` [m]; it may be empty.

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


class EquilibriumTest(Protocol):
    """Interface of functions that compute the static equilibrium region of a contact set.

    The contact planner does not depend on the package of the centre-of-mass trajectory; its caller passes this
    function.
    """

    def __call__(self, contacts: Sequence[Contact]) -> EquilibriumRegion:
        """Return the region for these contacts; an empty one where there is none."""


def _clipped(polygon: Array, normal: Array, offset: float) -> Array:
    """Return the part of a convex polygon with normal · p ≤ offset."""
    if len(polygon) == 0:
        return polygon
    heights = polygon @ normal - offset
    corners: list[Array] = []
    for k, (point, height) in enumerate(zip(polygon, heights, strict=True)):
        if height <= 0.0:
            corners.append(point)
        following, other = polygon[(k + 1) % len(polygon)], heights[(k + 1) % len(polygon)]
        if height * other < 0.0:
            corners.append(point + (following - point) * height / (height - other))
    return np.array(corners).reshape(-1, 2)
