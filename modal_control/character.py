"""One robot with a floating base: its dynamics, linearised at a pose and zero velocity, and its contact points.

Coordinates are aligned with the world: Δq is (translation of the base [m], its rotation vector [rad], joint angles
[rad]), the velocity is (velocity of the base's origin, its angular velocity, joint rates), all along the world's axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import Surface


@dataclass(frozen=True)
class LinearDynamics:
    """M Δq̈ + K Δq = b + f: [Jain2011] (11), without damping.

    Attributes:
        q: configuration of the linearisation, (nq,).
        M: mass matrix, (nv, nv).
        K: diagonal of the stiffness matrix, 0 for the base, (nv,) [N m/rad].
        b: −(gravity force + K (q − rest)), (nv,).
        com: centre of mass, world frame, (3,) [m].
        inertia: of the whole body about it, along the world's axes, (3, 3) [kg m²].
        points: contact points along the axes of the ground, (points, 3) [m].
        J: Jacobian of each point, the same axes, (points, 3, nv).
    """

    q: Array
    M: Array
    K: Array
    b: Array
    com: Array
    inertia: Array
    points: Array
    J: Array

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float(self.M[0, 0])


def force_points(surface: Surface) -> Array:
    """Return the points of a surface at which forces are planned, (k, 3) [m]: of a grasp, two on its axis."""
    if surface.kind != "grasp":
        return surface.points
    half = float(surface.points[:, 0].max())
    return np.array([[-half, 0.0, 0.0], [half, 0.0, 0.0]])


class ModalCharacter:
    """A robot with a floating base and joints of one angle each, alone in its scene.

    Attributes:
        model: of the robot.
        surfaces: names of the surfaces that make contact.
        held: whether each contact point is of a grasp, which holds it in its place, (points,).
        surface_of_point: index of the surface of each contact point, (points,).
        stiffness: total mass of the subtree of each joint, 0 for the base, (nv,) ([Jain2011] section 7) [N m/rad].
        rest: joint angles at which the springs are relaxed, (nv - 6,) [rad].
        ground: axes of the ground as columns, its normal the last one, (3, 3).
    """

    def __init__(self, scene: Scene, surfaces: Sequence[str], rest: Array, *, ground: Array | None = None) -> None:
        """Create it.

        Args:
            scene: with one robot that moves.
            surfaces: full names of the surfaces that make contact.
            rest: configuration at which the springs are relaxed, (nq,).
            ground: axes of the ground, which passes through the origin; level if left out, (3, 3).

        Raises:
            MultiQpError: when the scene has other bodies that move, or a joint has several degrees of freedom.
        """
        joints = list(scene.model.joints)[1:]
        if joints[0].nq != 7 or any(joint.nq != 1 or joint.nv != 1 for joint in joints[1:]):
            raise MultiQpError("modal control: expected one robot with a floating base and joints of one angle each")
        self.model, self._data = scene.model, scene.model.createData()
        self.surfaces = tuple(surfaces)
        self._points = [self._on_joint(scene.surfaces[name]) for name in surfaces]
        self.surface_of_point: NDArray[np.intp] = np.repeat(
            np.arange(len(surfaces)), [len(points) for _, points in self._points]
        )
        grasps = np.array([scene.surfaces[name].kind == "grasp" for name in surfaces], dtype=bool)
        self.held: NDArray[np.bool_] = grasps[self.surface_of_point]
        pin.computeSubtreeMasses(self.model, self._data)
        self.stiffness = np.zeros(self.model.nv)
        for number, joint in enumerate(joints[1:], start=2):
            self.stiffness[joint.idx_v] = self._data.mass[number]
        self.rest = np.array(rest[7:])
        self.ground = np.eye(3) if ground is None else ground

    def _on_joint(self, surface: Surface) -> tuple[int, Array]:
        """Return the joint of a surface and its points in the joint's frame, (k, 3)."""
        placement = self.model.frames[surface.frame_id].placement
        return surface.joint_id, np.array([placement.act(point) for point in force_points(surface)])

    def linearise(self, q: Array) -> LinearDynamics:
        """Return the linear dynamics at a configuration, (nq,), and zero velocity."""
        model, data = self.model, self._data
        pin.crba(model, data, q)
        M = np.triu(data.M) + np.triu(data.M, 1).T
        gravity = pin.computeGeneralizedGravity(model, data, q).copy()
        pin.computeJointJacobians(model, data, q)
        pin.ccrba(model, data, q, np.zeros(model.nv))
        R = data.oMi[1].rotation.copy()
        turn = np.eye(model.nv)
        turn[:3, :3] = turn[3:6, 3:6] = R
        spring = np.zeros(model.nv)
        spring[6:] = self.stiffness[6:] * (q[7:] - self.rest)
        points, J = self._contact_points(turn)
        return LinearDynamics(
            q=np.array(q),
            M=turn @ M @ turn.T,
            K=self.stiffness,
            b=-(turn @ gravity + spring),
            com=data.com[0].copy(),
            inertia=data.Ig.inertia.copy(),
            points=points,
            J=J,
        )

    def _contact_points(self, turn: Array) -> tuple[Array, Array]:
        """Return contact points and their Jacobians at the present configuration of the data, in axes of the ground."""
        places, jacobians, axes = [], [], self.ground.T
        for joint, points in self._points:
            X = self._data.oMi[joint]
            J = pin.getJointJacobian(self.model, self._data, joint, pin.LOCAL_WORLD_ALIGNED) @ turn.T
            for point in points:
                arm = X.rotation @ point
                places.append(axes @ (X.translation + arm))
                jacobians.append(axes @ (J[:3] - pin.skew(arm) @ J[3:]))
        return np.array(places).reshape(-1, 3), np.array(jacobians).reshape(-1, 3, self.model.nv)

    def point_jacobian(self, q: Array, frame: str, offset: Array) -> Array:
        """Return the Jacobian of a point of a frame, offset along the world's axes, (3, nv)."""
        model, data = self.model, self._data
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        J = pin.getFrameJacobian(model, data, model.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED)
        turn = np.eye(model.nv)
        turn[:3, :3] = turn[3:6, 3:6] = data.oMi[1].rotation
        return np.asarray((J[:3] - pin.skew(offset) @ J[3:]) @ turn.T)


def displacement(origin: Array, q: Array) -> Array:
    """Return Δq from one configuration, (nq,), to another, (nv,)."""
    R0, R = (pin.Quaternion(each[3:7].copy()).matrix() for each in (origin, q))
    return np.concatenate([q[:3] - origin[:3], pin.log3(R @ R0.T), q[7:] - origin[7:]])


def displaced(origin: Array, step: Array) -> Array:
    """Return the configuration, (nq,), at Δq from another."""
    R = pin.exp3(step[3:6]) @ pin.Quaternion(origin[3:7].copy()).matrix()
    return np.concatenate([origin[:3] + step[:3], pin.Quaternion(R).normalized().coeffs(), origin[7:] + step[6:]])
