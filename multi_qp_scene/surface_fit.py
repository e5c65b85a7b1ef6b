"""Comparison of contact surfaces with the collision shapes of their links."""

from __future__ import annotations

import math
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import FITTING, Surface

#: Distance of the points around a point surface at which its shape must recede from the tangent plane, and by how much
#: at least in one direction [m].
_AROUND, _RECEDES = 0.01, 1e-4
#: Distance along z at which a point of an inward surface is inside of the shapes, and outside against z; how far [m].
_ALONG, _CLEARLY = 0.005, 1e-3


@dataclass(frozen=True)
class SurfaceFit:
    """Fit of a surface to the collision shapes that move with its link.

    Attributes:
        distance: largest distance of a contact point, or of their middle, from the nearest shape's boundary [m]; inf
            without shapes.
        meshes: whether one of the nearest shapes is a mesh.
        flat: whether it is a point within a face of a shape, whose edges touch the ground as soon as the link tilts.
        inward: whether its z axis points into the shapes.
    """

    distance: float
    meshes: bool
    flat: bool = False
    inward: bool = False

    @property
    def fits(self) -> bool:
        """Whether a physics engine carries the surface by these shapes.

        A mesh does not: engines find a few of its vertices, not a face.
        """
        return self.distance <= FITTING and not self.meshes and not self.flat

    def __str__(self) -> str:
        if math.isinf(self.distance):
            return "its link has no collision shape"
        if self.inward:
            return "its z axis points into the collision shapes of its link: expected outward"
        if self.flat:
            return "a point within a face of the collision shapes of its link"
        return f"{1e3 * self.distance:.1f} mm from the collision {'mesh' if self.meshes else 'shapes'} of its link"


def surface_fit(scene: Scene, surface: Surface) -> SurfaceFit:
    """Return the fit of a planar or point surface."""
    placement = scene.model.frames[surface.frame_id].placement
    subsystem = surface.name.partition("/")[0]
    pieces = [
        item
        for item in scene.collision_model.geometryObjects
        if item.parentJoint == surface.joint_id and item.name.partition("/")[0] == subsystem
    ]
    shapes = [(_convex(item), item.placement, _is_mesh(item)) for item in pieces]
    worst, meshes = 0.0, False

    def signed(point: Array) -> list[tuple[float, bool]]:
        at = pin.SE3(np.eye(3), placement.act(point))
        return [(_distance(shape, place, at), mesh) for shape, place, mesh in shapes]

    def nearest(point: Array) -> tuple[float, bool]:
        return min(((abs(distance), mesh) for distance, mesh in signed(point)), default=(math.inf, False))

    # the middle too: the corners may lie on the sides of a shape that protrudes
    for point in (*surface.points, surface.points.mean(axis=0)):
        distance, mesh = nearest(point)
        worst, meshes = max(worst, distance), meshes or mesh
    flat = False
    if surface.kind == "point":
        around = surface.points[0] + _AROUND * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
        flat = max(nearest(point)[0] for point in around) < _RECEDES
    middle, along = surface.points.mean(axis=0), np.array([0.0, 0.0, _ALONG])
    ahead, behind = (min((d for d, _ in signed(middle + way)), default=0.0) for way in (along, -along))
    return SurfaceFit(worst, meshes, flat, inward=ahead < -_CLEARLY and behind > _CLEARLY)


def _is_mesh(item: pin.GeometryObject) -> bool:
    return isinstance(item.geometry, coal.BVHModelBase | coal.ConvexBase)


def _convex(item: pin.GeometryObject) -> coal.CollisionGeometry:
    if not isinstance(item.geometry, coal.BVHModelBase):
        return item.geometry
    copied = item.copy().geometry
    copied.buildConvexHull(True, "Qt")
    return copied.convex


def _distance(shape: coal.CollisionGeometry, place: pin.SE3, at: pin.SE3) -> float:
    """Return the signed distance of a point from a shape [m]."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    point = coal.Sphere(1e-6)
    poses = [coal.Transform3s(pose.rotation, pose.translation) for pose in (at, place)]
    return float(coal.distance(point, poses[0], shape, poses[1], request, result))
