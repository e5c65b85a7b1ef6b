"""Contacts: no-slip rows under the integrator's scheme, and wrench cones."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State

STEPS = [0.002, 0.005, 0.01, 0.02]
PLANAR = {"character on ground": ("humanoid/left_sole", "ground/floor"), "character on object": (
    "humanoid/left_palm", "box/left")}  # fmt: skip


def contact_of(scene, kinematics, first, second, friction=0.7):
    surfaces = scene.surfaces
    return ActiveContact("contact", surfaces[first], surfaces[second], friction=friction, kinematics=kinematics)


def near(scene, state, seed, *, distance, speed):
    """Return a state displaced by `distance` with velocity `speed` in all directions."""
    random = np.random.default_rng(seed)
    q = pin.integrate(scene.model, state.q, distance * random.uniform(-1, 1, scene.nv))
    return State(q, speed * random.uniform(-1, 1, scene.nv))


def hold(lab, scene, contact, kinematics, state, dt):
    """Integrate one step with the q̈ of least norm that satisfies the no-slip rows."""
    kinematics.update(state)
    contact.update(kinematics)
    J, rhs = lab.no_slip(contact, dt)
    v = state.v + dt * (np.linalg.pinv(J) @ rhs)
    state = State(pin.integrate(scene.model, state.q, dt * v), v)
    kinematics.update(state)
    contact.update(kinematics)
    return state


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("pair", PLANAR)
def test_error_and_velocity_vanish_within_two_steps(scene, lab, pair, dt):
    made = lab.random_state(scene, 2)
    kinematics = lab.kinematics(scene, made)
    contact = contact_of(scene, kinematics, *PLANAR[pair])
    state = near(scene, made, 3, distance=2e-4, speed=0.02)
    before = near_error(contact, kinematics, state)
    state = hold(lab, scene, contact, kinematics, state, dt)
    # the remainder is of second order in the initial error
    moved = before + 0.02 * dt
    assert np.abs(contact.pose_error()).max() < 20 * moved**2
    state = hold(lab, scene, contact, kinematics, state, dt)
    assert np.abs(contact.pose_error()).max() < 1e-3 * moved
    assert np.abs(contact.motion.twist).max() < 0.05 * moved / dt


def near_error(contact, kinematics, state):
    kinematics.update(state)
    contact.update(kinematics)
    return float(np.abs(contact.pose_error()).max())


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_remainder_is_of_second_order(scene, lab, scale):
    """Half the error and half the velocity result in a quarter of the remainder."""
    made, dt = lab.random_state(scene, 2), 0.01
    left = []
    for factor in (scale, scale / 2):
        kinematics = lab.kinematics(scene, made)
        contact = contact_of(scene, kinematics, "humanoid/left_palm", "box/left")
        state = near(scene, made, 3, distance=4e-3 * factor, speed=0.4 * factor)
        hold(lab, scene, contact, kinematics, state, dt)
        left.append(np.linalg.norm(contact.pose_error()))
    assert left[0] / left[1] == pytest.approx(4.0, rel=0.1)


def test_contact_at_rest_has_zero_right_hand_side(scene, lab):
    kinematics = lab.kinematics(scene, lab.random_state(scene, 1, speed=0.0))
    contact = contact_of(scene, kinematics, "humanoid/left_palm", "box/left")
    J, rhs = lab.no_slip(contact, 0.005)
    np.testing.assert_allclose(rhs, np.zeros(6), atol=1e-9)  # rounding, over dt²
    assert contact.slip() == pytest.approx((0.0, 0.0), abs=1e-12)
    assert J.shape == (6, scene.nv)


def test_slip_is_distance_and_angle_since_the_contact_was_made(scene, lab):
    state = scene.initial_state()
    kinematics = lab.kinematics(scene, state)
    contact = contact_of(scene, kinematics, "box/bottom", "table/top")
    step = np.zeros(scene.nv)
    box = scene.subsystems["box"].v_slice
    step[box] = [0.003, 0.0, 0.004, 0.0, 0.0, 0.1]
    kinematics.update(State(pin.integrate(scene.model, state.q, step), state.v))
    contact.update(kinematics)
    distance, angle = contact.slip()
    assert angle == pytest.approx(0.1)
    expected = np.linalg.norm(pin.exp6(pin.Motion(step[box])).translation + lever_change(contact, 0.1))
    assert distance == pytest.approx(expected, abs=1e-9)


def lever_change(contact, yaw):
    lever = contact.first.X_link_surface.translation
    return pin.utils.rotate("z", yaw) @ lever - lever


def point_scenario(workshop):
    workshop.block(
        "ball",
        surfaces={
            "tip": {"type": "point", "link": "body", "xyz": [0, 0, -0.1], "rpy": [np.pi, 0, 0]},
            "grip": {"type": "grasp", "link": "body", "radius": 0.03, "length": 0.1},
        },
    )
    workshop.block(
        "handle",
        surfaces={
            "bar": {"type": "grasp", "link": "body", "radius": 0.03, "length": 0.1, "encloses": False},
            "top": {"type": "planar", "link": "body", "xyz": [0, 0, 0.1], "size": [0.2, 0.2]},
        },
    )
    return workshop.load(
        subsystems={
            "hand": {"model": "ball", "pose": {"xyz": [0, 0, 0.5]}},
            "bar": {"model": "handle"},
        }
    )


@pytest.mark.parametrize("dt", STEPS)
def test_point_contact_may_rotate_but_not_slip(workshop, lab, dt):
    scene = point_scenario(workshop).scene
    state = scene.initial_state()
    kinematics = lab.kinematics(scene, state)
    contact = contact_of(scene, kinematics, "hand/tip", "bar/top")
    assert contact.rows == 3
    spin = np.zeros(scene.nv)
    spin[scene.subsystems["hand"].v_slice] = [0.1, 0.0, 0.0, 0.5, 0.3, 1.0]
    state = State(state.q, spin)
    for _ in range(20):
        state = hold(lab, scene, contact, kinematics, state, dt)
    assert contact.slip()[0] < 20 * (0.5 * dt) ** 2
    assert contact.slip()[1] == 0.0
    turning = state.v[scene.subsystems["hand"].v_slice][3:]
    assert np.linalg.norm(turning) > 0.3


@pytest.mark.parametrize("dt", STEPS)
def test_grasp_constrains_all_six_directions(workshop, lab, dt):
    scene = point_scenario(workshop).scene
    made = scene.initial_state()
    kinematics = lab.kinematics(scene, made)
    contact = contact_of(scene, kinematics, "hand/grip", "bar/bar")
    state = near(scene, made, 1, distance=1e-3, speed=0.05)
    for _ in range(5):
        state = hold(lab, scene, contact, kinematics, state, dt)
    assert contact.rows == 6
    assert np.abs(contact.pose_error()).max() < 1e-10
    assert np.abs(contact.motion.twist).max() < 1e-7


def test_contact_has_the_wrench_cone_of_its_first_surface(scene, lab):
    kinematics = lab.kinematics(scene, scene.initial_state())
    contact = contact_of(scene, kinematics, "humanoid/left_palm", "box/left", friction=0.4)
    np.testing.assert_array_equal(contact.W, scene.surfaces["humanoid/left_palm"].rays(0.4))
    assert contact.W.shape == (6, 16)


def test_cone_of_a_point_contact_is_fixed_to_the_second_surface(tmp_path):
    """At any rotation of the foot about its point, forces are inside the friction pyramid of the floor."""
    (tmp_path / "stand.yaml").write_text(
        "description: stands\n"
        "subsystems: {dog: {model: quadruped, posture: standing, "
        "place: {surfaces: [left_front_foot, right_front_foot], onto: ground/floor}}}\n"
        "environment: {ground: {model: ground}}\n"
        "initial_state: s\nstates: {s: {}}\n"
    )
    scene = load_scenario(tmp_path / "stand.yaml").scene
    kinematics = Kinematics(scene)
    kinematics.update(State(scene.q0, np.zeros(scene.nv)))
    contact = contact_of(scene, kinematics, "dog/left_front_foot", "ground/floor")
    aligned = scene.surfaces["dog/left_front_foot"].rays(0.7)
    np.testing.assert_allclose(np.sort(contact.W, axis=1), np.sort(aligned, axis=1), atol=1e-5)
    random = np.random.default_rng(0)
    for _ in range(5):
        q = pin.integrate(scene.model, scene.q0, random.uniform(-0.6, 0.6, scene.nv))
        kinematics.update(State(q, np.zeros(scene.nv)))
        contact.update(kinematics)
        forces = kinematics.pose(contact.first.frame_id).rotation @ contact.W[:3]
        np.testing.assert_allclose(forces[2], 1.0 / np.hypot(1.0, 0.7), atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(forces[:2], axis=0), 0.7 * forces[2], atol=1e-9)
        np.testing.assert_allclose(contact.W[3:], 0.0)
        # the facets are those of the same cone: every ray lies on some of them, none outside
        inside = contact.F @ contact.W[:3]
        assert (inside >= -1e-9).all() and (np.abs(inside) < 1e-9).any(axis=0).all()
