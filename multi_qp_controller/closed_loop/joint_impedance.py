"""Joint impedance around the QP's trajectory: torques that drives add between two ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene
from multi_qp_scene.scene import State as SceneState
from multi_qp_scene.schema.control import ImpedanceSpec
from multi_qp_scene.stateful import Stateful


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


class JointImpedance(Stateful):
    """A spring and a damper on each actuated joint around the motion integrated from the QP's q̈.

    The reference decays to the measured motion with the time constant `memory`, so that it cannot wind up on a blocked
    joint. Gains are per unit of the joint's effective inertia with all other joints free, 1/(M⁻¹)ⱼⱼ, at the first
    state: every joint has the same stiffness in 1/s², as a drive tuned by its bandwidth. With the diagonal of M, which
    assumes a fixed base, a free torso would oscillate on its damper.

    Attributes:
        q: configuration at the last tick, or None, (nq,).
        error: position of the reference minus the measured one, (na,) [rad or m].
        velocity: velocity of the reference, (na,).
        acceleration: q̈ of the last command, (na,).
        inertia: effective inertias at the first state, or None before, (na,).
    """

    @dataclass
    class Checkpoint:
        """Reference and effective inertias."""

        q: Annotated[Array, "nq"] | None
        error: Annotated[Array, "na"]
        velocity: Annotated[Array, "na"]
        acceleration: Annotated[Array, "na"]
        inertia: Annotated[Array, "na"] | None

    def __init__(self, scene: Scene, spec: ImpedanceSpec, *, dt: float) -> None:
        self._model, self._motors = scene.model, scene.actuated_v
        self._spec, self._dt = spec, dt
        self._decay = max(0.0, 1.0 - dt / spec.memory)
        self.inertia: Array | None = None
        self.q: Array | None = None
        self.error, self.velocity, self.acceleration = (np.zeros(scene.na) for _ in range(3))

    def measured(self, state: SceneState) -> None:
        """Update the reference with the measured state at a tick."""
        velocity = state.v[self._motors]
        if self.q is None:
            self.error, self.velocity = np.zeros_like(velocity), velocity
        else:
            dt, a = self._dt, self.acceleration
            moved = pin.difference(self._model, self.q, state.q)[self._motors]
            self.error = self._decay * (self.error + (self.velocity + 0.5 * a * dt) * dt - moved)
            ahead = self.velocity + a * dt
            self.velocity = velocity + self._decay * (ahead - velocity)
        self.q = state.q

    def reference(self, acceleration: Array, M: Array) -> DriveReference:
        """Return the reference of the drives until the next tick from q̈ of the QP, (nv,), and M, (nv, nv)."""
        self.acceleration = acceleration[self._motors]
        if self.inertia is None:
            self.inertia = np.asarray(1.0 / np.linalg.inv(M).diagonal()[self._motors], dtype=np.float64)
        return DriveReference(
            self.error,
            self.velocity,
            self.acceleration,
            self._spec.stiffness * self.inertia,
            self._spec.damping * self.inertia,
        )

    def reset(self) -> None:
        """Reset the reference to the next measured state."""
        self.q = None
