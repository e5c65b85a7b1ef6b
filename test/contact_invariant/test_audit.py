"""The audit of motions: a static stance is true, and each cheat is found."""

from dataclasses import replace

import numpy as np
import pytest

from contact_invariant.audit import Auditor, Bounds
from contact_invariant.character_builder import character_of
from contact_invariant.motion import Motion
from contact_invariant.surroundings import surroundings_of

EFFECTORS = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}, left_hand: {surface: left_palm}}"
LEFT = slice(6, 9)


@pytest.fixture(scope="module")
def stance(behaviour):
    scenario = behaviour(phases=3, block=0.5, effectors=EFFECTORS)
    character = character_of(scenario)
    scene = scenario.scene
    auditor = Auditor(scene, character, surroundings_of(scene, "humanoid"), friction=0.7, bounds=Bounds())
    x = np.tile(character.features_at(scene, scene.q0), (4, 1))
    angles = np.tile(scene.q0[character.joints.q_index], (2, 1))
    c = np.tile([1.0, 1.0, 0.0], (3, 1))
    names = tuple(effector.name for effector in character.effectors)
    times = np.array([0.05, 0.55])
    motion = Motion(names, 0.2 * np.arange(4.0), x, np.zeros_like(x), c, times, np.zeros((2, 3, 6)), angles)
    return auditor, motion


def violated(stance, motion, features=()):
    return {finding.name for finding in stance[0].audit(motion, features).findings if not finding.met}


def moved(motion, column, by, knots):
    x = motion.x.copy()
    x[np.ix_(knots, np.arange(x.shape[1])[column])] += by
    return replace(motion, x=x)


def test_a_static_stance_is_true(stance):
    audit = stance[0].audit(stance[1], [("stand: centre of mass over the feet", "m", 0.001)])
    assert audit.passed, audit.findings
    assert audit.as_dict()["root force"]["value"] < 1e-6


def test_missed_tasks_are_found(stance):
    assert violated(stance, stance[1], [("position", "m", 0.04), ("heading", "rad", -0.1)]) == {
        "task distance",
        "task angle",
    }


def test_forces_at_a_distance_and_gaps_are_found(stance):
    lifted = moved(moved(stance[1], LEFT, [0, 0, 0.03], [2]), slice(12, 15), [0, 0, 0.03], [2])
    assert {"contact gap", "root force"} <= violated(stance, lifted)


def test_skating_is_found(stance):
    assert "contact slip" in violated(stance, moved(stance[1], LEFT, [0.03, 0, 0], [2, 3]))


def test_flight_and_missing_forces_are_found(stance):
    c = stance[1].c.copy()
    c[1] = 0.0
    found = violated(stance, replace(stance[1], c=c))
    assert {"flight", "root force"} <= found


def test_a_centre_of_mass_outside_the_support_is_found(stance):
    assert "root moment" in violated(stance, moved(stance[1], slice(0, 1), 0.25, [1, 2, 3]))


def test_limbs_that_are_too_long_are_found(stance):
    assert "reach" in violated(stance, moved(stance[1], slice(2, 3), 0.15, [2]))


def test_a_swing_through_a_block_between_samples_is_found(stance):
    motion = moved(stance[1], LEFT, [0.3, 0, 0.02], [2])
    c = motion.c.copy()
    c[1:3, 0] = 0.0
    assert "penetration" in violated(stance, moved(replace(motion, c=c), slice(0, 1), 0.15, [2]))


def test_a_foot_that_skims_the_ground_is_found(stance):
    motion = moved(stance[1], LEFT, [0.2, 0, 0], [2, 3])
    c = motion.c.copy()
    c[1, 0] = 0.0
    assert "swing clearance" in violated(stance, replace(motion, c=c))


def test_a_foot_that_rises_along_a_wall_is_found(behaviour, stance):
    """1 cm before the front of a block; along the ground, it is fast farther away only."""
    auditor, motion = stance
    scenario = behaviour(phases=3, block=0.5, effectors=EFFECTORS)
    pose = character_of(scenario).effectors[0]
    toes = motion.x[0, 6] + float((pose.nominal.rotation @ pose.corners.T)[0].max())
    front = 0.3 - 0.01 - toes  # of the block, from -0.2 m on

    def clearance(away):
        x = np.vstack([motion.x, motion.x[-1:]])
        c = np.vstack([motion.c, motion.c[-1:]])
        x[1:3, 6] += front - away
        x[2:, 8] += 0.15
        x[3:, 6] += front - away - 0.3
        c[1:3, 0] = 0.0
        climbing = replace(motion, knots=0.2 * np.arange(5.0), x=x, rates=np.zeros_like(x), c=c)
        findings = auditor.audit(climbing, []).findings
        return next(f.value for f in findings if f.name == "swing clearance")

    assert clearance(0.0) < 0.02 < clearance(0.05)


def test_legs_through_each_other_are_found(stance):
    assert "own links" in violated(stance, moved(stance[1], LEFT, [0, -0.12, 0], [2, 3]))


def test_an_arm_through_the_chest_is_found_that_no_list_pairs_with_it(stance):
    auditor, motion = stance
    hand = slice(18, 21)
    across = moved(motion, hand, [0.0, -2.0 * motion.x[0, 19], 0.05], [2, 3])
    found = next(f for f in auditor.audit(across, []).findings if f.name == "own links")
    assert not found.met and "torso_1 in humanoid/l_shoulder_yaw_link_0" in found.where, found
