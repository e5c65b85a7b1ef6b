"""Scene hop: a person's leap from one foot onto the other, with steps and turns around it, by modal-space control."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from motion_frames import centres, soles

from multi_qp_scene import load_scenario
from multi_qp_scene.motions.com_path import outside, zero_moment_points
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource
from multi_qp_simulator import robustness
from multi_qp_simulator.runner import run_scenario

GRAVITY = 9.81


@pytest.fixture(scope="module")
def motion():
    return ReferenceMotion.load(find_resource("config/motions/hop.npz"))


def flight_of(contacts):
    """Return the samples without contacts, which are one run."""
    found = np.flatnonzero(~contacts.any(axis=1))
    assert (np.diff(found) == 1).all()
    return found


def check(backend, motion, *, rms):
    """Run the scene, and check that it follows the motion from the right foot through the air onto the left one."""
    scenario = load_scenario("hop")
    result = run_scenario(scenario, backend=backend)
    assert result.succeeded and result.report["qp_failures"] == 0
    log, model = result.log, scenario.scene.model
    wanted = centres(model, motion.q)
    at = np.array([np.interp(log.time, motion.times, column) for column in wanted.T]).T
    errors = np.linalg.norm(centres(model, log.q) - at, axis=1)
    assert np.sqrt(np.mean(errors**2)) < rms
    flight = flight_of(log.contact_active)
    assert 0.15 < scenario.spec.dt * len(flight) < 0.3
    names = list(log.contact_names)
    assert log.contact_active[flight[0] - 1].tolist() == [name == "right_foot" for name in names]
    assert log.contact_active[flight[-1] + 1].tolist() == [name == "left_foot" for name in names]
    heights = np.array([[X.translation[2] for X in both] for both in soles(scenario, log.q[flight])])
    assert heights.min(axis=1).max() > 0.02  # both soles are in the air


def test_the_motion_obeys_the_dynamics(motion):
    scenario = load_scenario("hop")
    scene, model = scenario.scene, scenario.scene.model
    com, dt = centres(model, motion.q), motion.times[1]
    flight = flight_of(motion.contacts)
    curve = np.polynomial.polynomial.polyfit(motion.times[flight] - motion.times[flight[0]], com[flight], 2)
    np.testing.assert_allclose(2.0 * curve[2], [0.0, 0.0, -GRAVITY], atol=0.3)
    v = np.array([pin.difference(model, a, b) / dt for a, b in zip(motion.q, motion.q[1:], strict=False)])
    assert (np.abs(v[:, scene.limits.v_index]) / scene.limits.velocity).max() < 0.9
    data, momenta = model.createData(), []
    for q, rate in zip(motion.q, v, strict=False):
        pin.ccrba(model, data, q, rate)
        momenta.append(data.hg.angular.copy())
    spin = np.gradient(np.array(momenta), dt, axis=0)[:, :2] / pin.computeTotalMass(model)
    points = zero_moment_points(com[1:], spin, dt)
    load, places = np.gradient(np.gradient(com[:, 2], dt), dt) / GRAVITY + 1.0, soles(scenario, motion.q)
    corners = [scene.surfaces[f"humanoid/{side}_sole"].points for side in ("left", "right")]
    far = [
        outside(
            points[k],
            np.vstack(
                [[X.act(p) for p in c] for X, c, on in zip(places[k], corners, motion.contacts[k], strict=True) if on]
            )[:, :2],
        )
        for k in range(5, len(points) - 5)
        if motion.contacts[k - 3 : k + 4].any(axis=1).all() and load[k] > 0.5
    ]
    assert np.quantile(far, 0.98) < 0.01


def test_planted_soles_of_the_motion_are_at_rest_on_the_ground(motion):
    scenario = load_scenario("hop")
    places = soles(scenario, motion.q)
    for j in range(2):
        on = np.flatnonzero(motion.contacts[:, j])
        for run in np.split(on, np.flatnonzero(np.diff(on) > 1) + 1):
            own = np.array([places[k][j].translation for k in run])
            assert np.ptp(own, axis=0).max() < 5e-3 and np.abs(own[:, 2]).max() < 4e-3


@pytest.mark.slow
def test_it_leaps_and_stands_by_torques_alone(motion):
    check("mujoco", motion, rms=0.04)


@pytest.mark.slow
def test_it_leaps_with_other_masses_friction_noise_and_delay():
    runs = [robustness.run_job(robustness.RunJob("hop", seed, (), robustness.RANDOMISED)) for seed in range(3)]
    assert sum(run.succeeded for run in runs) >= 2
