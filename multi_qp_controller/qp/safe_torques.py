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
from multi_qp_scene.schema.scenario_file import FallbackSpec
from multi_qp_scene.stateful import Stateful


class SafeTorques(Stateful):
    """Command of a failing tick, bounded and finite.

    For `hold` seconds the last valid torques are repeated; then every joint is damped by τ = −(m/T) q̇ within its
    limits, with m the joint-space inertia M_ii at the last solved tick and T the time constant, which is stable for any
    control period below T. A joint of unknown velocity gets zero torque.

    Attributes:
        held: last valid torques, (na,) [N m].
        inertia: M_ii of the actuated joints at the last solved tick, (na,).
        since: start of the present failure [s], None without failure.
    """

    @dataclass
    class Checkpoint:
        """Held torques, inertia and start of the failure."""

        held: Annotated[Array, "na"]
        inertia: Annotated[Array, "na"]
        since: float | None

    def __init__(self, scene: Scene, spec: FallbackSpec) -> None:
        self._actuated_v = scene.actuated_v
        self._limits = scene.torque_limits
        self._spec = spec
        self.held = np.zeros(scene.na)
        self.inertia = np.zeros(scene.na)
        self.since: float | None = None

    def record(self, torque: Array, M: Array) -> None:
        """Clip the torques of a solved tick, (na,), to their limits; store them, and the diagonal of M, (nv, nv).

        Solvers satisfy their rows up to rounding only, while motor limits are hard.
        """
        self.since = None
        store_clipped(torque, M, self._actuated_v, self._limits, self.held, self.inertia)

    def torque(self, state: SceneState, time: float) -> Array:
        """Return the torques of a failing tick, (na,) [N m]; velocities that are not finite count as unknown."""
        if self.since is None:
            self.since = time
        if time - self.since < self._spec.hold - 1e-9:
            return self.held.copy()
        speed = state.v[self._actuated_v]
        braking = -self.inertia / self._spec.time_constant * np.where(np.isfinite(speed), speed, 0.0)
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
