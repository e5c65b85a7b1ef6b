"""Indices in q and v of a joint with one degree of freedom, and access to its angle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array


@dataclass(frozen=True)
class ScalarJoint:
    """Indices in q and v of a joint with one degree of freedom.

    Attributes:
        q_index: index in q.
        v_index: index in v.
        continuous: whether q holds (cos, sin) of its angle.
    """

    q_index: int
    v_index: int
    continuous: bool = False

    @classmethod
    def of(cls, model: pin.Model, name: str) -> ScalarJoint:
        """Return the joint of this name, which must have been checked."""
        joint = model.joints[model.getJointId(name)]
        return cls(joint.idx_q, joint.idx_v, joint.nq == 2)

    def angle(self, q: Array) -> float:
        """Return its angle [rad], in (−π, π] if it is continuous, or its position [m]."""
        k = self.q_index
        return math.atan2(q[k + 1], q[k]) if self.continuous else float(q[k])

    def set_angle(self, q: Array, angle: float) -> None:
        """Set its angle [rad] or position [m], in place."""
        if self.continuous:
            q[self.q_index : self.q_index + 2] = math.cos(angle), math.sin(angle)
        else:
            q[self.q_index] = angle

    def difference(self, angle: float, other: float) -> float:
        """Return angle − other, in (−π, π] if the joint is continuous."""
        return math.remainder(angle - other, math.tau) if self.continuous else angle - other


def joint_motion(joint: pin.JointModel, q: Array) -> Array:
    """Return the motion of a joint by its first velocity: linear, then angular, in its own frame, (6,).

    Without data of the whole model, which take a gigabyte for eight humanoids.

    Args:
        joint: of the model.
        q: configuration, (nq,).
    """
    data = joint.createData()
    joint.calc(data, q)
    return np.array(data.S).reshape(6, -1)[:, 0]
