"""The quadruped trots by velocity commands with the generator of the humanoid's walk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.robustness import RANDOMISED, RunJob, run_job
from multi_qp_simulator.runner import Run, make_backend, make_controller, run_scenario


def checked(result):
    report, worst = result.report, result.report["worst"]
    assert report["qp_failures"] == 0 and report["relaxed_ticks"] == 0
    assert worst["contact_slip_m"] < 3e-3 and worst["torque_ratio"] <= 1.0 + 1e-9
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_it_trots_under_mismatch(seed):
    run = run_job(RunJob("trot", seed, (), RANDOMISED))
    assert run.succeeded, (run.ended, run.missed, run.problems)
    assert run.slip < 4e-3 and run.torque_ratio <= 1.0 + 1e-9


PUSHES = [
    pytest.param(at, force, direction, marks=() if (at, direction) == (2.0, (0, 1, 0)) else pytest.mark.slow)
    for at, force in ((2.0, 100.0), (5.5, 150.0), (5.6, 150.0), (5.7, 150.0))
    for direction in ((1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0))
]


@pytest.mark.parametrize(("at", "force", "direction"), PUSHES)
def test_it_withstands_pushes_of_a_tenth_of_a_second(at, force, direction):
    """At 2 s it trots at 0.4 m/s, at 5.5 s at 0.8 m/s."""
    scenario = load_scenario("trot")
    push = PushSpec(link="quadruped/base_link", direction=direction, force=force, at=at, duration=0.1)
    mismatch = scenario.spec.mismatch.model_copy(update={"pushes": [push]})
    pushed = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch}))
    report = run_scenario(pushed, backend="mujoco", duration=at + 1.5).report
    assert report["qp_failures"] == 0 and report["goals"]["upright"]["error"] < 0.1


@pytest.mark.slow
def test_it_trots_at_full_speed_for_30_seconds():
    scenario = load_scenario("trot")
    controller = make_controller(scenario, "mujoco")
    gait = controller.generator("gait")

    def pad(*_):
        gait.command(0.8, 0.0, 0.0)

    world = make_backend("mujoco", scenario)
    run = Run(scenario, controller, world, backend_name="mujoco", duration=32.0, observers=[pad])
    result = run.execute()
    checked(result)
    log = result.log
    first = np.searchsorted(log.time, 4.0)
    assert (log.q[-1, 0] - log.q[first, 0]) / (log.time[-1] - log.time[first]) == pytest.approx(0.8, rel=0.1)
