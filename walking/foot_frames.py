"""Frames of the groups of feet of a gait, heading of the robot, and support polygon."""

from __future__ import annotations

import cmath
import math

import numpy as np

from multi_qp_controller.contacts.support_polygon import hull_corners
from multi_qp_scene.arrays import Array
from walking.gait import Gait, WalkingRobot
from walking.gait_state import Measured, wrapped


class FootFrames:
    """Centres and headings of both groups of feet, at the measured places of the feet."""

    def __init__(self, robot: WalkingRobot, gait: Gait) -> None:
        self._robot, self._gait = robot, gait
        # nominal places of the feet of each group relative to its centre, conjugate
        places = robot.places[:, 0] - 1j * robot.places[:, 1]
        self._nominal = [places[list(feet)] - places[list(feet)].mean() for feet in gait.groups]
        self._framed: Measured | None = None
        self._frames: list[tuple[Array, float]] = []

    def frame(self, group: int, now: Measured) -> tuple[Array, float]:
        """Return the centre and the heading of a group of feet; computed once for each measurement."""
        if self._framed is not now:
            self._framed, self._frames = now, [self._compute(k, now) for k in (0, 1)]
        return self._frames[group]

    def _compute(self, group: int, now: Measured) -> tuple[Array, float]:
        feet = self._gait.groups[group]
        if len(feet) == 1:
            return now.feet[feet[0], :2], float(now.yaws[feet[0]])
        points = now.feet[feet, 0] + 1j * now.feet[feet, 1]
        centre = points.sum() / len(feet)
        return np.array([centre.real, centre.imag]), cmath.phase(self._nominal[group] @ (points - centre))

    def heading(self, now: Measured) -> float:
        """Return the mean heading of the feet."""
        yaws = [self.frame(k, now)[1] for k in (0, 1)]
        return yaws[0] + 0.5 * wrapped(yaws[1] - yaws[0])

    def polygon(self, now: Measured, in_contact: list[bool]) -> Array:
        """Return the support polygon of the feet in contact, counter-clockwise, (k, 2) [m]."""
        points = []
        for k, on in enumerate(in_contact):
            if not on:
                continue
            hx, hy = self._robot.half_soles[k]
            c, s = math.cos(now.yaws[k]), math.sin(now.yaws[k])
            for x, y in ((hx, hy), (hx, -hy), (-hx, hy), (-hx, -hy)):
                points.append((now.feet[k, 0] + c * x - s * y, now.feet[k, 1] + s * x + c * y))
        corners = np.array(points)
        return corners[hull_corners(corners)]
