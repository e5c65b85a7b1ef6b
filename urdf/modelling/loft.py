"""Smooth closed shells: superellipse sections swept along an axis, and panels lying on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .mesh import Mesh
from .solids import Triple, Vector

UP = np.eye(3)
"""Loft axis along +z; sections extend towards +x (ahead), -x (behind), +y (left), -y (right)."""
AHEAD = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Loft axis along +x; sections extend towards -z (ahead), +z (behind), +y (left), -y (right)."""
ASIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Loft axis along -y; sections extend towards +x (ahead), -x (behind), +z (left), -z (right)."""

_DETAIL: ContextVar[float] = ContextVar("detail", default=1.0)


@contextmanager
def detail(factor: float) -> Iterator[None]:
    """Context that scales the numbers of rings and segments of all shells built in it."""
    token = _DETAIL.set(factor)
    try:
        yield
    finally:
        _DETAIL.reset(token)


def _counts(rings: int, segments: int, *, least: int = 2) -> tuple[int, int]:
    """Rings and segments at the present detail; an even number of segments, for symmetry."""
    factor = _DETAIL.get()
    if factor == 1.0:
        return rings, segments
    return max(least, round(factor * rings)), max(8, 2 * round(0.5 * factor * segments))


@dataclass(frozen=True)
class Section:
    """One superellipse cross-section of a loft.

    Attributes:
        at: Place along the loft axis [m].
        ahead: Extent towards the section's +x [m].
        behind: Extent towards -x [m].
        left: Extent towards +y [m].
        right: Extent towards -y [m].
        power: 2 is an ellipse, larger is squarer.
        x: Shift of the section's centre [m].
        y: Shift of the section's centre [m].
    """

    at: float
    ahead: float
    behind: float
    left: float
    right: float
    power: float = 2.0
    x: float = 0.0
    y: float = 0.0

    def row(self) -> list[float]:
        """The numbers as a list, the place first."""
        return [self.at, self.ahead, self.behind, self.left, self.right, self.power, self.x, self.y]


def ring(
    at: float,
    ahead: float,
    behind: float | None = None,
    side: float | None = None,
    *,
    power: float = 2.0,
    x: float = 0.0,
    y: float = 0.0,
) -> Section:
    """A section that is symmetric in y; extents not given equal `ahead`."""
    side = ahead if side is None else side
    return Section(at, ahead, ahead if behind is None else behind, side, side, power, x, y)


def loft(
    sections: Sequence[Section],
    *,
    start_cap: float,
    end_cap: float,
    frame: Vector = UP,
    rings: int = 12,
    cap_rings: int = 5,
    segments: int = 24,
) -> Mesh:
    """Sweep a closed smooth surface through sections.

    Args:
        sections: At least two, ordered along the axis.
        start_cap: Length of the rounded end before the first section [m].
        end_cap: Length of the rounded end after the last section [m].
        frame: Rotation from the loft's axes to the link's, shape (3, 3).
        rings: Rings between the first and the last section.
        cap_rings: Rings of each rounded end.
        segments: Points of a ring.
    """
    rings, segments = _counts(rings, segments)
    cap_rings = _counts(cap_rings, segments, least=min(cap_rings, 3))[0]
    body = _rows(sections, np.linspace(sections[0].at, sections[-1].at, rings))
    angle = 0.5 * np.pi * np.arange(1, cap_rings) / cap_rings
    rows = [_cap_row(body[0], -start_cap * np.sin(a), np.cos(a)) for a in angle[::-1]]
    rows += list(body)
    rows += [_cap_row(body[-1], end_cap * np.sin(a), np.cos(a)) for a in angle]
    first = [body[0, 6], body[0, 7], body[0, 0] - start_cap]
    last = [body[-1, 6], body[-1, 7], body[-1, 0] + end_cap]
    points = np.vstack([first] + [_outline(row, segments) for row in rows] + [last])
    return Mesh(points @ frame.T, _tube_faces(len(rows), segments))


def dome(widest: Section, length: float, *, steps: int = 5) -> list[Section]:
    """Sections that round off a loft elliptically beyond its widest section.

    Args:
        widest: The section where the dome starts; its surface runs along the axis there.
        length: Height of the dome, negative for one that comes before the section [m].
        steps: Number of sections; a cap of `length * dome_rest(steps)` closes the dome.
    """
    angle = 0.5 * np.pi * np.arange(1, steps + 1) / (steps + 1)
    rows = [_cap_row(np.array(widest.row()), length * np.sin(a), np.cos(a)) for a in angle]
    return [Section(*(float(v) for v in row)) for row in (rows if length > 0 else rows[::-1])]


def dome_rest(steps: int = 5) -> float:
    """Part of a dome's height that its sections leave to the cap."""
    return float(1.0 - np.sin(0.5 * np.pi * steps / (steps + 1)))


