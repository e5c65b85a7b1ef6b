"""Task table: rows equal to those of `compute` of each task."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_controller.dynamics.motion_table import MotionTable
from multi_qp_controller.references.references import MinimumJerkPose, MovablePose, RestingPose
from multi_qp_controller.tasks import CoMTask, JointAngleTask, PoseTask, PostureTask
from multi_qp_controller.tasks.table import TaskTable
from multi_qp_scene.scalar_joint import ScalarJoint

SOLES = ("humanoid/left_sole", "humanoid/right_sole")


def _turned(angle):
    """Return a goal: the present pose, rotated by `angle` and displaced."""
    step = pin.SE3(pin.exp3(angle * np.array([0.48, -0.6, 0.64])), np.array([0.1, -0.2, 0.3]))
    return lambda _, present: RestingPose(present * step)


def _moving(_, present):
    return MinimumJerkPose(present, present * pin.SE3(pin.rpy.rpyToMatrix(0.3, 0.2, 0.1), np.ones(3)), 0.8, apex=0.1)


def _tasks(scene):
    """Return tasks for every case of the kernel."""
    frame, surface = scene.frame_id, scene.surfaces
    palm, box = surface["humanoid/left_palm"].frame_id, surface["box/bottom"].frame_id
    shifted = PoseTask("shifted", frame_a=palm, frame_b=box, goal=_turned(0.2), axes=(1, 3, 5), damping=3.0)
    both, aside = Group.of(scene, ["humanoid", "box"]), np.array([0.05, -0.04, 0.06])
    soles = [surface[name].frame_id for name in SOLES]
    return shifted, [
        PoseTask("moving", frame_a=palm, frame_b=box, goal=_moving, stiffness=30.0),
        PoseTask("slow", frame_a=frame("box/box_link"), goal=_turned(2.0), max_speed=0.1),
        *(
            PoseTask(f"turned {k}", frame_a=palm, goal=_turned(angle), axes=(3, 4, 5))
            for k, angle in enumerate((0.0, 1e-7, np.pi - 1e-5, np.pi, 3.0))
        ),
        shifted,
        PostureTask("posture", v_index=np.arange(6, 36), q_reference=scene.q0, stiffness=7.0),
        PostureTask("path", v_index=np.arange(9, 20), q_reference=scene.q0, duration=0.8),
        JointAngleTask("knee", joint=ScalarJoint(q_index=10, v_index=9), goal=0.9, duration=0.8),
        CoMTask("both", group=both, goal=lambda _, com: com + aside, axes=(0, 2), duration=0.8, stiffness=4.0),
        CoMTask("slowly", group=both, goal=lambda _, com: com + aside, max_speed=1e-3),
        CoMTask("carried", group=Group.of(scene, ["box"]), goal=lambda _, com: com + aside, along_with=soles),
    ]  # fmt: skip


def _table(scene, kinematics, tasks):
    pairs = [(t.frame_a, t.frame_b) for t in tasks if isinstance(t, PoseTask)]
    pairs += [(frame, None) for t in tasks if isinstance(t, CoMTask) for frame in t.along_with]
    motions = MotionTable(kinematics.model, kinematics.views, kinematics.data, pairs)
    ends = np.cumsum([0, *(task.dim for task in tasks)])
    slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    J, b = np.zeros((ends[-1], scene.nv)), np.zeros(ends[-1])
    table = TaskTable(tasks, slices, kinematics, motions, J, b)
    table.bind()
    return motions, slices, J, b, table


@pytest.mark.parametrize("time", [0.3, 1.0])
def test_rows_equal_those_of_compute(scene, lab, time):
    kinematics = lab.kinematics(scene, lab.random_state(scene, 1))
    (shifted, tasks), (alone_shifted, alone) = _tasks(scene), _tasks(scene)
    for task in (*tasks, *alone):
        task.start(kinematics, 0.0)
    motions, slices, J, b, table = _table(scene, kinematics, tasks)
    assert table.task_indices == set(range(len(tasks)))
    for seed in (2, 3):  # twice: what is written once must not be tabulated for what changes
        kinematics.update(lab.random_state(scene, seed))
        motions.update()
        shifted.shift = alone_shifted.shift = np.array([0.01, 0.02, 0.03]) * seed
        tasks[0].stiffness = alone[0].stiffness = 11.0 * seed
        table.update(kinematics, time)
        for task, other, rows in zip(tasks, alone, slices, strict=True):
            J_alone, b_alone = lab.rows(other, kinematics, time)
            np.testing.assert_allclose(J[rows], J_alone, atol=1e-12, err_msg=task.name)
            np.testing.assert_allclose(b[rows], b_alone, rtol=1e-9, atol=1e-9, err_msg=task.name)
            assert (task.error, task.speed) == pytest.approx((other.error, other.speed), rel=1e-9, abs=1e-9)
            if isinstance(task, PoseTask):
                assert task.position_error == pytest.approx(other.position_error)
                assert task.rotation_error == pytest.approx(other.rotation_error, abs=1e-9)
            if isinstance(task, CoMTask):
                place = other.target(kinematics).position
                np.testing.assert_allclose(task.target(kinematics).position, place, atol=1e-12)


def test_moved_target_is_followed_in_the_next_tick(scene, lab):
    kinematics = lab.kinematics(scene, lab.random_state(scene, 1))
    palm = scene.surfaces["humanoid/left_palm"].frame_id
    pose = PoseTask("pose", frame_a=palm, goal=lambda _, present: MovablePose(present), axes=(0, 1, 2))
    com = CoMTask("com", group=Group.of(scene, ["box"]), goal=lambda _, present: present)
    for task in (pose, com):
        task.start(kinematics, 0.0)
    motions, _, _, _, table = _table(scene, kinematics, [pose, com])
    motions.update()
    table.update(kinematics, 0.0)
    assert pose.error == pytest.approx(0.0, abs=1e-12) and com.error == pytest.approx(0.0, abs=1e-12)
    aside = np.array([0.3, -0.2, 0.1])
    pose.move_target(kinematics, kinematics.pose(palm).translation + aside)
    com.move_target(kinematics, com.group.com(kinematics) + aside)
    table.update(kinematics, 0.1)
    length = float(np.linalg.norm(aside))
    assert pose.error == pytest.approx(length) and com.error == pytest.approx(length)


def test_saved_state_is_a_copy(scene, lab):
    """Later updates of the table do not change a saved state."""
    kinematics = lab.kinematics(scene, lab.random_state(scene, 1))
    task = PostureTask("posture", v_index=np.arange(6, 36), q_reference=scene.q0)
    task.start(kinematics, 0.0)
    pose = PoseTask("pose", frame_a=scene.frame_id("box/box_link"), goal=_turned(0.1))
    pose.start(kinematics, 0.0)
    motions, _, _, _, table = _table(scene, kinematics, [task, pose])
    motions.update()
    table.update(kinematics, 0.0)
    saved = task.get_state()
    before = saved._error.copy()
    kinematics.update(lab.random_state(scene, 2))
    table.update(kinematics, 0.1)
    np.testing.assert_array_equal(saved._error, before)
    assert np.abs(task.get_state()._error - before).max() > 1e-3


def test_target_equals_the_frame_along_axes_that_are_not_tasked(scene, lab):
    """The drawn target of an orientation task moves with its frame."""
    kinematics = lab.kinematics(scene, lab.random_state(scene, 1))
    palm, box = scene.surfaces["humanoid/left_palm"].frame_id, scene.surfaces["box/bottom"].frame_id
    turned = PoseTask("turned", frame_a=palm, goal=_turned(0.3), axes=(3, 4, 5))
    across = PoseTask("across", frame_a=palm, frame_b=box, goal=_turned(0.3), axes=(1, 3))
    for task in (turned, across):
        task.start(kinematics, 0.0)
        lab.rows(task, kinematics, 0.0)
    began = kinematics.pose(box).actInv(kinematics.pose(palm)) * pin.SE3(np.eye(3), np.array([0.1, -0.2, 0.3]))
    kinematics.update(lab.random_state(scene, 2))
    np.testing.assert_allclose(turned.target(kinematics).position, kinematics.pose(palm).translation, atol=1e-12)
    place = kinematics.pose(box).actInv(across.target(kinematics).position)
    present = kinematics.pose(box).actInv(kinematics.pose(palm)).translation
    np.testing.assert_allclose(place, [present[0], began.translation[1], present[2]], atol=1e-12)
