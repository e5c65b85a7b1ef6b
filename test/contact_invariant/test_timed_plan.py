"""Timed plans of simplified motions."""

import numpy as np
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.motion import Motion
from contact_invariant.postures import Postures
from contact_invariant.surroundings import surroundings_of
from contact_invariant.timed_plan import timed_plan
from multi_qp_scene.scenario import load_scenario

FLOOR = "ground/floor"


@pytest.mark.parametrize(("ahead", "up", "held"), [(0.009, 0.0, True), (0.011, 0.0, False), (0.0, 0.006, False)])
def test_a_foot_without_contact_that_stays_at_its_place_is_held(behaviour, ahead, up, held):
    scenario = behaviour(phases=3, effectors="{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}")
    scene, character = scenario.scene, character_of(scenario)
    x = np.tile(character.features_at(scene, scene.q0), (7, 1))  # two pieces in a phase
    right = 6 + 6 * 1
    x[3, right] += 0.5 * ahead
    x[4:, right] += ahead
    x[3, right + 2] += up
    c = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    times = np.array([0.25, 0.75, 1.25])
    angles = np.tile(scene.q0[character.joints.q_index], (3, 1))
    names = tuple(effector.name for effector in character.effectors)
    motion = Motion(names, np.array([0.0, 0.5, 1.0, 1.5]), x, np.zeros_like(x), c, times, np.zeros((3, 2, 6)), angles)
    postures = Postures(times, np.tile(scene.q0, (3, 1)), np.zeros((3, 0)), np.zeros((3, 0)))
    plan = timed_plan(scene, character, surroundings_of(scene, "humanoid"), motion, postures)
    assert plan.touched[:6, 0].tolist() == [FLOOR] * 6
    assert plan.touched[:6, 1].tolist() == [FLOOR] * 2 + [FLOOR if held else ""] * 2 + [FLOOR] * 2


@pytest.mark.parametrize(("moved", "held"), [(0.009, True), (0.011, False)])
def test_joined_points_are_held_together(moved, held):
    """The inner toe point stays, the outer one does, or moves by 11 mm: then the plan holds neither."""
    scenario = load_scenario("get_up_from_belly")
    scene, character = scenario.scene, character_of(scenario)
    toes = [character.index(f"left_toes_{side}") for side in ("inner", "outer")]
    x = np.tile(character.features_at(scene, scene.q0), (7, 1))
    x[3:, 6 + 6 * toes[1]] += moved
    c = np.ones((3, len(character.effectors)))
    c[1, toes] = 0.0
    times, names = np.array([0.25, 0.75, 1.25]), tuple(effector.name for effector in character.effectors)
    forces, angles = np.zeros((3, len(names), 6)), np.tile(scene.q0[character.joints.q_index], (3, 1))
    motion = Motion(names, np.array([0.0, 0.5, 1.0, 1.5]), x, np.zeros_like(x), c, times, forces, angles)
    postures = Postures(times, np.tile(scene.q0, (3, 1)), np.zeros((3, 0)), np.zeros((3, 0)))
    plan = timed_plan(scene, character, surroundings_of(scene, "humanoid"), motion, postures)
    between = [FLOOR if held else ""] * 2
    assert plan.touched[2:4, toes].T.tolist() == [between, between]
