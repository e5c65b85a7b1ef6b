"""Scene walk_squat: a walk goes over into a squat that is under way, where the feet are."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource
from multi_qp_simulator.runner import run_scenario

BEGIN = 0.6


def angle_errors(scenario, log):
    """Return the largest error of a joint against the squat by tick, from its begin on, (n,) [rad]."""
    motion = ReferenceMotion.load(find_resource("config/motions/squat.npz"))
    own = [name.partition("/")[2] for name in scenario.scene.velocity_names[6:]]
    columns = [7 + motion.joints.index(name) for name in own]
    squat = log.state != "walk"
    time = log.time[squat] - log.time[squat][0] + BEGIN
    wanted = np.array([np.interp(time, motion.times, motion.q[:, k]) for k in columns]).T
    return np.abs(log.q[squat][:, 7:] - wanted).max(axis=1)


def test_the_difference_goes_to_zero_in_the_time_of_the_blend():
    """The walk still stands, in another pose than the squat, which is under way."""
    errors, jerks = {}, {}
    for blend in (0.5, 0.0):
        scenario = load_scenario("walk_squat", parameters={"blend": blend, "begin": BEGIN, "leave": 0.2})
        result = run_scenario(scenario, duration=1.0)
        assert result.report["qp_failures"] == 0
        errors[blend] = angle_errors(scenario, result.log)
        jerks[blend] = np.abs(np.diff(result.log.a[:, 6:], axis=0)).max()
    assert errors[0.5][0] > 0.03 and errors[0.5][105:].max() < 0.1 * errors[0.5][0]
    assert jerks[0.5] < 0.5 * jerks[0.0]


@pytest.mark.slow
def test_a_walk_goes_over_into_a_squat_by_torques_alone():
    scenario = load_scenario("walk_squat")
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded and result.report["qp_failures"] == 0
    log = result.log
    squat = log.state == "squat"
    assert log.q[squat, 0].min() > 3.0 and np.ptp(log.q[squat, 2]) > 0.1
    assert angle_errors(scenario, log)[105:700].max() < 0.05
