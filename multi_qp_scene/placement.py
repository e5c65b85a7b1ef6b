"""Poses from specifications, and placement of a body with its surfaces aligned to another surface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.surfaces import Surface


class HasPose(Protocol):
    """Protocol of specifications with a position [m] and roll-pitch-yaw angles [rad]."""

    @property
    def xyz(self) -> Vector3:
        """Position [m]."""

    @property
    def rpy(self) -> Vector3:
        """Roll, pitch, yaw [rad]."""


def pose_of(spec: HasPose) -> pin.SE3:
    """Return the transform of a position and roll-pitch-yaw angles."""
    return pin.SE3(pin.rpy.rpyToMatrix(*spec.rpy), np.array(spec.xyz, dtype=float))


def align_surfaces(
    trees: KinematicTrees,
    q: NDArray[np.float64],
    root_q: int,
    surfaces: Sequence[Surface],
    onto: Surface,
    *,
    xy: tuple[float, float],
    yaw: float,
) -> pin.SE3:
    """Return the base pose for which `surfaces`, centred, are aligned with `onto`.

    Args:
        trees: of the scene's model.
        q: configuration of the scene, (nq,); the base pose in it has no effect.
        root_q: index in q of the base pose.
        surfaces: surfaces of the body to place; their mean position is placed at `xy`.
        onto: the surface that carries it.
        xy: place on `onto`, in its frame [m].
        yaw: heading of the base's x axis about the normal of `onto` [rad].
    """
    q = q.copy()
    q[root_q : root_q + 7] = pin.SE3ToXYZQUAT(pin.SE3.Identity())
    data = trees.place(q)
    X_world_onto = data.oMf[onto.frame_id].copy()
    normals = np.array([data.oMf[s.frame_id].rotation[:, 2] for s in surfaces])
    centre = np.mean([data.oMf[s.frame_id].translation for s in surfaces], axis=0)
    up_in_base = -normals.mean(axis=0)
    level = pin.Quaternion.FromTwoVectors(up_in_base / np.linalg.norm(up_in_base), np.array([0.0, 0.0, 1.0]))
    rotation_in_onto = pin.utils.rotate("z", yaw) @ level.toRotationMatrix()
    translation_in_onto = np.array([*xy, 0.0]) - rotation_in_onto @ centre
    return X_world_onto * pin.SE3(rotation_in_onto, translation_in_onto)
