"""Conversion of collision shapes to MuJoCo, and selection of pairs that may collide."""

from __future__ import annotations

from itertools import product
from typing import Any

import coal
import mujoco
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.kinematic_trees import placement_data
from multi_qp_scene.scene import Scene

#: Minimum width of a fixed level box that is treated as ground, without edges [m].
GROUND_WIDTH = 10.0


def is_ground(item: pin.GeometryObject) -> bool:
    """Return whether a shape is level ground, whose edges are out of reach."""
    shape = item.geometry
    if item.parentJoint != 0 or not isinstance(shape, coal.Box):
        return False
    level = item.placement.rotation[2, 2] > 1.0 - 1e-12
    return bool(level and 2.0 * min(shape.halfSide[:2]) >= GROUND_WIDTH)


def add_shape(spec: Any, body: Any, item: pin.GeometryObject, placement: pin.SE3, *, aligned: bool = False) -> None:
    """Add one collision shape to a body, at `placement` in the body's frame.

    Meshes collide as their convex hulls, as they do for the controller. So do boxes with `aligned` faces:
    for two boxes whose faces are parallel to 0.1 mrad, MuJoCo's box collision returns a single point, on an edge, in
    one of thirty poses, which destabilises a foot; that of hulls returns four.
    Ground becomes a half-space, which yields all corners of a sole in a fifth of the time.

    Raises:
        MultiQpError: if MuJoCo has no such shape.
    """
    if is_ground(item):
        top = placement.act(np.array([0.0, 0.0, item.geometry.halfSide[2]]))
        plane = body.add_geom(name=item.name, pos=top)
        plane.type = mujoco.mjtGeom.mjGEOM_PLANE
        plane.size[:] = [*item.geometry.halfSide[:2], 1.0]  # rendered size; the plane is infinite
        return
    kind, size = (None, []) if aligned and isinstance(item.geometry, coal.Box) else _primitive(item.geometry)
    geom = body.add_geom(name=item.name, pos=placement.translation, quat=wxyz(placement.rotation))
    if kind is not None:
        geom.type = kind
        geom.size[: len(size)] = size
        return
    vertices = _vertices(item)
    mesh = spec.add_mesh(name=item.name, uservert=vertices.ravel())
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    geom.type = mujoco.mjtGeom.mjGEOM_MESH
    geom.meshname = item.name


def wxyz(rotation: Array) -> Array:
    """Return a rotation matrix as a quaternion in MuJoCo's order, (4,)."""
    x, y, z, w = pin.Quaternion(rotation).coeffs()
    return np.array([w, x, y, z])


def _primitive(shape: Any) -> tuple[Any, list[float]]:
    """Return the type and size of a primitive; (None, []) for a mesh."""
    geom = mujoco.mjtGeom
    match shape:
        case coal.Box():
            return geom.mjGEOM_BOX, list(shape.halfSide)
        case coal.Sphere():
            return geom.mjGEOM_SPHERE, [shape.radius]
        case coal.Capsule():
            return geom.mjGEOM_CAPSULE, [shape.radius, shape.halfLength]
        case coal.Cylinder():
            return geom.mjGEOM_CYLINDER, [shape.radius, shape.halfLength]
        case coal.Ellipsoid():
            return geom.mjGEOM_ELLIPSOID, list(shape.radii)
        case _:
            return None, []


def _vertices(item: pin.GeometryObject) -> Array:
    shape = item.geometry
    if isinstance(shape, coal.Box):
        return np.array(list(product(*((-side, side) for side in shape.halfSide))))
    if isinstance(shape, coal.BVHModelBase):
        return np.array(shape.vertices())
    if hasattr(shape, "points"):
        return np.array(shape.points())
    raise MultiQpError(f"{item.name}: MuJoCo has no collision shape '{type(shape).__name__}'")


def excluded_pairs(scene: Scene) -> set[tuple[str, str]]:
    """Return the pairs of bodies of one subsystem that must not collide, by the names of `body_name`.

    These are bodies at most two apart in the tree, not counting links without shapes, since their shapes overlap around
    the joints by construction; and pairs that overlap in the initial or zero configuration.
    """
    with_shape = {_place(scene, item) for item in scene.collision_model.geometryObjects}
    near = set()
    for place in with_shape:
        above = _nearest_above(scene, place, with_shape)
        further = above and _nearest_above(scene, above, with_shape)
        near |= {_ordered(place, other) for other in (above, further) if other is not None}
    return near | _overlapping(scene, scene.q0) | _overlapping(scene, pin.neutral(scene.model))


def body_name(scene: Scene, joint_id: int, subsystem: str) -> str:
    """Return the name of the MuJoCo body that a joint moves; of a subsystem's fixed part for joint 0."""
    return f"{subsystem}/base" if joint_id == 0 else f"{scene.model.names[joint_id]}#body"


def _place(scene: Scene, item: pin.GeometryObject) -> str:
    return body_name(scene, item.parentJoint, item.name.split("/")[0])


def _nearest_above(scene: Scene, place: str, with_shape: set[str]) -> str | None:
    model, subsystem = scene.model, place.split("/")[0]
    joint = 0 if place.endswith("/base") else model.getJointId(place.removesuffix("#body"))
    while joint != 0:
        joint = model.parents[joint]
        name = body_name(scene, joint, subsystem)
        if name in with_shape:
            return name
    return None


def _overlapping(scene: Scene, q: Array) -> set[tuple[str, str]]:
    geometry = scene.collision_model.copy()
    geometry.removeAllCollisionPairs()
    items = list(geometry.geometryObjects)
    pairs = []
    for j, second in enumerate(items):
        for i, first in enumerate(items[:j]):
            same = first.name.split("/")[0] == second.name.split("/")[0]
            if same and first.parentJoint != second.parentJoint:
                geometry.addCollisionPair(pin.CollisionPair(i, j))
                pairs.append(_ordered(_place(scene, first), _place(scene, second)))
    data, found = geometry.createData(), set()
    pin.computeCollisions(scene.model, placement_data(scene.model), geometry, data, q, False)
    for pair, result in zip(pairs, data.collisionResults, strict=True):
        if result.isCollision():
            found.add(pair)
    return found


def _ordered(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)
