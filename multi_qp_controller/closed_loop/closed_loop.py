"""Closed-loop filters around the QP: state estimate, disturbance observer, joint impedance, landing detection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multi_qp_controller.closed_loop.estimate import DisturbanceObserver, StateEstimate
from multi_qp_controller.closed_loop.joint_impedance import DriveReference, JointImpedance
from multi_qp_controller.contacts.contact import ContactFeedback
from multi_qp_controller.contacts.landing import Landing
from multi_qp_controller.controller_state import SavedState
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.scenario_file import ClosedLoopSpec

Array = NDArray[np.float64]


class ClosedLoop:
    """The filters around the QP; without a specification there are none, and all methods pass their input through.

    Attributes:
        spec: options; None where q̈ is integrated directly.
        landing: landing detection from measured contact forces, or None.
    """

    def __init__(self, scenario: Scenario, spec: ClosedLoopSpec | None, *, dt: float) -> None:
        """Create the filters for a control period dt [s]."""
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
        """Feedback gains of contacts, None for the position-level no-slip rows."""
        if self.spec is None:
            return None
        return ContactFeedback(self.spec.contact_stiffness, self.spec.contact_damping, self.spec.friction)

    def measured(self, state: State) -> State:
        """Process a measured state; return the state estimate to compute the command for."""
        if self._impedance is not None:
            self._impedance.measured(state)
        self._speed = state.v
        return state if self._estimate is None else self._estimate.update(state)

    def disturb(self, kinematics: Kinematics) -> None:
        """Subtract the observed disturbance force from N, from the last measured state."""
        if self._observer is not None:
            kinematics.N -= self._observer.update(self._speed, kinematics.M)

    def commanded(self, acceleration: Array, M: Array) -> DriveReference | None:
        """Process q̈ of the command, (nv,); return the joint-impedance reference of the drives, or None."""
        if self._estimate is not None:
            self._estimate.commanded(acceleration)
        if self._observer is not None:
            self._observer.commanded(acceleration)
        return None if self._impedance is None else self._impedance.reference(acceleration, M)

    def reset(self) -> None:
        """Reset all filters, after a tick without a solution."""
        for part in (self._estimate, self._observer, self._impedance):
            if part is not None:
                part.reset()

    def get_state(self) -> SavedState:
        """Return the states of the filters."""
        measured_contacts = None if self.landing is None else self.landing.measured_contacts
        return {
            "estimate": None if self._estimate is None else self._estimate.get_state(),
            "observer": None if self._observer is None else self._observer.get_state(),
            "impedance": None if self._impedance is None else self._impedance.get_state(),
            "felt": None if measured_contacts is None else sorted(measured_contacts),
        }

    def set_state(self, saved: SavedState) -> None:
        """Restore a saved state."""
        if self._estimate is not None:
            self._estimate.set_state(saved["estimate"])
        if self._observer is not None:
            self._observer.set_state(saved["observer"])
        if self._impedance is not None:
            self._impedance.set_state(saved["impedance"])
        if self.landing is not None:
            self.landing.measured_contacts = None if saved["felt"] is None else frozenset(saved["felt"])
