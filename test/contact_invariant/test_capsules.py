"""Capsules of links: what they cover, and what they keep clear of."""

from pathlib import Path

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.capsules import touching_joints
from contact_invariant.character_builder import character_of
from contact_invariant.residuals import segment_distance
from multi_qp_scene.scenario import load_scenario


@pytest.mark.parametrize("seed", range(6))
def test_the_distance_of_segments_is_that_of_capsules(seed):
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(size=(4, 3))
    found = float(ca.evalf(segment_distance(*(ca.SX(ca.DM(p)) for p in (a, b, c, d)))))
    s = np.linspace(0.0, 1.0, 400)
    first, second = a + s[:, None] * (b - a), c + s[:, None] * (d - c)
    assert found == pytest.approx(np.linalg.norm(first[:, None] - second[None], axis=2).min(), abs=5e-3)


def test_corners_of_a_link_that_touches_with_a_point_do_not_enter_solids():
    """The hand's box, 7.8 cm wide, has its corners as capsules without radius if its fingertips are a contact."""
    character = character_of(load_scenario("get_up_from_back"))
    corners = {
        link: np.array([c.ends[0] for c in character.capsules if c.link == link and c.radius == 0.0])
        for link in ("humanoid/l_wrist_roll_link", "humanoid/l_ankle_roll_link")
    }
    np.testing.assert_allclose(np.ptp(corners["humanoid/l_wrist_roll_link"], axis=0), [0.078, 0.028, 0.135], atol=1e-9)
    assert not len(corners["humanoid/l_ankle_roll_link"])  # its sole is a patch, whose corners are tested


def test_a_head_that_the_chest_holds_keeps_its_distance_though_the_chest_touches():
    """Links beyond the patch of a limb's end come close to what it touches; a head must not follow the chest down."""
    touches = {c.link: c.touches for c in character_of(load_scenario("get_up_from_back")).capsules if not c.side}
    assert touches["humanoid/torso"] and touches["humanoid/l_wrist_roll_link"] and not touches["humanoid/head"]


def test_capsules_along_the_sides_of_a_foot_cover_its_width():
    """The foot's box is 11.5 cm wide, in which one capsule has a radius of 2.25 cm; the chest has no patch."""
    character = character_of(load_scenario("handstand"))
    sides = [c for c in character.capsules if c.side]
    assert {c.link.removeprefix("humanoid/") for c in sides} == {
        f"{side}_{link}_roll_link" for side in "lr" for link in ("ankle", "wrist")
    }
    foot = [c for c in sides if c.link == "humanoid/l_ankle_roll_link"]
    assert [c.radius for c in foot] == [0.0225] * 2
    across = [edge for c in foot for edge in (c.ends[0, 1] - c.radius, c.ends[0, 1] + c.radius)]
    assert max(across) - min(across) == pytest.approx(0.115, abs=1e-9)


def test_capsules_along_the_sides_of_a_chest_that_touches_cover_the_edges_at_its_ends():
    """The box that carries the shoulders is 33 cm wide; upper arms come close to the edges at its ends."""
    scenario = load_scenario("get_up_from_belly")
    character, pieces = character_of(scenario), scenario.scene.collision_model.geometryObjects
    half = next(piece.geometry.halfSide for piece in pieces if piece.name == "humanoid/torso_2")
    sides = [
        c for c in character.capsules if c.side and c.link == "humanoid/torso" and c.radius == pytest.approx(half[2])
    ]
    assert len(sides) == 2
    for capsule in sides:
        assert np.linalg.norm(capsule.ends[1] - capsule.ends[0]) == pytest.approx(2.0 * half[1])


def test_the_cap_of_the_thigh_does_not_enter_the_ground_on_which_the_knee_is():
    """While the shank is inclined by up to 24°; the capsule belongs to a link without a patch of its own."""
    scenario = load_scenario(str(Path(__file__).with_name("kneel_from_belly.yaml")))
    scene = scenario.scene
    model, data = scene.model, scene.model.createData()
    surface = scene.surfaces["humanoid/left_knee"]
    thigh = model.getJointId("humanoid/L_HIP_P")
    assert touching_joints(scene, surface) == {surface.joint_id, thigh}
    assert touching_joints(scene, scene.surfaces["humanoid/left_toes"]) == {model.getJointId("humanoid/L_ANKLE_R")}
    cap = next(c for c in character_of(scenario).capsules if c.joint == thigh)
    assert cap.touches and cap.radius == pytest.approx(0.062)
    for inclined in np.radians([-4.0, 0.0, 10.0, 24.0]):
        q = pin.neutral(model)
        q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.5 * np.pi + inclined, 0.0)).coeffs()
        pin.framesForwardKinematics(model, data, q)
        lowest = data.oMi[surface.joint_id].translation[2] - cap.radius
        assert 0.0 <= lowest - data.oMf[surface.frame_id].translation[2] < 0.003
