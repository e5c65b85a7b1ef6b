"""Closed-loop options: joint impedance, force ramps, landing detection by force."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.closed_loop.joint_impedance import DriveReference, JointImpedance
from multi_qp_controller.contacts.contact import ContactFeedback
from multi_qp_controller.contacts.landing import FURTHEST, SPEED
from multi_qp_controller.controller import Controller
from multi_qp_controller.state_machine.active_setup import LARGEST_PENALTY, ActiveSetup
from multi_qp_controller.state_machine.conditions import TouchingCondition
from multi_qp_controller.state_machine.state_machine import MachineState
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_scene.scene import State
from multi_qp_scene.schema.conditions import TouchingConditionSpec
from multi_qp_scene.schema.control import ClosedLoopSpec, ImpedanceSpec

DT = 0.005


def one(value):
    return np.array([value])


def test_impedance_torque_is_zero_on_the_trajectory_and_restoring_beside_it():
    drive = DriveReference(one(0.0), one(0.2), one(3.0), one(50.0), one(4.0))
    t = 0.004
    moved, velocity = one(0.2 * t + 1.5 * t**2), one(0.2 + 3.0 * t)
    assert drive.torque(moved, velocity, t) == pytest.approx(0.0, abs=1e-12)
    assert drive.torque(moved + 0.01, velocity - 0.1, t) == pytest.approx(-50.0 * 0.01 + 4.0 * 0.1)


def test_reference_integrates_accelerations_and_decays(scene):
    spec = ImpedanceSpec(memory=0.1)
    impedance, state = JointImpedance(scene, spec, dt=DT), scene.initial_state()
    a, M = np.zeros(scene.nv), np.diag(np.full(scene.nv, 2.0))
    a[scene.actuated_v] = 0.3
    impedance.measured(state)
    impedance.reference(a, M)
    impedance.measured(state)  # the joints did not move: the reference is ahead of them
    drive = impedance.reference(a, M)
    keep = 1.0 - DT / 0.1
    assert drive.error == pytest.approx(keep * 0.5 * 0.3 * DT**2)
    assert drive.velocity == pytest.approx(keep * 0.3 * DT)
    assert drive.stiffness == pytest.approx(2.0 * spec.stiffness)
    for _ in range(400):
        impedance.measured(state)
        drive = impedance.reference(a, M)
    # blocked for two seconds: the error is bounded by the time constant `memory`
    assert drive.error.max() < 0.3 * 0.1**2
    moving = State(pin.integrate(scene.model, state.q, np.full(scene.nv, 0.001)), state.v)
    impedance.measured(moving)
    assert impedance.reference(a, M).error == pytest.approx(drive.error - 0.001, abs=2e-4)


def phase(scenario, *contacts):
    return MachineState("made by a test", scenario.spec.states["stand"], contacts, {})


def test_ending_contact_stays_until_its_ramp_ends(scenario, lab):
    kinematics = lab.kinematics(scenario.scene, scenario.scene.initial_state())
    active_setup = ActiveSetup(scenario, ContactFeedback(0.0, 20.0), ramp=0.1)
    active_setup.enter(phase(scenario, "left_foot", "right_foot"), kinematics, 0.0)
    active_setup.advance(0.0)
    assert [contact.penalty for contact in active_setup.contacts.values()] == [1.0, 1.0]
    active_setup.enter(phase(scenario, "left_foot", "box_on_table"), kinematics, 1.0)
    assert not active_setup.advance(1.0)
    assert active_setup.contacts["box_on_table"].penalty == pytest.approx(LARGEST_PENALTY)
    assert not active_setup.advance(1.05)
    penalties = {name: contact.penalty for name, contact in active_setup.contacts.items()}
    assert penalties == pytest.approx(
        {"left_foot": 1.0, "box_on_table": LARGEST_PENALTY**0.5, "right_foot": LARGEST_PENALTY**0.5}
    )
    assert active_setup.advance(1.1)
    assert {n: c.penalty for n, c in active_setup.contacts.items()} == {"left_foot": 1.0, "box_on_table": 1.0}
    assert not active_setup.advance(1.2)


@pytest.mark.parametrize("formulation", ["condensed", "reduced", "full"])
def test_contact_with_larger_penalty_carries_less(scenario, formulation):
    controller = Controller(scenario, formulation=formulation, closed_loop=ClosedLoopSpec())
    state = scenario.scene.initial_state()
    before = controller.step(state, 0.0).wrenches
    controller.contacts["left_foot"].penalty = LARGEST_PENALTY
    after = controller.step(state, 0.0).wrenches
    assert after["left_foot"][2] > 0.5 * before["left_foot"][2]  # both negative: the ground pushes up
    total = before["left_foot"][2] + before["right_foot"][2]
    assert after["left_foot"][2] + after["right_foot"][2] == pytest.approx(total, rel=0.02)


def test_limb_moves_on_until_a_contact_force_is_measured(scenario):
    controller = Controller(scenario, closed_loop=ClosedLoopSpec(landing_force=5.0))
    landing, state = controller.landing, scenario.scene.initial_state()
    controller.step(state, 0.0)
    controller._state_manager.enter_state("close", 1.0)
    task = controller.tasks["left_palm"]
    controller.step(state, 5.0)
    assert not task.shift.any()  # no forces measured yet
    landing.update_forces({"left_hand": 4.0})
    for _ in range(10):
        controller.step(state, 5.0)
    surface = scenario.scene.surfaces["humanoid/left_palm"]
    outward = controller.kinematics.pose(surface.frame_id).rotation[:, 2]
    assert task.frame_b is None and task.shift == pytest.approx(10 * SPEED * controller.dt * outward)
    for _ in range(1000):
        landing.update(controller.kinematics, 5.0)
    assert np.linalg.norm(task.shift) == pytest.approx(FURTHEST)
    landing.update_forces({"left_hand": 6.0})
    shift = task.shift.copy()
    controller.step(state, 5.0)
    assert task.shift == pytest.approx(shift)


def test_touching_uses_measured_contacts_where_available(scenario, lab):
    kinematics = lab.kinematics(scenario.scene, scenario.scene.initial_state())

    def touches(contact, measured_contacts):
        now = TransitionContext(scenario, kinematics, {}, 0.0, 0.0, frozenset(), measured_contacts=measured_contacts)
        return TouchingCondition(TouchingConditionSpec(type="touching", contact=contact)).holds(now)

    assert touches("left_foot", None) and not touches("left_foot", frozenset())
    assert touches("left_hand", frozenset({"left_hand"})) and not touches("left_hand", None)


def test_controller_is_restored_during_a_ramp(scenario):
    loop = ClosedLoopSpec(force_ramp=0.1, impedance=ImpedanceSpec(), landing_force=5.0)
    first, second = (Controller(scenario, closed_loop=loop) for _ in range(2))
    state = scenario.scene.initial_state()
    first.step(state, 0.0)
    first._state_manager.enter_state("lift", 0.005)
    first.landing.update_forces({"left_hand": 9.0})
    first.step(state, 0.04)
    second.set_state(first.get_state())
    a, b = first.step(state, 0.045), second.step(state, 0.045)
    assert "box_on_table" in a.wrenches and b.wrenches.keys() == a.wrenches.keys()
    assert b.tau == pytest.approx(a.tau, abs=1e-9)
    assert (
        b.drive.error == pytest.approx(a.drive.error)
        and second.landing.measured_contacts == first.landing.measured_contacts
    )
