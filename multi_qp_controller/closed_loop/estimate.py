"""State estimate and disturbance observer: complementary velocity filter, lead compensation, external forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import State as SceneState
from multi_qp_scene.stateful import Stateful


class StateEstimate(Stateful):
    """Filters measured velocities and extrapolates the state by a lead time.

    The pose of a floating base is measured, not estimated here. The filter is complementary: the velocity predicted
    with q̈ of the QP is corrected towards the measured one with the time constant of the filter; with an exact model it
    has no lag. The lead compensates the time between measurement
    and torque: half a period for which torques are held, and known delays.

    Attributes:
        v: filtered velocity; None before the first state, (nv,).
        a: q̈ of the last command, bounded, (nv,).
    """

    @dataclass
    class Checkpoint:
        """Filtered velocity and last q̈."""

        v: Annotated[Array, "nv"] | None
        a: Annotated[Array, "nv"]

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
        self.v: Array | None = None
        self.a = np.zeros(model.nv)

    def update(self, state: SceneState) -> SceneState:
        """Update with a measured state; return the state estimate."""
        if self.v is None or self._share == 1.0:
            v = state.v
        else:
            predicted = self.v + self.a * self._dt
            v = predicted + self._share * (state.v - predicted)
        self.v = v
        if self._lead == 0.0:
            return SceneState(state.q, v)
        return SceneState(pin.integrate(self._model, state.q, v * self._lead), v + self.a * self._lead)

    def commanded(self, acceleration: Array) -> None:
        """Store q̈ of the QP; zero where it is NaN."""
        # an outlier would affect the estimate beyond its own tick
        np.maximum(acceleration, -100.0, out=self.a)
        np.minimum(self.a, 100.0, out=self.a)
        np.copyto(self.a, 0.0, where=self.a != self.a)

    def reset(self) -> None:
        """Reset the filter to the next measured state."""
        self.v = None
        self.a[:] = 0.0


class UnmodelledForce(Stateful):
    """Generalised force of the last period that the QP did not expect, from the velocity error of its q̈.

    M q̈ + N = S τ + Jᵀw + d: d = M (v − v⁻ − q̈ Δt) / Δt, the mean over the period, with the noise of v.

    Attributes:
        v: velocity at the last state, or None, (nv,).
        a: q̈ of the last command, (nv,).
        force: d, (nv,) [N or N m]; zero in the first tick.
    """

    @dataclass
    class Checkpoint:
        """Velocity and q̈ of the last tick, and the force."""

        v: Annotated[Array, "nv"] | None
        a: Annotated[Array, "nv"]
        force: Annotated[Array, "nv"]

    def __init__(self, nv: int, *, dt: float) -> None:
        self._dt = dt
        self.v: Array | None = None
        self.a, self.force = np.zeros(nv), np.zeros(nv)

    def update(self, v: Array, M: Array) -> Array:
        """Update with the measured velocity; return d, (nv,) [N or N m]."""
        if self.v is None:
            self.force = np.zeros_like(v)
        else:
            self.force = M @ (v - self.v - self.a * self._dt) / self._dt
        self.v = v
        return self.force

    def commanded(self, acceleration: Array) -> None:
        """Store q̈ of the QP."""
        self.a = acceleration

    def reset(self) -> None:
        """Discard the last velocity."""
        self.v = None


class DisturbanceObserver(Stateful):
    """Observer of generalised forces that are not in the model.

    The unmodelled force of each period is integrated with a time constant, and decays with a longer one. Its effect
    resembles joint impedance around the integrated velocity, but also covers unactuated degrees of freedom, such as a
    box that is heavier than in the model.

    Attributes:
        force: d, (nv,) [N or N m].
    """

    @dataclass
    class Checkpoint:
        """Observed force."""

        force: Annotated[Array, "nv"]

    #: Ratio of the decay time of the estimated disturbance to its integration time.
    DECAY_RATIO = 20.0

    def __init__(self, nv: int, *, dt: float, time_constant: float) -> None:
        self._share = dt / max(time_constant, dt)
        self._decay = 1.0 - min(1.0, dt / (self.DECAY_RATIO * time_constant))
        self.force = np.zeros(nv)

    def update(self, unmodelled: Array) -> Array:
        """Update with the unmodelled force of the last period, (nv,); return d, (nv,) [N or N m]."""
        self.force = self._decay * self.force + self._share * unmodelled
        return self.force
