"""Capsules that approximate the collision geometry of a character."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene
from multi_qp_scene.subsystem import Subsystem
from multi_qp_scene.surfaces import Surface

#: Distance of the spheres along a capsule, relative to its radius.
SPACING = 1.2
#: Ratio of the middle and the least extent of a piece with a patch from which capsules along its sides cover it too.
FLAT = 1.5
#: Distance of a point from the shape of its link's parent up to which the latter touches with it [m].
ON_SHAPE = 0.005


@dataclass(frozen=True)
class LinkCapsule:
    """Approximation of one piece of a link's collision geometry.

    Attributes:
        link: full name of the link.
        joint: index in the scene's model of the limb's joint that moves it, None for the trunk.
        ends: of its axis, in the frame of that joint, or in the root frame for the trunk, (2, 3) [m].
        radius: that fits into the geometry [m].
        apart: radius for the distance to other links [m], which covers the geometry's middle extent; -inf for none.
        touches: whether its link has a patch, or is held at the end of a limb that has one.
        body: index in `Character.bodies` of its character.
        side: whether it covers a side of a flat piece, such as a foot, which counts for listed pairs of links alone,
            of a hand also for the object, whose edges it may meet between the corners of its patch.
    """

    link: str
    joint: int | None
    ends: Array
    radius: float
    apart: float
    touches: bool
    body: int = 0
    side: bool = False

    @property
    def fractions(self) -> Array:
        """Places along its axis, 0..1, of spheres that cover it, (k,)."""
        length = float(np.linalg.norm(self.ends[1] - self.ends[0]))
        if length < 1e-6:
            return np.array([0.5])
        return np.linspace(0.0, 1.0, 1 + math.ceil(length / (SPACING * self.radius)))


def capsules_of(
    scene: Scene, body: Subsystem, moved: set[int], touching: set[int], tips: set[int], upright: Array
) -> list[LinkCapsule]:
    """Return the capsules of a character.

    Args:
        scene: the scene.
        body: the character.
        moved: indices of the joints of its limbs.
        touching: indices of the joints whose links have patches.
        tips: indices of those whose links have points and no planar patch.
        upright: configuration with the root at the origin.
    """
    root = body.root_joints[0]
    data = scene.model.createData()
    pin.forwardKinematics(scene.model, data, upright)
    held = {j for j in touching & moved if not any(j in scene.model.supports[other] for other in moved - {j})}
    found = []
    for piece in scene.collision_model.geometryObjects:
        if piece.name.split("/")[0] != body.name:
            continue
        link = scene.model.frames[piece.parentFrame].name
        joint = owner(scene, piece.parentJoint, moved)
        X = data.oMi[joint or root].actInv(data.oMi[piece.parentJoint]).act(piece.placement)
        ends, radius, apart, across = _fitted(piece.geometry)
        placed = ends @ X.rotation.T + X.translation
        touches = piece.parentJoint in touching or joint in held
        found.append(LinkCapsule(link, joint, placed, radius, apart, touches))
        corners = joint is None or piece.parentJoint in tips
        if piece.parentJoint in touching and apart > FLAT * radius:
            along = (placed[1] - placed[0]) / max(float(np.linalg.norm(placed[1] - placed[0])), 1e-9)
            further = radius * np.array([-along, along]) if corners else 0.0  # round ends do not reach into edges
            for by in (radius - apart, apart - radius):
                at = placed + further + by * X.rotation[:, across]
                found.append(LinkCapsule(link, joint, at, radius, -np.inf, piece.parentJoint in touching, side=True))
        if corners and isinstance(piece.geometry, coal.Box):  # a capsule inside does not reach into its corners
            for signs in product((-1.0, 1.0), repeat=3):
                corner = X.act(np.array(signs) * piece.geometry.halfSide)
                found.append(LinkCapsule(link, joint, np.tile(corner, (2, 1)), 0.0, -np.inf, touches=True))
    return found


def _fitted(shape: coal.CollisionGeometry) -> tuple[Array, float, float, int]:
    """Return a capsule along the longest axis of a shape: its ends, radii inside and across the shape, axis across."""
    shape.computeLocalAABB()
    low, high = np.asarray(shape.aabb_local.min_), np.asarray(shape.aabb_local.max_)
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    order = np.argsort(half)
    radius, apart, axis = float(half[order[0]]), float(half[order[1]]), int(order[2])
    ends = np.tile(middle, (2, 1))
    ends[:, axis] += np.array([-1.0, 1.0]) * (half[axis] - radius)
    return ends, radius, apart, int(order[1])


def touching_joints(scene: Scene, surface: Surface) -> set[int]:
    """Return the joints whose links touch with a surface: its own, and that of its parent if a point is on its shape.

    The point of a knee is on the cap of the thigh, about the axis of the knee, so that it stays there.
    """
    own = surface.joint_id
    joint = scene.model.supports[own][-2]
    if surface.kind != "point" or joint == 0:
        return {own}
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    point = coal.Transform3s(np.eye(3), data.oMf[surface.frame_id].translation)
    for piece in scene.collision_model.geometryObjects:
        if piece.parentJoint == joint and not isinstance(piece.geometry, coal.BVHModelBase):
            X = data.oMi[joint].act(piece.placement)
            poses = point, coal.Transform3s(X.rotation, X.translation)
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            if coal.distance(coal.Sphere(1e-6), poses[0], piece.geometry, poses[1], request, result) < ON_SHAPE:
                return {own, joint}
    return {own}


def owner(scene: Scene, joint: int, moved: set[int]) -> int | None:
    """Return the last joint of limbs that moves what a joint carries, None for the trunk."""
    return next((j for j in reversed(scene.model.supports[joint]) if j in moved), None)
