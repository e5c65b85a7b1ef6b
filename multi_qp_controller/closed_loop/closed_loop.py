"""Closed-loop filters around the QP: state estimate, disturbance observer, joint impedance, landing detection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multi_qp_controller.closed_loop.estimate import DisturbanceObserver, StateEstimate, UnmodelledForce
from multi_qp_controller.closed_loop.joint_impedance import DriveReference, JointImpedance
from multi_qp_controller.contacts.contact import ContactFeedback
from multi_qp_controller.contacts.landing import LandingDetection
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State as SceneState
from multi_qp_scene.schema.control import ClosedLoopSpec
from multi_qp_scene.stateful import Stateful


class ClosedLoop(Stateful):
    """The filters around the QP; without a specification there are none, and all methods pass their input through.

    Attributes:
        spec: options; None where q̈ is integrated directly.
        estimate: state estimate, or None.
        unmodelled: force of the last period that the QP did not expect; None without an observer and generators.
        observer: disturbance observer, or None.
        impedance: joint impedance, or None.
        landing: landing detection from measured contact forces, or None.
        external: mean generalised force of the last period that the scene's model does not have, as that of a touch,
            with the noise of the velocities, (nv,) [N or N m]; None without an observer and generators.
    """

    @dataclass
    class Checkpoint:
        """States of the filters."""

        estimate: StateEstimate.Checkpoint | None
        unmodelled: UnmodelledForce.Checkpoint | None
        observer: DisturbanceObserver.Checkpoint | None
        impedance: JointImpedance.Checkpoint | None
        landing: LandingDetection.Checkpoint | None

    def __init__(self, scenario: Scenario, spec: ClosedLoopSpec | None, *, dt: float) -> None:
        """Create the filters for a control period dt [s]."""
        self.spec, scene = spec, scenario.scene
        self.estimate: StateEstimate | None = None
        self.unmodelled: UnmodelledForce | None = None
        self.observer: DisturbanceObserver | None = None
        self.impedance: JointImpedance | None = None
        self.landing: LandingDetection | None = None
        self._speed: Array = np.zeros(0)
        self.external: Array | None = None
        if spec is None:
            return
        lead = dt / 2.0 if spec.lead is None else spec.lead
        self.estimate = StateEstimate(scene.model, dt=dt, time_constant=spec.velocity_filter, lead=lead)
        if spec.disturbance is not None or any(state.generators for state in scenario.spec.states.values()):
            self.unmodelled = UnmodelledForce(scene.nv, dt=dt)
        if spec.disturbance is not None:
            self.observer = DisturbanceObserver(scene.nv, dt=dt, time_constant=spec.disturbance)
        if spec.impedance is not None:
            self.impedance = JointImpedance(scene, spec.impedance, dt=dt)
        if spec.landing_force is not None:
            self.landing = LandingDetection(scenario, spec.landing_force, dt=dt)

    @property
    def contact_feedback(self) -> ContactFeedback | None:
        """Feedback gains of contacts, None for the position-level no-slip rows."""
        if self.spec is None:
            return None
        return ContactFeedback(self.spec.contact_stiffness, self.spec.contact_damping, self.spec.friction)

    def measured(self, state: SceneState) -> SceneState:
        """Process a measured state; return the state estimate to compute the command for."""
        if self.impedance is not None:
            self.impedance.measured(state)
        self._speed = state.v
        return state if self.estimate is None else self.estimate.update(state)

    def disturb(self, kinematics: Kinematics) -> None:
        """Subtract the observed disturbance force from N, from the last measured state."""
        if self.unmodelled is None:
            return
        self.external = force = self.unmodelled.update(self._speed, kinematics.M)
        if self.observer is not None:
            self.external = force + self.observer.force  # which the QP expected
            kinematics.disturbance = self.observer.update(force)
            kinematics.N -= kinematics.disturbance

    def commanded(self, acceleration: Array, M: Array) -> DriveReference | None:
        """Process q̈ of the command, (nv,); return the joint-impedance reference of the drives, or None."""
        if self.estimate is not None:
            self.estimate.commanded(acceleration)
        if self.unmodelled is not None:
            self.unmodelled.commanded(acceleration)
        return None if self.impedance is None else self.impedance.reference(acceleration, M)

    def reset(self) -> None:
        """Reset all filters, after a tick without a solution."""
        for part in (self.estimate, self.unmodelled, self.impedance):
            if part is not None:
                part.reset()

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state; that of a filter which this controller does not have is ignored."""
        for name in ("estimate", "unmodelled", "observer", "impedance", "landing"):
            if (part := getattr(self, name)) is not None:
                part.set_state(getattr(saved, name))
