"""Relative motion against finite differences, and action = reaction of the resulting forces."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.contacts.alignment_kernel import GRASP, PLANAR, POINT, alignment_gap
from multi_qp_controller.dynamics.relative_motion import relative_motion

PAIRS = {
    "to the world": ("humanoid/left_palm", None),
    "on one subsystem": ("humanoid/left_palm", "humanoid/right_palm"),
    "on two subsystems": ("humanoid/left_palm", "box/left"),
    "object to character": ("box/box_link", "humanoid/torso"),
    "to the environment": ("humanoid/right_sole", "ground/floor"),
    "object to environment": ("box/bottom", "table/top"),
}


def frames(scene, pair):
    a, b = PAIRS[pair]
    return scene.frame_id(a), None if b is None else scene.frame_id(b)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_the_pose_is_that_of_a_in_b(scene, lab, pair, seed):
    a, b = frames(scene, pair)
    state = lab.random_state(scene, seed)
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, state.q)
    X_world_b = pin.SE3.Identity() if b is None else data.oMf[b]
    expected = X_world_b.inverse() * data.oMf[a]
    X = relative_motion(lab.kinematics(scene, state), a, b).X_B_A
    np.testing.assert_allclose(X.homogeneous, expected.homogeneous, atol=1e-12)


@pytest.mark.parametrize("pair", [name for name, (_, b) in PAIRS.items() if b is not None])
@pytest.mark.parametrize("seed", range(3))
def test_gaps_of_surfaces_are_those_of_the_motion(scene, lab, pair, seed):
    a, b = frames(scene, pair)
    kinematics = lab.kinematics(scene, lab.random_state(scene, seed))
    motion = relative_motion(kinematics, a, b)
    place, axes = motion.X_B_A.translation, motion.X_B_A.rotation
    rates = [np.linalg.norm(motion.twist[:3]), np.linalg.norm(motion.twist[3:])]
    fixed = [part for frame in (a, b) for part in kinematics.fixed_frame(frame)[:2]]
    expected = {
        PLANAR: [abs(place[2]), np.arccos(-axes[2, 2])],
        POINT: [abs(place[2]), 0.0],
        GRASP: [np.hypot(place[1], place[2]), np.arccos(abs(axes[0, 0]))],
    }
    for kind, gap in expected.items():
        none = np.zeros((0, 3))
        found = alignment_gap(*fixed, kinematics.views.poses, kinematics.views.twists, kind, np.zeros(3), 0.0, none)
        turning = 0.0 if kind == POINT else rates[1]  # a point may rotate
        np.testing.assert_allclose(found, [*gap, rates[0], turning, 0.0], atol=1e-10)
    assert min(rates) > 1e-3


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_the_jacobian_gives_the_rate_of_the_pose(scene, lab, pair, seed):
    a, b = frames(scene, pair)
    state = lab.random_state(scene, seed)
    motion = relative_motion(lab.kinematics(scene, state), a, b)
    acceleration = np.random.default_rng(seed).uniform(-3, 3, scene.nv)

    def step_from_here(at):
        return pin.log6(motion.X_B_A.actInv(relative_motion(lab.kinematics(scene, at), a, b).X_B_A)).vector

    np.testing.assert_allclose(motion.J @ state.v, motion.twist, atol=1e-12)
    np.testing.assert_allclose(lab.rate(scene, step_from_here, state, acceleration), motion.twist, atol=1e-9)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_the_drift_completes_the_rate_of_the_twist(scene, lab, pair, seed):
    a, b = frames(scene, pair)
    state = lab.random_state(scene, seed)
    motion = relative_motion(lab.kinematics(scene, state), a, b)
    acceleration = np.random.default_rng(seed).uniform(-3, 3, scene.nv)
    rate = lab.rate(scene, lambda at: relative_motion(lab.kinematics(scene, at), a, b).twist, state, acceleration)
    np.testing.assert_allclose(motion.J @ acceleration + motion.drift, rate, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_two_subsystems_push_each_other_with_opposite_wrenches(scene, lab, seed):
    kinematics = lab.kinematics(scene, lab.random_state(scene, seed))
    a, b = frames(scene, "on two subsystems")
    wrench = np.random.default_rng(seed).uniform(-50, 50, 6)
    force = relative_motion(kinematics, a, b).J.T @ wrench
    X_world_a = kinematics.pose(a)
    on_a = X_world_a.act(pin.Force(wrench)).vector  # at the world's origin
    bases = {name: base_wrench_at_origin(scene, kinematics, name, force) for name in ("humanoid", "box")}
    np.testing.assert_allclose(bases["humanoid"], on_a, atol=1e-11)
    np.testing.assert_allclose(bases["box"], -on_a, atol=1e-11)


@pytest.mark.parametrize("pair", ["on one subsystem", "on two subsystems"])
def test_inner_forces_change_no_total_momentum(scene, lab, pair):
    kinematics = lab.kinematics(scene, lab.random_state(scene, 5))
    wrench = np.array([10.0, -20.0, 30.0, 4.0, 5.0, -6.0])
    force = relative_motion(kinematics, *frames(scene, pair)).J.T @ wrench
    total = sum(base_wrench_at_origin(scene, kinematics, name, force) for name in ("humanoid", "box"))
    np.testing.assert_allclose(total, np.zeros(6), atol=1e-11)


def test_on_each_body_the_force_is_that_of_its_own_frame(scene, lab):
    kinematics = lab.kinematics(scene, lab.random_state(scene, 7))
    a, b = frames(scene, "on two subsystems")
    wrench = np.array([1.0, 2.0, 3.0, -4.0, 5.0, 6.0])
    force = relative_motion(kinematics, a, b).J.T @ wrench
    reaction = (kinematics.pose(b).actInv(kinematics.pose(a))).act(pin.Force(wrench)).vector
    expected = kinematics.jacobian(a).T @ wrench - kinematics.jacobian(b).T @ reaction
    np.testing.assert_allclose(force, expected, atol=1e-11)


def base_wrench_at_origin(scene, kinematics, subsystem, force):
    """Return the net wrench that a generalised force means for a subsystem, about the world's origin, (6,)."""
    first = scene.subsystems[subsystem].v_slice.start
    root = scene.model.getJointId(f"{subsystem}/root_joint")
    return kinematics.data.oMi[root].act(pin.Force(force[first : first + 6])).vector
