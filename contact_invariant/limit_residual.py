"""Speeds towards joint limits beyond what the velocity dampers of the QP allow, as a residual of crocoddyl."""

from __future__ import annotations

from typing import Any

import numpy as np

from contact_invariant.optional_crocoddyl import crocoddyl
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.control import JointLimitsSpec


class LimitSpeedResidual(crocoddyl.ResidualModelAbstract):
    """max(0, speed towards a limit - ξ (d - δ_s)/(δ_i - δ_s)) at the distance d from it, (2 joints,) [rad/s].

    Source: [Vaillant2015] (19); first the upper limits, then the lower ones.
    """

    def __init__(self, state: Any, nu: int, scene: Scene, dampers: JointLimitsSpec) -> None:
        """Prepare for the joints that have limits; see `JointLimitConstraint`."""
        limits = scene.limits
        super().__init__(state, 2 * len(limits.v_index), nu, True, True, False)
        self._q, self._v, self._nq, self._nv = limits.q_index, limits.v_index, scene.nq, scene.nv
        self._ends = np.concatenate([limits.upper, -limits.lower])
        shares = {"influence": dampers.influence, "security": dampers.security, "damping": dampers.damping}
        influence, security, speed = limits.dampers(**shares)
        self._security, self._slope = np.tile(security, 2), np.tile(speed / (influence - security), 2)

    def calc(self, data: Any, x: Any, u: Any = None) -> None:
        """Compute the residual."""
        angles, speeds = x[self._q], x[self._nq + self._v]
        distance = self._ends - np.concatenate([angles, -angles])
        allowed = self._slope * (distance - self._security)
        data.r = np.maximum(0.0, np.concatenate([speeds, -speeds]) - allowed)

    def calcDiff(self, data: Any, x: Any, u: Any = None) -> None:
        """Compute its derivative at the state of `calc`."""
        sign = np.repeat([1.0, -1.0], len(self._v)) * (data.r > 0.0)
        rows, columns = np.arange(len(sign)), np.tile(self._v, 2)
        Rx = np.zeros((len(sign), 2 * self._nv))
        Rx[rows, columns], Rx[rows, self._nv + columns] = sign * self._slope, sign
        data.Rx = Rx
