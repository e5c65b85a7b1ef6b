"""The humanoid walks by velocity commands, in MuJoCo under torques and in the integrator."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.robustness import RANDOMISED, RunJob, run_job
from multi_qp_simulator.runner import Run, make_backend, make_controller, run_scenario


def checked(result):
    """Return the report of a run without QP failures, slip, and torques or joints beyond their limits."""
    report, worst = result.report, result.report["worst"]
    assert report["qp_failures"] == 0 and report["relaxed_ticks"] == 0
    assert worst["contact_slip_m"] < 3e-3 and worst["torque_ratio"] <= 1.0 + 1e-9
    assert worst["joint_limit_violation_rad"] == 0.0
    return report


def commanded(velocity, seconds, *, backend="mujoco", scene="walk"):
    """Return log and controller of a run under one command from outside, given at every tick."""
    scenario = load_scenario(scene)
    controller = make_controller(scenario, backend)
    gait = controller.generator("gait")

    def pad(*_):
        gait.command(*velocity)

    run = Run(
        scenario, controller, make_backend(backend, scenario), backend_name=backend, duration=seconds, observers=[pad]
    )
    return run.execute(), gait


@pytest.mark.parametrize("backend", ["mujoco", "integrator"])
def test_the_first_steps(backend):
    result = run_scenario(load_scenario("walk"), backend=backend, duration=4.0)
    checked(result)
    base = result.log.q[:, :3]
    assert base[-1, 0] > 0.8 and np.ptp(base[200:, 2]) < 0.03 and abs(base[-1, 1]) < 0.1
    goal = result.report["goals"]["velocity"]
    assert goal["reached"] and goal["value"][1:] == [None, None]
    # over one whole stride by the log alone: its velocity goal compares with the command of 0.4 m/s
    assert (base[-1, 0] - base[-193, 0]) / 0.96 == pytest.approx(0.4 * goal["value"][0], rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["mujoco", "integrator"])
def test_the_whole_run_ends_standing(backend):
    result = run_scenario(load_scenario("walk"), backend=backend)
    assert result.succeeded
    checked(result)
    assert np.abs(result.log.v[-1]).max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("velocity", [(0.8, 0, 0), (-0.5, 0, 0), (0, 0.3, 0), (0, -0.3, 0), (0, 0, 1.0)])
def test_the_mean_velocity_is_the_commanded_one(velocity):
    result, _ = commanded(velocity, 10.0)
    checked(result)
    log = result.log
    # from 4 s on, over whole strides of 0.96 s
    first, last = np.searchsorted(log.time, [4.0, 4.0 + 6 * 0.96])
    yaw = np.unwrap(2.0 * np.arctan2(log.q[:, 5], log.q[:, 6]))
    elapsed = log.time[last] - log.time[first]
    if velocity[2]:
        assert (yaw[last] - yaw[first]) / elapsed == pytest.approx(velocity[2], rel=0.1)
    else:
        assert (log.q[last, :2] - log.q[first, :2]) / elapsed == pytest.approx(velocity[:2], rel=0.1, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 4, 10, 11, 12, 17])
def test_it_walks_by_random_commands_under_mismatch(seed):
    run = run_job(RunJob("walk", seed, (("random.duration", 60.0),), RANDOMISED))
    assert run.succeeded, (run.ended, run.missed, run.problems)
    assert run.qp_failures == 0 and run.torque_ratio <= 1.0 + 1e-9 and run.slip < 3e-3


def test_arms_swing_against_the_legs_and_knees_bend_forwards():
    result = run_scenario(load_scenario("walk"), backend="integrator", duration=6.0)
    scenario = load_scenario("walk")
    model, q = scenario.scene.model, result.log.q[400:]
    angle = {
        name: q[:, model.joints[model.getJointId(f"humanoid/{name}")].idx_q]
        for name in ("L_SHOULDER_P", "R_SHOULDER_P", "L_HIP_P", "R_HIP_P", "L_KNEE_P", "R_KNEE_P")
    }
    # negative pitch is ahead, of an arm and of a leg; thigh and shank are about as long
    leg = {side: angle[f"{side}_HIP_P"] + 0.5 * angle[f"{side}_KNEE_P"] for side in "LR"}
    for arm, other in ("LR", "RL"):
        assert np.corrcoef(angle[f"{arm}_SHOULDER_P"], leg[other])[0, 1] > 0.8
        assert np.corrcoef(angle[f"{arm}_SHOULDER_P"], leg[arm])[0, 1] < -0.6
    assert np.ptp(angle["L_SHOULDER_P"]) > 0.2
    assert min(angle["L_KNEE_P"].min(), angle["R_KNEE_P"].min()) > 0.05
