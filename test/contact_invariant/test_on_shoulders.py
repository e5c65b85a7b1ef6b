"""A humanoid that reaches for a place above its height, beside another one on all fours: the terms, the behaviour."""

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.starts import Starts, with_refinement
from multi_qp_scene.scenario import load_scenario

#: Straight legs, and an arm that points up.
REACHING = {"R_SHOULDER_P": -np.pi, "R_SHOULDER_R": 0.0, "R_SHOULDER_Y": 0.0, "R_ELBOW_P": 0.0}


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("on_shoulders")


def test_the_place_is_above_what_it_reaches_from_the_ground(scenario):
    scene = scenario.scene
    model, data, q = scene.model, scene.model.createData(), scene.q0.copy()
    for side in "LR":
        for joint in ("HIP_P", "KNEE_P", "ANKLE_P"):
            q[model.joints[model.getJointId(f"climber/{side}_{joint}")].idx_q] = 0.0
    for joint, angle in REACHING.items():
        q[model.joints[model.getJointId(f"climber/{joint}")].idx_q] = angle
    pin.framesForwardKinematics(model, data, q)
    palm, sole = (data.oMf[scene.surfaces[f"climber/{name}"].frame_id] for name in ("right_palm", "right_sole"))
    highest = (palm.translation - sole.translation)[2]
    targets = [term.target for term in scenario.spec.behaviour.terms if term.type == "strike"]
    assert 1.75 < highest < 1.85 and all(target[2] > highest + 0.2 for target in targets)


def test_no_term_names_feet(scenario):
    named = [term.patches for term in scenario.spec.behaviour.terms if term.type == "rest"]
    assert not any("foot" in name for names in named for name in names)
    assert {term.type for term in scenario.spec.behaviour.terms} == {"rest", "strike", "position"}


@pytest.mark.slow
def test_it_climbs_on_the_other_one(scenario):
    motion = Starts(with_refinement(scenario, False)).one(1).synthesis.motion
    assert motion.x[-1, [8, 14]].max() > 0.35 and motion.x[-1, 20] == pytest.approx(2.1, abs=0.03)  # a foot, the palm
