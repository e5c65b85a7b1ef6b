"""Drawings of a snapshot over the bodies: forces, cones, distances, targets; independent of the renderer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.snapshot import PairSnapshot, Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_scene.surfaces import pyramid
from multi_qp_viewer.drawings import Drawing, DrawingShape

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

#: Of the axes x, y, z.
AXIS_COLORS: tuple[Color, ...] = ((0.85, 0.25, 0.22), (0.25, 0.65, 0.28), (0.22, 0.42, 0.85))

WEIGHT_LENGTH = 2.0  # arrow length for a force equal to the heaviest character's weight [m]
SMALLEST_ARROW = 0.01  # shorter arrows are not drawn [m]
CONE_HEIGHT = 0.12  # [m]
COM_RADIUS = 0.035  # of the ball of the balanced group [m]
AXIS_LENGTH = 0.12  # of a target [m]
LIFT = 0.004  # of flat marks above the floor [m]
_DISC = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)])

#: Groups of drawings, in the order of the panel.
GROUPS = ("contact_forces", "friction_cones", "com", "support_polygon", "watched_pairs", "targets")


def drawings_of(snapshot: Snapshot, *, weight: float, picture: bool = False) -> Iterator[Drawing]:
    """Yield the drawings of a tick, in `GROUPS`.

    Args:
        snapshot: the tick.
        weight: of the heaviest character [N], drawn as `WEIGHT_LENGTH`.
        picture: only what pictures show: no cones, only pairs in the QP, only the projection of the balanced group.
    """
    for contact in snapshot.contacts:
        lengths = contact.forces * (WEIGHT_LENGTH / weight)
        drawn = np.linalg.norm(lengths, axis=1) > SMALLEST_ARROW
        ends = np.stack([contact.points[drawn], (contact.points + lengths)[drawn]], axis=1)
        yield _marks("contact_forces", DrawingShape.ARROWS, ends, FORCE, size=0.018)
        if not picture:
            edges = [pyramid(normal, contact.friction) for normal in contact.normals]
            bases = contact.points[:, None] + CONE_HEIGHT * np.reshape(edges, (len(contact.points), -1, 3))
            apexes = np.broadcast_to(contact.points[:, None], bases.shape)
            sides = np.stack([apexes, bases, np.roll(bases, -1, axis=1)], axis=2)
            yield _marks("friction_cones", DrawingShape.TRIANGLES, sides, CONE, opacity=0.35)
    for position in snapshot.com.values():
        yield from _center_of_mass(position, 0.6 * COM_RADIUS, projected=not picture)
    if snapshot.com_total is not None:
        yield from _center_of_mass(snapshot.com_total, COM_RADIUS, projected=True)
    if snapshot.support_polygon is not None and len(snapshot.support_polygon) >= 3:
        corners = snapshot.support_polygon + [0.0, 0.0, LIFT]
        outline = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
        yield _marks("support_polygon", DrawingShape.TRIANGLES, corners[fan(len(corners))], SUPPORT, opacity=0.35)
        yield _marks("support_polygon", DrawingShape.SEGMENTS, outline, SUPPORT, size=0.008)
    yield from _pairs([pair for pair in snapshot.pairs if pair.active or not picture])
    for target in snapshot.targets:
        if target.rotation is None:
            yield _marks("targets", DrawingShape.BALLS, target.position, TARGET, size=1.1 * COM_RADIUS)
            continue
        for axis, color in zip(target.rotation.T, AXIS_COLORS, strict=True):
            ends = np.array([target.position, target.position + AXIS_LENGTH * axis])
            yield _marks("targets", DrawingShape.SEGMENTS, ends, color, size=0.01)


def _center_of_mass(position: Array, radius: float, *, projected: bool) -> Iterator[Drawing]:
    """Yield a ball, and its projection on the ground."""
    yield _marks("com", DrawingShape.BALLS, position, COM, size=2.0 * radius)
    if projected:
        foot = np.array([position[0], position[1], LIFT])
        yield _marks("com", DrawingShape.SEGMENTS, [position, foot], COM, size=0.006)
        yield _marks("com", DrawingShape.TRIANGLES, (foot + radius * _DISC)[fan(len(_DISC))], COM)


def _pairs(pairs: Sequence[PairSnapshot]) -> Iterator[Drawing]:
    """Yield the segments between the bodies of pairs, and the distances of those within their influence distance."""
    for pair in pairs:
        yield _marks("watched_pairs", DrawingShape.SEGMENTS, [pair.point_a, pair.point_b], pair_color(pair), size=0.008)
    for pair in sorted(pairs, key=lambda pair: pair.distance):  # the closest first, which has precedence
        if pair.distance < pair.influence:
            middle, text = (pair.point_a + pair.point_b) / 2.0, f"{100.0 * pair.distance:.1f} cm"
            yield _marks("watched_pairs", DrawingShape.WORDS, middle, FAR, text=text)


def _marks(
    group: str,
    shape: DrawingShape,
    points: Array | Sequence[Array],
    color: Color,
    *,
    size: float = 0.01,
    opacity: float = 1.0,
    text: str = "",
) -> Drawing:
    """Return marks of one colour through points, (..., 3)."""
    rows = np.reshape(points, (-1, 3))
    return Drawing(group, shape, rows, np.tile(color, (len(rows), 1)), opacity, size, text)


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


def fan(corners: int) -> NDArray[np.int32]:
    """Return the triangles of a convex polygon, (corners - 2, 3)."""
    return np.array([[0, k, k + 1] for k in range(1, corners - 1)], dtype=np.int32).reshape(-1, 3)
