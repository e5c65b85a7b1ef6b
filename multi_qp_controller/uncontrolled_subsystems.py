"""Subsystems that are not controlled, as they were seen at the last step."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.kinematic_trees import placement_data
from multi_qp_scene.pinocchio_views import pose_views
from multi_qp_scene.scene import Scene, State


class UncontrolledSubsystems:
    """Places and velocities of the links of subsystems that are not controlled.

    Subsystems whose state is invalid are taken to be at rest in their initial configuration.

    Attributes:
        scene: the scene with all subsystems, the controlled ones first.
        q: configuration of that scene at the last step, (nq,).
        v: its velocity, (nv,).
    """

    def __init__(self, scene: Scene, controlled: Scene) -> None:
        self.scene = scene
        self.q, self.v = scene.q0.copy(), np.zeros(scene.nv)
        self._nq, self._nv = controlled.nq, controlled.nv
        self._data = placement_data(scene.model)
        self._others = [one for name, one in scene.subsystems.items() if name not in controlled.subsystems]
        self._views = pose_views(self._data.oMf)
        self._placed = False

    def split(self, state: State, fault: str) -> tuple[State, str]:
        """Store a state of the whole scene; return that of the controlled subsystems and its fault.

        Args:
            state: with NaN in invalid entries.
            fault: description of what is invalid, empty if nothing is.
        """
        nq, nv, initial = self._nq, self._nv, self.scene.q0
        own = State(state.q[:nq], state.v[:nv])
        self._placed = False
        if not fault:
            self.q, self.v = state.q, state.v
            return own, ""
        self.q, self.v = state.q.copy(), state.v.copy()
        for one in self._others:
            q, v = self.q[one.q_slice], self.v[one.v_slice]
            if not np.isfinite(q.sum() + v.sum()):
                q[:], v[:] = initial[one.q_slice], 0.0
        if own.is_finite:
            return own, ""
        self.q[:nq], self.v[:nv] = initial[:nq], 0.0
        return own, fault

    def with_controlled(self, q: Array) -> Array:
        """Return the configuration of the whole scene with that of the controlled subsystems, (nq,)."""
        return np.concatenate([q, self.q[self._nq :]])

    def pose(self, frame_id: int) -> pin.SE3:
        """Return X_world_frame of a frame of `scene`."""
        return self._placed_data().oMf[frame_id]

    def points(self, frame_ids: Indices, offsets: Array) -> Array:
        """Return points that are fixed in frames of `scene`, given in those frames, world frame, (k, 3) [m]."""
        data = self._placed_data()
        if self._views is None:
            return np.array([data.oMf[int(k)].act(offset) for k, offset in zip(frame_ids, offsets, strict=True)])
        poses = self._views[frame_ids]
        return poses[:, 9:] + np.einsum("kji,kj->ki", poses[:, :9].reshape(-1, 3, 3), offsets)

    def velocity(self, frame_id: int, point: Array) -> Array:
        """Return the velocity of a point that moves with a frame of `scene`, world frame, (3,) [m/s]."""
        data = self._placed_data()
        twist = pin.getFrameVelocity(self.scene.model, data, frame_id, pin.LOCAL_WORLD_ALIGNED)
        return np.asarray(twist.linear + np.cross(twist.angular, point - data.oMf[frame_id].translation))

    def _placed_data(self) -> pin.Data:
        """Return the data with the poses and velocities of all links, computed once for each step."""
        if not self._placed:
            pin.forwardKinematics(self.scene.model, self._data, self.q, self.v)
            pin.updateFramePlacements(self.scene.model, self._data)
            self._placed = True
        return self._data
