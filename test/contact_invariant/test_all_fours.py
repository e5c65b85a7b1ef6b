"""A humanoid on elbows and knees that another one climbs on: its start pose, ramps of its trunk, the behaviour."""

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.audit import Auditor, Bounds
from contact_invariant.contact_schedule import touched_at_start
from contact_invariant.motion import Motion
from contact_invariant.problem import SynthesisProblem
from contact_invariant.starts import Starts
from contact_invariant.surroundings import surroundings_of, with_trunks
from multi_qp_scene.scenario import load_scenario

#: Half of the distance of the feet [m].
STANCE = 0.08
EFFECTORS = ["left_foot", "right_foot", "left_elbow", "right_elbow", "left_knee", "right_knee"]


@pytest.fixture(scope="module")
def scenario():
    return load_scenario(str(Path(__file__).with_name("on_all_fours.yaml")))


@pytest.fixture(scope="module")
def surroundings(scenario, character):
    return with_trunks(surroundings_of(scenario.scene, *character.names), scenario.scene, character)


@pytest.fixture(scope="module")
def figures(scenario, character, surroundings):
    """A function of features: the findings of the audit about standing still."""
    scene = scenario.scene
    auditor = Auditor(scene, character, surroundings, friction=0.7, bounds=Bounds())
    angles, times = np.tile(scene.q0[character.joints.q_index], (2, 1)), np.array([0.005, 0.055])

    def found(x):
        x, contacts, forces = np.tile(x, (4, 1)), np.ones((3, len(EFFECTORS))), np.zeros((2, len(EFFECTORS), 6))
        motion = Motion(tuple(EFFECTORS), 0.02 * np.arange(4.0), x, 0.0 * x, contacts, times, forces, angles)
        return {finding.name: finding for finding in auditor.audit(motion, ()).findings}

    return found


def test_the_bearer_is_in_balance_on_elbows_and_knees(scenario, character, surroundings, figures):
    assert [effector.name for effector in character.effectors] == EFFECTORS
    assert (touched_at_start(scenario.scene, character, surroundings) == "ground/floor").all()
    found = figures(character.features_at(scenario.scene, scenario.scene.q0))
    assert {name for name, one in found.items() if not one.met} == set()
    assert found["bearer root force"].value < 1e-3 and found["bearer root moment"].value < 1e-3


def test_it_bears_the_other_one_on_its_back(scenario, character, surroundings, figures):
    """Both soles on the pack, flat on it, and the forces of both inside their friction cones."""
    scene = scenario.scene
    x, at = character.features_at(scene, scene.q0), character.body_features(1)
    pack = surroundings.trunks[1].faces[0].pose
    R = pin.exp3(x[at][3:])
    middle, normal = x[at][:3] + R @ pack.translation, R @ pack.rotation[:, 2]
    assert 0.40 < middle[2] < 0.43 and normal[2] > 0.98
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
    onto = middle - 0.5 * (x[6:9] + x[12:15])
    x[:3] += onto
    for first, y in ((6, STANCE), (12, -STANCE)):
        x[first : first + 3] = middle + turn @ [0.0, y, 0.0]
        x[first + 3 : first + 6] = pin.log3(turn)
    found = figures(x)
    assert found["contact gap"].met and found["root force"].met and found["root moment"].met
    assert found["bearer root force"].value < 1e-3 and found["bearer root moment"].value < 1e-3


def test_heights_above_its_trunk_are_vertical_in_the_start_pose(scenario, character, surroundings):
    x, at = character.features_at(scenario.scene, scenario.scene.q0), character.body_features(1)
    trunk = surroundings.trunks[1]
    assert len(trunk.solids) == 3  # seat, shoulders, pack
    for solid in trunk.solids:
        assert (pin.exp3(x[at][3:]) @ solid.up)[2] > 0.98
    face = trunk.solids[-1].up @ trunk.faces[0].pose.translation
    assert max(solid.top for solid in trunk.solids) == pytest.approx(face)


def test_what_moves_with_a_link_that_touches_may_come_close_to_solids(character):
    """The forearm starts in the ball of the elbow, and no joint of the limb moves it: 1.5 cm would lift the elbow."""
    touches = {one.link: one.touches for one in character.capsules if one.body == 1 and not one.side}
    assert touches["bearer/l_elbow_pitch_link"] and touches["bearer/l_knee_pitch_link"]
    assert not touches["bearer/chest_pitch_link"]


@pytest.mark.slow
def test_a_humanoid_climbs_on_another_one(scenario):
    start = Starts(scenario).one(2)
    assert start.passed, start.missed
    motion = start.synthesis.motion
    assert motion.x[-1, 2] - motion.x[0, 2] > 0.37  # its centre of mass is above where it can stand on the ground
    assert motion.contacts[0, :2].all() and motion.x[-1, [8, 14]].min() > 0.35


@pytest.mark.parametrize(("gap", "close"), [(0.002, True), (0.015, False)])
def test_the_side_of_a_foot_keeps_off_an_arm_of_the_other_one(scenario, character, surroundings, gap, close):
    """Listed pairs keep 1 cm; the foot is 115 mm wide, the capsule in its middle 45 mm."""
    scene, behaviour = scenario.scene, scenario.spec.behaviour.model_copy(update={"phases": 1, "terms": []})
    problem = SynthesisProblem(character, surroundings, behaviour)
    data, shapes = scene.model.createData(), scene.collision_model.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.collision_model, shapes, scene.q0)
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    foot, arm = (names.index(f"{name}_0") for name in ("climber/l_ankle_roll_link", "bearer/l_shoulder_yaw_link"))
    first, second = (scene.collision_model.geometryObjects[k].geometry for k in (foot, arm))
    beside = shapes.oMg[arm].translation - shapes.oMg[foot].translation
    beside[2] = 0.0
    for y in np.arange(-0.3, 0.0, 0.001):  # along the width of the foot
        at = pin.SE3(shapes.oMg[foot].rotation, shapes.oMg[foot].translation + beside + [0.0, y, 0.0])
        request = coal.DistanceRequest()
        if coal.distance(first, placed(at), second, placed(shapes.oMg[arm]), request, coal.DistanceResult()) < gap:
            break
    x = character.features_at(scene, scene.q0)
    for k in (0, 6, 12):
        x[k : k + 3] += beside + [0.0, y, 0.0]
    z = problem.initial(x, scene.q0[character.joints.q_index])
    r = problem.residuals(z)[0][0]
    found = [r[a:b].max() for name, _, a, b in problem._terms[0] if name == "own links"]
    assert (max(found) > 0.005) == close


def placed(X):
    return coal.Transform3s(X.rotation, X.translation)
