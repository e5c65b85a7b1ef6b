"""Scene swing: a swing on a high bar is followed by modal-space control; hands pull and push, nothing else touches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from modal_control.contact_forces import plan_forces
from multi_qp_controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene import load_scenario
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import find_resource
from multi_qp_scene.scene import State
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.log_motion import motion_of
from multi_qp_simulator.runner import run_scenario


def swung(backend="mujoco", duration=None, push=None):
    """Return the result of a run, and the errors of the centre of mass, (n,) [m]."""
    scenario = load_scenario("swing")
    if push is not None:
        mismatch = scenario.spec.mismatch.model_copy(update={"pushes": [push]})
        scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch}))
    result = run_scenario(scenario, backend=backend, duration=duration)
    tracked = Controller(scenario).generator("swing").tracked
    kinematics = Kinematics(scenario.scene)
    group = kinematics.group(("humanoid",))
    errors = []
    for time, q, v in zip(result.log.time, result.log.q, result.log.v, strict=True):
        if time <= tracked.duration:
            kinematics.update(State(q, v))
            errors.append(np.linalg.norm(group.com(kinematics) - tracked.goal(time)[1]))
    return result, np.array(errors)


def test_forces_of_grasps_may_pull():
    wanted = np.array([[3.0, -2.0, -5.0], [0.1, 0.0, 1.0], [0.0, 0.0, -1.0]])
    friction = np.array([np.inf, 0.5, 0.5])
    found = plan_forces(np.zeros((12, 9)), np.zeros(12), np.ones(12), 1.0, friction=friction, nominal=wanted).forces
    np.testing.assert_allclose(found, [wanted[0], wanted[1], [0.0, 0.0, 0.0]], atol=1e-9)


def test_the_beginning_is_followed_by_torques_alone():
    result, errors = swung(duration=2.5)
    assert result.report["qp_failures"] == 0 and len(errors) == 500
    assert np.sqrt(np.mean(errors**2)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_twelve_seconds_are_followed(backend):
    result, errors = swung(backend)
    assert result.succeeded and result.report["qp_failures"] == 0
    assert result.report["sim_time"] > 12.8
    assert np.sqrt(np.mean(errors**2)) < 0.012
    assert result.report["worst"]["contact_slip_m"] < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
def test_it_swings_on_after_pushes(direction):
    push = PushSpec(link="humanoid/torso", direction=direction, force=125.0, duration=1.0 / 6.0, at=6.0)
    result, errors = swung(push=push)
    assert result.report["goals"]["swung"]["reached"] and result.report["qp_failures"] == 0
    assert errors.max() > 0.01 and errors[-100:].mean() < 0.08


@pytest.mark.slow
def test_the_motion_is_the_log_of_its_scenario():
    scenario = load_scenario(find_resource("config/motions/swing_reference.yaml"))
    motion = ReferenceMotion.load(find_resource("config/motions/swing.npz"))
    again = motion_of(run_scenario(scenario).log, scenario)
    np.testing.assert_allclose(again.q, motion.q, atol=1e-3)
