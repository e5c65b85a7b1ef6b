"""Contact schedule of a refinement: which contacts are held for longer, and where patches touch."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import (
    OVERLAP,
    START,
    TRUNK_OVERLAP,
    feet_of,
    node_times,
    overlaps_of,
    spans_of,
    touched_at_nodes,
    without_changes_of_face,
    without_creeping,
    without_redundant,
    without_short_gaps,
)
from contact_invariant.surroundings import surroundings_of
from multi_qp_scene.scenario import load_scenario

EFFECTORS = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}, left_hand: {surface: left_palm}}"
FLOOR = "ground/floor"


def test_contacts_overlap_where_the_load_moves():
    knots = np.array([0.0, 0.5, 1.0, 1.5])
    touched = np.array([["", "floor"], ["floor", ""], ["floor", "floor"]])
    times = node_times(knots)
    overlap, edge = np.full(2, OVERLAP), [(), ()]
    found = touched_at_nodes(knots, touched, times, np.array(["floor", "floor"]), overlap, edge) != ""
    middle = 0.5 * (times[1:] + times[:-1])
    assert found[:, 0].tolist() == ((middle < START) | (middle > 0.5)).tolist()
    assert found[:, 1].tolist() == ((middle < 0.62) | (middle > 1.0)).tolist()


def test_a_link_rolls_from_a_patch_over_its_edge():
    """Of a patch and a point of the trunk that end when a foot lands, the point is held for longer."""
    knots = np.array([0.0, 0.5, 1.0])
    touched = np.array([["", "floor", "floor"], ["floor", "", ""]])
    times, edge = node_times(knots), [(), (2,), ()]
    overlap = np.array([OVERLAP, TRUNK_OVERLAP, TRUNK_OVERLAP])
    held = touched_at_nodes(knots, touched, times, np.array(["", "floor", "floor"]), overlap, edge)
    found = without_redundant(held, edge) != ""
    middle = 0.5 * (times[1:] + times[:-1])
    assert found[:, 1].tolist() == (middle < 0.5).tolist()
    assert found[:, 2].tolist() == ((middle > 0.5) & (middle < 0.74)).tolist()


def test_a_link_stays_on_its_edge_until_the_next_contact():
    """A hand lands, a foot one phase later: what rolled onto its edge keeps it until the foot has its load."""
    knots = np.array([0.0, 0.5, 1.0, 1.5])
    touched = np.array([["", "", "floor", "floor"], ["", "floor", "", ""], ["floor", "", "", ""]])
    times, edge = node_times(knots), [(), (), (3,), ()]
    overlap = np.array([OVERLAP, 0.0, TRUNK_OVERLAP, TRUNK_OVERLAP])
    held = touched_at_nodes(knots, touched, times, np.array(["", "", "floor", "floor"]), overlap, edge)
    middle = 0.5 * (times[1:] + times[:-1])
    assert (held[:, 1] != "").tolist() == ((middle > 0.5) & (middle < 1.0)).tolist()
    assert (held[:, 3] != "").tolist() == (middle < 1.24).tolist()


def test_a_link_leaves_its_edge_when_feet_take_its_load():
    """They land as it leaves, and one of them steps later: the edge is not held until then."""
    knots = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    touched = np.array([["", "", "floor"], ["floor", "", ""], ["", "", ""], ["floor", "", ""]])
    times, overlap = node_times(knots), np.array([OVERLAP, TRUNK_OVERLAP, TRUNK_OVERLAP])
    held = touched_at_nodes(knots, touched, times, np.array(["", "floor", "floor"]), overlap, [(), (2,), ()])
    middle = 0.5 * (times[1:] + times[:-1])
    assert (held[:, 2] != "").tolist() == (middle < 0.74).tolist()


def test_a_contact_of_the_start_that_is_made_again_at_its_place_is_held(behaviour):
    """Not if it is made elsewhere, as by a foot that steps in the first phase."""
    scenario = behaviour()
    scene, character = scenario.scene, character_of(scenario)
    times = np.linspace(0.0, 0.8, 41)
    made = np.where((times[:-1] < 0.4) | (times[:-1] > 0.45), FLOOR, "")
    touched = np.tile(made[:, None], len(character.effectors))
    q = np.tile(scene.q0, (len(times), 1))
    assert (without_short_gaps(scene, character, times, touched, q) == FLOOR).all()
    assert (without_short_gaps(scene, character, 2.0 * times, touched, q) == touched).all()  # time to lift and to land
    q[1:, 0] += 0.02
    assert (without_short_gaps(scene, character, times, touched, q) == touched).all()


def test_a_patch_that_creeps_is_held(behaviour):
    """Not one that moves by more than a patch creeps, or is lifted: it swings."""
    scenario = behaviour()
    scene, character = scenario.scene, character_of(scenario)
    surroundings = surroundings_of(scene, "humanoid")
    touched = np.full((20, len(character.effectors)), "", dtype="<U12")
    touched[:5, :2] = touched[15:, :2] = FLOOR

    def held(ahead, height):
        q = np.tile(scene.q0, (21, 1))
        q[10:, 0] += ahead
        q[10, 2] += height
        found = without_creeping(scene, character, surroundings, touched, q)
        assert (found[:, 2:] == "").all()
        return bool((found[:, :2] == FLOOR).all())

    assert [held(*one) for one in ((0.01, 0.0), (0.02, 0.0), (0.01, 0.01))] == [True, False, False]


def test_joined_points_are_held_together():
    """The foot turns about its inner toe point, and its outer one moves by 9 mm, or by 2 cm: then both swing."""
    scenario = load_scenario("get_up_from_belly")
    scene, character = scenario.scene, character_of(scenario)
    inner, outer = (character.index(f"left_toes_{side}") for side in ("inner", "outer"))
    touched = np.full((20, len(character.effectors)), "", dtype="<U12")
    touched[:5, [inner, outer]] = touched[15:, [inner, outer]] = FLOOR
    data, root = scene.model.createData(), pin.XYZQUATToSE3(scene.q0[:7])
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    places = [data.oMf[scene.surfaces[character.effectors[i].surface].frame_id].translation for i in (inner, outer)]

    def held(moved):
        q = np.tile(scene.q0, (21, 1))
        turn = pin.rpy.rpyToMatrix(0.0, 0.0, moved / np.linalg.norm(places[1] - places[0]))
        q[10:, :7] = pin.SE3ToXYZQUAT(pin.SE3(turn, places[0] - turn @ places[0]) * root)
        found = without_creeping(scene, character, surroundings_of(scene, "humanoid"), touched, q) == FLOOR
        return [bool(found[:, i].all()) for i in (inner, outer)]

    assert [held(0.009), held(0.02)] == [[True, True], [False, False]]


def test_a_foot_rolls_onto_its_sole_about_the_point_that_touches():
    """In the simplified motion, the toes have moved by 3 cm as the sole lands."""
    scenario = load_scenario(str(Path(__file__).with_name("kneel_from_belly.yaml")))
    scene, character = scenario.scene, character_of(scenario)
    names = [effector.name for effector in character.effectors]
    touched = np.full((20, len(names)), "", dtype="<U12")
    touched[2:10, names.index("left_toes")] = touched[10:, names.index("left_foot")] = FLOOR
    q = np.tile(scene.q0, (21, 1))
    q[10:, 0] += 0.03
    found = spans_of(scene, character, surroundings_of(scene, "humanoid"), touched, q)
    sole, toes = sorted(found, key=lambda span: -span.begin)
    own, point = (scene.model.frames[scene.surfaces[f"humanoid/left_{name}"].frame_id] for name in ("sole", "toes"))
    place = sole.pose.act((own.placement.inverse() * point.placement).translation)
    np.testing.assert_allclose(place[:2], toes.pose.translation[:2], atol=1e-9)
    assert sole.pose.translation[2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("moved", "kept"), [(0.008, ["top"]), (0.012, ["back", "top"])])
def test_a_point_at_an_edge_is_on_the_face_that_it_touches_for_longer(moved, kept):
    scenario = load_scenario("climb_high")
    scene, character = scenario.scene, character_of(scenario)
    i = character.index("left_hand")
    q = np.tile(scene.q0, (21, 1))
    q[12:, 1] += moved
    touched = np.full((20, len(character.effectors)), "", dtype="<U16")
    touched[4:8, i], touched[8:, i] = "platform/back", "platform/top"
    found = without_changes_of_face(scene, character, touched, q)
    assert list(dict.fromkeys(found[4:, i].tolist())) == [f"platform/{name}" for name in kept]
    assert (found[:4] == "").all() and (np.delete(found, i, axis=1) == "").all()


def test_a_patch_that_touches_a_face_is_moved_onto_it_without_overhang(behaviour):
    scenario = behaviour(block=0.8)  # 0.4 m x 0.6 m, 0.2 m high: up to x = 1
    scene, character = scenario.scene, character_of(scenario)
    touched = np.array([["", "", "", "", ""], ["block/top", FLOOR, "", "", ""]])
    data, frame = scene.model.createData(), scene.surfaces["humanoid/left_sole"].frame_id
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    start, q = data.oMf[frame].copy(), np.tile(scene.q0, (3, 1))
    half, R = character.effectors[0].half, start.rotation
    extent = float(np.abs(R[0, :2]) @ half)

    def placed(x):
        q[:, 0] = scene.q0[0] + x - start.translation[0]
        q[:, 2] = scene.q0[2] + 0.203 - start.translation[2]
        left, right = spans_of(scene, character, surroundings_of(scene, "humanoid"), touched, q)
        assert right.pose.translation[0] == pytest.approx(x, abs=0.01)  # the ground has room
        return left.pose.translation

    inside = 0.99 - extent
    np.testing.assert_allclose(placed(inside), [inside, start.translation[1], 0.2], atol=1e-9)
    np.testing.assert_allclose(placed(inside + 0.03), [1.0 - extent, start.translation[1], 0.2], atol=1e-9)


def test_only_feet_and_trunk_hold_contacts_for_longer(behaviour):
    scenario = behaviour(effectors=EFFECTORS.replace("}}", "}, seat: {surface: seat}}"))
    character = character_of(scenario)
    found = dict(
        zip([e.name for e in character.effectors], overlaps_of(character, scenario.spec.behaviour), strict=True)
    )
    assert found == {"left_foot": OVERLAP, "right_foot": OVERLAP, "left_hand": 0.0, "seat": TRUNK_OVERLAP}
    props = behaviour(effectors=EFFECTORS.replace("left_palm}", "left_palm, supports: false}"))
    assert overlaps_of(character_of(props), props.spec.behaviour).tolist() == [OVERLAP, OVERLAP, TRUNK_OVERLAP]


def test_without_a_stand_term_feet_are_all_but_hands_of_the_object():
    assert feet_of(load_scenario("carry").spec.behaviour) == {"left_foot", "right_foot"}
    assert feet_of(load_scenario("walk_to").spec.behaviour) == {"left_foot", "right_foot"}
    assert feet_of(load_scenario("handstand").spec.behaviour) == {"left_foot", "right_foot", "left_hand", "right_hand"}
