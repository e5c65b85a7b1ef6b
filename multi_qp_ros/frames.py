"""Transform tree of a scene: `world` -> `<subsystem>/<link>` -> `<subsystem>/<surface>`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray

from multi_qp_ros.conversions import WORLD, to_stamp
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Edge:
    """Frame and its parent, by name and by index in the model; that of the world is 0."""

    child: str
    parent: str
    child_id: int
    parent_id: int


class FrameTree:
    """Transforms of all links and surfaces of a scene relative to their parent links.

    They are separated into fixed ones, published once, and moving ones, published with every state.
    """

    def __init__(self, scene: Scene) -> None:
        self._model, self._trees = scene.model, KinematicTrees(scene.model)
        self._moving: list[_Edge] = []
        self._fixed: list[_Edge] = []
        frames = scene.model.frames
        surfaces = {surface.frame_id for surface in scene.surfaces.values()}
        for number in range(1, scene.model.nframes):
            if frames[number].type != pin.FrameType.BODY and number not in surfaces:
                continue
            parent = self._link_above(number)
            edge = _Edge(frames[number].name, frames[parent].name if parent else WORLD, number, parent)
            together = frames[number].parentJoint == frames[parent].parentJoint
            (self._fixed if together else self._moving).append(edge)
        self._q0 = scene.q0
        self._message: dict[str, TransformStamped] = {}

    def _link_above(self, number: int) -> int:
        frames = self._model.frames
        number = int(frames[number].parentFrame)
        while number and frames[number].type != pin.FrameType.BODY:
            number = int(frames[number].parentFrame)
        return number

    def fixed(self, stamp: int) -> list[TransformStamped]:
        """Return the fixed transforms, stamped with a time [ns]."""
        return self._transforms(self._fixed, self._q0, stamp)

    def moving(self, q: Array, stamp: int) -> list[TransformStamped]:
        """Return the moving transforms of a configuration, (nq,), at a time [ns]; the messages are reused."""
        return self._transforms(self._moving, q, stamp)

    def _transforms(self, edges: list[_Edge], q: Array, stamp: int) -> list[TransformStamped]:
        time, poses = to_stamp(stamp), self._trees.place(q).oMf
        return [self._transform(edge, poses, time) for edge in edges]

    def _transform(self, edge: _Edge, poses: pin.StdVec_SE3, time: object) -> TransformStamped:
        X = poses[edge.child_id] if edge.parent_id == 0 else poses[edge.parent_id].actInv(poses[edge.child_id])
        message = self._message.get(edge.child)
        if message is None:
            message = self._message[edge.child] = TransformStamped(child_frame_id=edge.child)
            message.header.frame_id = edge.parent
        message.header.stamp = time
        x, y, z, qx, qy, qz, qw = pin.SE3ToXYZQUAT(X).tolist()
        p, r = message.transform.translation, message.transform.rotation
        p.x, p.y, p.z, r.x, r.y, r.z, r.w = x, y, z, qx, qy, qz, qw
        return message
