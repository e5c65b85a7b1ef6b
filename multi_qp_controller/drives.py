"""Joint impedance around the QP's trajectory: what drives add to its torques between two ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.memory import Memory
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema.scenario_file import ImpedanceSpec

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DriveReference:
    """What the drives follow for one control period; all of actuated joints, in the order of τ, (na,).

    Attributes:
        error: angle of the reference minus the measured one, at the tick [rad or m].
        velocity: of the reference at the tick [rad/s or m/s].
        acceleration: of the reference during the period [rad/s² or m/s²].
        stiffness: [N m/rad or N/m].
        damping: [N m s/rad or N s/m].
    """

    error: Array
    velocity: Array
    acceleration: Array
    stiffness: Array
    damping: Array

    def torque(self, moved: Array, velocity: Array, elapsed: float) -> Array:
        """Return the torques to add to the QP's, (na,).

        Args:
            moved: how far the joints have moved since the tick, (na,).
            velocity: of the joints now, (na,).
            elapsed: time since the tick [s].
        """
        ahead = (self.velocity + 0.5 * self.acceleration * elapsed) * elapsed
        wanted = self.velocity + self.acceleration * elapsed
        return self.stiffness * (self.error + ahead - moved) + self.damping * (wanted - velocity)


class JointImpedance:
    """A spring and a damper on each actuated joint around the motion that the QP's q̈ integrates to.

    The reference is drawn to the measured motion with the time constant `memory`, so that it cannot wind up against
    what holds a joint. Gains are per unit of the inertia that a joint moves when nothing holds the others, 1/(M⁻¹)ⱼⱼ,
    of the first state: every joint has the same stiffness in 1/s², as a drive that is tuned by its bandwidth. With the
    diagonal of M, which has the base held, a free torso would swing on its own damper.
    """

    def __init__(self, scene: Scene, spec: ImpedanceSpec, *, dt: float) -> None:
        self._model, self._motors = scene.model, scene.actuated_v
        self._spec, self._dt = spec, dt
        self._keep = max(0.0, 1.0 - dt / spec.memory)
        self._inertia: Array | None = None
        self._q: Array | None = None
        self._error, self._velocity, self._acceleration = (np.zeros(scene.na) for _ in range(3))

    def measured(self, state: State) -> None:
        """Take in the measured state at a tick: bring the reference to it."""
        velocity = state.v[self._motors]
        if self._q is None:
            self._error, self._velocity = np.zeros_like(velocity), velocity
        else:
            dt, a = self._dt, self._acceleration
            moved = pin.difference(self._model, self._q, state.q)[self._motors]
            self._error = self._keep * (self._error + (self._velocity + 0.5 * a * dt) * dt - moved)
            ahead = self._velocity + a * dt
            self._velocity = velocity + self._keep * (ahead - velocity)
        self._q = state.q

    def reference(self, acceleration: Array, M: Array) -> DriveReference:
        """Return what the drives follow until the next tick, given q̈ of the QP, (nv,), and M, (nv, nv)."""
        self._acceleration = acceleration[self._motors]
        if self._inertia is None:
            self._inertia = np.asarray(1.0 / np.linalg.inv(M).diagonal()[self._motors], dtype=np.float64)
        return DriveReference(
            self._error,
            self._velocity,
            self._acceleration,
            self._spec.stiffness * self._inertia,
            self._spec.damping * self._inertia,
        )

    def reset(self) -> None:
        """Begin anew at the next measured state."""
        self._q = None

    def memory(self) -> Memory:
        """Return what the next tick depends on."""
        return {
            "q": self._q,
            "error": self._error,
            "velocity": self._velocity,
            "acceleration": self._acceleration,
            "inertia": self._inertia,
        }

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self._q, self._error = memory["q"], memory["error"]
        self._velocity, self._acceleration = memory["velocity"], memory["acceleration"]
        self._inertia = memory["inertia"]
