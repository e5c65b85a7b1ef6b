"""Meshes of round metal work: rods between two points, rings, discs."""

from __future__ import annotations

import numpy as np

from .loft import loft, ring
from .mesh import Mesh
from .solids import Triple, Vector


def rod(start: Triple, end: Triple, radius: float, *, rim: float = 0.003, segments: int = 24) -> Mesh:
    """A cylinder with slightly rounded rims.

    Args:
        start: Middle of one end [m].
        end: Middle of the other end [m].
        radius: Radius [m].
        rim: Radius of the rims; as large as the cylinder's makes its ends half balls [m].
        segments: Points of a ring.
    """
    axis = np.subtract(end, start)
    length = float(np.linalg.norm(axis))
    sections = [ring(rim, radius), ring(length - rim, radius)]
    straight = loft(sections, start_cap=rim, end_cap=rim, rings=2, segments=segments)
    return straight.moved(start, _turn_z_to(axis / length))


def hoop(center: Triple, radius: float, thickness: float, *, segments: int = 48, around: int = 16) -> Mesh:
    """A ring of round section in the y-z plane.

    Args:
        center: Centre [m].
        radius: Of the section's middle line [m].
        thickness: Diameter of the section [m].
        segments: Sections.
        around: Points of a section.
    """
    turn = 2.0 * np.pi * np.arange(segments) / segments
    angle = 2.0 * np.pi * np.arange(around) / around
    reach = radius + 0.5 * thickness * np.cos(angle)
    depth = np.tile(0.5 * thickness * np.sin(angle), (segments, 1))
    points = np.stack([depth, np.outer(np.cos(turn), reach), np.outer(np.sin(turn), reach)], axis=-1)
    i, j = (g.ravel() for g in np.meshgrid(np.arange(segments), np.arange(around), indexing="ij"))
    a, b = i * around + j, i * around + (j + 1) % around
    c, d = (i + 1) % segments * around + j, (i + 1) % segments * around + (j + 1) % around
    faces = np.vstack([np.column_stack([a, d, b]), np.column_stack([a, c, d])])
    return Mesh(points.reshape(-1, 3) + np.asarray(center), faces)


def _turn_z_to(axis: Vector) -> Vector:
    """A rotation that turns z onto a unit vector, shape (3, 3)."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    turned: Vector = np.column_stack([x, np.cross(axis, x), axis])
    return turned
