"""Stretch of limbs in contact: which joints, and the damper against finite differences of the length."""

import numpy as np
import pytest

from multi_qp_controller.constraints import StretchConstraint
from multi_qp_controller.constraints.stretch import SECURITY, SPEED
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State

DT, INFLUENCE = 0.005, 0.05
KNEES = ["L_FRONT_KNEE_P", "L_HIND_KNEE_P", "R_FRONT_KNEE_P", "R_HIND_KNEE_P"]


@pytest.fixture(scope="module")
def trot():
    return load_scenario("trot")


def test_knees_that_pass_the_straight_angle_have_rows(trot):
    controller = Controller(trot)
    controller.step(trot.scene.initial_state(), 0.0)
    found = next(one for one in controller.qp_data.rows if isinstance(one, StretchConstraint))
    assert found.size == len(controller.contacts)
    names = {bend.name.split("/")[1] for bends in found._of_frame.values() for bend in bends}
    assert sorted(names) == KNEES


def test_robots_whose_knees_end_at_the_straight_angle_have_none():
    assert StretchConstraint.of(load_scenario("box"), DT, DT) is None


def test_it_can_be_switched_off(trot):
    limits = trot.spec.joint_limits.model_copy(update={"stretch": 0.0})
    spec = trot.spec.model_copy(update={"joint_limits": limits})
    assert StretchConstraint.of(type(trot)(**{**vars(trot), "spec": spec}), DT, DT) is None


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_row_bounds_the_speed_of_the_next_tick(trot, lab, side):
    """With D q̈ = d the length grows at the allowed speed one period later, by finite differences of the kinematics."""
    scene = trot.scene
    constraint = StretchConstraint(scene, dt=DT, influence=INFLUENCE)
    controller = Controller(trot)
    controller.step(scene.initial_state(), 0.0)
    contact = next(c for name, c in controller.contacts.items() if "left_front" in name)
    constraint.set_contacts((contact,), controller.kinematics)
    q, v = scene.q0.copy(), np.random.default_rng(3).uniform(-1.0, 1.0, scene.nv)
    knee = next(k for k, name in enumerate(scene.velocity_names) if name.endswith("L_FRONT_KNEE_P"))
    joint = scene.model.getJointId(scene.velocity_names[knee])
    hip, foot = scene.model.parents[joint], contact.first.frame_id
    q[scene.model.joints[joint].idx_q] = side * 0.5
    state, D, d = State(q, v), np.zeros((1, scene.nv)), np.zeros(1)
    constraint.update(lab.kinematics(scene, state), D, d)
    assert constraint.count == 1
    a = np.random.default_rng(4).uniform(-1.0, 1.0, scene.nv)
    a[knee] += (d[0] - D[0] @ a) / D[0, knee]

    def length(at: State) -> float:
        kinematics: Kinematics = lab.kinematics(scene, at)
        return float(np.linalg.norm(kinematics.pose(foot).translation - kinematics.data.oMi[hip].translation))

    h = 1e-4
    before, now, after = (length(lab.along(scene, state, a, k * h)) for k in (-1, 0, 1))
    speed, acceleration = (after - before) / (2 * h), (after - 2 * now + before) / h**2
    longest = 0.0
    for angle in np.linspace(-0.2, 0.2, 401):
        other = q.copy()
        other[scene.model.joints[joint].idx_q] = angle
        longest = max(longest, length(State(other, v)))
    left = longest - now
    allowed = SPEED * (left - SECURITY * INFLUENCE) / (INFLUENCE - SECURITY * INFLUENCE)
    assert 0.0 < left < INFLUENCE
    assert speed + DT * acceleration == pytest.approx(allowed, abs=1e-4)
