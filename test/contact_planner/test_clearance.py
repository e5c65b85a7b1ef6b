"""Collision checks of the ends of limbs."""

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
