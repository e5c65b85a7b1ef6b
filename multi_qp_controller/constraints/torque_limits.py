"""Torque limits of the motors, as bounds on τ, [Vaillant2015] (28)."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.constraints.base import Bound
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario


class TorqueLimitConstraint(Bound):
    """Bounds −τ_max <= τ <= τ_max."""

    acts_on = "torque"
    constant = True

    def __init__(self, limits: Array) -> None:
        """Create it from the largest torques, (na,) [N m]."""
        self._limits = limits
        self.limited = np.isfinite(limits)

    @classmethod
    def of(cls, scenario: Scenario, dt: float, horizon: float) -> TorqueLimitConstraint:
        """Create it for a scenario; see `make_constraints`."""
        return cls(scenario.scene.torque_limits)

    def update(self, kinematics: Kinematics | None, lower: Array, upper: Array) -> None:
        """Narrow the bounds."""
        np.maximum(lower, -self._limits, out=lower)
        np.minimum(upper, self._limits, out=upper)
