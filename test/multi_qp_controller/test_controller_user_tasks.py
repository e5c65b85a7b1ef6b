"""User tasks of a controller: added, removed, failing."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.references.references import PoseReference, RestingPose
from multi_qp_controller.take_snapshot import take_snapshot
from multi_qp_controller.tasks import JointAngleTask, PoseTask, TsidTask
from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tsid_compat import tsid
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scalar_joint import ScalarJoint

DT = 0.01


class Failing(Task):
    """Raises in `compute` while `broken`."""

    dim = 1

    def compute(self, kinematics, time, J, b):
        if self.broken:
            raise ZeroDivisionError("of the user's own")
        J[0, 9] = 1.0


@pytest.mark.parametrize("options", [{}, {"formulation": "reduced", "solver": "daqp"}])
def test_raising_task_is_left_out_and_logged_once_with_location(bench, caplog, options, make_bench):
    bench = make_bench(bench.scenario, **options)
    task, without = Failing("mine"), make_bench(bench.scenario, **options)
    task.broken = True
    bench.controller.add_task(task)
    line = Failing.compute.__code__.co_firstlineno + 2
    for _ in range(100):
        command, other = bench.step(), without.step()
        assert command.diagnostics.status is Status.REDUCED
        expected = f"task 'mine' is left out: ZeroDivisionError: of the user's own ({__file__}:{line})"
        assert command.diagnostics.message == expected
        np.testing.assert_allclose(command.tau, other.tau, rtol=0, atol=1e-4)
    assert [record.message for record in caplog.records] == [expected]
    task.broken = False
    command = bench.step()
    assert (command.diagnostics.status, command.diagnostics.message) == (Status.OK, "")


CORRUPTIONS = {
    "NaN in b": lambda J, b: b.fill(np.nan),
    "inf in b": lambda J, b: b.fill(-np.inf),
    "NaN in J": lambda J, b: J[0].fill(np.nan),
    "1e300": lambda J, b: b.fill(1e300) or J.fill(1.0),
    "the wrong shape": lambda J, b: J.__setitem__(slice(None), np.zeros((3, 3))),
}


@pytest.mark.parametrize("options", [{}, {"formulation": "reduced", "solver": "daqp"}])
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_task_with_invalid_rows_is_left_out(bench, how, options, make_bench):
    class Corrupted(Failing):
        def compute(self, kinematics, time, J, b):
            CORRUPTIONS[how](J, b)

    bench = make_bench(bench.scenario, **options)
    good = bench.step()
    bench.controller.add_task(Corrupted("mine"))
    command = bench.step()
    assert command.diagnostics.status is Status.REDUCED
    assert "task 'mine' is left out: " in command.diagnostics.message
    np.testing.assert_allclose(command.tau, good.tau, atol=0.02 * bench.scene.torque_limits.max())
    bench.controller.remove_task("mine")
    assert bench.step().diagnostics.status is Status.OK


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, "heavy", None, [1.0, 2.0]])
def test_task_with_invalid_weight_is_left_out(bench, weight):
    task = Failing("mine")
    task.broken = False
    bench.controller.add_task(task)
    bench.step()
    task.weight = weight
    with np.errstate(invalid="ignore"):
        assert bench.step().diagnostics.status is Status.REDUCED
    task.weight = 1.0
    assert bench.step().diagnostics.status is Status.OK


def test_raising_user_reference_leaves_out_only_its_task(bench):
    class Reference(PoseReference):
        def sample(self, time):
            raise LookupError("no such pose")

    frame = bench.scene.frame_id("humanoid/right_palm")
    bench.step()
    goal = lambda kinematics, pose: Reference()  # noqa: E731
    bench.controller.add_task(PoseTask("reach", frame_a=frame, goal=goal))
    command = bench.step()
    assert command.diagnostics.status is Status.REDUCED
    assert command.diagnostics.message.startswith("task 'reach' is left out: LookupError: no such pose (")


class Broken(Task):
    """Raises in one of its methods."""

    dim = 1

    def __init__(self, where):
        super().__init__("mine")
        self.where = where

    def start(self, kinematics, time):
        self.fail("start")

    def compute(self, kinematics, time, J, b):
        J[0, 9] = 1.0

    def columns(self, scene):
        return self.fail("columns")

    def get_state(self):
        self.fail("get_state")
        return super().get_state()

    def target(self, kinematics):
        return self.fail("target")

    def fail(self, where):
        if where == self.where:
            raise RuntimeError(f"in {where}")


@pytest.mark.parametrize("where", ["start", "columns", "get_state", "target"])
def test_other_raising_task_methods_are_logged_and_ticks_continue(bench, caplog, where):
    controller = bench.controller
    controller.records_input = True
    controller.add_task(Broken(where))
    for _ in range(5):
        command = bench.step()
        assert command.diagnostics.status is Status.OK, command.diagnostics.message
        take_snapshot(controller, command)
    messages = [record.message for record in caplog.records]
    assert len(messages) == 1
    assert f"RuntimeError: in {where} ({__file__}:" in messages[0]


def test_task_that_fails_to_start_is_not_added(bench):
    bench.step()
    with pytest.raises(RuntimeError, match="in start"):
        bench.controller.add_task(Broken("start"))
    assert "mine" not in bench.controller.tasks
    assert bench.step().diagnostics.status is Status.OK


def knee_task(bench, goal=0.6, weight=1000.0, name="knee"):
    iq, iv = bench.index("humanoid/NECK_Y")
    return JointAngleTask(name, joint=ScalarJoint(iq, iv), goal=goal, weight=weight, stiffness=50.0)


@pytest.mark.parametrize("early", [True, False])
def test_user_task_can_be_added_and_removed(bench, early):
    if not early:
        bench.step()
    bench.controller.add_task(knee_task(bench))
    iq, _ = bench.index("humanoid/NECK_Y")
    for _ in range(100):
        assert bench.step().diagnostics.status is Status.OK
    assert bench.state.q[iq] == pytest.approx(0.6, abs=0.02)
    bench.controller.remove_task("knee")
    for _ in range(200):
        bench.step()
    assert abs(bench.state.q[iq]) < 0.02


def test_task_names_are_unique(bench):
    bench.step()
    with pytest.raises(ValueError, match="there is a task 'posture' already"):
        bench.controller.add_task(knee_task(bench, name="posture"))
    with pytest.raises(MultiQpError, match="unknown added task 'posture'"):
        bench.controller.remove_task("posture")  # a task of the scenario


def test_tsid_task_affects_the_solution(bench):
    inner = tsid.TaskSE3Equality("hand", bench.controller.kinematics.robot, "humanoid/left_palm")
    inner.useLocalFrame(False)
    inner.setKp(np.full(6, 40.0))
    inner.setKd(np.full(6, 2 * np.sqrt(40.0)))
    bench.step()
    goal = bench.controller.kinematics.pose(bench.scene.frame_id("humanoid/left_palm")).copy()
    goal.translation = goal.translation + [0.1, 0.05, 0.1]
    sample = tsid.TrajectorySample(12, 6)
    sample.value(np.concatenate([goal.translation, goal.rotation.flatten(order="F")]))
    inner.setReference(sample)
    bench.controller.add_task(TsidTask("hand", task=inner, weight=1e4))
    for _ in range(200):
        assert bench.step().diagnostics.status is Status.OK
    bench.controller.kinematics.update(bench.state)
    reached = bench.controller.kinematics.pose(bench.scene.frame_id("humanoid/left_palm"))
    assert np.linalg.norm(reached.translation - goal.translation) < 0.01
    assert bench.controller.tasks["hand"].error < 0.05


def test_weight_change_takes_effect_in_the_next_tick(bench):
    """Also from zero and to zero."""
    bench.controller.add_task(knee_task(bench, weight=1.0))
    bench.step()
    _, iv = bench.index("humanoid/NECK_Y")
    accelerations = []
    for weight in (1.0, 1000.0, 0.0):
        bench.controller.tasks["knee"].weight = weight
        accelerations.append(bench.controller.step(bench.state, bench.time).a[iv])
    light, heavy, none = accelerations
    assert heavy == pytest.approx(50.0 * 0.6, rel=0.1)
    assert none < light < heavy


def test_user_pose_task_outweighs_the_posture(bench):
    frame = bench.scene.frame_id("humanoid/right_palm")
    bench.step()
    goal = bench.controller.kinematics.pose(frame).copy()
    goal.translation = goal.translation + [0.1, -0.05, 0.1]
    task = PoseTask("reach", frame_a=frame, goal=lambda *_: RestingPose(goal), weight=1e4, stiffness=40.0)
    bench.controller.add_task(task)
    for _ in range(200):
        assert bench.step().diagnostics.status is Status.OK
    assert task.position_error < 0.01
    assert task.rotation_error < 0.05
