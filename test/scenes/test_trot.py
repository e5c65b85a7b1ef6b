"""The quadruped trots by velocity commands with the generator of the humanoid's walk."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario


def checked(result):
    report, worst = result.report, result.report["worst"]
    assert report["qp_failures"] == 0 and report["relaxed_ticks"] == 0
    assert worst["contact_slip_m"] < 0.01 and worst["torque_ratio"] <= 1.0 + 1e-9
    return report


@pytest.mark.parametrize("backend", ["mujoco", "integrator"])
def test_the_first_steps(backend):
    result = run_scenario(load_scenario("trot"), backend=backend, duration=3.5)
    checked(result)
    base, active = result.log.q[:, :3], result.log.contact_active
    assert base[-1, 0] > 0.4 and np.ptp(base[200:, 2]) < 0.04 and abs(base[-1, 1]) < 0.1
    # diagonal pairs: left front and right hind, right front and left hind
    assert {tuple(row) for row in active.tolist()} >= {(True, False, False, True), (False, True, True, False)}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["mujoco", "integrator"])
def test_the_whole_run_ends_standing(backend):
    result = run_scenario(load_scenario("trot"), backend=backend)
    assert result.succeeded
    checked(result)
