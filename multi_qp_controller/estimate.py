"""From the measured state to the one that a command is computed for: filtered, and brought forward in time."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.memory import Memory
from multi_qp_scene.scene import State

Array = NDArray[np.float64]


class StateEstimate:
    """Filters measured velocities and brings the state forward by a lead.

    The filter is complementary: the velocity that the QP's own q̈ predicts, corrected towards the measured one with the
    time constant of the filter; where the model is right it does not lag. The lead makes up for what passes between
    measurement and torque: half a period for which torques are held, and delays that are known.
    """

    def __init__(self, model: pin.Model, *, dt: float, time_constant: float, lead: float) -> None:
        """Prepare.

        Args:
            model: of the scene.
            dt: control period [s].
            time_constant: of the filter on velocities [s]; 0 for none.
            lead: how far the state is brought forward [s].
        """
        self._model = model
        self._dt = dt
        self._share = dt / (time_constant + dt)
        self._lead = lead
        self._v: Array | None = None
        self._a = np.zeros(model.nv)

    def update(self, state: State) -> State:
        """Take in a measured state and return what to answer."""
        if self._v is None or self._share == 1.0:
            v = state.v
        else:
            predicted = self._v + self._a * self._dt
            v = predicted + self._share * (state.v - predicted)
        self._v = v
        if self._lead == 0.0:
            return State(state.q, v)
        return State(pin.integrate(self._model, state.q, v * self._lead), v + self._a * self._lead)

    def commanded(self, acceleration: Array) -> None:
        """Note q̈ of the QP; zero where there was none."""
        # an acceleration that is far off would do harm for longer than the tick that asked for it
        np.maximum(acceleration, -100.0, out=self._a)
        np.minimum(self._a, 100.0, out=self._a)
        np.copyto(self._a, 0.0, where=self._a != self._a)

    def memory(self) -> Memory:
        """Return what the next update depends on."""
        return {"v": self._v, "a": self._a.copy()}

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self._v = memory["v"]
        self._a[:] = memory["a"]

    def reset(self) -> None:
        """Forget the last tick."""
        self._v = None
        self._a[:] = 0.0


class DisturbanceObserver:
    """What acts on the scene besides what the model knows, from how the motion differed from the one that was decided.

    M q̈ + N = S τ + Jᵀw + d: the d that makes up for v − v⁻ − q̈ Δt of the last period is added up with the time
    constant, and forgotten with a longer one. It is to the QP what joint impedance around its integrated velocity is to
    a drive, but it also knows of what has no motor: of a box that is heavier than it should be.
    """

    #: Disturbances are forgotten so many times slower than they are learnt, in case they are past.
    MEMORY = 20.0

    def __init__(self, nv: int, *, dt: float, time_constant: float) -> None:
        self._dt, self._time_constant = dt, time_constant
        self._keep = 1.0 - min(1.0, dt / (self.MEMORY * time_constant))
        self._v: Array | None = None
        self._a = np.zeros(nv)
        self.force = np.zeros(nv)

    def update(self, v: Array, M: Array) -> Array:
        """Take in the measured velocity and return d, (nv,) [N or N m]."""
        if self._v is not None:
            missed = M @ (v - self._v - self._a * self._dt)
            missed /= max(self._time_constant, self._dt)
            self.force = self._keep * self.force + missed
        self._v = v
        return self.force

    def commanded(self, acceleration: Array) -> None:
        """Note q̈ of the QP."""
        self._a = acceleration

    def memory(self) -> Memory:
        """Return what the next update depends on."""
        return {"v": self._v, "a": self._a, "force": self.force}

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        self._v, self._a, self.force = memory["v"], memory["a"], memory["force"]

    def reset(self) -> None:
        """Forget the last tick; what acted then may still act."""
        self._v = None
