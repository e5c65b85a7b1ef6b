"""Marks of a snapshot as overlay meshes for the ray caster."""

from __future__ import annotations

import numpy as np
import trimesh

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array
from multi_qp_viewer import marks
from multi_qp_viewer.marks import Color
from multi_qp_viewer.meshes import TriangleShape, split_creases, unit_shape
from multi_qp_viewer.picture import Overlay
from multi_qp_viewer.raytracer import ShadedBody

SHAFT_RADIUS = 0.009  # [m]
HEAD_RADIUS = 0.026  # [m]
HEAD_LENGTH = 0.07  # [m]
BALL_RADIUS = 0.035  # [m]
ROD_RADIUS = 0.006  # [m]
AXIS_LENGTH = 0.12  # [m]
#: Of the axes x, y, z.
AXIS_COLORS: tuple[Color, ...] = ((0.85, 0.25, 0.22), (0.25, 0.65, 0.28), (0.22, 0.42, 0.85))
LIFT = 0.003  # of flat marks above the floor [m]


def overlay_bodies(snapshot: Snapshot, *, weight: float) -> list[Overlay]:
    """Return contact forces, centres of mass, support polygon, active pairs and targets.

    Args:
        snapshot: the tick.
        weight: of the heaviest character [N]; scales the force arrows.
    """
    overlays: list[Overlay] = []
    arrows = marks.force_arrows(snapshot, weight=weight)
    for start, end in zip(arrows.starts, arrows.ends, strict=True):
        overlays += _arrow(start, end, marks.FORCE)
    if snapshot.support_polygon is not None and len(snapshot.support_polygon) >= 3:
        overlays += _polygon(snapshot.support_polygon)
    for point in snapshot.com.values():
        overlays.append(ball(point, 0.6 * BALL_RADIUS, marks.COM))
    if snapshot.com_total is not None:
        overlays += _center_of_mass(snapshot.com_total)
    for pair in snapshot.pairs:
        if pair.active:
            overlays.append(rod(pair.point_a, pair.point_b, ROD_RADIUS, marks.pair_color(pair)))
    for target in snapshot.targets:
        overlays += _target(target.position, target.rotation)
    return overlays


def _center_of_mass(point: Array) -> list[Overlay]:
    height = LIFT
    foot = marks.ground_projection(point, height=height)
    disc = _scaled(unit_shape("cylinder"), np.eye(3), foot, (BALL_RADIUS, BALL_RADIUS, 0.002))
    drop = rod(point, foot, 0.8 * ROD_RADIUS, marks.COM)
    return [ball(point, BALL_RADIUS, marks.COM), overlay(disc, marks.COM), drop]


def _arrow(start: Array, end: Array, color: Color) -> list[Overlay]:
    length = float(np.linalg.norm(end - start))
    head = min(HEAD_LENGTH, 0.5 * length)
    rotation = marks.frames_along((end - start)[None])[0]
    neck = end - head * rotation[:, 2]
    radius = HEAD_RADIUS * head / HEAD_LENGTH
    cone = _scaled(unit_shape("cone"), rotation, (neck + end) / 2, (radius, radius, head))
    return [rod(start, neck, SHAFT_RADIUS, color), overlay(cone, color)]


def rod(start: Array, end: Array, radius: float, color: Color) -> Overlay:
    """Return a rod between two points [m]."""
    length = max(float(np.linalg.norm(end - start)), 1e-4)
    rotation = marks.frames_along((end - start)[None])[0] if length > 1e-4 else np.eye(3)
    return overlay(_scaled(unit_shape("cylinder"), rotation, (start + end) / 2, (radius, radius, length)), color)


def ball(center: Array, radius: float, color: Color) -> Overlay:
    """Return a ball [m]."""
    return overlay(_scaled(unit_shape("sphere"), np.eye(3), center, (radius, radius, radius)), color)


def _polygon(corners: Array) -> list[Overlay]:
    vertices, faces = marks.fan(corners)
    mesh = trimesh.Trimesh(vertices + [0.0, 0.0, LIFT], faces, process=False)
    area = overlay(split_creases(mesh), marks.SUPPORT, opacity=0.4, through=False)
    return [
        area,
        *(rod(a, b, 0.7 * ROD_RADIUS, marks.SUPPORT) for a, b in zip(corners, np.roll(corners, -1, 0), strict=True)),
    ]


def _target(position: Array, rotation: Array | None) -> list[Overlay]:
    if rotation is None:
        return [ball(position, 0.5 * BALL_RADIUS, marks.TARGET)]
    ends = position + AXIS_LENGTH * np.asarray(rotation).T
    return [rod(position, end, ROD_RADIUS, color) for end, color in zip(ends, AXIS_COLORS, strict=True)]


def _scaled(shape: TriangleShape, rotation: Array, position: Array, scale: tuple[float, float, float]) -> TriangleShape:
    """Place a unit shape in the world."""
    normals = shape.normals / np.array(scale)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    vertices = (shape.vertices * scale) @ rotation.T + position
    return TriangleShape(shape.key, vertices, normals @ rotation.T, shape.faces)


def overlay(shape: TriangleShape, color: Color, *, opacity: float = 1.0, through: bool = True) -> Overlay:
    """Return a shape as an overlay; `through`: faintly visible behind bodies."""
    body = ShadedBody(
        shape.vertices.astype(np.float32), shape.normals.astype(np.float32), shape.faces, (*color, opacity)
    )
    return Overlay(body, through)
