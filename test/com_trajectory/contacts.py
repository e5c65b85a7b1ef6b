"""Contacts and sequences shared by several test files."""

import numpy as np
import pinocchio as pin

from com_trajectory.bezier import product_weights, wrench_rate
from com_trajectory.bezier_kernel import fill_wrenches
from com_trajectory.polytope import Polytope
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence, surface_pose
from multi_qp_scene.surfaces import planar_points

SIZE = (0.21, 0.1)

# Reaches as boxes in the frames of the soles, whose z points down.
BOXES = {
    "left_sole": Polytope.box([-0.25, -0.03, -0.8], [0.25, 0.2, -0.6]),
    "right_sole": Polytope.box([-0.25, -0.2, -0.8], [0.25, 0.03, -0.6]),
}


def random_contacts(rng, count, *, tilt=0.3, spread=0.5, friction=0.5, size=(0.2, 0.1)):
    contacts = []
    for k in range(count):
        normal = np.array([0.0, 0.0, 1.0]) + rng.normal(size=3) * tilt
        normal /= np.linalg.norm(normal)
        pose = surface_pose(rng.uniform(-spread, spread, 3), normal, rng.normal(size=3))
        contacts.append(Contact.planar(f"c{k}", pose, size, friction=friction))
    return contacts


def point(name, xyz, normal=(0.0, 0.0, 1.0), friction=0.5):
    normal = np.array(normal, dtype=float)
    forward = np.array([1.0, 0.3, 0.2])
    pose = surface_pose(np.array(xyz, dtype=float), normal / np.linalg.norm(normal), forward)
    return Contact(name, "robot", name, pose, np.zeros((1, 3)), np.array([[0.0, 0.0, -1.0]]), friction, "point")


def foot(side, x, number, z=0.0, friction=0.6):
    points, normals = planar_points(SIZE)
    y = 0.09 if side == "left" else -0.09
    pose = pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array([x, y, z]))
    return Contact(f"{side}_{number}", "walker", f"{side}_sole", pose, points, normals, friction, "planar", SIZE)


def walk(steps, *, rise=0.0, length=0.2, friction=0.6):
    feet = {side: foot(side, 0.0, 0, friction=friction) for side in ("left", "right")}
    phases = [ContactPhase(tuple(feet.values()))]
    for k in range(steps):
        side, other = ("right", "left") if k % 2 == 0 else ("left", "right")
        number = k + 1 if k < steps - 1 else k
        feet[side] = foot(side, length * number, k + 1, rise * number, friction)
        phases += [ContactPhase((feet[other],)), ContactPhase((feet[other], feet[side]))]
    return ContactSequence(tuple(phases), name="walk")


def wrench_points(points, duration, origin):
    """Return the control points of the wrench required by a centre of mass on a Bézier curve.

    The wrench is a polynomial of degree 2 n − 2. If its control points are in a convex cone, so is the whole curve.

    Args:
        points: control points of the centre of mass, (..., n + 1, 3) [m], n ≥ 2.
        duration: of the curve [s].
        origin: reference point of the moment, (3,) [m].

    Returns:
        Force and moment per unit of weight, (..., 2 n − 1, 6), with constant angular momentum.

    Source: [Tonneau2018] (1); products of Bézier curves are used in this way by [Fernbach2018].
    """
    n = points.shape[-2] - 1
    curves = np.ascontiguousarray(points.reshape(-1, n + 1, 3))
    resting, moving = np.empty((2, len(curves), 2 * n - 1, 6))
    fill_wrenches(curves, wrench_rate(n, duration), origin, product_weights(n, n - 2), resting, moving)
    return np.asarray((resting + moving).reshape(*points.shape[:-2], 2 * n - 1, 6))
