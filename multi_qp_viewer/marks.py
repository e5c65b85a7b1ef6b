"""Marks drawn over the bodies (forces, cones, distances, targets) as plain geometry, independent of the renderer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.snapshot import PairSnapshot, Snapshot
from multi_qp_scene.arrays import Array

Color = tuple[float, float, float]

FORCE: Color = (0.10, 0.62, 0.35)
CONE: Color = (0.20, 0.70, 0.45)
COM: Color = (0.95, 0.55, 0.10)
SUPPORT: Color = (0.24, 0.52, 0.89)
FAR: Color = (0.62, 0.64, 0.67)
NEAR: Color = (0.96, 0.78, 0.13)
TOUCHING: Color = (0.86, 0.15, 0.15)
TARGET: Color = (0.55, 0.27, 0.80)
STATUS: dict[str, Color] = {
    "ok": (0.18, 0.60, 0.32),
    "reduced": (0.90, 0.60, 0.05),
    "relaxed": (0.90, 0.60, 0.05),
    "fallback": (0.85, 0.15, 0.15),
}

WEIGHT_LENGTH = 2.0  # arrow length for a force equal to the heaviest character's weight [m]
SMALLEST_ARROW = 0.01  # shorter arrows are not drawn [m]
CONE_HEIGHT = 0.12  # [m]


@dataclass(frozen=True)
class Arrows:
    """Arrows from `starts` to `ends`, (n, 3) each [m]."""

    starts: Array
    ends: Array


@dataclass(frozen=True)
class Pyramids:
    """4-edge pyramids that open from their apex along their axis.

    Attributes:
        apexes: (n, 3) [m].
        rotations: columns are two base directions and the axis, (n, 3, 3).
        slopes: half-width of the base over the height, (n,).
    """

    apexes: Array
    rotations: Array
    slopes: Array


def force_arrows(snapshot: Snapshot, *, weight: float) -> Arrows:
    """Return one arrow per contact point, pointing along the force on the first surface's body.

    Args:
        snapshot: the tick.
        weight: of the heaviest character [N], drawn as `WEIGHT_LENGTH`.
    """
    starts = _stack([contact.points for contact in snapshot.contacts])
    forces = _stack([contact.forces for contact in snapshot.contacts])
    lengths = forces * (WEIGHT_LENGTH / weight)
    drawn = np.linalg.norm(lengths, axis=1) > SMALLEST_ARROW
    return Arrows(starts[drawn], starts[drawn] + lengths[drawn])


def friction_cones(snapshot: Snapshot) -> Pyramids:
    """Return the linearised friction cone at every contact point; its edges lie on the round cone."""
    apexes = _stack([contact.points for contact in snapshot.contacts])
    normals = _stack([contact.normals for contact in snapshot.contacts])
    slopes = [np.full(len(contact.points), contact.friction) for contact in snapshot.contacts]
    return Pyramids(apexes, frames_along(normals), np.concatenate([*slopes, np.zeros(0)]))


def frames_along(directions: Array) -> Array:
    """Return rotations (n, 3, 3) whose third columns are the directions (n, 3)."""
    axis = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    helper = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = np.cross(helper, axis)
    first /= np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-12)
    return np.stack([first, np.cross(axis, first), axis], axis=2)


def pair_color(pair: PairSnapshot) -> Color:
    """Return grey outside the influence distance, then yellow, turning red towards the security distance."""
    if pair.distance > pair.influence:
        return FAR
    span = max(pair.influence - pair.security, 1e-9)
    share = float(np.clip((pair.influence - pair.distance) / span, 0.0, 1.0))
    red, green, blue = (1 - share) * np.array(NEAR) + share * np.array(TOUCHING)
    return float(red), float(green), float(blue)


def pair_label(pair: PairSnapshot) -> str:
    """Return the distance in centimetres."""
    return f"{100 * pair.distance:.1f} cm"


def ground_projection(point: Array, *, height: float = 0.0) -> Array:
    """Return the vertical projection of a point onto the ground, (3,) [m]."""
    return np.array([point[0], point[1], height])


def fan(polygon: Array) -> tuple[Array, NDArray[np.int32]]:
    """Return vertices (k, 3) and triangles (k-2, 3) of a convex polygon."""
    triangles = [[0, i, i + 1] for i in range(1, len(polygon) - 1)]
    return np.asarray(polygon, dtype=float), np.array(triangles, dtype=np.int32).reshape(-1, 3)


def _stack(rows: list[Array]) -> Array:
    return np.concatenate([*(np.reshape(row, (-1, 3)) for row in rows), np.zeros((0, 3))])
