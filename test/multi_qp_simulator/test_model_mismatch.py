"""Noise, delays, masses and pushes: the effect of each option, and none by default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from multi_qp_controller.closed_loop.decentralised import DecentralisedController
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.schema.control import ClosedLoopSpec
from multi_qp_scene.schema.mismatch import MismatchSpec, PushSpec
from multi_qp_simulator.model_mismatch import Motors, Noise, Pushes, random_friction, random_masses
from multi_qp_simulator.mujoco_world import MujocoBackend
from multi_qp_simulator.runner import make_controller


@pytest.fixture(scope="module")
def stand():
    return load_scenario("stand", parameters={"stand.duration": 1.0})


def real(scenario, **mismatch):
    return replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": MismatchSpec(**mismatch)}))


def test_motors_follow_late_and_with_a_lag():
    motors = Motors(MismatchSpec(actuation_delay=0.003), 1, 0.001)
    asked = [np.array([float(k)]) for k in range(6)]
    assert [float(motors.follow(tau)[0]) for tau in asked] == [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]
    slow = Motors(MismatchSpec(actuation_lag=0.001), 1, 0.001)
    slow.follow(np.zeros(1))
    assert float(slow.follow(np.ones(1))[0]) == pytest.approx(0.5)


def test_noise_has_the_requested_deviation(stand):
    scene = stand.scene
    noise = Noise(scene, MismatchSpec(velocity_noise=0.1, gyro_noise=0.02), 0)
    state = scene.initial_state()
    v = np.array([noise.add(state).v for _ in range(500)])
    assert v[:, 6:].std() == pytest.approx(0.1, rel=0.05)
    assert v[:, 3:6].std() == pytest.approx(0.02, rel=0.1)
    assert not v[:, :3].any()
    assert Noise(scene, MismatchSpec(), 0).add(state) is state


def test_masses_and_friction_stay_within_their_errors(stand):
    mismatch = MismatchSpec(mass_error=0.05, friction_error=0.2)
    masses, friction = random_masses(stand, mismatch), random_friction(stand, mismatch)
    assert max(abs(f - 1.0) for f in masses.values()) <= 0.05
    assert max(abs(f - 1.0) for f in friction.values()) <= 0.2
    assert len(set(masses.values())) > 20
    world = MujocoBackend(real(stand, mass_error=0.05)).world
    name = next(iter(masses))
    nominal = stand.scene.model.inertias[stand.scene.model.getJointId(name)].mass
    assert world.body(f"{name}#body").mass[0] == pytest.approx(masses[name] * nominal)


def test_a_push_follows_its_state_for_its_duration():
    pushes = Pushes([PushSpec(link="a/b", direction=(0.0, 2.0, 0.0), force=50.0, duration=0.1, state="lift", at=0.5)])
    pushes.observe("stand", 0.0)
    assert pushes.active(0.5) == []
    pushes.observe("lift", 2.0)
    assert pushes.active(2.49) == [] == pushes.active(2.6)
    (link, force), *_ = pushes.active(2.5)
    assert link == "a/b" and force.tolist() == [0.0, 50.0, 0.0]


def test_mean_pushes_have_the_impulse_of_the_push():
    pushes = Pushes([PushSpec(link="a/b", direction=(0.0, 2.0, 0.0), force=50.0, duration=0.1, at=0.5)])
    periods = 0.003 * np.arange(400)
    impulse = sum(0.003 * force for time in periods for _, force in pushes.mean(float(time), 0.003))
    np.testing.assert_allclose(impulse, [0.0, 5.0, 0.0], atol=1e-9)
    assert pushes.mean(0.2, 0.003) == [] == pushes.mean(0.6, 0.003)


def drive(scenario, seconds, controller=None):
    """Run without a run monitor; return the controller, the backend, and the heights and velocities along the run."""
    controller = controller or make_controller(scenario, "mujoco")
    backend, com = MujocoBackend(scenario), []
    for tick in range(round(seconds / controller.dt)):
        command = controller.step(backend.measure(), tick * controller.dt)
        backend.step(command, controller.dt)
        com.append(controller.kinematics.com(scenario.scene.characters[0]).copy())
    return controller, backend, np.array(com)


@pytest.mark.parametrize("direction", [(1, 0, 0), (-1, 0, 0), (0, 1, 0)])
def test_a_pushed_character_yields_and_returns(stand, direction):
    push = {"link": "humanoid/torso", "direction": direction, "force": 100.0, "duration": 0.1, "at": 0.2}
    _, _, com = drive(real(stand, pushes=[push]), 2.5)
    along = (com - com[39]) @ np.array(direction, dtype=float)
    assert along.max() > 0.01  # 10 N s on 39 kg
    assert abs(along[-1]) < 0.02
    assert com[-1, 2] == pytest.approx(com[0, 2], abs=0.02)


def test_late_sensors_show_the_past(stand):
    scenario = real(stand, sensor_delay=0.02, pushes=[{"link": "humanoid/torso", "force": 200.0, "at": 0.0}])
    _, backend, _ = drive(scenario, 0.1)
    assert np.abs(backend.measure().v - backend.state.v).max() > 1e-3


def test_the_observer_estimates_the_model_mismatch(stand):
    """A robot whose bodies are all heavier sags, unless the observer estimates the additional weight."""
    scenario = real(stand, mass_error=0.2)
    off = scenario.spec.model_copy(update={"closed_loop": ClosedLoopSpec(disturbance=None)})
    _, _, without = drive(replace(scenario, spec=off), 2.0)
    _, _, with_it = drive(scenario, 2.0)
    assert abs(with_it[-1, 2] - with_it[0, 2]) < 0.5 * abs(without[-1, 2] - without[0, 2])


def test_characters_solve_separately_with_delayed_knowledge():
    scenario = real(load_scenario("sword"), knowledge_delay=0.02)
    controller = make_controller(scenario, "mujoco")
    assert isinstance(controller, DecentralisedController)
    _, _, com = drive(scenario, 0.3, controller)
    assert np.abs(com[-1] - com[0]).max() < 0.02
