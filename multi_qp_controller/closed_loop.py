"""What the controller does where the world answers torques for itself: estimate, observe, reference drives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.contact import ContactFeedback
from multi_qp_controller.drives import DriveReference, JointImpedance
from multi_qp_controller.estimate import DisturbanceObserver, StateEstimate
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.landing import Landing
from multi_qp_controller.memory import Memory
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.scenario_file import ClosedLoopSpec

Array = NDArray[np.float64]


class ClosedLoop:
    """The filters around the QP; without a specification there are none, and nothing is done.

    Attributes:
        spec: how to act; None where q̈ is integrated as it is.
        landing: takes in what contacts are felt to press with, where that tells that they touch; else None.
    """

    def __init__(self, scenario: Scenario, spec: ClosedLoopSpec | None, *, dt: float) -> None:
        """Prepare them for a control period dt [s]."""
        self.spec, scene = spec, scenario.scene
        self._estimate: StateEstimate | None = None
        self._observer: DisturbanceObserver | None = None
        self._impedance: JointImpedance | None = None
        self.landing: Landing | None = None
        self._speed: Array = np.zeros(0)
        if spec is None:
            return
        lead = dt / 2.0 if spec.lead is None else spec.lead
        self._estimate = StateEstimate(scene.model, dt=dt, time_constant=spec.velocity_filter, lead=lead)
        if spec.disturbance is not None:
            self._observer = DisturbanceObserver(scene.nv, dt=dt, time_constant=spec.disturbance)
        if spec.impedance is not None:
            self._impedance = JointImpedance(scene, spec.impedance, dt=dt)
        if spec.landing_force is not None:
            self.landing = Landing(scenario, spec.landing_force, dt=dt)

    @property
    def contact_feedback(self) -> ContactFeedback | None:
        """How contacts are held."""
        if self.spec is None:
            return None
        return ContactFeedback(self.spec.contact_stiffness, self.spec.contact_damping, self.spec.friction)

    def measured(self, state: State) -> State:
        """Take a measured state in; return the one to answer."""
        if self._impedance is not None:
            self._impedance.measured(state)
        self._speed = state.v
        return state if self._estimate is None else self._estimate.update(state)

    def disturb(self, kinematics: Kinematics) -> None:
        """Add to N what the state that was last measured shows of forces that nobody knows."""
        if self._observer is not None:
            kinematics.N -= self._observer.update(self._speed, kinematics.M)

    def commanded(self, acceleration: Array, M: Array) -> DriveReference | None:
        """Take in q̈ of the command, (nv,); return what drives add to its torques."""
        if self._estimate is not None:
            self._estimate.commanded(acceleration)
        if self._observer is not None:
            self._observer.commanded(acceleration)
        return None if self._impedance is None else self._impedance.reference(acceleration, M)

    def reset(self) -> None:
        """Forget the past, after a tick without an answer."""
        for part in (self._estimate, self._observer, self._impedance):
            if part is not None:
                part.reset()

    def memory(self) -> Memory:
        """Return what the next tick depends on."""
        felt = None if self.landing is None else self.landing.felt
        return {
            "estimate": None if self._estimate is None else self._estimate.memory(),
            "observer": None if self._observer is None else self._observer.memory(),
            "impedance": None if self._impedance is None else self._impedance.memory(),
            "felt": None if felt is None else sorted(felt),
        }

    def resume(self, memory: Memory) -> None:
        """Go on from a memory."""
        if self._estimate is not None:
            self._estimate.resume(memory["estimate"])
        if self._observer is not None:
            self._observer.resume(memory["observer"])
        if self._impedance is not None:
            self._impedance.resume(memory["impedance"])
        if self.landing is not None:
            self.landing.felt = None if memory["felt"] is None else frozenset(memory["felt"])
