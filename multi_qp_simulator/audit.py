"""The worst of everything that must hold, measured on the states of a run rather than on what the QP promised."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.scene import Scene, State
from multi_qp_simulator.slip import SlipWatch

#: Distances are computed to about this accuracy: what is less is touching, not penetration [m].
DISTANCE_ROUNDING = 1e-9

#: A ratio to a limit that is above 1 by no more than this is at the limit: solvers round.
RATIO_ROUNDING = 1e-9


class Audit:
    """Running maxima over a run, in SI units; the `worst` of a report."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._slips = SlipWatch()
        self._slip = 0.0
        self._twist = 0.0
        self._penetration = 0.0
        self._torque_ratio = 0.0
        self._outside_limits = 0.0
        self._velocity_ratio = 0.0
        self._residual = 0.0

    def observe(self, state: State, command: Command, controller: Controller) -> None:
        """Take in one tick."""
        ratio = np.abs(command.tau) / self._scene.torque_limits
        self._torque_ratio = max(self._torque_ratio, _at_limit(float(ratio.max(initial=0.0))))
        limits = self._scene.limits
        angle, speed = state.q[limits.q_index], np.abs(state.v[limits.v_index])
        outside = np.maximum(limits.lower - angle, angle - limits.upper)
        self._outside_limits = max(self._outside_limits, float(outside.max(initial=0.0)))
        self._velocity_ratio = max(self._velocity_ratio, _at_limit(float((speed / limits.velocity).max(initial=0.0))))
        if command.diagnostics.status is Status.FALLBACK:
            return
        self._residual = max(self._residual, command.diagnostics.dynamics_residual)
        distance, twist = self._slips.worst(controller)
        self._slip, self._twist = max(self._slip, distance), max(self._twist, twist)
        if controller.closest < -DISTANCE_ROUNDING:
            self._penetration = max(self._penetration, -controller.closest)

    def worst(self) -> dict[str, float]:
        """Return the maxima by their names in the report."""
        return {
            "contact_slip_m": self._slip,
            "contact_twist_rad": self._twist,
            "penetration_m": self._penetration,
            "torque_ratio": self._torque_ratio,
            "joint_limit_violation_rad": self._outside_limits,
            "velocity_ratio": self._velocity_ratio,
            "dynamics_residual": self._residual,
        }


def _at_limit(ratio: float) -> float:
    return 1.0 if 1.0 < ratio <= 1.0 + RATIO_ROUNDING else ratio
