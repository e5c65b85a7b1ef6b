"""Frames of the groups of feet of a gait, heading of the robot, and support polygon."""

from __future__ import annotations

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
        self._framed: Measured | None = None
        self._frames: list[tuple[Array, float]] = []

    def frame(self, group: int, now: Measured) -> tuple[Array, float]:
        """Return the centre and the heading of a group of feet; computed once for each measurement."""
        if self._framed is not now:
            self._framed, self._frames = now, [self._compute(k, now) for k in (0, 1)]
        return self._frames[group]

    def _compute(self, group: int, now: Measured) -> tuple[Array, float]:
        feet = list(self._gait.groups[group])
        if len(feet) == 1:
            return now.feet[feet[0], :2], float(now.yaws[feet[0]])
        centre = now.feet[feet, :2].mean(axis=0)
        nominal = self._robot.places[feet] - self._robot.places[feet].mean(axis=0)
        actual = now.feet[feet, :2] - centre
        cross = float((nominal[:, 0] * actual[:, 1] - nominal[:, 1] * actual[:, 0]).sum())
        return centre, math.atan2(cross, float((nominal * actual).sum()))

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
