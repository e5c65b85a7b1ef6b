"""Continuous joints: two entries of q, (cos, sin), and one of v."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.controller import Controller
from multi_qp_controller.tasks.registry import make_task
from multi_qp_scene.schema.tasks import JointAngleTaskSpec, PostureTaskSpec
from multi_qp_simulator.runner import run_scenario

LIMIT = '<limit lower="-1" upper="1" velocity="3" effort="50"/>'
TURNING = '<limit velocity="3" effort="50"/>'


@pytest.fixture
def wheel_scenario(workshop):
    """Return a chain of four joints: bounded, continuous, continuous, bounded."""
    workshop.chain(
        "wheels",
        [
            {"extra": LIMIT},
            {"type": "continuous", "axis": "0 0 1", "extra": TURNING},
            {"type": "continuous", "axis": "1 0 0", "extra": TURNING},
            {"extra": LIMIT},
        ],
    )
    tasks = {
        "posture": {
            "type": "posture",
            "subsystem": "arm",
            "posture": {"joint0": 0.4, "joint1": 2.5, "joint2": -1.0, "joint3": -0.3},
            "duration": 1.0,
            "stiffness": 25,
        }
    }
    return workshop.load(subsystems={"arm": {"model": "wheels"}}, tasks=tasks, duration=3.0)


def angle(q, index):
    return np.arctan2(q[index + 1], q[index])


def test_indices_in_the_scene(wheel_scenario):
    scene = wheel_scenario.scene
    assert (scene.nq, scene.nv, scene.na) == (6, 4, 4)
    assert scene.limits.q_index.tolist() == [0, 1, 3, 5]
    assert np.isneginf(scene.limits.lower[1:3]).all()
    assert np.isposinf(scene.limits.upper[1:3]).all()


def test_posture_task_rotates_it(wheel_scenario):
    result = run_scenario(wheel_scenario, dt=0.01)
    assert result.report["qp_failures"] == 0
    q = result.log.q[-1]
    np.testing.assert_allclose([q[0], angle(q, 1), angle(q, 3), q[5]], [0.4, 2.5, -1.0, -0.3], atol=0.01)
    np.testing.assert_allclose([np.hypot(*q[1:3]), np.hypot(*q[3:5])], 1.0, atol=1e-9)


def test_posture_takes_the_shorter_direction(wheel_scenario, lab):
    scene = wheel_scenario.scene
    spec = PostureTaskSpec(type="posture", subsystem="arm", posture={"joint1": 3.0}, stiffness=25)
    task = make_task("posture", spec, wheel_scenario)
    q = scene.q0.copy()
    q[1:3] = np.cos(-3.0), np.sin(-3.0)
    kinematics = lab.kinematics(scene, type(scene.initial_state())(q, np.zeros(4)))
    task.start(kinematics, 0.0)
    _, b = lab.rows(task, kinematics)
    np.testing.assert_allclose(b, [0, 25 * (6.0 - 2 * np.pi), 0, 0], atol=1e-9)


@pytest.mark.parametrize("duration", [None, 0.5])
def test_joint_angle_task_rotates_it(wheel_scenario, lab, duration):
    scene = wheel_scenario.scene
    spec = JointAngleTaskSpec(type="joint_angle", joint="arm/joint2", target=-2.0, stiffness=100, duration=duration)
    task = make_task("angle", spec, wheel_scenario)
    state = scene.initial_state()
    task.start(lab.kinematics(scene, state), 0.0)
    errors = lab.close_loop(scene, task, state, duration=1.5, dt=2e-3)
    assert errors[0] == pytest.approx(2.0 if duration is None else 0.0)
    assert errors[-1] < 1e-3


def test_only_its_velocity_is_limited(wheel_scenario):
    scene = wheel_scenario.scene
    controller = Controller(wheel_scenario, dt=0.01)
    state = scene.initial_state()
    state.q[1:3], state.v[1] = (np.cos(3.1), np.sin(3.1)), 2.0
    command = controller.step(state, 0.0)
    assert command.diagnostics.status == "ok", command.diagnostics.message
    limits = controller.qp_data
    np.testing.assert_allclose((limits.lower[1], limits.upper[1]), ((-3.0 - 2.0) / 0.01, (3.0 - 2.0) / 0.01))
    assert not np.isnan([limits.lower, limits.upper]).any()


def test_angle_passes_pi_without_a_jump(wheel_scenario):
    """At constant velocity, ±π is no discontinuity."""
    spec = wheel_scenario.spec.tasks["posture"].model_copy(update={"posture": {"joint1": 3.0}, "duration": None})
    wheel_scenario.spec.tasks["posture"] = spec
    scene = wheel_scenario.scene
    state = scene.initial_state()
    state.q[1:3] = np.cos(-3.0), np.sin(-3.0)
    result = run_scenario(wheel_scenario, dt=0.01, initial_state=state)
    turned = [pin.difference(scene.model, a, b)[1] for a, b in zip(result.log.q[:-1], result.log.q[1:], strict=True)]
    assert sum(turned) == pytest.approx(6.0 - 2 * np.pi, abs=0.01)
    assert max(turned) <= 1e-6
