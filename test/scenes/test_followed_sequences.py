"""Complete runs of the shipped contact sequences; test_sequences is the short form."""

from __future__ import annotations

import pytest

from motion_generation.sequences import follow_sequence
from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["walk_plan", "stairs_plan"])
def test_every_instant_of_the_curve_has_a_posture(scene):
    followed = follow_sequence(load_scenario(scene))
    assert followed.whole_body.fault is None and followed.repairs == ()
    assert all(found.feasible for found in followed.trajectory.transitions)


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["walk_plan", "stairs_plan"])
def test_it_arrives_without_slipping(scene):
    result = run_scenario(follow_sequence(load_scenario(scene)).scenario)
    worst = result.report["worst"]
    assert result.succeeded, (result.report["ended"], result.report["goals"])
    assert result.report["qp_failures"] == 0
    assert worst["contact_slip_m"] < 2e-3 and worst["penetration_m"] < 1e-5
    assert worst["torque_ratio"] <= 1.0 and worst["joint_limit_violation_rad"] == 0.0
