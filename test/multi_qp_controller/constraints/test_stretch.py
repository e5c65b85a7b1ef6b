"""Stretch of limbs in contact: which joints, and the damper against finite differences of the length."""

from dataclasses import replace

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


#: A leg with a knee and an ankle of two axes 2 cm apart, as of many humanoids; every joint passes its straight angle.
LEG = """\
<robot name="leg">
  <link name="pelvis"><inertial><mass value="9"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  {joints}
</robot>
"""
JOINT = """\
<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>
  <origin xyz="0 0 {z}"/><axis xyz="{axis}"/><limit lower="-1.5" upper="1.5" velocity="9" effort="90"/></joint>
<link name="{name}_link"><inertial><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
"""
LEG_SCENE = """\
description: a leg
subsystems: {leg: {model: leg.yaml}}
environment: {ground: {model: ground}}
initial_state: fly
states: {fly: {hold: 1}}
"""


def test_ankles_are_no_knees(tmp_path):
    """G1's ankles and wrists were nearly straight at the start: 12 rows kept it from lifting a box."""
    parent, joints = "pelvis", ""
    for name, z, axis in [
        ("hip_roll", -0.1, "1 0 0"),
        ("hip_pitch", -0.02, "0 1 0"),
        ("knee", -0.3, "0 1 0"),
        ("ankle_pitch", -0.3, "0 1 0"),
        ("ankle_roll", -0.02, "1 0 0"),
    ]:
        joints += JOINT.format(name=name, parent=parent, z=z, axis=axis)
        parent = f"{name}_link"
    (tmp_path / "leg.urdf").write_text(LEG.format(joints=joints))
    (tmp_path / "leg.yaml").write_text(
        "urdf: leg.urdf\nsurfaces: {sole: {type: planar, link: ankle_roll_link, xyz: [0, 0, -0.03], size: [1, 1]}}\n"
    )
    (tmp_path / "scene.yaml").write_text(LEG_SCENE)
    constraint = StretchConstraint(load_scenario(tmp_path / "scene.yaml").scene, dt=DT, influence=INFLUENCE)
    assert [bend.name for bends in constraint._of_frame.values() for bend in bends] == ["leg/knee"]


def test_it_can_be_switched_off(trot):
    limits = trot.spec.joint_limits.model_copy(update={"stretch": 0.0})
    spec = trot.spec.model_copy(update={"joint_limits": limits})
    assert StretchConstraint.of(replace(trot, spec=spec), DT, DT) is None


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
