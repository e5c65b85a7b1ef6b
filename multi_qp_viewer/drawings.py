"""External drawings as plain geometry, such as the markers of a ROS node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from multi_qp_controller.snapshot import Snapshot
from multi_qp_scene.arrays import Array


class DrawingShape(StrEnum):
    """Shape of marks; points are ends of segments or arrows, corners of triangles, centres of balls or texts."""

    SEGMENTS = "segments"
    ARROWS = "arrows"
    TRIANGLES = "triangles"
    BALLS = "balls"
    WORDS = "words"


#: Points per mark of each shape.
CORNERS = {
    DrawingShape.SEGMENTS: 2,
    DrawingShape.ARROWS: 2,
    DrawingShape.TRIANGLES: 3,
    DrawingShape.BALLS: 1,
    DrawingShape.WORDS: 1,
}


@dataclass(frozen=True)
class Drawing:
    """Marks of one shape.

    Attributes:
        group: layer that is shown and hidden as a whole.
        shape: shape of the marks.
        points: world frame, (n, 3) [m]; two for each segment or arrow, three for each triangle.
        colors: of each point, (n, 3) in 0..1.
        opacity: in 0..1.
        size: width of lines, diameter of balls [m].
        text: of `WORDS`.
    """

    group: str
    shape: DrawingShape
    points: Array
    colors: Array
    opacity: float = 1.0
    size: float = 0.01
    text: str = ""


@dataclass(frozen=True)
class DrawnSnapshot(Snapshot):
    """Snapshot with external drawings over the bodies.

    Attributes:
        drawings: at that time.
    """

    drawings: tuple[Drawing, ...] = ()
