"""Expansion of names and patterns to pairs of convex pieces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from multi_qp_scene import load_scenario, meeting_pairs
from multi_qp_scene.meeting_pairs import self_pairs
from multi_qp_scene.overlaps import OverlapSearch
from multi_qp_scene.pairs import body_pair_count, watched_pairs
from multi_qp_scene.schema.control import CollisionsSpec


@pytest.fixture(scope="module")
def scene():
    return load_scenario("box").scene


def watch(scene, *pairs, **rest):
    spec = CollisionsSpec.model_validate({"pairs": list(pairs), **rest})
    return watched_pairs(scene, spec)


def bodies(a, b, **parameters):
    return {"bodies": [a, b], **parameters}


def test_every_piece_of_one_is_paired_with_every_piece_of_the_other(scene):
    pairs = watch(scene, bodies("box/box_link", "table/table_link"))
    assert len(pairs) == 3  # the table has three pieces
    assert body_pair_count(pairs) == 1
    assert {p.links for p in pairs} == {("box/box_link", "table/table_link")}
    names = [scene.collision_model.geometryObjects[p.second].name for p in pairs]
    assert sorted(names) == ["table/table_link_0", "table/table_link_1", "table/table_link_2"]
    assert pairs[0].name == "box/box_link | table/table_link"


def test_patterns_name_many_links(scene):
    pairs = watch(scene, bodies("humanoid/*_wrist_roll_link", "box/box_link"))
    assert {p.links[0] for p in pairs} == {"humanoid/l_wrist_roll_link", "humanoid/r_wrist_roll_link"}


def test_the_first_mention_of_a_pair_counts_in_either_order(scene):
    pairs = watch(
        scene,
        bodies("humanoid/l_wrist_roll_link", "box/box_link", influence=0.06, security=0.0),
        bodies("box/*", "humanoid/*_wrist_roll_link"),
    )
    parameters = {p.links: (p.influence, p.security) for p in pairs}
    assert parameters == {
        ("humanoid/l_wrist_roll_link", "box/box_link"): (0.06, 0.0),
        ("box/box_link", "humanoid/r_wrist_roll_link"): (0.08, 0.01),
    }


def test_pairs_without_relative_motion_are_left_out(scene):
    assert watch(scene, bodies("table/*", "ground/*")) == ()
    assert watch(scene, bodies("box/box_link", "box/box_link")) == ()
    joints = [(p.first, p.second) for p in watch(scene, bodies("humanoid/*", "humanoid/*"))]
    parents = [scene.collision_model.geometryObjects[k].parentJoint for pair in joints for k in pair]
    assert all(a != b for a, b in zip(parents[::2], parents[1::2], strict=True))


def test_listed_self_collisions_are_those_of_the_model_file(scene):
    options = {"influence": 0.05, "security": 0.02, "damping": 0.3}
    pairs = watch(scene, self_collisions=["humanoid"], self_pairs="listed", **options)
    links = {frozenset(p.links) for p in pairs}
    assert links == {frozenset(pair) for pair in scene.self_collisions["humanoid"]}
    assert all((p.influence, p.security, p.damping) == (0.05, 0.02, 0.3) for p in pairs)


def test_self_collisions_are_completed_by_all_pairs_that_can_meet(scene):
    """Listed pairs keep the scenario's distances; the others have smaller ones, and none is violated at the start."""
    pairs = watch(scene, self_collisions=["humanoid"], influence=0.05, security=0.02)
    listed = {frozenset(pair) for pair in scene.self_collisions["humanoid"]}
    others = [p for p in pairs if frozenset(p.links) not in listed]
    meeting = {frozenset(f"humanoid/{link}" for link in pair) for pair in self_pairs(scene, "humanoid").meeting}
    assert {frozenset(p.links) for p in pairs} == meeting
    assert {(p.influence, p.security) for p in pairs if p not in others} == {(0.05, 0.02)}
    assert {(p.influence, p.security) for p in others} == {(0.03, 0.002)}
    shins = frozenset(("humanoid/r_ankle_roll_link", "humanoid/l_knee_pitch_link"))
    assert shins in {frozenset(p.links) for p in others}
    search = OverlapSearch(scene.model, scene.collision_model, [(p.first, p.second) for p in others])
    assert not search.distances(scene.q0)


def test_there_are_no_pairs_by_default(scene):
    assert watch(scene) == ()
    assert body_pair_count(()) == 0


def test_without_a_list_all_pairs_that_can_meet_are_watched(scene):
    """Those of the model file, which everyday movements bring close, are among them; neighbours are not."""
    unlisted = replace(scene, self_collisions=dict.fromkeys(scene.self_collisions, ()))
    links = {frozenset(pair.links) for pair in watch(unlisted, self_collisions=["humanoid"])}
    listed = {frozenset(pair) for pair in scene.self_collisions["humanoid"]}
    assert listed <= links and len(links) > 60
    assert frozenset(("humanoid/torso", "humanoid/r_shoulder_yaw_link")) in links
    assert frozenset(("humanoid/r_ankle_roll_link", "humanoid/l_knee_pitch_link")) in links
    assert frozenset(("humanoid/torso", "humanoid/head")) not in links


def test_pairs_that_can_meet_are_the_same_for_equal_characters_and_in_each_process(scene):
    other = load_scenario("sword").scene
    assert self_pairs(other, "opponent") == self_pairs(other, "swordsman") == self_pairs(scene, "humanoid")
    meeting_pairs._cache.clear()
    again = self_pairs(scene, "humanoid")
    assert again == self_pairs(other, "opponent")
    assert not {frozenset(pair) for pair in again.meeting} & again.by_construction
