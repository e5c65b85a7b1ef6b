"""Terrain that a walking robot knows: level patches at several heights, and where its soles fit on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.meeting_pairs import link_of
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import Surface, half_planes
from walking.terrain_kernel import nearest_place, passing

#: Distance of a sole from the edges of its patch, and of a foot from higher patches [m].
MARGINS = np.array([0.01, 0.03])
#: Cost of another patch than the chosen one, as a squared distance, so that the choice does not alternate [m²].
CHANGE_COST = 0.05**2
#: Distance to edges that a swing foot passes [m], number of places on its way that are checked, and longest part of a
#: swing in which it waits for its height.
CLEARANCE, PLACES, LONGEST_WAIT = 0.02, 24, 0.4
#: Largest angle of a patch to the horizontal plane [rad].
LEVEL = 0.02


@dataclass(frozen=True)
class Landing:
    """Place of a landing.

    Attributes:
        patch: index of the patch.
        place: of the sole's frame, (2,) [m].
        height: of the patch [m].
    """

    patch: int
    place: Array
    height: float


class Terrain:
    """Level patches, convex polygons at a height.

    Attributes:
        heights: of the patches, (n,) [m].
        outlines: their corners, anticlockwise, (k, 2) each [m].
    """

    def __init__(
        self, outlines: Sequence[Array], heights: Sequence[float], soles: Sequence[Array], feet: Sequence[Array]
    ) -> None:
        """Create it from outlines and heights of the patches, and the corners of each sole and foot, (k, 2) [m]."""
        self.outlines = [np.asarray(outline, dtype=float) for outline in outlines]
        self.heights = np.array(heights, dtype=float)
        self._soles = [np.ascontiguousarray(sole, dtype=float) for sole in soles]
        self._feet = [np.ascontiguousarray(foot, dtype=float) for foot in feet]
        sides = [half_planes(outline) for outline in self.outlines]
        self._edges = np.concatenate([np.column_stack([N, d]) for N, d in sides])
        self._starts = np.concatenate([[0], np.cumsum([len(d) for _, d in sides])]).astype(np.intp)

    def landing(
        self, foot: int, place: Array, *, stance: float, rise: float, chosen: int, fixed: bool
    ) -> Landing | None:
        """Return the place nearest to a wanted one at which the whole sole of a foot fits on a patch.

        Args:
            foot: index of the foot.
            place: wanted x, y [m] and heading [rad], (3,).
            stance: height of the supporting foot [m].
            rise: largest difference to it [m].
            chosen: patch that was chosen before; -1 if none.
            fixed: whether the chosen patch must remain.
        """
        costs = np.where(np.abs(self.heights - stance) <= rise + 1e-3, 0.0, math.inf)
        if chosen >= 0:
            costs[np.arange(len(costs)) != chosen] += math.inf if fixed else CHANGE_COST
        shapes = self._soles[foot], self._feet[foot]
        patch, x, y, _ = nearest_place(self._edges, self._starts, self.heights, costs, *shapes, MARGINS, place)
        return None if patch < 0 else Landing(patch, np.array([x, y]), float(self.heights[patch]))

    def passing(
        self, foot: int, begin: Array, goal: Array, *, yaw: float, lift: float, apex: float
    ) -> tuple[float, float, float]:
        """Return how a foot swings between two places without touching the edges between them, see the kernel."""
        sizes = np.array([lift, apex, CLEARANCE, PLACES, LONGEST_WAIT])
        return passing(self._edges, self._starts, self.heights, self._feet[foot], begin, goal, yaw, sizes)

    def neighbours(self, rise: float, reach: float) -> list[tuple[int, int]]:
        """Return the pairs of patches on which two feet may stand at the same time; each with itself as well."""
        boxes = [(outline.min(axis=0), outline.max(axis=0)) for outline in self.outlines]
        pairs = []
        for a, (low, high) in enumerate(boxes):
            for b, (other_low, other_high) in enumerate(boxes):
                gap = np.maximum(np.maximum(low - other_high, other_low - high), 0.0)
                near = float(np.linalg.norm(gap)) <= reach and abs(self.heights[a] - self.heights[b]) <= rise + 1e-3
                if a == b or near:
                    pairs.append((a, b))
        return pairs


def patch_of(points: Array, pose: pin.SE3) -> tuple[Array, float] | None:
    """Return outline, (k, 2), and height [m] of a planar surface in the world; None if it is not level."""
    if pose.rotation[2, 2] < math.cos(LEVEL):
        return None
    corners = np.array([pose.act(point) for point in points])
    return corners[:, :2], float(corners[:, 2].mean())


def outline_of(scene: Scene, surface: Surface, rotation: Array) -> Array:
    """Return the corners of a rectangle around the collision shapes of a surface's link, (4, 2) [m].

    Args:
        scene: the scene.
        surface: the surface; the rectangle is relative to its origin.
        rotation: of the surface relative to the rectangle's axes, (3, 3).
    """
    X_joint_surface, corners = scene.model.frames[surface.frame_id].placement, []
    for k, item in enumerate(scene.collision_model.geometryObjects):
        if link_of(scene, k) != surface.link:
            continue
        item.geometry.computeLocalAABB()
        box = item.geometry.aabb_local
        for signs in np.ndindex(2, 2, 2):
            corner = np.where(signs, box.max_, box.min_)
            corners.append(rotation @ X_joint_surface.actInv(item.placement.act(corner)))
    found = np.array(corners or [rotation @ point for point in surface.points])[:, :2]
    (x, y), (X, Y) = found.min(axis=0), found.max(axis=0)
    return np.array([[x, y], [X, y], [X, Y], [x, Y]])
