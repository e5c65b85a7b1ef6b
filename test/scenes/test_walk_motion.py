"""Scene walk_motion: a recorded walk is followed by modal-space control, also faster, with longer steps, and pushed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.runner import run_scenario

EDITS = [{"stride": 0.1}, {"stride": -0.15}, {"speed": 1.1}, {"speed": 0.8}, {"slope": 3.0}, {"slope": -5.0}]
EDITS += [{"speed": 1.1, "stride": 0.15}]


def walked(backend="mujoco", duration=None, push=None, **parameters):
    """Return scenario and result of a run."""
    scenario = load_scenario("walk_motion", parameters=parameters)
    if push is not None:
        mismatch = scenario.spec.mismatch.model_copy(update={"pushes": [push]})
        scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch}))
    return scenario, run_scenario(scenario, backend=backend, duration=duration)


def centre_errors(scenario, log):
    """Return the distance of the centre of mass from that of the motion, (n,) [m]."""
    motion = Controller(scenario).generator("walk").tracked.motion
    model, data = scenario.scene.model, scenario.scene.model.createData()
    wanted = np.array([pin.centerOfMass(model, data, q).copy() for q in motion.q])
    present = np.array([pin.centerOfMass(model, data, q).copy() for q in log.q])
    at = np.array([np.interp(log.time, motion.times, column) for column in wanted.T]).T
    return np.linalg.norm(present - at, axis=1)


def test_the_first_steps_are_followed_by_torques_alone():
    scenario, result = walked(duration=3.0)
    assert result.report["qp_failures"] == 0
    assert centre_errors(scenario, result.log).max() < 0.03
    assert result.report["worst"]["contact_slip_m"] < 2e-3


def test_a_checkpoint_in_the_middle_of_a_step_resumes_it():
    scenario = load_scenario("walk_motion")
    controller, other = Controller(scenario), Controller(scenario)
    state = scenario.scene.initial_state()
    for tick in range(280):
        command = controller.step(state, tick * controller.dt)
        q = pin.integrate(scenario.scene.model, state.q, controller.dt * state.v)
        state = replace(state, q=q, v=state.v + controller.dt * command.a)
    assert controller.contacts.keys() == {"left_foot"}  # the right one swings
    other.set_state(controller.get_state())
    first, second = (each.step(state, 280 * controller.dt) for each in (controller, other))
    np.testing.assert_array_equal(first.tau, second.tau)


def test_a_motion_on_a_slope_has_its_soles_on_the_ground_and_its_body_as_high_above():
    level, slope = (
        Controller(load_scenario("walk_motion", parameters={"cycles": 1, "slope": degrees})).generator("walk").tracked
        for degrees in (0.0, -5.0)
    )
    rise = math.tan(math.radians(-5.0))
    for time in (4.5, 5.0, 5.5):
        flat, tilted = (one.surfaces.at(0, time) for one in (level, slope))
        np.testing.assert_allclose(tilted.position - flat.position, [0.0, 0.0, rise * flat.position[0]], atol=1e-3)
        assert math.degrees(math.acos(tilted.rotation[:, 2] @ flat.rotation[:, 2])) == pytest.approx(5.0, abs=0.01)
        assert tilted.rotation[:, 2] @ [1.0, 0.0, rise] == pytest.approx(
            flat.rotation[:, 2] @ [1.0, 0.0, 0.0], abs=1e-3
        )
        (_, com, _), (_, over, rate) = level.goal(time), slope.goal(time)
        assert over[2] - com[2] == pytest.approx(rise * com[0], abs=1e-3)
        _, later, _ = slope.goal(time + 1e-4)
        np.testing.assert_allclose((later - over) / 1e-4, rate[:3] / 39.0, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_half_a_minute_is_followed(backend):
    scenario, result = walked(backend)
    assert result.succeeded and result.report["qp_failures"] == 0
    assert result.report["sim_time"] > 30.0
    assert np.sqrt(np.mean(centre_errors(scenario, result.log) ** 2)) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("parameters", EDITS, ids=str)
def test_edited_walks_arrive(parameters):
    _, result = walked(cycles=1, **parameters)
    assert result.succeeded and result.report["qp_failures"] == 0
    q, time = result.log.q, result.log.time
    speed = (np.interp(7.0, time, q[:, 0]) - np.interp(4.0, time, q[:, 0])) / 3.0
    steps = parameters.get("speed", 1.0) * 2.0 / 0.967  # a second
    wanted = 0.4 * parameters.get("speed", 1.0) + parameters.get("stride", 0.0) * steps
    assert speed == pytest.approx(wanted, abs=0.03)
    way, climbed = (np.interp(6.9, time, q[:, k]) - np.interp(4.0, time, q[:, k]) for k in (0, 2))  # three strides
    assert climbed == pytest.approx(way * math.tan(math.radians(parameters.get("slope", 0.0))), abs=0.015)


@pytest.mark.slow
@pytest.mark.parametrize("at", [4.3, 4.7])
@pytest.mark.parametrize("direction", range(0, 360, 45))
def test_pushes_of_100_newtons_are_survived(direction, at):
    angle = math.radians(direction)
    toward = (math.cos(angle), math.sin(angle), 0.0)
    push = PushSpec(link="humanoid/torso", direction=toward, force=100.0, duration=10 / 120, at=at)
    _, result = walked(push=push, cycles=1)
    assert result.succeeded and result.report["qp_failures"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "side", "at"), [("integrator", 1.0, 4.3), ("mujoco", 1.0, 4.3), ("mujoco", -1.0, 4.783)]
)
def test_pushes_across_the_stance_foot_are_survived(backend, side, at):
    """175 N towards the foot that stands, while the other one, which may not cross it, is in the air."""
    push = PushSpec(link="humanoid/torso", direction=(0.0, side, 0.0), force=175.0, duration=10 / 120, at=at)
    scenario, result = walked(backend, push=push, cycles=1)
    assert result.log.state[-1] == "stand" and result.report["qp_failures"] == 0
    assert result.report["goals"]["upright"]["error"] < 0.5  # the largest tilt; upright again at the end:
    torso = scenario.scene.model.getFrameId("humanoid/torso")
    data = scenario.scene.model.createData()
    pin.framesForwardKinematics(scenario.scene.model, data, result.log.q[-1])
    assert data.oMf[torso].rotation[2, 2] > math.cos(0.1)
    assert result.report["worst"]["contact_slip_m"] < 0.01
