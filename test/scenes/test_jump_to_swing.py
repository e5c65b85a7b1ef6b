"""Scene jump_to_swing: a jump brings the hands to a high bar, they grip it, and the robot goes over into a swing."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource
from multi_qp_simulator import robustness
from multi_qp_simulator.log_motion import motion_of
from multi_qp_simulator.runner import run_scenario

BLEND, BEGIN, GRAVITY = 0.5, 0.2, 9.81


def jumped(backend, duration=None, **parameters):
    """Return scenario, result, and the errors of the centre of mass in the jump and in the swing after the blend."""
    scenario = load_scenario("jump_to_swing", parameters=parameters)
    result = run_scenario(scenario, backend=backend, duration=duration)
    log, controller = result.log, Controller(scenario)
    model, data = scenario.scene.model, scenario.scene.model.createData()
    root = scenario.scene.subsystems["humanoid"].root_joints[0]
    begins = log.time[log.state == "swing"][:1]
    errors = {"jump": [], "swing": []}
    for time, state, q in zip(log.time, log.state, log.q, strict=True):
        if state == "hang" or (state == "swing" and time < begins[0] + BLEND):
            continue
        at = time if state == "jump" else time - begins[0] + BEGIN
        pin.centerOfMass(model, data, q, True)
        place = data.oMi[root].act(data.com[root])
        errors[state].append(np.linalg.norm(place - controller.generator(state).tracked.goal(at)[1]))
    return scenario, result, {name: np.array(own) for name, own in errors.items()}


def rms(errors):
    return float(np.sqrt(np.mean(errors**2)))


def test_the_motion_falls_freely_between_ground_and_bar():
    motion = ReferenceMotion.load(find_resource("config/motions/jump_to_bar.npz"))
    scenario = load_scenario("jump_to_swing")
    flight = np.flatnonzero(~motion.contacts.any(axis=1))
    assert len(flight) > 8 and (np.diff(flight) == 1).all()
    assert motion.contacts[: flight[0], :2].all() and motion.contacts[flight[-1] + 1 :, 2:].all()
    tracked = Controller(scenario).generator("jump").tracked
    heights = [tracked.goal(float(time))[1][2] for time in motion.times[flight]]
    curve = np.polynomial.polynomial.polyfit(motion.times[flight], heights, 2)
    assert 2.0 * curve[2] == pytest.approx(-GRAVITY, abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_a_jump_goes_over_into_a_swing(backend):
    _, result, errors = jumped(backend)
    assert result.succeeded and result.report["qp_failures"] == 0
    assert rms(errors["jump"]) < 0.01 and rms(errors["swing"]) < 0.01
    log = result.log
    soles, hands = log.contact_active[:, :2], log.contact_active[:, 2:]
    flight = np.flatnonzero(~log.contact_active.any(axis=1))
    assert 0.05 < 0.005 * len(flight) < 0.2 and (np.diff(flight) == 1).all()
    assert not soles[flight[-1] :].any() and hands[flight[-1] + 1 :].all()


@pytest.mark.slow
def test_hands_that_miss_the_bar_do_not_hold_it():
    """The bar is 10 cm too high for them: by the clock of the motion they would close."""
    _, result, _ = jumped("integrator", duration=2.6, bar=0.1)
    assert not result.log.contact_active[:, 2:].any() and result.log.state[-1] == "jump"


@pytest.mark.slow
def test_it_swings_with_other_masses_friction_noise_and_delay():
    runs = [robustness.run_job(robustness.RunJob("jump_to_swing", seed, (), robustness.RANDOMISED)) for seed in (0, 1)]
    assert all(run.succeeded for run in runs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jump_to_bar", "tucked_swing"])
def test_the_motions_are_logs_of_their_scenarios(name):
    scenario = load_scenario(find_resource(f"config/motions/{name}_reference.yaml"))
    motion = ReferenceMotion.load(find_resource(f"config/motions/{name}.npz"))
    again = motion_of(run_scenario(scenario).log, scenario)
    np.testing.assert_allclose(again.q, motion.q, atol=1e-3)
    np.testing.assert_array_equal(again.contacts, motion.contacts)
