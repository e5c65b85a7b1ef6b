"""Worst constraint violations of a run, measured on its states rather than on the QP's solution."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.jit import compiled
from multi_qp_scene.scene import Scene, State
from multi_qp_simulator.slip import SlipWatch

#: Accuracy of distances: smaller penetrations count as touching [m].
DISTANCE_ROUNDING = 1e-9

#: Ratios to a limit that exceed 1 by no more count as at the limit, since solvers round.
RATIO_ROUNDING = 1e-9


class RunAudit:
    """Running maxima over a run, in SI units; the `worst` of a report.

    Attributes:
        outside_at_start: violation of an angle's range at the first tick [rad].
    """

    def __init__(self, scene: Scene) -> None:
        limits = scene.limits
        self._limits = (
            scene.torque_limits,
            limits.q_index,
            limits.v_index,
            limits.lower,
            limits.upper,
            limits.velocity,
        )
        #: ratios of torque and velocity to their limits, violation of an angle's range [rad], and ratio to its limit of
        #: the change of a torque in one tick
        self._ratios = np.zeros(4)
        self._last_tau = np.zeros(scene.na)
        self.outside_at_start = 0.0
        self._started = False
        self._slips = SlipWatch()
        self._slip = 0.0
        self._twist = 0.0
        self._penetration = 0.0
        self._residual = 0.0

    def observe(self, state: State, command: Command, controller: Controller) -> None:
        """Update the maxima with one tick."""
        if not self._started:
            self._last_tau[:] = command.tau
        _watch_limits(command.tau, self._last_tau, state.q, state.v, *self._limits, self._ratios)
        if not self._started:
            self._started, self.outside_at_start = True, float(self._ratios[2])
        if command.diagnostics.status is Status.FALLBACK:
            return
        self._residual = max(self._residual, command.diagnostics.dynamics_residual)
        distance, twist = self._slips.worst(controller)
        self._slip, self._twist = max(self._slip, distance), max(self._twist, twist)
        if controller.collisions.closest < -DISTANCE_ROUNDING:
            self._penetration = max(self._penetration, -controller.collisions.closest)

    def worst(self) -> dict[str, float]:
        """Return the maxima by their names in the report."""
        torque, velocity, outside, step = self._ratios.tolist()
        return {
            "contact_slip_m": self._slip,
            "contact_twist_rad": self._twist,
            "penetration_m": self._penetration,
            "torque_ratio": _at_limit(torque),
            "torque_step_ratio": step,
            "joint_limit_violation_rad": outside,
            "velocity_ratio": _at_limit(velocity),
            "dynamics_residual": self._residual,
        }


def _at_limit(ratio: float) -> float:
    return 1.0 if 1.0 < ratio <= 1.0 + RATIO_ROUNDING else ratio


@compiled
def _watch_limits(
    tau: Array,
    last_tau: Array,
    q: Array,
    v: Array,
    torque: Array,
    q_index: Indices,
    v_index: Indices,
    lower: Array,
    upper: Array,
    velocity: Array,
    worst: Array,
) -> None:
    """Update the worst figures, (4,), in the order of `RunAudit`, and the torques of the last tick."""
    for k in range(len(tau)):
        worst[0] = max(worst[0], abs(tau[k]) / torque[k])
        worst[3] = max(worst[3], abs(tau[k] - last_tau[k]) / torque[k])
        last_tau[k] = tau[k]
    for k in range(len(q_index)):
        angle = q[q_index[k]]
        worst[1] = max(worst[1], abs(v[v_index[k]]) / velocity[k])
        worst[2] = max(worst[2], lower[k] - angle, angle - upper[k])
