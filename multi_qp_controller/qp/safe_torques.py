"""Safe torques for ticks without a solution: hold the last torques, then damp to rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.controller_state import SavedState
from multi_qp_scene.jit import compiled
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema.scenario_file import FallbackSpec

Array = NDArray[np.float64]


class SafeTorques:
    """Command of a failing tick, bounded and finite.

    For `hold` seconds the last valid torques are repeated; then every joint is damped by τ = −(m/T) q̇ within its
    limits, with m the joint-space inertia M_ii at the last solved tick and T the time constant, which is stable for any
    control period below T. A joint of unknown velocity gets zero torque.
    """

    def __init__(self, scene: Scene, spec: FallbackSpec) -> None:
        self._actuated_v = scene.actuated_v
        self._limits = scene.torque_limits
        self._spec = spec
        self._held = np.zeros(scene.na)
        self._inertia = np.zeros(scene.na)
        self._since: float | None = None

    @property
    def since(self) -> float | None:
        """Start of the present failure [s], None without failure."""
        return self._since

    def get_state(self) -> SavedState:
        """Return the held torques, inertia and start of the failure."""
        return {"held": self._held.copy(), "inertia": self._inertia.copy(), "since": self._since}

    def set_state(self, saved: SavedState) -> None:
        """Restore a saved state."""
        self._held[:], self._inertia[:] = saved["held"], saved["inertia"]
        self._since = None if saved["since"] is None else float(saved["since"])

    def record(self, torque: Array, M: Array) -> None:
        """Clip the torques of a solved tick, (na,), to their limits; store them, and the diagonal of M, (nv, nv).

        Solvers satisfy their rows up to rounding only, while motor limits are hard.
        """
        self._since = None
        store_clipped(torque, M, self._actuated_v, self._limits, self._held, self._inertia)

    def torque(self, state: State, time: float) -> Array:
        """Return the torques of a failing tick, (na,) [N m]; velocities that are not finite count as unknown."""
        if self._since is None:
            self._since = time
        if time - self._since < self._spec.hold - 1e-9:
            return self._held.copy()
        speed = state.v[self._actuated_v]
        braking = -self._inertia / self._spec.time_constant * np.where(np.isfinite(speed), speed, 0.0)
        return np.clip(braking, -self._limits, self._limits)


@compiled
def store_clipped(
    torque: Array, M: Array, motors: NDArray[np.intp], limits: Array, held: Array, inertia: Array
) -> None:
    """Clip torques to their limits; copy them into `held`, and M_ii of their joints into `inertia`.

    Args:
        torque: (na,) [N m].
        M: (nv, nv).
        motors: entries of v of the motors, (na,).
        limits: of torques, (na,) [N m].
        held: output, (na,).
        inertia: output, (na,).
    """
    for k in range(len(torque)):
        if torque[k] > limits[k]:
            torque[k] = limits[k]
        elif torque[k] < -limits[k]:
            torque[k] = -limits[k]
        held[k], inertia[k] = torque[k], M[motors[k], motors[k]]
