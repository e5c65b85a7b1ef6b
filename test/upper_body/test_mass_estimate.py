"""Masses of obstacles from the forces of the hands: against a pendulum of known mass, and in MuJoCo."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.runner import make_backend, make_controller
from upper_body.mass_estimate import HandPush, MassEstimate

DT = 0.001


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("bag")


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_a_pendulum_that_is_pushed_has_its_mass(scenario, scale):
    """The true bag has `scale` times the masses of the model, and is pushed by a known force beside its middle."""
    controller = Controller(scenario)
    surroundings, part = controller.surroundings, scenario.scene.subsystems["bag"]
    estimate = MassEstimate(surroundings, ["bag"])
    true = scenario.scene.model.copy()
    for j in range(1, true.njoints):
        true.inertias[j] = pin.Inertia(
            scale * true.inertias[j].mass, true.inertias[j].lever, scale * true.inertias[j].inertia
        )
    data, frame = true.createData(), true.getFrameId("bag/bag")
    joint = true.frames[frame].parentJoint
    q, v = scenario.scene.q0.copy(), np.zeros(true.nv)
    q[part.q_slice], v[part.v_slice] = [-0.1, 0.05], [0.7, -0.2]
    held = slice(0, part.v_slice.start)
    for tick in range(150):
        surroundings.split(State(q, v), "")
        force = np.array([-60.0, 15.0, 10.0]) * scale
        pin.forwardKinematics(true, data, q)
        point = data.oMi[joint].act(np.array([0.02, 0.1, -1.25]))
        estimate.update([] if tick == 0 else [HandPush(0, frame, point, force)], tick * DT, DT)
        J = pin.computeJointJacobian(true, data, q, joint)
        wrench = data.oMi[joint].actInv(pin.Force(force, np.cross(point, force))).vector
        resistance = np.zeros(true.nv)
        resistance[scenario.scene.passive.v_index] = scenario.scene.passive.resistance(q, v)
        M, N = pin.crba(true, data, q), pin.nonLinearEffects(true, data, q, v)
        a = np.zeros(true.nv)
        own = part.v_slice
        a[own] = np.linalg.solve(M[own, own], (J.T @ wrench - resistance - N)[own])
        v = v + DT * a
        v[held] = 0.0
        q = pin.integrate(true, q, DT * v)
    assert estimate.masses[0] == pytest.approx(scale * 10.0, rel=0.01)


@pytest.mark.parametrize(("force", "speed"), [(5.0, 1.0), (50.0, 0.0)], ids=["a small force", "no change"])
def test_small_forces_and_slow_changes_give_no_estimate(scenario, force, speed):
    surroundings, part = Controller(scenario).surroundings, scenario.scene.subsystems["bag"]
    estimate, frame = MassEstimate(surroundings, ["bag"]), surroundings.scene.frame_id("bag/bag")
    state = scenario.scene.initial_state()
    q, v = state.q.copy(), state.v.copy()
    q[part.q_slice] = 0.0  # straight down
    for tick in range(20):
        v[part.v_slice.start] = speed * tick / 20.0
        surroundings.split(State(q, v.copy()), "")
        estimate.update([HandPush(0, frame, np.array([1.0, 0.0, 1.0]), np.array([force, 0.0, 0.0]))], tick * DT, DT)
    assert np.isnan(estimate.masses[0])


def test_hands_that_expect_a_light_bag_feel_that_it_is_heavy_and_tense():
    scenario = load_scenario("bag", parameters={"bag.mass": 15.0, "expected.factor": 0.0667})
    controller, backend = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario)
    arms = controller.generator("arms")
    tensions = []
    for tick in range(760):
        command = controller.step(backend.state, tick * controller.dt)
        outcome = backend.step(command, controller.dt)
        controller.measure_forces({name: -float(wrench[2]) for name, wrench in outcome.wrenches.items()})
        controller.post_update()
        tensions.append(arms.tensions.copy())
    assert arms.estimate is not None
    assert 9.0 < arms.estimate.masses[0] < 18.0
    assert np.max(tensions[:690]) < 0.2 and np.max(tensions[690:]) > 0.6
    resumed = make_controller(scenario, "mujoco")
    resumed.set_state(controller.get_state())
    state = backend.state
    np.testing.assert_array_equal(
        controller.step(state, 760 * controller.dt).tau, resumed.step(state, 760 * controller.dt).tau
    )
