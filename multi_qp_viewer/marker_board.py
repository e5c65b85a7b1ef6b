"""Current ROS markers as drawings, read by attribute so that visualization_msgs is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_viewer.drawings import CORNERS, Drawing, DrawingShape

#: visualization_msgs/Marker: actions, and the types that can be shown.
ADD, DELETE, DELETE_ALL = 0, 2, 3
ARROW, SPHERE, LINE_STRIP, LINE_LIST, SPHERE_LIST, POINTS, TEXT, TRIANGLE_LIST = 0, 2, 4, 5, 7, 8, 9, 11
_SHAPES = {
    ARROW: DrawingShape.ARROWS,
    SPHERE: DrawingShape.BALLS,
    LINE_STRIP: DrawingShape.SEGMENTS,
    LINE_LIST: DrawingShape.SEGMENTS,
    SPHERE_LIST: DrawingShape.BALLS,
    POINTS: DrawingShape.BALLS,
    TEXT: DrawingShape.WORDS,
    TRIANGLE_LIST: DrawingShape.TRIANGLES,
}


class MarkerBoard:
    """Set of markers, updated by the actions of MarkerArrays."""

    def __init__(self) -> None:
        self._drawings: dict[tuple[str, int], Drawing] = {}

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """All current markers."""
        return tuple(self._drawings.values())

    def clear(self) -> None:
        """Delete all markers."""
        self._drawings.clear()

    def update(self, markers: Any) -> None:
        """Apply a MarkerArray; markers in other frames than the world, or of other types, are ignored.

        Raises:
            ValueError: a marker has a number that is not finite, or a wrong number of points; the array is then ignored
                as a whole.
        """
        drawings = dict(self._drawings)
        for marker in markers.markers:
            key = (str(marker.ns), int(marker.id))
            if marker.action == DELETE_ALL:
                drawings.clear()
            elif marker.action == DELETE:
                drawings.pop(key, None)
            elif marker.type in _SHAPES and marker.header.frame_id == "world":
                drawings[key] = _drawing(marker)
        self._drawings = drawings


def _drawing(marker: Any) -> Drawing:
    alone = marker.type in (SPHERE, TEXT)
    points = np.zeros((1, 3)) if alone else np.array([[p.x, p.y, p.z] for p in marker.points]).reshape(-1, 3)
    plain = np.tile([marker.color.r, marker.color.g, marker.color.b], (len(points), 1))
    given = np.array([[c.r, c.g, c.b] for c in marker.colors]).reshape(-1, 3)
    colors = given if len(given) == len(points) else plain
    if marker.type == LINE_STRIP:
        points, colors = (np.repeat(rows, 2, axis=0)[1:-1] for rows in (points, colors))
    shape, size, opacity = _SHAPES[marker.type], float(marker.scale.x), float(marker.color.a)
    points = _placed(points, marker.pose)
    name = f"marker {marker.id} of '{marker.ns[:80]}'"
    if not (np.isfinite(points).all() and np.isfinite(colors).all() and np.isfinite([size, opacity]).all()):
        raise ValueError(f"{name} has a number that is not finite")
    if len(points) % CORNERS[shape]:
        raise ValueError(f"{name} has {len(points)} points: its {shape} have {CORNERS[shape]} each")
    return Drawing(
        group=str(marker.ns),
        shape=shape,
        points=points,
        colors=np.clip(colors, 0.0, 1.0),
        opacity=float(np.clip(opacity, 0.0, 1.0)),
        size=abs(size),
        text=str(marker.text),
    )


def _placed(points: Array, pose: Any) -> Array:
    p, o = pose.position, pose.orientation
    rotation = pin.Quaternion(o.w, o.x, o.y, o.z)
    if rotation.norm() < 1e-9:  # as in RViz: the identity
        rotation = pin.Quaternion.Identity()
    return points @ rotation.normalized().toRotationMatrix().T + [p.x, p.y, p.z]
