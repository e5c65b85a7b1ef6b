"""Every task against finite differences: J, J̇v, and the desired acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_controller.references.references import RestingPose
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

KNEE = ScalarJoint(q_index=10, v_index=9)
GOAL = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.2, 0.5), np.array([0.3, -0.1, 0.9]))
PALM, BOX, TORSO = "humanoid/left_palm", "box/box_link", "humanoid/torso"


class Reading:
    """Features of a scene at one state, by pinocchio alone."""

    def __init__(self, scene, state):
        self.scene, self.state, self.data = scene, state, scene.model.createData()
        pin.forwardKinematics(scene.model, self.data, state.q, state.v)
        pin.updateFramePlacements(scene.model, self.data)

    def pose(self, frame, relative_to=None):
        X = self.data.oMf[self.scene.frame_id(frame)]
        return X if relative_to is None else self.data.oMf[self.scene.frame_id(relative_to)].actInv(X)

    def bodies(self, subsystems):
        """Yield mass, centre, velocity of it, inertia about it and angular velocity of every body, world frame."""
        for name in subsystems:
            for joint, full_name in enumerate(self.scene.model.names):
                if full_name.startswith(f"{name}/"):
                    X, inertia = self.data.oMi[joint], self.scene.model.inertias[joint]
                    twist = X.act(self.data.v[joint])
                    centre = X.act(inertia.lever)
                    velocity = twist.linear + np.cross(twist.angular, centre)
                    yield inertia.mass, centre, velocity, X.rotation @ inertia.inertia @ X.rotation.T, twist.angular

    def com(self, subsystems):
        parts = [(mass, centre) for mass, centre, *_ in self.bodies(subsystems)]
        return sum(mass * centre for mass, centre in parts) / sum(mass for mass, _ in parts)

    def momentum(self, subsystems):
        com, h = self.com(subsystems), np.zeros(6)
        for mass, centre, velocity, inertia, omega in self.bodies(subsystems):
            h[:3] += mass * velocity
            h[3:] += inertia @ omega + np.cross(centre - com, mass * velocity)
        return h


@dataclass
class Case:
    """A task, and its feature as a function of a reading; the feature of a pose rotates about `origin`."""

    make: object
    feature: object
    axes: tuple = (0, 1, 2, 3, 4, 5)
    is_rate: bool = False
    gain: float = 10.0


def pose_step(frame, relative_to=None):
    def feature(reading, origin):
        X, X0 = reading.pose(frame, relative_to), origin.pose(frame, relative_to)
        return np.concatenate([X.translation - X0.translation, pin.log3(X.rotation @ X0.rotation.T)])

    return feature


def com(subsystems):
    return lambda reading, _: reading.com(subsystems)


def com_beside(subsystems, frames):
    """Return the feature of a centre-of-mass task relative to the mean origin of carrier frames."""
    return lambda reading, _: reading.com(subsystems) - np.mean([reading.pose(f).translation for f in frames], axis=0)


def momentum(subsystems):
    return lambda reading, _: reading.momentum(subsystems)


def entry_of_q(index):
    return lambda reading, _: reading.state.q[index : index + 1]


def pose_task(scene, frame, relative_to=None, **options):
    frame_b = None if relative_to is None else scene.frame_id(relative_to)
    goal = lambda *_: RestingPose(GOAL)  # noqa: E731
    return PoseTask("pose", frame_a=scene.frame_id(frame), frame_b=frame_b, goal=goal, **options)


def com_task(scene, subsystems, **options):
    return CoMTask("com", group=Group.of(scene, subsystems), goal=lambda *_: np.array([0.1, 0.2, 0.7]), **options)


def posture_task(scene, **options):
    return PostureTask("posture", v_index=np.arange(6, 36), q_reference=scene.q0, **options)


CASES = {
    "posture": Case(posture_task, lambda r, o: pin.difference(r.scene.model, o.state.q, r.state.q)[6:36], range(30)),
    "com of one": Case(lambda s, **o: com_task(s, ["humanoid"], **o), com(["humanoid"]), (0, 1, 2)),
    "com of an object": Case(lambda s, **o: com_task(s, ["box"], **o), com(["box"]), (0, 1, 2)),
    "com of a group": Case(
        lambda s, **o: com_task(s, ["humanoid", "box"], axes=[0, 2], **o), com(["humanoid", "box"]), (0, 2)
    ),
    "com beside moving frames": Case(
        lambda s, **o: com_task(s, ["humanoid"], along_with=[s.frame_id(BOX), s.frame_id(PALM)], **o),
        com_beside(["humanoid"], [BOX, PALM]),
        (0, 1, 2),
    ),
    "pose": Case(lambda s, **o: pose_task(s, PALM, **o), pose_step(PALM)),
    "pose, some axes": Case(lambda s, **o: pose_task(s, TORSO, axes=[2, 3, 5], **o), pose_step(TORSO), (2, 3, 5)),
    "pose relative to another subsystem": Case(lambda s, **o: pose_task(s, PALM, BOX, **o), pose_step(PALM, BOX)),
    "pose relative to the same subsystem": Case(
        lambda s, **o: pose_task(s, PALM, TORSO, axes=[0, 1, 4], **o), pose_step(PALM, TORSO), (0, 1, 4)
    ),
    "joint angle": Case(lambda s, **o: JointAngleTask("knee", joint=KNEE, goal=0.4, **o), entry_of_q(10)),
    "joint velocity": Case(
        lambda s, **o: JointVelocityTask("knee", v_index=9, goal=0.4, **o),
        lambda r, _: r.state.v[9:10],
        is_rate=True,
    ),
    "momentum of one": Case(
        lambda s, **o: MomentumTask("h", group=Group.of(s, ["humanoid"]), goal=np.arange(6.0), **o),
        momentum(["humanoid"]),
        is_rate=True,
    ),
    "momentum of an object": Case(
        lambda s, **o: MomentumTask("h", group=Group.of(s, ["box"]), goal=np.arange(6.0), axes=[1, 3, 4, 5], **o),
        momentum(["box"]),
        (1, 3, 4, 5),
        is_rate=True,
    ),
    "momentum of a group": Case(
        lambda s, **o: MomentumTask("h", group=Group.of(s, ["humanoid", "box"]), goal=np.arange(6.0), **o),
        momentum(["humanoid", "box"]),
        is_rate=True,
    ),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", CASES)
def test_rows_are_the_second_derivative_of_the_feature(scene, lab, name, seed):
    case = CASES[name]
    state = lab.random_state(scene, seed)
    task = case.make(scene, stiffness=0.0)
    kinematics = lab.kinematics(scene, state)
    task.start(kinematics, 0.0)
    J, b = lab.rows(task, kinematics)
    acceleration = np.random.default_rng(seed).uniform(-3, 3, scene.nv)
    origin, axes = Reading(scene, state), list(case.axes)

    def feature(at):
        value = case.feature(Reading(scene, at), origin)
        return value[axes] if len(value) > 1 else value

    def feature_rate(at):
        return lab.rows(task, lab.kinematics(scene, at))[0] @ at.v

    rate = lab.rate(scene, feature, state, acceleration)
    if case.is_rate:
        np.testing.assert_allclose(J @ state.v, feature(state), atol=1e-9)
        second = rate
    else:
        np.testing.assert_allclose(J @ state.v, rate, atol=1e-9)
        second = lab.rate(scene, feature_rate, state, acceleration)
    # without gains the desired acceleration is zero, and b is minus the drift
    np.testing.assert_allclose(J @ acceleration - b, second, atol=1e-7)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.is_rate])
def test_gains_are_critically_damped_unless_given(scene, lab, name):
    state = lab.random_state(scene, 4)
    kinematics = lab.kinematics(scene, state)
    drift, stiff, damped, own = (
        started(CASES[name].make(scene, stiffness=k, damping=c), kinematics)
        for k, c in ((0.0, 0.0), (9.0, 0.0), (9.0, None), (9.0, 1.5))
    )
    J, minus_drift = lab.rows(drift, kinematics)
    spring = lab.rows(stiff, kinematics)[1] - minus_drift
    np.testing.assert_allclose(np.linalg.norm(spring), 9.0 * stiff.error, rtol=1e-12)
    velocity = J @ state.v
    np.testing.assert_allclose(lab.rows(damped, kinematics)[1], minus_drift + spring - 6.0 * velocity, atol=1e-9)
    np.testing.assert_allclose(lab.rows(own, kinematics)[1], minus_drift + spring - 1.5 * velocity, atol=1e-9)


def started(task, kinematics):
    task.start(kinematics, 0.0)
    return task


def test_moving_posture_reference_is_fed_forward(scene, lab):
    """At the reference, with its velocity, the desired acceleration is that of the reference."""
    start, task = lab.random_state(scene, 1, speed=0.0), posture_task(scene, duration=2.0)
    task.start(lab.kinematics(scene, start), 1.0)
    path = pin.difference(scene.model, start.q, scene.q0)
    x, slope, bend = 0.35, 30 * 0.35**2 * 0.65**2 / 2.0, 60 * 0.35 * (1 - 3 * 0.35 + 2 * 0.35**2) / 4.0
    s = x**3 * (10 - 15 * x + 6 * x**2)
    moved = np.zeros(scene.nv)
    moved[6:36] = path[6:36]
    on_it = type(start)(pin.integrate(scene.model, start.q, s * moved), slope * moved)
    _, b = lab.rows(task, lab.kinematics(scene, on_it), 1.7)
    assert task.error < 1e-12
    np.testing.assert_allclose(b, bend * path[6:36], atol=1e-9)
    assert not task.reference_done(2.99)
    assert task.reference_done(3.0)


@pytest.mark.parametrize("seed", range(4))
def test_pose_task_equals_that_of_tsid(scene, lab, seed):
    kinematics = lab.kinematics(scene, lab.random_state(scene, seed))
    ours = started(pose_task(scene, PALM, stiffness=37.0, damping=5.0), kinematics)
    theirs = tsid.TaskSE3Equality("theirs", kinematics.robot, PALM)
    theirs.useLocalFrame(False)
    theirs.setKp(np.full(6, 37.0))
    theirs.setKd(np.full(6, 5.0))
    sample = tsid.TrajectorySample(12, 6)
    sample.value(np.concatenate([GOAL.translation, GOAL.rotation.flatten(order="F")]))
    sample.derivative(np.zeros(6))
    sample.second_derivative(np.zeros(6))
    theirs.setReference(sample)
    wrapped = TsidTask("wrapped", task=theirs)
    J, b = lab.rows(ours, kinematics)
    J_theirs, b_theirs = lab.rows(wrapped, kinematics)
    np.testing.assert_allclose(J, J_theirs, atol=1e-9)
    np.testing.assert_allclose(b, b_theirs, atol=1e-9)
    assert wrapped.dim == 6
    assert wrapped.error == pytest.approx(ours.error, abs=1e-9)


def test_a_tsid_task_follows_the_finite_difference(scene, lab):
    state = lab.random_state(scene, 2)
    kinematics = lab.kinematics(scene, state)
    inner = tsid.TaskSE3Equality("inner", kinematics.robot, PALM)
    inner.useLocalFrame(False)
    sample = tsid.TrajectorySample(12, 6)
    sample.value(np.concatenate([GOAL.translation, GOAL.rotation.flatten(order="F")]))
    inner.setReference(sample)  # no gains: zero desired acceleration
    task, acceleration = TsidTask("tsid", task=inner), np.random.default_rng(1).uniform(-3, 3, scene.nv)
    J, b = lab.rows(task, kinematics)
    rate = lab.rate(scene, lambda at: lab.rows(task, lab.kinematics(scene, at))[0] @ at.v, state, acceleration)
    np.testing.assert_allclose(J @ acceleration - b, rate, atol=1e-7)


def test_pose_task_before_its_start_raises(scene, lab):
    kinematics = lab.kinematics(scene, lab.random_state(scene, 0))
    with pytest.raises(RuntimeError, match="'pose' has not been started"):
        lab.rows(pose_task(scene, PALM), kinematics)
