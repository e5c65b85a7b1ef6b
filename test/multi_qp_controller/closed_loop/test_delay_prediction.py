"""Delay prediction: against the simulator, and stability of delayed control."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller import Controller
from multi_qp_controller.closed_loop.delay_prediction import Predictor
from multi_qp_controller.dynamics.constrained_dynamics import ConstrainedDynamics, bonded_acceleration
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.relative_motion import relative_motion
from multi_qp_scene import load_scenario
from multi_qp_simulator.simulated_robot import TorqueWorld


@pytest.fixture(scope="module")
def box():
    return load_scenario("box")


def test_constrained_acceleration_satisfies_dynamics_and_constraints(box):
    scene, rng = box.scene, np.random.default_rng(0)
    kinematics = Kinematics(scene)
    kinematics.update(scene.initial_state())
    J, rhs = rng.standard_normal((8, scene.nv)), rng.standard_normal(8)
    J = np.vstack([J, J[:1]])  # a redundant row
    rhs = np.append(rhs, rhs[0])
    torque = rng.standard_normal(scene.na)
    acceleration, force = bonded_acceleration(kinematics, torque, J, rhs)
    applied = J.T @ force
    applied[scene.actuated_v] += torque
    np.testing.assert_allclose(kinematics.M @ acceleration + kinematics.N, applied, atol=1e-8)
    np.testing.assert_allclose(J @ acceleration, rhs, atol=1e-8)


def test_redundant_constraints_return_forces_and_corrections_of_least_norm(box):
    scene, rng = box.scene, np.random.default_rng(1)
    kinematics = Kinematics(scene)
    kinematics.update(scene.initial_state())
    J = rng.standard_normal((6, scene.nv))
    once, twice = ConstrainedDynamics(kinematics, J), ConstrainedDynamics(kinematics, np.vstack([J, J]))
    torque, rhs = rng.standard_normal(scene.na), rng.standard_normal(6)
    (alone, force), (same, forces) = once.acceleration(torque, rhs), twice.acceleration(torque, np.tile(rhs, 2))
    np.testing.assert_allclose(same, alone, atol=1e-7 * np.abs(alone).max())
    np.testing.assert_allclose(forces, np.tile(force / 2.0, 2), atol=1e-6 * np.abs(force).max())
    for bonds, wanted in ((once, rhs), (twice, np.tile(rhs, 2))):
        change = bonds.shift(wanted)
        np.testing.assert_allclose(J @ change, rhs, atol=1e-7)
        expected = np.linalg.solve(kinematics.M, J.T) @ np.linalg.solve(J @ np.linalg.solve(kinematics.M, J.T), rhs)
        np.testing.assert_allclose(change, expected, atol=1e-7)


def test_without_contacts_bodies_fall_freely(box):
    scene = box.scene
    kinematics = Kinematics(scene)
    kinematics.update(scene.initial_state())
    falling, forces = bonded_acceleration(kinematics, np.zeros(scene.na), np.zeros((0, scene.nv)), np.zeros(0))
    np.testing.assert_allclose(kinematics.M @ falling, -kinematics.N, atol=1e-9)
    assert not len(forces)


def test_prediction_equals_the_simulation(box):
    controller, world, state = Controller(box), TorqueWorld(box), box.scene.initial_state()
    tau = controller.step(state, 0.0).tau
    tau = tau + 0.05 * np.random.default_rng(2).standard_normal(len(tau))
    ahead = Predictor(box.scene).predict(state, tau, controller.contacts.values(), 0.02)
    for _ in range(200):
        world.advance(tau, tuple(controller.contacts), 1e-4)
    moved = np.abs(pin.difference(box.scene.model, state.q, world.state.q)).max()
    missed = np.abs(pin.difference(box.scene.model, ahead.q, world.state.q)).max()
    assert moved > 1e-3 and missed < 0.05 * moved
    np.testing.assert_allclose(ahead.v, world.state.v, atol=0.1 * np.abs(world.state.v).max())


def test_contacts_are_held_at_any_velocity(box):
    """An error of 0.5 mm would appear as slip, which the QP corrects with 20 m/s²."""
    scene, controller, world = box.scene, Controller(box), TorqueWorld(box)
    tau = controller.step(scene.initial_state(), 0.0).tau.copy()
    tau[[k for k, name in enumerate(scene.actuated_joint_names) if "KNEE" in name]] -= 60.0
    contacts = controller.contacts
    for _ in range(5):
        world.advance(tau, tuple(contacts), 1e-3)
    assert np.abs(world.state.v).max() > 2.0

    def places(state):
        kinematics = Kinematics(scene)
        kinematics.update(state)
        motions = [relative_motion(kinematics, *contact.frames) for contact in contacts.values()]
        return np.array([m.X_B_A.translation for m in motions]), np.array([m.twist for m in motions])

    ahead = Predictor(scene).predict(world.state, tau, contacts.values(), 0.01, hold=0.0025)
    assert np.abs(ahead.q - world.state.q).max() > 0.02
    np.testing.assert_allclose(places(ahead)[0], places(world.state)[0], atol=2e-5)
    assert np.abs(places(ahead)[1]).max() < 0.02


def run_delayed(box, *, predicted: bool, delay: float, until: float) -> float:
    """Run the box scene with torques delayed by `delay` and held; return the largest joint velocity."""
    controller, world, predictor = Controller(box, dt=0.01), TorqueWorld(box), Predictor(box.scene)
    physics, late = 0.0025, round(delay / 0.0025)
    tau, contacts, waiting, fastest = np.zeros(box.scene.na), (), None, 0.0
    for k in range(round(until / physics)):
        if k % 4 == 0:
            state = world.state
            if predicted and contacts:
                state = predictor.predict(state, tau, controller.contacts.values(), delay, hold=0.005)
            command = controller.step(state, k * physics)
            waiting = (k + (late if contacts else 0), command.tau, tuple(controller.contacts))
        if waiting is not None and k >= waiting[0]:
            _, tau, contacts = waiting
        world.advance(tau, contacts, physics)
        fastest = max(fastest, float(np.abs(world.state.v).max()))
    return fastest


@pytest.mark.parametrize("predicted", [False, True])
def test_squeezed_box_is_held_with_delayed_torques_only_with_prediction(box, predicted):
    """Without prediction, the arms buckle: delayed torques refer to past elbow positions."""
    fastest = run_delayed(box, predicted=predicted, delay=0.0075, until=7.0)
    assert (fastest < 3.0) is predicted