def patch(
    sections: Sequence[Section],
    *,
    angle: float,
    half_angle: float,
    low: float,
    high: float,
    thickness: float,
    sink: float = 0.003,
    power: float = 3.0,
    frame: Vector = UP,
    rings: int = 8,
    segments: int = 32,
) -> Mesh:
    """A rounded panel lying on the surface of a loft, its rim sunk into it.

    Args:
        sections: Those of the loft underneath.
        angle: Middle of the panel around the axis; 0 is ahead, pi/2 left [rad].
        half_angle: Half of its extent around the axis [rad].
        low: Lower end along the axis, between the sections [m].
        high: Upper end along the axis [m].
        thickness: How far it stands out of the surface [m].
        sink: How far the rim lies below the surface [m].
        power: Squareness of its outline; 2 is an oval.
        frame: Rotation from the loft's axes to the link's, shape (3, 3).
        rings: Rings from the middle to the rim.
        segments: Points of a ring.
    """
    rings, segments = _counts(rings, segments, least=6)
    turn = 2.0 * np.pi * np.arange(segments) / segments
    profile = np.concatenate([np.linspace(0.0, 0.9, rings - 3)[1:], [0.96, 0.99, 1.0, 1.0]])
    rounding = 1.0 - (1.0 - np.sqrt(1.0 - np.clip((profile - 0.9) / 0.1, 0.0, 1.0) ** 2)) * 0.4
    rise = np.concatenate([[thickness], np.repeat(thickness * rounding, segments)])
    rise[-segments:] = -sink  # the rim is a wall, so that the visible outline is exact
    reach = np.concatenate([[0.0], np.repeat(profile, segments)])
    turn = np.concatenate([[0.0], np.tile(turn, rings)])
    c, s = _superellipse(turn, power)
    around = angle + half_angle * reach * c
    at = 0.5 * (low + high) + 0.5 * (high - low) * reach * s
    rows = _rows(sections, at)
    surface = _points(rows, around)
    step = 1e-4
    tangent = _points(rows, around + step) - surface
    slope = _points(_rows(sections, np.clip(at + step, sections[0].at, sections[-1].at)), around) - surface
    slope = np.where(np.linalg.norm(slope, axis=1, keepdims=True) > 0, slope, [0.0, 0.0, step])
    normal = np.cross(tangent, slope)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    points = (surface + rise[:, None] * normal) @ frame.T
    return Mesh(points, _tube_faces(rings, segments)[:-segments, ::-1])


def ellipsoid(center: Triple, radii: Triple, *, power: float = 2.0, rings: int = 11, segments: int = 20) -> Mesh:
    """(Super)ellipsoid with poles on z.

    Args:
        center: Centre [m].
        radii: Half axes along x, y, z [m].
        power: Squareness in both directions; 2 is an ellipsoid, 4 a pillow.
        rings: Rings between the poles.
        segments: Points of a ring.
    """
    rings, segments = _counts(rings, segments, least=5)
    latitude = np.pi * (np.arange(1, rings + 1) / (rings + 1) - 0.5)
    c, s = _superellipse(latitude, power)
    rx, ry, rz = radii
    rows = [ring(rz * up, rx * out, side=ry * out, power=power).row() for out, up in zip(c, s, strict=True)]
    poles = np.array([[0.0, 0.0, -rz]]), np.array([[0.0, 0.0, rz]])
    points = np.vstack([poles[0], *(_outline(np.array(r), segments) for r in rows), poles[1]])
    return Mesh(points + np.asarray(center), _tube_faces(rings, segments))


