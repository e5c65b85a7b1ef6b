"""Inverse kinematics of an arm: angles at which its palm is at a place and faces a direction."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import Surface

#: Weight of a radian of the palm's direction beside a metre of its place; of the posture; damping [m].
DIRECTION, POSTURE, DAMPING = 0.15, 0.03, 0.02
#: Lever below which a force on the hand is not told from the torques of the arm's hinges [m].
LEVER = 0.03
#: Largest change of an angle in one iteration [rad], and distance from the limits [rad].
STEP, MARGIN = 0.3, 0.05


class ArmKinematics:
    """Damped Gauss-Newton method on the hinges of one arm; the rest of the body is given.

    Attributes:
        palm: frame of the palm, its z axis out of the palm.
        shoulder: frame of the shoulder.
        hinges: the arm's hinges among the given ones, by their index there, (k,).
    """

    def __init__(self, scene: Scene, palm: Surface, shoulder: int, v_index: Indices) -> None:
        self.palm, self.shoulder = palm.frame_id, shoulder
        moving = set(scene.moving(palm.frame_id).tolist())
        self.hinges: Indices = np.array([k for k, v in enumerate(v_index.tolist()) if v in moving], dtype=np.intp)
        self._model, self._data = scene.model, scene.model.createData()
        self._columns = v_index[self.hinges]
        q_of_v = {scene.model.joints[j].idx_v: scene.model.joints[j].idx_q for j in range(1, scene.model.njoints)}
        self._q_index = np.array([q_of_v[int(v)] for v in self._columns], dtype=np.intp)
        self._low = scene.model.lowerPositionLimit[self._q_index] + MARGIN
        self._high = scene.model.upperPositionLimit[self._q_index] - MARGIN

    def place(self, q: Array, angles: Array) -> Array:
        """Return the place of the palm in the world at angles of all hinges, (3,) [m]."""
        there = q.copy()
        there[self._q_index] = angles[self.hinges]
        pin.forwardKinematics(self._model, self._data, there)
        return np.asarray(pin.updateFramePlacement(self._model, self._data, self.palm).translation).copy()

    def force_at(self, point: Array, kinematics: Kinematics, external: Array) -> Array:
        """Return the force on the hand that explains external torques of the arm's hinges, world frame, (3,) [N].

        Args:
            point: where it acts, world frame, (3,) [m].
            kinematics: at the state estimate.
            external: generalised force on the scene that is not in its model, (nv,).
        """
        model, data = self._model, kinematics.data
        J = pin.getFrameJacobian(model, data, self.palm, pin.LOCAL_WORLD_ALIGNED)[:, self._columns]
        J_point = J[:3] - pin.skew(point - kinematics.pose(self.palm).translation) @ J[3:]
        return np.asarray(
            np.linalg.solve(J_point @ J_point.T + LEVER**2 * np.eye(3), J_point @ external[self._columns])
        )

    def load(self, direction: Array, mass: float, kinematics: Kinematics) -> Array:
        """Return the inertia at the arm's hinges of a mass that the palm pushes along a direction, (k,) [kg m²]."""
        J = pin.getFrameJacobian(self._model, kinematics.data, self.palm, pin.LOCAL_WORLD_ALIGNED)[:3, self._columns]
        return np.asarray(mass * (direction @ J) ** 2)

    def solve(self, q: Array, angles: Array, nominal: Array, place: Array, facing: Array, rounds: int) -> float:
        """Improve angles of all hinges so that the palm is at a place and faces a direction; return its distance [m].

        Args:
            q: configuration of the scene, (nq,).
            angles: of all hinges, (n,); those of the arm are changed.
            nominal: preferred angles of all hinges, (n,).
            place: of the palm in the world, (3,) [m].
            facing: direction out of the palm in the world, (3,).
            rounds: number of iterations.
        """
        model, data, there = self._model, self._data, q.copy()
        own, distance = angles[self.hinges].copy(), np.inf
        for _ in range(rounds):
            there[self._q_index] = own
            pin.computeJointJacobians(model, data, there)
            pose = pin.updateFramePlacement(model, data, self.palm)
            J = pin.getFrameJacobian(model, data, self.palm, pin.LOCAL_WORLD_ALIGNED)[:, self._columns]
            error = place - pose.translation
            distance = float(np.linalg.norm(error))
            if distance > STEP:
                error *= STEP / distance
            turn = np.cross(pose.rotation[:, 2], facing)
            rows = np.vstack([J[:3], DIRECTION * J[3:], POSTURE * np.eye(len(own))])
            rest = np.concatenate([error, DIRECTION * turn, POSTURE * POSTURE * (nominal[self.hinges] - own)])
            H = rows.T @ rows + DAMPING**2 * np.eye(len(own))
            step = np.linalg.solve(H, rows.T @ rest)
            own = np.clip(own + np.clip(step, -STEP, STEP), self._low, self._high)
        angles[self.hinges] = own
        return distance
