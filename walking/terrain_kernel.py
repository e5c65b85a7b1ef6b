"""Compiled kernel of the terrain: nearest place on level patches where a whole sole fits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

#: Distance by which the edges of a polygon may be exceeded [m].
TOLERANCE = 1e-6


@compiled_part
def extent(sole: Array, c: float, s: float, nx: float, ny: float) -> float:
    """Return how far a sole, turned by the angle with cosine c and sine s, extends along a direction [m]."""
    most = -math.inf
    for k in range(len(sole)):
        x, y = c * sole[k, 0] - s * sole[k, 1], s * sole[k, 0] + c * sole[k, 1]
        most = max(most, nx * x + ny * y)
    return most


@compiled_part
def clip_to_edges(edges: Array, bounds: Array, x: float, y: float) -> tuple[float, float, bool]:
    """Return the nearest point of {p: N p ≤ bounds}, and whether it exists; edges that no longer bound it are refused.

    Args:
        edges: rows of N with unit length, then unused numbers, anticlockwise, (k, 3).
        bounds: (k,) [m].
        x: of the point [m].
        y: of the point [m].
    """
    count, inside = len(bounds), True
    for k in range(count):
        inside = inside and edges[k, 0] * x + edges[k, 1] * y <= bounds[k]
    if inside:
        return x, y, True
    corners = np.zeros((count, 2))
    for k in range(count):
        after = (k + 1) % count
        a, b, p, q = edges[k, 0], edges[k, 1], edges[after, 0], edges[after, 1]
        determinant = a * q - b * p
        if abs(determinant) < 1e-9:
            return x, y, False
        corners[k, 0] = (bounds[k] * q - b * bounds[after]) / determinant
        corners[k, 1] = (a * bounds[after] - bounds[k] * p) / determinant
        for other in range(count):
            if edges[other, 0] * corners[k, 0] + edges[other, 1] * corners[k, 1] > bounds[other] + TOLERANCE:
                return x, y, False
    best, best_x, best_y = math.inf, x, y
    for k in range(count):
        ax, ay = corners[k - 1, 0], corners[k - 1, 1]
        dx, dy = corners[k, 0] - ax, corners[k, 1] - ay
        share = ((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-18)
        share = min(max(share, 0.0), 1.0)
        at_x, at_y = ax + share * dx, ay + share * dy
        distance = (at_x - x) ** 2 + (at_y - y) ** 2
        if distance < best:
            best, best_x, best_y = distance, at_x, at_y
    return best_x, best_y, True


@compiled_part
def blocked(
    edges: Array, starts: NDArray[np.intp], reach: Array, heights: Array, patch: int, x: float, y: float
) -> int:
    """Return a patch higher than `patch` that a sole at a place would overlap, or -1."""
    for other in range(len(heights)):
        if heights[other] < heights[patch] + TOLERANCE or other == patch:
            continue
        apart = False
        for k in range(starts[other], starts[other + 1]):
            apart = apart or edges[k, 0] * x + edges[k, 1] * y >= reach[k] - TOLERANCE
        if not apart:
            return other
    return -1


@compiled
def nearest_place(
    edges: Array,
    starts: NDArray[np.intp],
    heights: Array,
    allowed: Array,
    sole: Array,
    foot: Array,
    margins: Array,
    place: Array,
) -> tuple[int, float, float, float]:
    """Return patch, x, y [m] and squared distance [m²] of the nearest place where a sole fits; patch -1 if none.

    Args:
        edges: of all patches: outward unit normal and offset, n p ≤ d, anticlockwise, (e, 3).
        starts: first edge of each patch, and the number of edges, (n + 1,).
        heights: of the patches, (n,) [m].
        allowed: cost of each patch, added to the squared distance [m²]; infinite where it may not be used, (n,).
        sole: corners of the sole relative to its frame, which must be on the patch, (k, 2) [m].
        foot: corners of the foot, which must not be in a higher patch, (k, 2) [m].
        margins: distance of the sole from the edges of its patch, and of the foot from higher ones, (2,) [m].
        place: wanted x, y [m] and heading [rad], (3,).
    """
    c, s = math.cos(place[2]), math.sin(place[2])
    inner, reach = np.zeros(len(edges)), np.zeros(len(edges))
    for k in range(len(edges)):
        nx, ny, d = edges[k, 0], edges[k, 1], edges[k, 2]
        inner[k] = d - extent(sole, c, s, nx, ny) - margins[0]
        reach[k] = d + extent(foot, c, s, -nx, -ny) + margins[1]
    best_patch, best_x, best_y, best = -1, place[0], place[1], math.inf
    for patch in range(len(heights)):
        if allowed[patch] >= best:
            continue
        own, bounds = edges[starts[patch] : starts[patch + 1]], inner[starts[patch] : starts[patch + 1]]
        x, y, found = clip_to_edges(own, bounds, place[0], place[1])
        if not found:
            continue
        higher = blocked(edges, starts, reach, heights, patch, x, y)
        if higher < 0:
            cost = (x - place[0]) ** 2 + (y - place[1]) ** 2 + allowed[patch]
            if cost < best:
                best_patch, best_x, best_y, best = patch, x, y, cost
            continue
        for k in range(starts[higher], starts[higher + 1]):
            # beside one edge of the higher patch
            out = max(reach[k] - edges[k, 0] * x - edges[k, 1] * y, 0.0)
            px, py, found = clip_to_edges(own, bounds, x + out * edges[k, 0], y + out * edges[k, 1])
            if found and blocked(edges, starts, reach, heights, patch, px, py) < 0:
                cost = (px - place[0]) ** 2 + (py - place[1]) ** 2 + allowed[patch]
                if cost < best:
                    best_patch, best_x, best_y, best = patch, px, py, cost
    return best_patch, best_x, best_y, best


@compiled_part
def time_of(share: float) -> float:
    """Return at which fraction of its time a quintic polynomial between two rests has covered a share of its way."""
    low, high = 0.0, 1.0
    for _ in range(12):
        t = 0.5 * (low + high)
        if t * t * t * (10.0 + t * (6.0 * t - 15.0)) < share:
            low = t
        else:
            high = t
    return 0.5 * (low + high)


@compiled
def passing(
    edges: Array,
    starts: NDArray[np.intp],
    heights: Array,
    foot: Array,
    begin: Array,
    goal: Array,
    yaw: float,
    sizes: Array,
) -> tuple[float, float, float]:
    """Return how a swing foot passes the edges between two places.

    Args:
        edges: as in `nearest_place`.
        starts: as in `nearest_place`.
        heights: as in `nearest_place`.
        foot: as in `nearest_place`.
        begin: place of lift-off, (3,) [m].
        goal: place of the landing, (3,) [m].
        yaw: heading of the foot [rad].
        sizes: lift above the highest patch on the way [m], fraction of the swing at which the foot is highest, distance
            to edges [m], number of places to check, longest wait as a fraction of the swing.

    Returns:
        Fractions of the swing, after lift-off and before touchdown, in which the foot does not move horizontally, and
        the height of the highest patch on the way [m].
    """
    lift, apex, margin, count, longest = sizes
    c, s = math.cos(yaw), math.sin(yaw)
    reach = np.zeros(len(edges))
    for k in range(len(edges)):
        reach[k] = edges[k, 2] + extent(foot, c, s, -edges[k, 0], -edges[k, 1]) + margin
    needed = np.full(int(count), min(begin[2], goal[2]))
    for i in range(int(count)):
        share = (i + 1.0) / count
        x, y = begin[0] + share * (goal[0] - begin[0]), begin[1] + share * (goal[1] - begin[1])
        for patch in range(len(heights)):
            below = heights[patch] > needed[i]
            for k in range(starts[patch], starts[patch + 1]):
                below = below and edges[k, 0] * x + edges[k, 1] * y < reach[k]
            if below:
                needed[i] = heights[patch]
    highest = max(begin[2], goal[2], needed.max())
    top, before, after = highest + lift, 0.0, 0.0
    for i in range(int(count) - 1):
        moved, height = time_of((i + 1.0) / count), needed[i] + margin
        up, down = (height - begin[2]) / (top - begin[2]), (height - goal[2]) / (top - goal[2])
        if 0.0 < up < 1.0 and needed[i] > begin[2] + margin:
            before = max(before, (apex * time_of(up) - moved) / (1.0 - moved))
        if 0.0 < down < 1.0 and needed[i] > goal[2] + margin:
            after = max(after, (moved - 1.0 + (1.0 - apex) * time_of(down)) / moved)
    return min(before, longest), min(after, longest), highest
