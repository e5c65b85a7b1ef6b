"""Velocity command along a route: through points of the plane to the last one, where the robot stops with a heading."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.schema.walking import RouteSpec
from multi_qp_scene.stateful import Stateful

#: Distance ahead on the route of the point that the body moves towards [m].
LOOK_AHEAD = 0.25
#: Distance from the end within which the robot turns to its final heading [m].
NEAR = 0.3
#: Speed per distance from the end [1/s], turn rate per error of the heading [1/s].
APPROACH, TURNING = 0.8, 1.2
#: Error of the heading from which the robot only turns [rad].
ASTRAY = 0.8


class Route(Stateful):
    """Velocities that follow a route.

    Attributes:
        begin: place where the route begins, (2,) [m]; None before the first tick.
        leg: index of the next point.
        arrived: whether the robot has reached the end.
    """

    @dataclass
    class Checkpoint:
        """Progress on the route."""

        begin: Annotated[Array, 2] | None
        leg: int
        arrived: bool

    def __init__(self, spec: RouteSpec) -> None:
        self._spec = spec
        self._points = np.array(spec.points, dtype=float)
        self.start()

    def start(self) -> None:
        """Begin at the place of the next tick."""
        self.begin: Array | None = None
        self.leg, self.arrived = 0, False

    def velocity(self, place: Array) -> Array:
        """Return the velocity (vx, vy, wz) of a body at a place (x, y, heading), (3,) [m, rad], in its heading."""
        spec, points, position, heading = self._spec, self._points, place[:2], float(place[2])
        if self.begin is None:
            self.begin = position.copy()
        while self.leg < len(points) - 1 and math.dist(points[self.leg], position) < LOOK_AHEAD:
            self.leg += 1
        a, b = self.begin if self.leg == 0 else points[self.leg - 1], points[self.leg]
        length = max(math.dist(a, b), 1e-6)
        along = (b - a) / length
        aim = a + min(max(float(along @ (position - a)) + LOOK_AHEAD, 0.0), length) * along
        legs = np.linalg.norm(np.diff(points[self.leg :], axis=0), axis=1)
        left = math.dist(position, b) + float(legs.sum())
        final = spec.heading if spec.heading is not None else math.atan2(along[1], along[0])
        error = _wrapped((final if left < NEAR else math.atan2(along[1], along[0])) - heading)
        self.arrived = self.arrived or (left < spec.tolerance and abs(error) < spec.heading_tolerance)
        if self.arrived:
            return np.zeros(3)
        towards = aim - position
        speed = min(spec.speed, APPROACH * left) * max(0.0, 1.0 - abs(error) / ASTRAY if left > NEAR else 1.0)
        moved = towards * (speed / max(float(np.linalg.norm(towards)), 1e-6))
        c, s = math.cos(heading), math.sin(heading)
        return np.array([c * moved[0] + s * moved[1], c * moved[1] - s * moved[0], TURNING * error])


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % (2.0 * math.pi) - math.pi
