"""What is commanded when nothing can be computed: hold, then damp to rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.memory import Memory
from multi_qp_scene.bundles import Bundle, unbundled
from multi_qp_scene.jit import compiled
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema.scenario_file import FallbackSpec

Array = NDArray[np.float64]


class Fallback:
    """The defined command of a failing tick: never stale for long, never unbounded, never NaN.

    For `hold` seconds the last good torques are repeated; after that every joint brakes, τ = −(m/T) q̇ within its
    limits, with m the inertia that the joint saw at the last good tick and T the time constant: light joints are braked
    gently enough for any control period below T. A joint whose speed is not known gets no torque.
    """

    def __init__(self, scene: Scene, spec: FallbackSpec) -> None:
        self._actuated_v = scene.actuated_v
        self._limits = scene.torque_limits
        self._spec = spec
        self._held = np.zeros(scene.na)
        self._inertia = np.zeros(scene.na)
        self._given = Bundle(NOTE_KINDS, scene.actuated_v, scene.torque_limits, self._held, self._inertia)
        self._since: float | None = None

    @property
    def since(self) -> float | None:
        """When the present failure began [s], None if all is well."""
        return self._since

    def memory(self) -> Memory:
        """Return what the next failing tick would do."""
        return {"held": self._held.copy(), "inertia": self._inertia.copy(), "since": self._since}

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self._held[:], self._inertia[:], self._since = memory["held"], memory["inertia"], memory["since"]

    def recovered(self, torque: Array, M: Array) -> None:
        """Keep the torques of a good tick, (na,), within their limits; note them, and the inertia in M, (nv, nv).

        A solver keeps its rows but for rounding, and a motor's limit is a limit.
        """
        self._since = None
        note(torque, M, self._given.table)

    def torque(self, state: State, time: float) -> Array:
        """Return the torques of a failing tick, (na,) [N m]."""
        if self._since is None:
            self._since = time
        if time - self._since < self._spec.hold - 1e-9:
            return self._held.copy()
        braking = -self._inertia / self._spec.time_constant * state.v[self._actuated_v]
        return np.clip(np.nan_to_num(braking, nan=0.0), -self._limits, self._limits)


#: What `note` is given as a bundle.
NOTE_KINDS = "ivvv"


@compiled
def note(torque: Array, M: Array, bundle: Any) -> None:
    """Bound torques by their limits; copy them into `held`, and M_ii of their joints into `inertia`.

    Args:
        torque: (na,) [N m].
        M: (nv, nv).
        bundle: of `NOTE_KINDS`: all that follows.
        motors: entries of v of the motors, (na,).
        limits: of torques, (na,) [N m].
        held: to fill, (na,).
        inertia: to fill, (na,).
    """
    motors, limits, held, inertia = unbundled(bundle, NOTE_KINDS)
    for k in range(len(torque)):
        if torque[k] > limits[k]:
            torque[k] = limits[k]
        elif torque[k] < -limits[k]:
            torque[k] = -limits[k]
        held[k], inertia[k] = torque[k], M[motors[k], motors[k]]
