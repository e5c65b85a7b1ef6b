"""Every task alone in a closed loop: decay of the error by its feedback law."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_controller.references.random import RandomPose
from multi_qp_controller.references.references import MinimumJerkPose, RestingPose
from multi_qp_controller.tasks import (
    CoMTask,
    JointAngleTask,
    JointVelocityTask,
    MomentumTask,
    PoseTask,
    PostureTask,
    TsidTask,
)
from multi_qp_controller.tsid_compat import tsid
from multi_qp_scene.scalar_joint import ScalarJoint

K, DT, DURATION = 25.0, 2e-3, 0.8


def pose(scene, frame, relative_to=None):
    frame_b = None if relative_to is None else scene.frame_id(relative_to)

    def goal(_, present):
        return RestingPose(present * pin.SE3(pin.rpy.rpyToMatrix(0.4, -0.3, 0.5), np.array([0.1, -0.05, 0.08])))

    return PoseTask("pose", frame_a=scene.frame_id(frame), frame_b=frame_b, goal=goal, stiffness=K)


def com(scene, *subsystems):
    goal = lambda _, present: present + [0.05, -0.04, 0.06]  # noqa: E731
    return CoMTask("com", group=Group.of(scene, list(subsystems)), goal=goal, stiffness=K)


KNEE = ScalarJoint(q_index=10, v_index=9)
TASKS = {
    "posture": lambda s: PostureTask("posture", v_index=np.arange(6, 36), q_reference=s.q0, stiffness=K),
    "com of one": lambda s: com(s, "humanoid"),
    "com of a group": lambda s: com(s, "humanoid", "box"),
    "pose": lambda s: pose(s, "humanoid/left_palm"),
    "pose of an object": lambda s: pose(s, "box/box_link"),
    "relative pose": lambda s: pose(s, "humanoid/left_palm", "box/left"),
    "joint angle": lambda s: JointAngleTask("knee", joint=KNEE, goal=0.9, stiffness=K),
}


@pytest.mark.parametrize("name", TASKS)
def test_the_error_decays_critically_damped(scene, lab, name):
    state, task = lab.random_state(scene, 3, speed=0.0), TASKS[name](scene)
    task.start(lab.kinematics(scene, state), 0.0)
    errors = lab.close_loop(scene, task, state, duration=DURATION, dt=DT)
    expected = lab.critically_damped(K, duration=DURATION, dt=DT)
    np.testing.assert_allclose(errors / errors[0], expected, atol=0.01)


@pytest.mark.parametrize("name", ["joint velocity", "momentum of one", "momentum of a group"])
def test_velocity_tasks_decay_at_first_order(scene, lab, name):
    group = ["humanoid"] if name == "momentum of one" else ["humanoid", "box"]
    task = (
        JointVelocityTask("v", v_index=9, goal=0.7, stiffness=5.0)
        if name == "joint velocity"
        else MomentumTask("h", group=Group.of(scene, group), goal=np.array([2.0, 1, 0, 0.3, -0.2, 0.1]), stiffness=5.0)
    )
    state = lab.random_state(scene, 3, speed=0.1)
    task.start(lab.kinematics(scene, state), 0.0)
    errors = lab.close_loop(scene, task, state, duration=0.6, dt=1e-3)
    expected = np.exp(-5.0 * 1e-3 * np.arange(len(errors)))
    np.testing.assert_allclose(errors / errors[0], expected, atol=0.01)


def test_tsid_task_in_closed_loop(scene, lab):
    state = lab.random_state(scene, 3, speed=0.0)
    kinematics = lab.kinematics(scene, state)
    inner = tsid.TaskSE3Equality("inner", kinematics.robot, "humanoid/left_palm")
    inner.useLocalFrame(False)
    inner.setKp(np.full(6, K))
    inner.setKd(np.full(6, 2 * np.sqrt(K)))
    goal = kinematics.pose(scene.frame_id("humanoid/left_palm")) * pin.SE3(
        pin.rpy.rpyToMatrix(0.2, 0.3, -0.1), np.array([0.1, 0.05, -0.08])
    )
    sample = tsid.TrajectorySample(12, 6)
    sample.value(np.concatenate([goal.translation, goal.rotation.flatten(order="F")]))
    inner.setReference(sample)
    errors = lab.close_loop(scene, TsidTask("tsid", task=inner), state, duration=DURATION, dt=DT)
    expected = lab.critically_damped(K, duration=DURATION, dt=DT)
    np.testing.assert_allclose(errors / errors[0], expected, atol=0.01)


REFERENCES = {
    "minimum jerk": lambda _, X: MinimumJerkPose(
        X, X * pin.SE3(pin.rpy.rpyToMatrix(0.4, 0.3, -0.5), np.array([0.15, -0.1, 0.1])), 0.8
    ),
    "random": lambda _, X: RandomPose(
        X, duration=0.8, position=np.full(3, 0.05), angle=np.full(3, 0.3), seed=1, knots_every=0.4
    ),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_moving_reference_is_tracked_without_lag(scene, lab, name):
    """With feed-forward, only the integration error remains, far below a lag of one step."""
    frame, other = scene.frame_id("humanoid/left_palm"), scene.frame_id("box/left")
    task = PoseTask("palm", frame_a=frame, frame_b=other, goal=REFERENCES[name], stiffness=100.0)
    state = lab.random_state(scene, 3, speed=0.0)
    task.start(lab.kinematics(scene, state), 0.0)
    errors = lab.close_loop(scene, task, state, duration=0.9, dt=DT)
    assert errors.max() < 5e-3
    assert errors[-1] < 1e-3
    assert task.duration == 0.8


def test_max_speed_bounds_the_approach(scene, lab):
    far = lambda _, X: RestingPose(X * pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.0])))  # noqa: E731
    frame, speed = scene.frame_id("box/box_link"), 0.2
    task = PoseTask("box", frame_a=frame, goal=far, stiffness=100.0, max_speed=speed)
    state = scene.initial_state()
    task.start(lab.kinematics(scene, state), 0.0)
    errors = lab.close_loop(scene, task, state, duration=2.0, dt=DT)
    speeds = -np.diff(errors) / DT
    assert speeds.max() <= speed * 1.001
    assert np.median(speeds) == pytest.approx(speed, rel=0.01)
