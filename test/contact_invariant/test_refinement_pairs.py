"""Pairs of links that a refinement keeps apart, and by how much."""

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import Span
from contact_invariant.refinement_costs import SWING_MARGIN
from contact_invariant.refinement_pairs import CLOSE, OUTSIDE_MARGIN, NodeGeometry, RefinementPairs
from contact_invariant.residuals import LINK_MARGIN
from multi_qp_scene import load_scenario

FLOOR = "ground/floor"


def test_a_link_that_touches_with_a_point_does_not_enter_the_surface_when_it_tilts():
    """A link with a patch in contact is left out; one with a point is not, and keeps less before and afterwards too."""
    scenario = load_scenario("get_up_from_back")
    scene, character = scenario.scene, character_of(scenario)
    q = scene.q0  # it lies
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    ground = names.index("ground/ground_link_0")
    index = {e.name: i for i, e in enumerate(character.effectors)}
    spans = {name: Span(i, 0, 10, FLOOR, pin.SE3.Identity(), np.eye(3)[2]) for name, i in index.items()}
    pairs = RefinementPairs(scenario, character)

    def margins(active, soon):
        off = {index[name]: 1.0 for name in soon}
        near = pairs.near(NodeGeometry({0: q}, {}, [spans[name] for name in active], off, None, OUTSIDE_MARGIN))
        found = {names[a]: m for (a, b), m, _ in near if b == ground}
        return found.get("humanoid/l_wrist_roll_link_0"), found.get("humanoid/l_ankle_roll_link_0")

    assert margins([], []) == (OUTSIDE_MARGIN, OUTSIDE_MARGIN)
    assert margins(["left_hand"], ["left_hand"]) == (0.0, OUTSIDE_MARGIN)
    assert margins([], ["left_hand", "left_foot"]) == (0.0, OUTSIDE_MARGIN)
    assert margins(["left_foot"], ["left_foot"]) == (OUTSIDE_MARGIN, None)
    for high in (OUTSIDE_MARGIN, SWING_MARGIN):  # firm barriers have the larger margin
        near = pairs.near(NodeGeometry({0: q}, {}, [], {index["left_hand"]: 1.0}, None, high))
        found = {names[a]: w for (a, b), _, w in near if b == ground}
        assert found["humanoid/l_wrist_roll_link_0"] == CLOSE and found["humanoid/l_ankle_roll_link_0"] == 1.0


def test_links_keep_the_distance_from_surroundings_of_all_postures_that_they_follow():
    scenario = load_scenario("get_up_from_back")
    names = [piece.name for piece in scenario.scene.collision_model.geometryObjects]
    wrist, pairs = names.index("humanoid/l_wrist_roll_link_0"), RefinementPairs(scenario, character_of(scenario))

    def margin(*heights, begun=1.0):
        postures = {k: scenario.scene.q0 + h * np.eye(scenario.scene.nq)[2] for k, h in enumerate(heights)}
        near = pairs.near(NodeGeometry(postures, {}, [], {}, None, 0.03, begun=begun))
        found = {a: m for (a, b), m, _ in near if names[b].startswith("ground")}
        return found.get(wrist)

    lying = margin(0.0)
    assert lying == OUTSIDE_MARGIN  # it touches
    assert margin(0.025) - margin(0.018) == pytest.approx(0.007, abs=1e-4) and margin(0.05) == 0.03
    assert margin(1.0) is None and margin(1.0, 0.05) == 0.03 and margin(0.05, 0.0) == lying
    at_start = margin(0.0, begun=0.0)
    assert (
        at_start == pytest.approx(0.002, abs=1e-4)
        and margin(0.0, begun=0.5) == 0.5 * OUTSIDE_MARGIN
        and margin(0.018, begun=0.0) > 0.017
    )


def test_own_links_that_meet_in_a_refinement_are_kept_apart_when_it_continues():
    """A foot beside an arm where the simplified motion has them far apart; so are surroundings."""
    scenario = load_scenario("handstand")
    scene, pairs = scenario.scene, RefinementPairs(scenario, character_of(scenario))
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    q, refined = scene.q0.copy(), scene.q0.copy()
    q[2] += 1.0
    tucked = {"CHEST_P": 1.0, "L_HIP_P": -2.1, "L_HIP_R": 0.2, "L_KNEE_P": 0.4, "L_SHOULDER_P": -1.9}
    for joint, angle in tucked.items():
        refined[scene.model.joints[scene.model.getJointId(f"humanoid/{joint}")].idx_q] = angle

    def found(last):
        listed = pairs.near(NodeGeometry({0: q}, {}, [], {}, None, OUTSIDE_MARGIN, last))
        return {tuple(sorted((names[a], names[b]))): (margin, weight) for (a, b), margin, weight in listed}

    foot_and_arm = ("humanoid/l_ankle_roll_link_0", "humanoid/l_shoulder_yaw_link_0")
    before, after = found(None), found(refined)
    assert foot_and_arm not in before and after[foot_and_arm] == (OUTSIDE_MARGIN, CLOSE)
    grounded = [found for pair, found in after.items() if any("ground" in name for name in pair)]
    assert grounded and set(grounded) == {(OUTSIDE_MARGIN, 1.0)}
    unlisted = ("humanoid/l_shoulder_yaw_link_0", "humanoid/l_wrist_yaw_link_0")  # bent elbow: near from the start
    assert unlisted not in before and found(q)[unlisted] == (OUTSIDE_MARGIN, CLOSE)
    assert before.items() < found(q).items()


