"""Conversions between pinocchio's and MuJoCo's coordinates.

Both represent a free body by a position and a quaternion, in different order, and its velocity by six numbers: the
linear part is in the body's axes in pinocchio and in the world's in MuJoCo. A continuous joint is (cos, sin) in
pinocchio and an angle in MuJoCo.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scene import State
from multi_qp_simulator.mujoco_world.coordinates_kernel import write_state


class Coordinates:
    """Maps between a scene's model and its MuJoCo model.

    Attributes:
        dof: MuJoCo's index of each entry of v, (nv,).
    """

    def __init__(self, model: pin.Model, world: Any) -> None:
        self._model = model
        self.dof: Indices = np.zeros(model.nv, dtype=np.intp)
        scalar: list[tuple[int, int]] = []
        turning: list[tuple[int, int]] = []
        free: list[tuple[int, int, int]] = []
        for k in range(1, model.njoints):
            joint, made = model.joints[k], world.joint(model.names[k])
            qpos, dof = int(made.qposadr[0]), int(made.dofadr[0])
            self.dof[joint.idx_v : joint.idx_v + joint.nv] = np.arange(dof, dof + joint.nv)
            if joint.nv == 6:
                free.append((joint.idx_q, qpos, joint.idx_v))
            elif joint.nq == 2:
                turning.append((joint.idx_q, qpos))
            else:
                scalar.append((joint.idx_q, qpos))
        self._scalar = np.array(scalar, dtype=np.intp).reshape(-1, 2)
        self._turning = np.array(turning, dtype=np.intp).reshape(-1, 2)
        self._free = np.array(free, dtype=np.intp).reshape(-1, 3)

    def to_world(self, state: State, qpos: Array, qvel: Array) -> None:
        """Write a state to MuJoCo's qpos and qvel."""
        q = state.q
        qpos[self._scalar[:, 1]] = q[self._scalar[:, 0]]
        for at, to in self._turning:
            qpos[to] = np.arctan2(q[at + 1], q[at])
        velocity = state.v.copy()
        for at, to, v in self._free:
            qpos[to : to + 3] = q[at : at + 3]
            qpos[to + 3] = q[at + 6]
            qpos[to + 4 : to + 7] = q[at + 3 : at + 6]
            velocity[v : v + 3] = _rotation(q[at + 3 : at + 7]) @ state.v[v : v + 3]
        qvel[self.dof] = velocity

    def to_scene(self, qpos: Array, qvel: Array) -> State:
        """Return MuJoCo's qpos and qvel as a state of the scene."""
        q, v = np.empty(self._model.nq), np.empty(self._model.nv)
        write_state(qpos, qvel, self._scalar, self._turning, self._free, self.dof, q, v)
        return State(q, v)

    def jacobian(self, q: Array) -> Array:
        """Return T of qvel = T v, (nv, nv)."""
        T = np.zeros((self._model.nv, self._model.nv))
        T[self.dof, np.arange(self._model.nv)] = 1.0
        for at, _, v in self._free:
            rows = self.dof[v : v + 3]
            T[rows[:, None], np.arange(v, v + 3)] = _rotation(q[at + 3 : at + 7])
        return T

    def drift(self, state: State) -> Array:
        """Return Ṫ v: qacc for constant v, (nv,)."""
        drift = np.zeros(self._model.nv)
        for at, _, v in self._free:
            R = _rotation(state.q[at + 3 : at + 7])
            drift[self.dof[v : v + 3]] = R @ np.cross(state.v[v + 3 : v + 6], state.v[v : v + 3])
        return drift


def _rotation(xyzw: Array) -> Array:
    x, y, z, w = xyzw.tolist()
    return np.array(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        )
    )
