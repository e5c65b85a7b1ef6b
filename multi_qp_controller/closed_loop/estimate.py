"""State estimate and disturbance observer: complementary velocity filter, lead compensation, external forces."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.controller_state import SavedState, array_of
from multi_qp_scene.scene import State

Array = NDArray[np.float64]


class StateEstimate:
    """Filters measured velocities and extrapolates the state by a lead time.

    The filter is complementary: the velocity predicted with q̈ of the QP is corrected towards the measured one with the
    time constant of the filter; with an exact model it has no lag. The lead compensates the time between measurement
    and torque: half a period for which torques are held, and known delays.
    """

    def __init__(self, model: pin.Model, *, dt: float, time_constant: float, lead: float) -> None:
        """Create the filter.

        Args:
            model: model of the scene.
            dt: control period [s].
            time_constant: time constant of the velocity filter [s]; 0 for none.
            lead: time by which the state is extrapolated [s].
        """
        self._model = model
        self._dt = dt
        self._share = dt / (time_constant + dt)
        self._lead = lead
        self._v: Array | None = None
        self._a = np.zeros(model.nv)

    def update(self, state: State) -> State:
        """Update with a measured state; return the state estimate."""
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
        """Store q̈ of the QP; zero where it is NaN."""
        # an outlier would affect the estimate beyond its own tick
        np.maximum(acceleration, -100.0, out=self._a)
        np.minimum(self._a, 100.0, out=self._a)
        np.copyto(self._a, 0.0, where=self._a != self._a)

    def get_state(self) -> SavedState:
        """Return the state of the filter."""
        return {"v": self._v, "a": self._a.copy()}

    def set_state(self, saved: SavedState) -> None:
        """Restore a saved state."""
        self._v = None if saved["v"] is None else array_of(saved["v"], len(self._a))
        self._a[:] = array_of(saved["a"], len(self._a))

    def reset(self) -> None:
        """Reset the filter to the next measured state."""
        self._v = None
        self._a[:] = 0.0


class DisturbanceObserver:
    """Observer of generalised forces that are not in the model, from the velocity error of the QP's q̈.

    M q̈ + N = S τ + Jᵀw + d: the d that explains v − v⁻ − q̈ Δt of the last period is integrated with a time constant,
    and decays with a longer one. Its effect resembles joint impedance around the integrated velocity, but also covers
    unactuated degrees of freedom, such as a box that is heavier than in the model.
    """

    #: Ratio of the decay time of the estimated disturbance to its integration time.
    DECAY_RATIO = 20.0

    def __init__(self, nv: int, *, dt: float, time_constant: float) -> None:
        self._dt, self._time_constant = dt, time_constant
        self._decay = 1.0 - min(1.0, dt / (self.DECAY_RATIO * time_constant))
        self._v: Array | None = None
        self._a = np.zeros(nv)
        self.force = np.zeros(nv)

    def update(self, v: Array, M: Array) -> Array:
        """Update with the measured velocity; return d, (nv,) [N or N m]."""
        if self._v is not None:
            missed = M @ (v - self._v - self._a * self._dt)
            missed /= max(self._time_constant, self._dt)
            self.force = self._decay * self.force + missed
        self._v = v
        return self.force

    def commanded(self, acceleration: Array) -> None:
        """Store q̈ of the QP."""
        self._a = acceleration

    def get_state(self) -> SavedState:
        """Return the state of the filter."""
        return {"v": self._v, "a": self._a, "force": self.force}

    def set_state(self, saved: SavedState) -> None:
        """Restore a saved state."""
        nv = len(self._a)
        self._v = None if saved["v"] is None else array_of(saved["v"], nv)
        self._a, self.force = array_of(saved["a"], nv), array_of(saved["force"], nv)

    def reset(self) -> None:
        """Discard the last velocity; the estimated force is kept, as the disturbance may persist."""
        self._v = None