def test_a_swinging_foot_keeps_the_distance_that_it_has_where_it_is_followed(behaviour):
    """In the simplified motion it may land already; a pair that only the present solution brings close is kept too."""
    scenario = behaviour(phases=2, effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene = scenario.scene
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    foot, ground = names.index("humanoid/l_ankle_roll_link_0"), names.index("ground/ground_link_0")
    pairs, up = RefinementPairs(scenario, character_of(scenario)), np.eye(scene.nq)[2]
    postures = {10: scene.q0 + 0.001 * up, 7.5: scene.q0 + 0.025 * up}

    def margin(swings, before=None, postures=postures):
        found = {pair: m for pair, m, _ in pairs.near(NodeGeometry(postures, swings, [], {}, None, 0.03, before))}
        return found.get((foot, ground))

    assert margin({0: 7.5}) == pytest.approx(0.025, abs=2e-3)
    assert margin({}) == OUTSIDE_MARGIN
    high = {10: scene.q0 + up}
    assert margin({0: 10}, postures=high) is None
    assert margin({0: 10}, scene.q0, postures=high) == OUTSIDE_MARGIN


def test_a_foot_that_has_just_left_or_lands_soon_keeps_what_its_path_gives(behaviour):
    """With 1 cm from the first node on, it is thrown off the ground; with 3 cm from the other foot, aside."""
    scenario = behaviour(phases=2, effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene = scenario.scene
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    left, right = names.index("humanoid/l_ankle_roll_link_0"), names.index("humanoid/r_ankle_roll_link_0")
    ground, q = names.index("ground/ground_link_0"), scene.q0 + 0.001 * np.eye(scene.nq)[2]
    for side, angle in (("L", -0.03), ("R", 0.03)):  # closer than 3 cm
        q[scene.model.joints[scene.model.getJointId(f"humanoid/{side}_HIP_R")].idx_q] += angle
    pairs = RefinementPairs(scenario, character_of(scenario))

    def margins(off, lifts=()):
        soon = {0: off, 1: 0.0} if off < 1.0 else {1: 0.0}  # it stands on the other one
        near = pairs.near(NodeGeometry({7.5: q}, {0: 7.5}, [], soon, None, 0.03, None, dict(lifts)))
        found = {pair: margin for pair, margin, _ in near}
        return found[left, ground], found[min(left, right), max(left, right)]

    own, apart = margins(0.0)
    assert own < 0.003 and apart < LINK_MARGIN - 0.001
    assert margins(1.0) == (OUTSIDE_MARGIN, LINK_MARGIN)
    assert own < margins(0.9)[0] < OUTSIDE_MARGIN and apart < margins(0.9)[1] < LINK_MARGIN
    assert margins(0.0, {0: 0.004}.items())[0] == pytest.approx(own + 0.004, abs=1e-3)
    assert margins(1.0, {0: 0.05}.items())[0] == 0.03


@pytest.mark.parametrize(
    "bodies", ["humanoid/*_hip_pitch_link, platform/block", "platform/block, humanoid/*_hip_pitch_link"]
)
def test_pairs_with_surroundings_that_the_scenario_lists_have_the_dampers_of_the_controller(tmp_path, bodies):
    given, path = "bodies: [humanoid/*_hip_pitch_link, platform/block]", tmp_path / "climb.yaml"
    text = load_scenario("climb_up").path.read_text()
    assert given in text
    path.write_text(text.replace(given, f"bodies: [{bodies}]"))
    scenario = load_scenario(str(path))
    names = [piece.name for piece in scenario.scene.collision_model.geometryObjects]
    found = RefinementPairs(scenario, character_of(scenario)).dampers
    outside = {(names[a], names[b]): damper for (a, b), damper in found.items() if not names[b].startswith("humanoid/")}
    assert outside.keys() == {(f"humanoid/{side}_hip_pitch_link_0", "platform/block_0") for side in "lr"}
    assert {(one.influence, one.security, one.damping) for one in outside.values()} == {(0.03, 0.005, 1.0)}
