"""What is commanded when nothing can be computed: hold, then damp to rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.memory import Memory
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
        self._since: float | None = None
        self._diagonal = scene.actuated_v * (scene.nv + 1)  # in M as a vector

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
        """Note a good tick: its torques, (na,), and the joint-space inertia, (nv, nv)."""
        self._since = None
        np.copyto(self._held, torque)
        M.take(self._diagonal, out=self._inertia, mode="clip")  # no copy on the way, as by "raise"

    def torque(self, state: State, time: float) -> Array:
        """Return the torques of a failing tick, (na,) [N m]."""
        if self._since is None:
            self._since = time
        if time - self._since < self._spec.hold - 1e-9:
            return self._held.copy()
        braking = -self._inertia / self._spec.time_constant * state.v[self._actuated_v]
        return np.clip(np.nan_to_num(braking, nan=0.0), -self._limits, self._limits)
