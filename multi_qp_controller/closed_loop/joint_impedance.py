"""Joint impedance around the QP's trajectory: torques that drives add between two ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.controller_state import SavedState, array_of
from multi_qp_scene.scene import Scene, State
from multi_qp_scene.schema.scenario_file import ImpedanceSpec

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DriveReference:
    """Reference of the drives for one control period; actuated joints in the order of τ, (na,).

    Attributes:
        error: position of the reference minus the measured one, at the tick [rad or m].
        velocity: velocity of the reference at the tick [rad/s or m/s].
        acceleration: acceleration of the reference during the period [rad/s² or m/s²].
        stiffness: joint stiffness [N m/rad or N/m].
        damping: joint damping [N m s/rad or N s/m].
    """

    error: Array
    velocity: Array
    acceleration: Array
    stiffness: Array
    damping: Array

    def torque(self, moved: Array, velocity: Array, elapsed: float) -> Array:
        """Return the torques to add to the QP's, (na,).

        Args:
            moved: displacement of the joints since the tick, (na,).
            velocity: present velocity of the joints, (na,).
            elapsed: time since the tick [s].
        """
        ahead = (self.velocity + 0.5 * self.acceleration * elapsed) * elapsed
        reference = self.velocity + self.acceleration * elapsed
        return self.stiffness * (self.error + ahead - moved) + self.damping * (reference - velocity)


class JointImpedance:
    """A spring and a damper on each actuated joint around the motion integrated from the QP's q̈.

    The reference decays to the measured motion with the time constant `memory`, so that it cannot wind up on a blocked
    joint. Gains are per unit of the joint's effective inertia with all other joints free, 1/(M⁻¹)ⱼⱼ, at the first
    state: every joint has the same stiffness in 1/s², as a drive tuned by its bandwidth. With the diagonal of M, which
    assumes a fixed base, a free torso would oscillate on its damper.
    """

    def __init__(self, scene: Scene, spec: ImpedanceSpec, *, dt: float) -> None:
        self._model, self._motors = scene.model, scene.actuated_v
        self._spec, self._dt = spec, dt
        self._decay = max(0.0, 1.0 - dt / spec.memory)
        self._inertia: Array | None = None
        self._q: Array | None = None
        self._error, self._velocity, self._acceleration = (np.zeros(scene.na) for _ in range(3))

    def measured(self, state: State) -> None:
        """Update the reference with the measured state at a tick."""
        velocity = state.v[self._motors]
        if self._q is None:
            self._error, self._velocity = np.zeros_like(velocity), velocity
        else:
            dt, a = self._dt, self._acceleration
            moved = pin.difference(self._model, self._q, state.q)[self._motors]
            self._error = self._decay * (self._error + (self._velocity + 0.5 * a * dt) * dt - moved)
            ahead = self._velocity + a * dt
            self._velocity = velocity + self._decay * (ahead - velocity)
        self._q = state.q

    def reference(self, acceleration: Array, M: Array) -> DriveReference:
        """Return the reference of the drives until the next tick from q̈ of the QP, (nv,), and M, (nv, nv)."""
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
        """Reset the reference to the next measured state."""
        self._q = None

    def get_state(self) -> SavedState:
        """Return reference and inertia."""
        return {
            "q": self._q,
            "error": self._error,
            "velocity": self._velocity,
            "acceleration": self._acceleration,
            "inertia": self._inertia,
        }

    def set_state(self, saved: SavedState) -> None:
        """Restore a saved state."""
        na, q, inertia = len(self._motors), saved["q"], saved["inertia"]
        self._q = None if q is None else array_of(q, self._model.nq)
        self._error = array_of(saved["error"], na)
        self._velocity, self._acceleration = array_of(saved["velocity"], na), array_of(saved["acceleration"], na)
        self._inertia = None if inertia is None else array_of(inertia, na)
