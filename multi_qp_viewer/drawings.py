"""Marks that somebody else has drawn, as plain geometry: what a ROS node's markers become in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.snapshot import Snapshot

Array = NDArray[np.float64]


class Shape(StrEnum):
    """What the points of a drawing are: ends of segments or arrows, corners of triangles, centres of balls or words."""

    SEGMENTS = "segments"
    ARROWS = "arrows"
    TRIANGLES = "triangles"
    BALLS = "balls"
    WORDS = "words"


@dataclass(frozen=True)
class Drawing:
    """Some marks of one kind.

    Attributes:
        group: that is switched on and off together.
        shape: what it is.
        points: world frame, (n, 3) [m]; two for each segment or arrow, three for each triangle.
        colors: of each point, (n, 3) in 0..1.
        opacity: in 0..1.
        size: width of lines, diameter of balls [m].
        text: of words.
    """

    group: str
    shape: Shape
    points: Array
    colors: Array
    opacity: float = 1.0
    size: float = 0.01
    text: str = ""


@dataclass(frozen=True)
class DrawnSnapshot(Snapshot):
    """A moment of which others have drawn what is over the bodies.

    Attributes:
        drawings: of the moment.
    """

    drawings: tuple[Drawing, ...] = ()
