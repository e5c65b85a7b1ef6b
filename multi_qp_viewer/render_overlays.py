"""Drawings as overlay meshes for the ray caster."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import trimesh

from multi_qp_scene.arrays import Array
from multi_qp_viewer import marks
from multi_qp_viewer.drawings import CORNERS, Drawing, DrawingShape
from multi_qp_viewer.marks import Color
from multi_qp_viewer.meshes import TriangleShape, split_creases, unit_shape
from multi_qp_viewer.picture import Overlay
from multi_qp_viewer.raytracer import ShadedBody

SHAFT_RADIUS = 0.009  # [m]
HEAD_RADIUS = 0.026  # [m]
HEAD_LENGTH = 0.07  # [m]
ROD = 0.75  # radius of the rod of a line, relative to its width


def overlays_of(drawings: Iterable[Drawing]) -> list[Overlay]:
    """Return drawings as overlays; texts are left out."""
    overlays: list[Overlay] = []
    for drawing in drawings:
        marked = drawing.points.reshape(-1, CORNERS[drawing.shape], 3)
        color = _color(drawing)
        match drawing.shape:
            case DrawingShape.ARROWS:
                overlays += [part for start, end in marked for part in _arrow(start, end, color)]
            case DrawingShape.SEGMENTS:
                overlays += [rod(start, end, ROD * drawing.size, color) for start, end in marked]
            case DrawingShape.BALLS:
                overlays += [ball(point, drawing.size / 2, color) for (point,) in marked]
            case DrawingShape.TRIANGLES:
                corners = marked.reshape(-1, 3)
                mesh = trimesh.Trimesh(corners, np.arange(len(corners)).reshape(-1, 3), process=False)
                opacity = drawing.opacity
                overlays.append(overlay(split_creases(mesh), color, opacity=opacity, through=opacity == 1.0))
    return overlays


def _color(drawing: Drawing) -> Color:
    red, green, blue = (float(channel) for channel in drawing.colors[0]) if len(drawing.colors) else (0.0, 0.0, 0.0)
    return red, green, blue


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
