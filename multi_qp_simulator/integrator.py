"""`integrator` backend: integrates the accelerations of the QP, as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from multi_qp_controller.command import Command, Status
from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.contacts.rows import ContactRows
from multi_qp_controller.dynamics.constrained_dynamics import bonded_acceleration
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.state_check import as_state
from multi_qp_scene.arguments import check_type, number
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.backend import Outcome, torques_of
from multi_qp_simulator.model_mismatch import Pushes
from multi_qp_simulator.passive_motion import PassiveMotion


class Integrator:
    """Integrates the q̈ of the QP: v⁺ = v + q̈ Δt, then q⁺ = q ⊕ v⁺ Δt.

    The velocity is updated first because the constraints speak of the velocity after the step: no slip (20) and the
    dampers (24), (31) then hold for the positions too. In a fallback there is no q̈; the motion then follows from the
    torques, the couplings of joints, and the last contacts as rigid bonds; likewise while a link is pushed. Subsystems
    that are not controlled move by their own weight, springs and dampers.
    """

    def __init__(self, scenario: Scenario) -> None:
        check_type("scenario", scenario, Scenario, "a Scenario, as `load_scenario` returns it")
        self._scenario = controlled = scenario.controlled
        self._whole, self._model = scenario.scene, scenario.scene.model
        self._passive = None if controlled.scene.nv == scenario.scene.nv else PassiveMotion(scenario)
        self._state = scenario.scene.initial_state()
        self._kinematics: Kinematics | None = None
        self._made: tuple[str, ...] = scenario.spec.states[scenario.spec.initial_state].all_contacts
        self._bonds: dict[str, ActiveContact] = {}
        self._rows: ContactRows | None = None
        self._watching: Kinematics | None = None  # whose table of motions begins with the contacts of the rows
        self._pushes, self._pushed = Pushes(scenario.spec.mismatch.pushes), bool(scenario.spec.mismatch.pushes)

    @property
    def state(self) -> State:
        """Current state; the setter copies.

        Raises:
            MultiQpError: if the value is not a state of the scene.
        """
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = as_state(self._whole, state)

    def step(self, command: Command, dt: float) -> Outcome:
        """Integrate one step.

        Raises:
            MultiQpError: if a torque is not finite, or their number differs from the motors'.
        """
        dt = number("dt", dt, unit="s", least=0.0)
        torque = torques_of(command, self._whole)
        self._pushes.observe(command.diagnostics.state, command.time)
        pushes = self._pushes.mean(command.time, dt) if self._pushed and dt else []
        failed = command.diagnostics.status is Status.FALLBACK
        if not failed:
            self._made = tuple(command.wrenches)
            for broken in self._bonds.keys() - set(self._made):
                del self._bonds[broken]
        if failed or pushes:
            try:
                outcome = self._follow_torques(torque, dt, pushes)
            except np.linalg.LinAlgError:  # divergence is reported by a state that is not finite
                outcome = Outcome(np.full(self._scenario.scene.nv, np.nan), {})
        else:
            self._bonds.clear()
            outcome = Outcome(command.a, command.wrenches, command.couplings)
        return self._integrate(outcome, dt)

    def _integrate(self, outcome: Outcome, dt: float) -> Outcome:
        """Move the state by the accelerations of the controlled subsystems; return those of all."""
        if self._passive is not None:
            passive = self._passive.acceleration(self._state, dt)
            outcome = replace(outcome, acceleration=np.concatenate([outcome.acceleration, passive]))
        v = self._state.v + outcome.acceleration * dt
        self._state = State(pin.integrate(self._model, self._state.q, v * dt), v)
        return outcome

    def _follow_torques(self, torque: Array, dt: float, pushes: Sequence[tuple[str, Array]] = ()) -> Outcome:
        """Solve M q̈ + N = S τ + Jᵀ w + pushes, J q̈ = rhs for q̈ and the forces of bonds and couplings."""
        scene = self._scenario.scene
        if not self._state.is_finite:
            return Outcome(np.full(scene.nv, np.nan), {})
        kinematics = self._here()
        rows = self._bonded(kinematics, self._made, dt)
        for link, force in pushes:
            kinematics.N -= self._generalised(kinematics, link, force)
        acceleration, reactions = bonded_acceleration(kinematics, torque, rows.J, rows.rhs)
        return Outcome(acceleration, rows.wrenches(reactions), rows.coupling_forces(reactions))

    def _generalised(self, kinematics: Kinematics, link: str, force: Array) -> Array:
        """Return the generalised force of a push through the centre of mass of a body, (nv,)."""
        model, data = self._scenario.scene.model, self._scenario.scene.model.createData()
        if not model.existBodyName(link):
            raise MultiQpError(f"push of '{link}': the integrator pushes controlled subsystems only")
        joint = model.frames[model.getFrameId(link, pin.FrameType.BODY)].parentJoint
        J = pin.computeJointJacobian(model, data, kinematics.q, joint)
        in_joint = data.oMi[joint].rotation.T @ force
        arm = model.inertias[joint].lever
        return np.asarray(J.T @ np.concatenate([in_joint, np.cross(arm, in_joint)]))

    def _here(self) -> Kinematics:
        """Return the kinematics of the current state."""
        if self._kinematics is None:
            self._kinematics = Kinematics(self._scenario.scene)
        scene = self._scenario.scene
        self._kinematics.update(State(self._state.q[: scene.nq], self._state.v[: scene.nv]))
        return self._kinematics

    def _bonded(self, kinematics: Kinematics, names: tuple[str, ...], dt: float) -> ContactRows:
        """Return the rows of contacts, then of couplings."""
        scenario = self._scenario
        bonds = tuple(self._bond(name, kinematics) for name in names)
        if self._rows is None or self._rows.contacts != bonds or self._watching is not kinematics:
            kinematics.watch([bond.frames for bond in bonds])
            self._watching = kinematics
            self._rows = ContactRows(bonds, scenario.scene.couplings, scenario.spec.regularisation)
        self._rows.update(kinematics, dt)
        return self._rows

    def _bond(self, name: str, kinematics: Kinematics) -> ActiveContact:
        if name not in self._bonds:
            spec, surfaces = self._scenario.spec.contacts[name], self._scenario.scene.surfaces
            first, second = (surfaces[surface] for surface in spec.surfaces)
            self._bonds[name] = ActiveContact(name, first, second, friction=spec.friction, kinematics=kinematics)
        return self._bonds[name]
