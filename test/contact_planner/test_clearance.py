"""Collision checks of the ends of limbs, and of a character with itself."""

import numpy as np
import pinocchio as pin
import pytest

from contact_planner.body import CharacterModel
from contact_planner.clearance import CollisionChecker
from multi_qp_scene import load_scenario


@pytest.mark.parametrize(("tilt", "free"), [(0.0, True), (-1.4, True), (0.9, False)])
def test_a_tilted_ball_foot_may_touch_beside_its_point(tilt, free):
    """Tilted about its point by -1.4 rad the ball is 2 to 5 mm in the ground; by 0.9 rad the shank is deeper."""
    scene = load_scenario("slope").scene
    body = CharacterModel(scene, "quadruped", {"foot": "quadruped/left_front_foot"}, q=scene.q0, posture="standing")
    limb, checker = body.limbs["foot"], CollisionChecker(body)
    flat = np.diag([1.0, -1.0, -1.0])
    pose = pin.SE3(flat @ pin.utils.rotate("y", tilt), np.array([0.0, 0.0, 0.0]))
    assert checker.end_is_free(limb, pose, "ground/floor") is free


def test_links_that_the_model_does_not_list_collide_and_are_separated():
    """An upper arm in the chest: found although the model file names no such pair, and led out step by step."""
    scene = load_scenario("chair").scene
    surfaces = {"hand": "humanoid/right_palm"}
    body = CharacterModel(scene, "humanoid", surfaces, q=scene.q0, posture="half_sitting")
    checker, q = CollisionChecker(body), body.nominal.copy()
    listed = {frozenset(pair) for pair in scene.self_collisions["humanoid"]}
    assert frozenset(("humanoid/torso", "humanoid/r_shoulder_yaw_link")) not in listed
    q[2] += 1.0
    q[body.model.joints[body.model.getJointId("humanoid/R_SHOULDER_R")].idx_q] = 0.2
    assert any("r_shoulder_yaw_link" in first + second for first, second in checker.hits(q))
    for _ in range(20):
        q = pin.integrate(body.model, q, checker.separating_step(q))
    assert not any("shoulder" in first + second for first, second in checker.hits(q))
