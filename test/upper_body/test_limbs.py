"""Swing-twist angles of shoulders of three hinges, and the equilibrium of an arm."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.configuration import posture_configuration
from upper_body.limb_kernel import decompose, limb_torques
from upper_body.limbs import AntagonisticLimbs

POSES = 1500


@pytest.fixture(scope="module")
def scene():
    return load_scenario("hold").scene


@pytest.fixture(scope="module")
def arm(scene):
    names = ("L_SHOULDER", "L_ELBOW", "L_WRIST")
    v_index = np.array([k for k, name in enumerate(scene.velocity_names) if any(part in name for part in names)])
    angles = {"L_SHOULDER_P": 0.0, "L_SHOULDER_R": 1.57, "L_SHOULDER_Y": 0.0, "L_ELBOW_P": 0.0}
    spread = posture_configuration(scene, "humanoid", angles)
    return AntagonisticLimbs(scene, v_index, spread)


@pytest.fixture
def random():
    return np.random.default_rng(1)


def limits(scene, joints):
    return scene.model.lowerPositionLimit[joints.q_index], scene.model.upperPositionLimit[joints.q_index]


def angles_of(joints, i, hinge_angles):
    """Return angles and derivatives of joint i."""
    part = slice(*joints.hinges[i])
    rates = np.empty((np.diff(joints.angles[i])[0], len(hinge_angles)))
    table = joints.placements[part], joints.axes[part], joints.bases[i], joints.rests[i]
    return decompose(hinge_angles, *table, rates), rates


def full_turns_removed(difference):
    return np.angle(np.exp(1j * difference))


def single_hinges(low, high, target, torque, stiffness):
    """Return k_L and k_H of hinges that are joints of their own, (2, n)."""
    n = len(low)
    parts = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    turns = np.stack([np.eye(3)] * n)
    joints = (turns, np.stack([np.eye(3)[0]] * n), turns, turns, low, high, np.zeros(n))
    gains, held, K = np.empty((2, n)), np.empty(n), np.zeros((n, n))
    limb_torques(joints, parts, parts, target, target, torque, stiffness, np.zeros(n), gains, held, K)
    np.testing.assert_array_equal(held, torque)
    return gains


def test_both_springs_pull_and_bear_the_load_at_the_target(random):
    n = 1000
    low, high = random.uniform(-3.0, -1.0, n), random.uniform(1.0, 3.0, n)
    target, torque, stiffness = random.uniform(-0.9, 0.9, n), random.uniform(-20.0, 20.0, n), random.uniform(0, 40, n)
    low_gain, high_gain = single_hinges(low, high, target, torque, stiffness)
    assert low_gain.min() >= -1e-9 and high_gain.min() >= -1e-9
    np.testing.assert_allclose(low_gain * (low - target) + high_gain * (high - target), torque, atol=1e-9)
    printed = (low_gain * (target - low) + torque) / (high - target)  # (3), with this sign of the torque
    np.testing.assert_allclose(high_gain, printed, atol=1e-9)
    enough = low_gain + high_gain > stiffness + 1e-9
    assert np.minimum(low_gain, high_gain)[enough].max() < 1e-9  # raised only as far as needed


def test_ten_thousand_pendulums_stay_at_their_targets():
    """Equation (1) with the gains of the isoline (3) is integrated, without and with gravity."""
    random = np.random.default_rng(0)
    n, dt, inertia = 10_000, 2e-3, 0.2
    low, high = np.full(n, -2.5), np.full(n, 2.0)
    target, weight = random.uniform(-2.0, 1.5, n), random.uniform(0.0, 8.0, n) * (np.arange(n) % 2)
    stiffness = weight + random.uniform(1.0, 60.0, n)
    gains = np.concatenate(
        [
            single_hinges(low[k : k + 500], high[k : k + 500], target[k : k + 500], bent, stiffness[k : k + 500])
            for k in range(0, n, 500)
            for bent in [(weight * np.sin(target))[k : k + 500]]
        ],
        axis=1,
    )
    angle, rate = target + random.uniform(-0.1, 0.1, n), np.zeros(n)
    damping = 2.0 * np.sqrt(gains.sum(axis=0) * inertia)
    for _ in range(4000):
        torque = gains[0] * (low - angle) + gains[1] * (high - angle) - damping * rate
        rate = rate + dt * (torque - weight * np.sin(angle)) / inertia
        angle = angle + dt * rate
    assert np.degrees(np.abs(angle - target)).max() < 0.5


def test_hinges_at_one_point_are_one_joint(scene, arm):
    names = [
        [scene.velocity_names[k].partition("/")[2] for k in arm.joints.v_index[slice(*part)]]
        for part in arm.joints.hinges
    ]
    assert names == [
        ["L_SHOULDER_P", "L_SHOULDER_R", "L_SHOULDER_Y"],
        ["L_ELBOW_P"],
        ["L_WRIST_Y"],
        ["L_WRIST_P", "L_WRIST_R"],
    ]


def test_the_first_angle_is_the_twist_about_the_limb(scene, arm):
    """At the spread arm the yaw turns the upper arm about itself."""
    spread = np.array([0.0, 1.57, 0.0])
    for angle in (-1.2, 0.4):
        angles, _ = angles_of(arm.joints, 0, spread + [0.0, 0.0, angle])
        np.testing.assert_allclose(np.abs(angles), [abs(angle), 0.0, 0.0], atol=1e-9)


def test_derivatives_are_those_of_the_angles(scene, arm, random):
    low, high = limits(scene, arm.joints)
    for i, part in enumerate(arm.joints.hinges):
        part = slice(*part)
        for _ in range(100):
            here, h = random.uniform(low[part], high[part]), 1e-6
            _, rates = angles_of(arm.joints, i, here)
            for k, step in enumerate(h * np.eye(len(here))):
                change = angles_of(arm.joints, i, here + step)[0] - angles_of(arm.joints, i, here - step)[0]
                np.testing.assert_allclose(full_turns_removed(change) / (2 * h), rates[:, k], atol=1e-6)


def test_angles_do_not_jump_within_the_joint_limits(scene, arm, random):
    """Steps of 0.1 degrees anywhere change no angle by more than one degree, full turns aside."""
    low, high = limits(scene, arm.joints)
    part = slice(*arm.joints.hinges[0])
    worst = 0.0
    for _ in range(20_000):
        here, step = random.uniform(low[part], high[part]), random.normal(size=3)
        there = here + np.radians(0.1) * step / np.linalg.norm(step)
        change = angles_of(arm.joints, 0, there)[0] - angles_of(arm.joints, 0, here)[0]
        worst = max(worst, float(np.abs(full_turns_removed(change)).max()))
    assert np.degrees(worst) < 1.0


def test_torques_are_continuous_within_the_joint_limits(scene, arm):
    """Also where the limb is more than half a turn from the target."""
    low, high = limits(scene, arm.joints)
    stiffness, ends = 2.0 * arm.efforts, np.array([[0, 0, 0], [1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    target, shoulder = 0.5 * (low + high), slice(*arm.joints.hinges[0])
    furthest = 0.0
    for corner in ends:
        target[shoulder] = np.where(corner, high[shoulder], low[shoulder])
        start = target.copy()
        start[shoulder] = np.where(corner, low[shoulder], high[shoulder])
        n = round(float(np.linalg.norm(start - target) / np.radians(0.5)))
        torques = np.array(
            [
                arm.torques(start + s * (target - start), target, np.zeros(7), stiffness, np.ones(7), ratio=0.7).torque
                for s in np.linspace(0.0, 1.0, n)
            ]
        )
        assert np.abs(np.diff(torques[:, shoulder], axis=0)).max() < 15.0 * stiffness[0] * np.radians(0.5)
        furthest = max(furthest, float(np.abs(torques[0, shoulder]).max() / stiffness[0]))
    assert furthest > np.pi


def equilibrium_of(arm, q, target, stiffness, start, gravity):
    """Return the hinge angles at which the pairs bear the load, by Newton steps of at most 2 degrees."""
    n = len(target)
    load = (lambda angles: arm.gravity(q, angles)) if gravity else (lambda angles: np.zeros(n))
    at_target = load(target)
    slope = np.array([load(target + e) - load(target - e) for e in 1e-5 * np.eye(n)]).T / 2e-5
    angles = start
    for _ in range(60):
        held = arm.torques(angles, target, at_target, stiffness, np.ones(n), ratio=0.7)
        missing = held.torque - load(angles)
        angles = angles + np.clip(np.linalg.solve(held.stiffness + slope, missing), -0.035, 0.035)
        if np.abs(missing).max() < 1e-9:
            break
    return angles, held, slope


def check_poses(scene, arm, random, poses):
    low, high = limits(scene, arm.joints)
    for pose in range(poses):
        target = random.uniform(low, high)
        stiffness = (0.3 + 5.7 * random.uniform() * (pose % 3 > 0)) * arm.efforts
        start = target + np.radians(3.0) * random.uniform(-1.0, 1.0, len(target))
        angles, held, slope = equilibrium_of(arm, scene.q0, target, stiffness, start, gravity=pose % 2 == 0)
        assert np.degrees(np.abs(angles - target).max()) < 0.5
        assert held.gains.min() >= -1e-9
        assert np.linalg.eigvalsh(held.stiffness + 0.5 * (slope + slope.T))[0] > 0.0  # gravity cannot overturn it


def test_an_arm_stays_at_its_target_at_any_tension(scene, arm, random):
    check_poses(scene, arm, random, POSES // 10)


@pytest.mark.slow
def test_an_arm_stays_at_its_target_at_any_tension_in_all_poses(scene, arm, random):
    check_poses(scene, arm, random, 10_000)


def test_the_stiffness_is_the_derivative_of_the_torque_at_the_target(scene, arm, random):
    low, high = limits(scene, arm.joints)
    n = len(low)
    for _ in range(20):
        target = random.uniform(low, high)

        def torque(angles, target=target):
            return arm.torques(angles, target, np.zeros(n), 2.0 * arm.efforts, np.ones(n), ratio=0.7)

        slope = np.array([torque(target + e).torque - torque(target - e).torque for e in 1e-6 * np.eye(n)]).T / 2e-6
        np.testing.assert_allclose(-slope, torque(target).stiffness, atol=1e-3)


def test_springs_give_back_no_more_energy_than_they_take(scene, arm, random):
    """The work along a closed path is zero: the torques have a potential."""
    low, high = limits(scene, arm.joints)
    n, middle = len(low), 0.5 * (low + high)
    corners = [middle + 0.3 * random.uniform(-1.0, 1.0, n) for _ in range(3)]
    work = 0.0
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        for s in (np.arange(200) + 0.5) / 200:
            at = arm.torques(a + s * (b - a), middle, np.zeros(n), 2.0 * arm.efforts, np.ones(n), ratio=0.7)
            work += at.torque @ (b - a) / 200
    scale = np.abs(np.linalg.norm(corners[0] - middle) * 90.0)
    assert abs(work) < 1e-4 * scale


def test_spherical_rotations_have_no_preferred_sign():
    """A rotation and the same one with a full turn have the same angles."""
    axes, placements = np.eye(3), np.stack([np.eye(3)] * 3)
    here = np.array([0.4, -0.9, 0.3])
    rates = np.empty((3, 3))
    first = decompose(here, placements, axes, np.eye(3), np.eye(3), rates)
    second = decompose(here + [2 * np.pi, 0.0, 0.0], placements, axes, np.eye(3), np.eye(3), rates)
    np.testing.assert_allclose(first, second, atol=1e-9)
