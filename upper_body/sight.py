"""Obstacles that a character sees: their nearest points to places on it, and their velocities."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from typing import NamedTuple

import coal
import numpy as np
import pinocchio as pin

from multi_qp_controller.uncontrolled_subsystems import UncontrolledSubsystems
from multi_qp_scene.arrays import Array
from multi_qp_scene.overlaps import convex_geometry
from multi_qp_scene.schema.upper_body import SightSpec

#: Largest speed of an obstacle that is taken as such [m/s]; faster ones are not extrapolated.
FASTEST = 50.0
#: Number of shapes, the nearest ones by their bounding spheres, whose exact distance is computed.
MOST_SHAPES = 6
#: Radius of the ball whose distance stands for that of a point [m].
_POINT = 1e-3


class SeenPoint(NamedTuple):
    """Nearest point of an obstacle to a place.

    Attributes:
        obstacle: index of the obstacle.
        point: in the world, (3,) [m].
        velocity: of that point in the world, (3,) [m/s].
        distance: from the place [m]; negative inside of the obstacle.
    """

    obstacle: int
    point: Array
    velocity: Array
    distance: float


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a name matches one of the patterns."""
    return any(fnmatch(name, pattern) for pattern in patterns)


class Sight:
    """Shapes of obstacles with their bounding spheres.

    Attributes:
        names: subsystems that are obstacles.
    """

    def __init__(self, surroundings: UncontrolledSubsystems, names: Sequence[str], spec: SightSpec) -> None:
        scene = surroundings.scene
        self.names, self._spec, self._surroundings = list(names), spec, surroundings
        found = [
            (k, self.names.index(item.name.split("/")[0]))
            for k, item in enumerate(scene.collision_model.geometryObjects)
            if item.name.split("/")[0] in self.names
        ]
        geometry = convex_geometry(scene.collision_model, [])
        self._shapes, self._places, self._frames, offsets, radii = [], list[pin.SE3](), list[int](), [], []
        for k, _ in found:
            item = geometry.geometryObjects[k]
            if isinstance(item.geometry, coal.BVHModelBase):
                item.geometry.buildConvexHull(True, "Qt")
                item.geometry = item.geometry.convex
            item.geometry.computeLocalAABB()
            place = scene.model.frames[item.parentFrame].placement.inverse() * item.placement
            self._shapes.append(item.geometry)
            self._places.append(place)
            self._frames.append(item.parentFrame)
            offsets.append(place.act(np.asarray(item.geometry.aabb_center)))
            radii.append(float(item.geometry.aabb_radius))
        self._obstacles = np.array([obstacle for _, obstacle in found], dtype=np.intp)
        self._offsets, self._radii = np.array(offsets).reshape(-1, 3), np.array(radii)
        self._frame_ids = np.array(self._frames, dtype=np.intp)
        self._ball, self._request, self._result = coal.Sphere(_POINT), coal.DistanceRequest(), coal.DistanceResult()
        self._request.enable_signed_distance = True

    def visible(self, eye: pin.SE3) -> tuple[Array, Array]:
        """Return which shapes are at least partly in the visible volume, (s,), and the middles of all, (s, 3) [m]."""
        middles = self._surroundings.points(self._frame_ids, self._offsets)
        seen = (middles - eye.translation) @ eye.rotation
        spec, radii = self._spec, self._radii
        inside = (seen[:, 0] > -radii) & (np.linalg.norm(seen, axis=1) < spec.range + radii)
        for axis, half in ((1, spec.horizontal), (2, spec.vertical)):
            # distance outside of the plane of a side, whose normal is (−sin, cos)
            inside &= np.abs(seen[:, axis]) * np.cos(half) - seen[:, 0] * np.sin(half) < radii
        return inside, middles

    def shapes_of(self, patterns: Sequence[str]) -> Array:
        """Return which shapes belong to obstacles with names that match one of the patterns, (s,)."""
        own = np.array([matches(name, patterns) for name in self.names], dtype=bool)
        return np.asarray(own[self._obstacles])

    def nearest(self, place: Array, inside: Array, middles: Array, within: float) -> list[SeenPoint]:
        """Return the nearest point of each visible obstacle whose bounding spheres come nearer than a distance.

        Args:
            place: in the world, (3,) [m].
            inside: visible shapes, (s,).
            middles: middles of their bounding spheres, (s, 3) [m].
            within: that distance [m].
        """
        gaps = np.where(inside, np.linalg.norm(middles - place, axis=1) - self._radii, np.inf)
        near = [int(k) for k in np.argsort(gaps)[:MOST_SHAPES] if gaps[k] < within]
        best: dict[int, SeenPoint] = {}
        for k in near:
            obstacle = int(self._obstacles[k])
            if obstacle in best and best[obstacle].distance <= gaps[k]:
                continue
            distance, point = self._nearest_point(k, place)
            if obstacle not in best or distance < best[obstacle].distance:
                velocity = self._surroundings.velocity(self._frames[k], point)
                if not np.linalg.norm(velocity) <= FASTEST:
                    velocity = np.zeros(3)
                best[obstacle] = SeenPoint(obstacle, point, velocity, distance)
        return list(best.values())

    def pose(self, frame: int) -> pin.SE3:
        """Return the pose in the world of a link of an obstacle by its frame."""
        return self._surroundings.pose(frame)

    def touched(self, obstacle: int, place: Array) -> tuple[int, Array]:
        """Return where an obstacle, seen or not, is nearest to a place: frame of the link, and point (3,) [m]."""
        own = [int(k) for k in np.flatnonzero(self._obstacles == obstacle)]
        points = [self._nearest_point(k, place) for k in own]
        best = min(range(len(own)), key=lambda k: points[k][0])
        return self._frames[own[best]], points[best][1]

    def _nearest_point(self, k: int, place: Array) -> tuple[float, Array]:
        """Return distance [m] and nearest point in the world, (3,) [m], of a shape to a place."""
        pose = self._surroundings.pose(self._frames[k]) * self._places[k]
        self._result.clear()
        distance = coal.distance(
            self._ball,
            coal.Transform3s(np.eye(3), place),
            self._shapes[k],
            coal.Transform3s(pose.rotation, pose.translation),
            self._request,
            self._result,
        )
        return _POINT + distance, np.array(self._result.getNearestPoint2()).ravel()
