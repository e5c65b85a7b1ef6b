"""The markers that are up, as drawings: reads visualization_msgs without needing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_viewer.drawings import Drawing, Shape

Array = NDArray[np.float64]

#: visualization_msgs/Marker: actions, and the types that can be shown.
ADD, DELETE, DELETE_ALL = 0, 2, 3
ARROW, SPHERE, LINE_STRIP, LINE_LIST, SPHERE_LIST, POINTS, TEXT, TRIANGLE_LIST = 0, 2, 4, 5, 7, 8, 9, 11
_SHAPES = {
    ARROW: Shape.ARROWS,
    SPHERE: Shape.BALLS,
    LINE_STRIP: Shape.SEGMENTS,
    LINE_LIST: Shape.SEGMENTS,
    SPHERE_LIST: Shape.BALLS,
    POINTS: Shape.BALLS,
    TEXT: Shape.WORDS,
    TRIANGLE_LIST: Shape.TRIANGLES,
}


class MarkerBoard:
    """Adds, replaces and deletes markers as they are published."""

    def __init__(self) -> None:
        self._drawings: dict[tuple[str, int], Drawing] = {}

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """Everything that is up."""
        return tuple(self._drawings.values())

    def clear(self) -> None:
        """Take everything down."""
        self._drawings.clear()

    def take(self, markers: Any) -> None:
        """Take in a MarkerArray; what is not in the world frame, or of another type, is passed over."""
        for marker in markers.markers:
            key = (str(marker.ns), int(marker.id))
            if marker.action == DELETE_ALL:
                self.clear()
            elif marker.action == DELETE:
                self._drawings.pop(key, None)
            elif marker.type in _SHAPES and marker.header.frame_id == "world":
                self._drawings[key] = _drawing(marker)


def _drawing(marker: Any) -> Drawing:
    alone = marker.type in (SPHERE, TEXT)
    points = np.zeros((1, 3)) if alone else np.array([[p.x, p.y, p.z] for p in marker.points]).reshape(-1, 3)
    plain = np.tile([marker.color.r, marker.color.g, marker.color.b], (len(points), 1))
    given = np.array([[c.r, c.g, c.b] for c in marker.colors]).reshape(-1, 3)
    colors = given if len(given) == len(points) else plain
    if marker.type == LINE_STRIP:
        points, colors = (np.repeat(rows, 2, axis=0)[1:-1] for rows in (points, colors))
    return Drawing(
        group=str(marker.ns),
        shape=_SHAPES[marker.type],
        points=_placed(points, marker.pose),
        colors=colors,
        opacity=float(marker.color.a),
        size=float(marker.scale.x),
        text=str(marker.text),
    )


def _placed(points: Array, pose: Any) -> Array:
    p, o = pose.position, pose.orientation
    rotation = pin.Quaternion(o.w, o.x, o.y, o.z)
    if rotation.norm() < 1e-9:  # RViz takes it for no rotation
        rotation = pin.Quaternion.Identity()
    return points @ rotation.normalized().toRotationMatrix().T + [p.x, p.y, p.z]
