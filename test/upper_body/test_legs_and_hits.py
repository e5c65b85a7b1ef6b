"""Legs that brace and step, and limbs that yield to unexpected hits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import yaml

from multi_qp_controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.motion_generator import GaitChange, GeneratorInput
from multi_qp_scene import ConfigError, load_scenario
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.schema.upper_body import HitsSpec, LegsSpec
from multi_qp_simulator.runner import run_scenario
from upper_body.hits import Hit
from upper_body.legs import Legs
from upper_body.meetings import Meeting

DT = 0.005


@pytest.fixture(scope="module")
def scene():
    return load_scenario("bag").controlled.scene


def at(scene, time, external):
    kinematics = Kinematics(scene)
    kinematics.update(scene.initial_state())
    return GeneratorInput(time, DT, kinematics, None, None, external)


def met(obstacle=0):
    ahead = np.array([1.0, 0.0, 0.0])
    return Meeting(obstacle, 0, ahead, ahead, 0.6, 0.5, 1.0, 0.0)


def legs(scene):
    return Legs(LegsSpec(gait="gait"), scene.subsystems["humanoid"].root_joints[0], 0)


@pytest.mark.parametrize(("mass", "speed", "lower"), [(2.0, 1.0, 0.0), (10.0, 0.3, 0.03)])
def test_legs_brace_for_what_is_expected_to_be_heavy(scene, mass, speed, lower):
    change = legs(scene).update(at(scene, 0.0, np.zeros(scene.nv)), [met(), None], np.array([mass]))
    assert (change.speed, change.lower) == (speed, lower)
    assert not change.velocity.any()


def test_the_body_leans_towards_what_is_expected_to_be_heavy(scene):
    rules = Legs(LegsSpec(gait="gait", lean=0.1), scene.subsystems["humanoid"].root_joints[0], 0)
    now = at(scene, 0.0, np.zeros(scene.nv))
    assert [rules.update(now, [met()], np.array([mass])).lean for mass in (2.0, 10.0)] == [0.0, 0.1]


def test_walking_leans_ahead_in_its_heading_on_demand():
    controller = Controller(load_scenario("walk"))
    scene, dt = controller.scenario.scene, controller.dt
    state, torso = scene.initial_state(), scene.frame_id("humanoid/torso")
    for tick in range(200):
        controller.generator("gait").apply(GaitChange(lean=0.12))
        command = controller.step(state, tick * dt)
        state = integrated(scene, state, command.a, dt)
    z = controller.kinematics.pose(torso).rotation[:, 2]
    assert np.arctan2(z[0], z[2]) == pytest.approx(0.12, abs=0.02)


def integrated(scene, state, acceleration, dt):
    v = state.v + dt * acceleration
    return replace(state, q=pin.integrate(scene.model, state.q, dt * v), v=v)


def test_legs_step_where_a_force_pushes_and_walk_on_later(scene):
    rules, external = legs(scene), np.zeros(scene.nv)
    external[:2] = [-60.0, 80.0]
    now = at(scene, 0.0, external)
    for tick in range(40):
        change = rules.update(replace(now, time=tick * DT), [None, None], np.zeros(1))
    assert change.speed == 0.0
    np.testing.assert_allclose(change.velocity, [-0.09, 0.12, 0.0], atol=1e-9)
    quiet = replace(now, external=np.zeros(scene.nv))
    for tick in range(40, 40 + 200):
        change = rules.update(replace(quiet, time=tick * DT), [None, None], np.zeros(1))
    assert change.speed == 1.0 and not change.velocity.any()


def test_a_limb_yields_at_the_angles_of_the_impact_unless_it_was_expected(scene):
    names = scene.velocity_names
    index = np.array([k for k, name in enumerate(names) if "/L_ELBOW" in name or "/L_SHOULDER" in name])
    external = np.zeros(scene.nv)
    external[index[-1]] = -1e3
    hit, now = Hit(HitsSpec(duration=0.4), scene, index, scene.angle_index[index]), at(scene, 1.0, external)
    assert not hit.update(now, expected=True)
    assert hit.update(now, expected=False)
    np.testing.assert_array_equal(hit.angles, scene.q0[scene.angle_index[index]])
    quiet = replace(now, external=np.zeros(scene.nv))
    assert hit.update(replace(quiet, time=1.39), expected=False)
    assert not hit.update(replace(quiet, time=1.41), expected=False)


def test_only_walking_generators_take_a_change_of_gait():
    controller = Controller(load_scenario("bag"))
    controller.generator("gait").apply(GaitChange(0.5))
    with pytest.raises(ArgumentError, match="'arms'"):
        controller.generator("arms").apply(GaitChange())


@pytest.mark.parametrize(
    ("keys", "message"),
    [({"legs": {"gait": "arms"}}, "walking generator"), ({"hits": {"parts": {"head": ["NEK*"]}}}, "NEK")],
)
def test_errors_name_the_key(tmp_path, keys, message):
    data = yaml.safe_load(scenario_path("bag").read_text())
    for state in data["states"].values():
        state["generators"]["arms"] |= keys
    path = tmp_path / "bag.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    with pytest.raises(ConfigError, match=message):
        load_scenario(path)


def test_a_bag_that_is_heavier_than_expected_makes_her_step_back_and_stand():
    scenario = load_scenario("bag", parameters={"bag.mass": 15.0, "expected.factor": 1.0 / 15.0})
    result = run_scenario(scenario, backend="mujoco", duration=5.0)
    x = result.log.q[:, scenario.scene.subsystems["humanoid"].q_slice][:, 0]
    after = result.log.time > 3.6
    assert x[after].max() - x[after][np.argmax(x[after]) :].min() > 0.04
    assert not result.report["health"]["problems"]
