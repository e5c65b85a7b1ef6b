"""Safe torques for ticks without a solution: hold the last torques, then damp to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled
from multi_qp_scene.scene import Scene
from multi_qp_scene.scene import State as SceneState
from multi_qp_scene.schema.control import FallbackSpec
from multi_qp_scene.stateful import Stateful


class SafeTorques(Stateful):
    """Command of a failing tick, bounded and finite.

    For `hold` seconds the last valid torques are repeated; then every joint is damped by τ = −(m/T) q̇ within its
    limits, with m the joint-space inertia M_ii at the last solved tick and T the time constant, which is stable for any
    control period below T. A joint of unknown velocity gets zero torque.

    Attributes:
        held: last valid torques, (na,) [N m].
        inertia: M_ii of the actuated joints at the last solved tick, (na,).
        since: start of the present failure of each actuated joint [s], NaN without failure, (na,).
    """

    @dataclass
    class Checkpoint:
        """Held torques, inertia and start of the failure."""

        held: Annotated[Array, "na"]
        inertia: Annotated[Array, "na"]
        since: Annotated[Array, "na"]

    def __init__(self, scene: Scene, spec: FallbackSpec) -> None:
        self._actuated_v = scene.actuated_v
        self._limits = scene.torque_limits
        self._spec = spec
        self.held = np.zeros(scene.na)
        self.inertia = np.zeros(scene.na)
        self.since = np.full(scene.na, np.nan)
        self._has_failed = False

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state."""
        super().set_state(saved)
        self._has_failed = True  # `since` may have entries

    def record(self, torque: Array, M: Array, failing: NDArray[np.bool_] | None = None) -> None:
        """Clip the torques of a solved tick, (na,), to their limits; store them, and the diagonal of M, (nv, nv).

        Solvers satisfy their rows up to rounding only, while motor limits are hard. Of failing joints, (na,), nothing
        is stored.
        """
        if failing is None:
            store_clipped(torque, M, self._actuated_v, self._limits, self.held, self.inertia)
            if self._has_failed:
                self.since[:], self._has_failed = np.nan, False
            return
        np.clip(torque, -self._limits, self._limits, out=torque)
        solved = ~failing
        self.held[solved] = torque[solved]
        self.inertia[solved] = np.diagonal(M)[self._actuated_v[solved]]
        self.since[solved] = np.nan

    def torque(self, state: SceneState, time: float, failing: NDArray[np.bool_] | None = None) -> Array:
        """Return the torques of a failing tick, (na,) [N m]; velocities that are not finite count as unknown.

        Args:
            state: the state.
            time: time of the tick [s].
            failing: the joints that fail in it, (na,); all if None.
        """
        starting = np.isnan(self.since) if failing is None else failing & np.isnan(self.since)
        self.since[starting], self._has_failed = time, True
        speed = state.v[self._actuated_v]
        braking = -self.inertia / self._spec.time_constant * np.where(np.isfinite(speed), speed, 0.0)
        long = time - self.since >= self._spec.hold - 1e-9
        return np.where(long, np.clip(braking, -self._limits, self._limits), self.held)


@compiled
def store_clipped(
    torque: Array,
    M: Array,
    motors: NDArray[np.intp],
    limits: Array,
    held: Array,
    inertia: Array,
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
