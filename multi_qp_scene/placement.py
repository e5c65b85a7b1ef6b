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

#: Points closer to a line than this do not tell the plane on which they are [m].
LEAST_EXTENT = 1e-3


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

    Three or more points, not in line, are on its plane, whatever their normals; else normals are opposite on average.
    Balls touch with their lowest points.

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
    places = np.array([data.oMf[s.frame_id].act(s.ball.centre) for s in surfaces])
    up_in_base = -normals.mean(axis=0)
    if all(s.kind == "point" for s in surfaces):
        _, extents, axes = np.linalg.svd(places - places.mean(axis=0))
        if len(surfaces) > 2 and extents[1] > LEAST_EXTENT:
            up_in_base = axes[2] * np.sign(axes[2] @ up_in_base)
    up_in_base /= np.linalg.norm(up_in_base)
    level = pin.Quaternion.FromTwoVectors(up_in_base, np.array([0.0, 0.0, 1.0]))
    rotation_in_onto = pin.utils.rotate("z", yaw) @ level.toRotationMatrix()
    centre = np.mean([place - s.ball.radius * up_in_base for place, s in zip(places, surfaces, strict=True)], axis=0)
    translation_in_onto = np.array([*xy, 0.0]) - rotation_in_onto @ centre
    return X_world_onto * pin.SE3(rotation_in_onto, translation_in_onto)
