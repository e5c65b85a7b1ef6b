"""A posture task that follows a reference motion, in a scenario file and alone."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_scene import ConfigError, load_scenario
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_simulator.integrator import Integrator

SCENE = """
description: a humanoid whose arms follow a motion
subsystems:
  humanoid: {model: humanoid, posture: half_sitting, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment: {ground: {model: ground}}
contacts:
  left_foot: {surfaces: [humanoid/left_sole, ground/floor]}
  right_foot: {surfaces: [humanoid/right_sole, ground/floor]}
tasks:
  upright: {type: pose, frame: humanoid/torso, axes: [roll, pitch, yaw], target: {rpy: [0, 0, 0]}, weight: 20}
  arms: {type: posture, subsystem: humanoid, joints: [L_*, R_*], weight: 100, stiffness: 100, OPTIONS}
initial_state: move
states:
  move:
    contacts: [left_foot, right_foot]
    transitions: [{to: stay, when: {type: reference_done, task: arms}}]
  stay: {contacts: [left_foot, right_foot]}
"""
FOLLOW = "target: {motion: wave.npz}"


@pytest.fixture
def folder(tmp_path):
    """Folder with a motion of 0.6 s in which the left elbow moves by 0.4 rad and back."""
    stand = load_scenario("stand").scene
    times = np.linspace(0.0, 0.6, 31)
    joints = tuple(name.partition("/")[2] for name in stand.velocity_names[6:])
    q = np.tile(stand.q0, (31, 1))
    q[:, 7 + joints.index("L_ELBOW_P")] -= 0.2 * (1.0 - np.cos(2.0 * np.pi * times / 0.6))
    ReferenceMotion(times, q, joints, np.ones((31, 0), dtype=bool), (), "humanoid", "a test").save(
        tmp_path / "wave.npz"
    )
    return tmp_path


def loaded(folder, options):
    file = folder / "scene.yaml"
    file.write_text(textwrap.dedent(SCENE).replace("OPTIONS", options))
    return load_scenario(file)


def started(folder, options, offset=0.0):
    """Return controller, state at the first tick, and the entry of q of the left elbow."""
    scenario = loaded(folder, options)
    controller = Controller(scenario)
    at = scenario.scene.model.joints[scenario.scene.model.getJointId("humanoid/L_ELBOW_P")].idx_q
    state = Integrator(scenario).state
    state.q[at] += offset
    return scenario, controller, state, at


def test_joints_follow_the_motion_and_keep_its_end(folder):
    scenario, controller, state, at = started(folder, FOLLOW)
    world, dt, errors = Integrator(scenario), 0.005, []
    start = state.q[at]
    for tick in range(150):
        time = tick * dt
        expected = start - 0.2 * (1.0 - np.cos(2.0 * np.pi * min(time, 0.6) / 0.6))
        errors.append(abs(state.q[at] - expected))
        command = controller.step(state, time)
        world.step(command, dt)
        state = world.state
    assert max(errors) < 0.008  # of 0.4; without its acceleration 0.2
    assert command.diagnostics.state == "stay"


def test_velocity_and_acceleration_are_derivatives_of_the_reference(folder):
    _, controller, state, _ = started(folder, f"{FOLLOW}, duration: 0.3", offset=-0.1)
    controller.step(state, 0.0)
    task = controller.tasks["arms"]
    h = 1e-5
    for time in (0.1, 0.28, 0.45):
        before, here, after = (task.sample(t).reshape(-1, 3).copy() for t in (time - h, time, time + h))
        np.testing.assert_allclose((after - before)[:, 0] / (2.0 * h), here[:, 1], atol=1e-5)
        np.testing.assert_allclose((after - before)[:, 1] / (2.0 * h), here[:, 2], atol=1e-3)


def test_the_reference_starts_at_the_present_posture_and_joins_the_motion(folder):
    _, controller, state, at = started(folder, f"{FOLLOW}, duration: 0.3", offset=-0.1)
    controller.step(state, 0.0)
    task = controller.tasks["arms"]
    row = [task_at for task_at, _ in task.places(controller.scenario.scene)].index(at)
    assert task.sample(0.0).reshape(-1, 3)[row, 0] == pytest.approx(state.q[at])
    joined = state.q[at] + 0.1 - 0.2 * (1.0 - np.cos(np.pi))
    assert task.sample(0.3).reshape(-1, 3)[row, 0] == pytest.approx(joined, abs=1e-9)


@pytest.mark.parametrize(
    "options, message",
    [
        ("target: {motion: none.npz}", r"scene.yaml:11: tasks.arms.target.motion: .*none.npz.*No such file"),
        ("target: {motion: scene.yaml}", r"tasks.arms.target.motion: .*is not a reference motion"),
        (f"posture: initial, {FOLLOW}", r"tasks.arms.target: give either `posture` or `target`, not both"),
        ("target: {moton: wave.npz}", r"tasks.arms.target.moton: unknown key 'moton'"),
    ],
)
def test_errors_name_file_line_and_key(folder, options, message):
    with pytest.raises(ConfigError, match=message):
        loaded(folder, options)


def test_a_motion_of_another_robot_is_an_error(folder):
    motion = ReferenceMotion.load(folder / "wave.npz")
    other = ReferenceMotion(
        motion.times, motion.q[:, :8], ("paw",), motion.contacts, motion.surfaces, "dog", motion.source
    )
    other.save(folder / "wave.npz")
    with pytest.raises(ConfigError, match="a motion of 'dog': 'humanoid' has no joint 'paw'"):
        loaded(folder, FOLLOW)
