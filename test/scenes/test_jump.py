"""Scene jump: a jump ahead with both feet is followed by modal-space control, through a flight without contacts."""

from __future__ import annotations

import numpy as np
import pytest
from motion_frames import centres, sole_places

from multi_qp_scene import load_scenario
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource
from multi_qp_simulator import robustness
from multi_qp_simulator.log_motion import motion_of
from multi_qp_simulator.runner import run_scenario

GRAVITY = 9.81


@pytest.fixture(scope="module")
def motion():
    return ReferenceMotion.load(find_resource("config/motions/jump.npz"))


def jumped(backend):
    scenario = load_scenario("jump")
    return scenario, run_scenario(scenario, backend=backend)


def check(scenario, result, motion, *, rms):
    """Check that a run has followed the motion, through the air."""
    assert result.succeeded and result.report["qp_failures"] == 0
    log = result.log
    wanted = centres(scenario.scene.model, motion.q)
    at = np.array([np.interp(log.time, motion.times, column) for column in wanted.T]).T
    errors = np.linalg.norm(centres(scenario.scene.model, log.q) - at, axis=1)
    assert np.sqrt(np.mean(errors**2)) < rms
    places = sole_places(scenario, log.q)
    flight = ~log.contact_active.any(axis=1)
    assert 0.15 < scenario.spec.dt * flight.sum() < 0.3
    assert places[flight, :, 2].min(axis=1).max() > 0.025  # both soles are in the air
    assert places[-1, :, 0].min() > 0.19
    assert places[:, :, 2].min() > -4e-3


def test_the_motion_falls_freely_while_no_sole_is_planted(motion):
    scenario = load_scenario("jump")
    flight = np.flatnonzero(~motion.contacts.any(axis=1))
    assert len(flight) > 20 and (np.diff(flight) == 1).all()
    own, times = centres(scenario.scene.model, motion.q)[flight], motion.times[flight]
    curve = np.polynomial.polynomial.polyfit(times - times[0], own, 2)
    np.testing.assert_allclose(2.0 * curve[2], [0.0, 0.0, -GRAVITY], atol=0.3)
    planted = sole_places(scenario, motion.q)[: flight[0]]
    assert np.ptp(planted, axis=0).max() < 2e-3


def test_it_jumps_lands_and_stands_by_torques_alone(motion):
    check(*jumped("mujoco"), motion, rms=0.02)


@pytest.mark.slow
def test_it_jumps_with_integrated_accelerations(motion):
    check(*jumped("integrator"), motion, rms=0.012)


@pytest.mark.slow
def test_it_lands_with_other_masses_friction_noise_and_delay():
    runs = [robustness.run_job(robustness.RunJob("jump", seed, (), robustness.RANDOMISED)) for seed in range(10)]
    assert sum(run.succeeded for run in runs) >= 9


@pytest.mark.slow
def test_the_motion_is_the_log_of_its_scenario(motion):
    scenario = load_scenario(find_resource("config/motions/jump_reference.yaml"))
    again = motion_of(run_scenario(scenario).log, scenario)
    np.testing.assert_allclose(again.q, motion.q, atol=1e-3)
    np.testing.assert_array_equal(again.contacts, motion.contacts)
