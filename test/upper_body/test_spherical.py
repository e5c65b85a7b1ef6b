"""Antagonistic pairs on a spherical shoulder, in pinocchio and in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from upper_body.spherical import SphericalJoint

MASS, LEVER, LENGTH = 2.5, np.array([0.0, 0.02, -0.25]), np.array([0.0, 0.0, -1.0])
INERTIA = np.diag([0.03, 0.03, 0.004])
LIMITS = np.array([[-1.5, -1.9, -1.4], [1.5, 0.9, 1.8]])
ARM = "<mujoco><worldbody><body name='arm'><joint type='ball'/></body></worldbody></mujoco>"


@pytest.fixture(scope="module")
def model():
    made = pin.Model()
    shoulder = made.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "shoulder")
    made.appendBodyToJoint(shoulder, pin.Inertia(MASS, LEVER, INERTIA), pin.SE3.Identity())
    return made


@pytest.fixture(scope="module")
def joint():
    return SphericalJoint(pin.exp3(np.array([0.0, 0.3, 0.0])), LENGTH, LIMITS)


@pytest.fixture
def random():
    return np.random.default_rng(3)


def rotation_within(joint, random):
    """Return a rotation whose angles are within the limits."""
    while True:
        found = joint.rest @ np.asarray(pin.Quaternion(*normalized(random.normal(size=4))).toRotationMatrix())
        angles, _ = joint.angles(found)
        if (angles > LIMITS[0]).all() and (angles < LIMITS[1]).all():
            return found


def normalized(vector):
    return vector / np.linalg.norm(vector)


def gravity(model, rotation):
    """Return the torque that holds the arm, in its axes, (3,) [N m]."""
    q = pin.Quaternion(rotation).coeffs()
    return np.asarray(pin.computeGeneralizedGravity(model, model.createData(), q)).copy()


def held(joint, present, target, equilibrium, stiffness):
    sag = MASS * 9.81 * float(np.linalg.norm(LEVER)) if np.any(equilibrium) else 0.0
    return joint.torques(present, target, equilibrium, stiffness, INERTIA.diagonal(), ratio=0.7, sag=sag)


def test_rates_are_those_of_the_angles(joint, random):
    for _ in range(100):
        here, h = rotation_within(joint, random), 1e-6
        _, rates = joint.angles(here)
        for k, step in enumerate(h * np.eye(3)):
            change = joint.angles(here @ pin.exp3(step))[0] - joint.angles(here @ pin.exp3(-step))[0]
            np.testing.assert_allclose(change / (2 * h), rates[:, k], atol=1e-5)


def check_steps(joint, random, poses):
    """Steps of 0.1 degrees change no angle by a degree, and torques by a bounded slope; a full turn would be 3600."""
    step, worst, jump = np.radians(0.1), 0.0, 0.0
    target = joint.rest @ pin.exp3(np.array([0.3, -0.4, 0.2]))
    for _ in range(poses):
        here = rotation_within(joint, random)
        there = here @ pin.exp3(step * normalized(random.normal(size=3)))
        worst = max(worst, float(np.abs(joint.angles(there)[0] - joint.angles(here)[0]).max()))
        torques = [held(joint, one, target, np.zeros(3), 10.0).torque for one in (here, there)]
        jump = max(jump, float(np.abs(torques[1] - torques[0]).max() / (10.0 * step)))
    assert np.degrees(worst) < 1.0
    assert jump < 60.0  # towards a swing of 180 degrees the angles change ever faster
    return np.degrees(worst), jump


def test_neither_angles_nor_torques_jump_within_the_limits(joint, random):
    check_steps(joint, random, 1000)


@pytest.mark.slow
def test_they_do_not_in_ten_thousand_poses(joint, random):
    worst, jump = check_steps(joint, random, 10_000)
    assert worst < 0.6 and jump < 40.0


def slope_at(joint, rotation, target, load, stiffness):
    """Return the derivative of the torque that is not in equilibrium, (3, 3) [N m/rad]."""

    def missing(at):
        return held(joint, at, target, load(target), stiffness).torque - load(at)

    steps = 1e-6 * np.eye(3)
    return np.array([missing(rotation @ pin.exp3(e)) - missing(rotation @ pin.exp3(-e)) for e in steps]).T / 2e-6


def check_equilibrium(model, joint, random, poses):
    """The rotation at which the pairs bear the load, by Newton steps of at most 2 degrees, is the target."""
    worst = 0.0
    for pose in range(poses):
        target, stiffness = rotation_within(joint, random), 0.1 + random.uniform(0.0, 60.0) * (pose % 3 > 0)
        load = (lambda at: gravity(model, at)) if pose % 2 else (lambda at: np.zeros(3))
        at_target = load(target)
        present = target @ pin.exp3(np.radians(3.0) * normalized(random.normal(size=3)))
        for _ in range(60):
            pairs = held(joint, present, target, at_target, stiffness)
            missing = pairs.torque - load(present)
            if np.abs(missing).max() < 1e-10:
                break
            slope = slope_at(joint, present, target, load, stiffness)
            step = np.linalg.solve(slope, -missing)
            present = present @ pin.exp3(step * min(1.0, 0.035 / np.linalg.norm(step)))
        slope = slope_at(joint, target, target, load, stiffness)
        assert np.linalg.eigvalsh(slope + slope.T)[-1] < 0.0  # the load cannot overturn it
        assert pairs.gains.min() > -1e-9
        worst = max(worst, float(np.linalg.norm(pin.log3(target.T @ present))))
    assert np.degrees(worst) < 0.5
    return np.degrees(worst)


def test_an_arm_stays_at_its_target_at_any_tension(model, joint, random):
    check_equilibrium(model, joint, random, 300)


@pytest.mark.slow
def test_an_arm_stays_at_its_target_in_ten_thousand_poses(model, joint, random):
    assert check_equilibrium(model, joint, random, 10_000) < 1e-6


def test_the_stiffness_is_the_derivative_of_the_torque_at_the_target(joint, random):
    for _ in range(20):
        target = rotation_within(joint, random)
        slope = slope_at(joint, target, target, lambda _: np.zeros(3), 20.0)
        np.testing.assert_allclose(-slope, held(joint, target, target, np.zeros(3), 20.0).stiffness, atol=1e-3)


def test_a_ball_joint_of_mujoco_settles_at_the_target(model, joint, random):
    """Velocities and torques are those of MuJoCo's joint, in the axes of the child; the arm is stable there."""
    spec = mujoco.MjSpec.from_string(ARM)
    body = spec.body("arm")
    body.explicitinertial, body.mass, body.ipos = True, MASS, LEVER
    body.fullinertia = [*INERTIA.diagonal(), 0.0, 0.0, 0.0]
    spec.option.timestep, spec.option.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    world = spec.compile()
    for stiffness in (1.0, 20.0, 60.0):
        target, data = rotation_within(joint, random), mujoco.MjData(world)
        at_target, turn = gravity(model, target), np.empty(9)
        mujoco.mju_mat2Quat(data.qpos, (target @ pin.exp3(np.array([0.2, -0.3, 0.1]))).ravel())
        for _ in range(3000):
            mujoco.mju_quat2Mat(turn, data.qpos)
            pairs = held(joint, turn.reshape(3, 3), target, at_target, stiffness)
            data.qfrc_applied[:] = pairs.torque - pairs.damping * data.qvel
            mujoco.mj_step(world, data)
        assert np.degrees(np.linalg.norm(pin.log3(target.T @ turn.reshape(3, 3)))) < 0.5