def monotone_cubic(x: Vector, y: Vector, at: Vector) -> Vector:
    """Interpolate without overshoot (Fritsch-Carlson slopes), so that shells have no bulges between sections.

    Args:
        x: Increasing abscissae, shape (n,).
        y: Values, shape (n,).
        at: Where to evaluate, within the range of x, shape (m,).
    """
    h, delta = np.diff(x), np.diff(y) / np.diff(x)
    slope = np.concatenate([delta[:1], np.zeros(len(x) - 2), delta[-1:]])
    for i in range(1, len(x) - 1):
        if delta[i - 1] * delta[i] > 0.0:
            w1, w2 = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
            slope[i] = (w1 + w2) / (w1 / delta[i - 1] + w2 / delta[i])
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(h) - 1)
    t = (at - x[k]) / h[k]
    value: Vector = (
        (1 + 2 * t) * (1 - t) ** 2 * y[k]
        + t * (1 - t) ** 2 * h[k] * slope[k]
        + t**2 * (3 - 2 * t) * y[k + 1]
        + t**2 * (t - 1) * h[k] * slope[k + 1]
    )
    return value


def _rows(sections: Sequence[Section], at: Vector) -> Vector:
    """Numbers of the sections at places along the axis, shape (m, 8)."""
    table = np.array([s.row() for s in sections])
    return np.column_stack([at] + [monotone_cubic(table[:, 0], column, at) for column in table.T[1:]])


def _cap_row(row: Vector, along: float, scale: float) -> Vector:
    """A ring of the rounded end: moved along the axis and shrunk."""
    shrink = np.array([1.0, scale, scale, scale, scale, 1.0, 1.0, 1.0])
    moved: Vector = row * shrink
    moved[0] += along
    return moved


def _outline(row: Vector, segments: int) -> Vector:
    """Points of one section, counter-clockwise seen from +z, shape (segments, 3)."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    return _points(np.tile(row, (segments, 1)), angle)


def _points(rows: Vector, angle: Vector) -> Vector:
    """One point on each of several sections; rows (m, 8) and angles (m,) give points (m, 3)."""
    at, ahead, behind, left, right, power, x, y = rows.T
    c, s = _superellipse(angle, power)
    return np.column_stack([x + np.where(c > 0, ahead, behind) * c, y + np.where(s > 0, left, right) * s, at])


def _superellipse(angle: Vector, power: float | Vector) -> tuple[Vector, Vector]:
    """Point of the unit superellipse in a direction: a circle for power 2, almost a square for 10."""
    c, s = np.cos(angle), np.sin(angle)
    reach = (np.abs(c) ** power + np.abs(s) ** power) ** (-1.0 / power)
    return c * reach, s * reach


def _tube_faces(rows: int, segments: int) -> NDArray[np.int64]:
    """Triangles of a closed tube: a pole, rings of equal size, a pole; shape (m, 3)."""
    j = np.arange(segments)
    k = (j + 1) % segments
    faces = [np.column_stack([np.zeros_like(j), 1 + k, 1 + j])]
    for i in range(rows - 1):
        a, b = 1 + i * segments, 1 + (i + 1) * segments
        faces += [np.column_stack([a + j, a + k, b + k]), np.column_stack([a + j, b + k, b + j])]
    a, top = 1 + (rows - 1) * segments, 1 + rows * segments
    faces.append(np.column_stack([a + j, a + k, np.full_like(j, top)]))
    return np.vstack(faces)
