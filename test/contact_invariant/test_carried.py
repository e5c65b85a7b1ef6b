"""Objects in the synthesis: dynamics, contacts, audit, refinement."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.audit import Auditor, Bounds
from contact_invariant.carried import alone, carried_at, motion_alone
from contact_invariant.character_builder import character_of
from contact_invariant.motion import Motion
from contact_invariant.problem import SynthesisProblem
from contact_invariant.refined_plan import refined_plan
from contact_invariant.surroundings import surroundings_of
from contact_invariant.timed_plan import timed_plan
from contact_invariant.whole_body import WholeBodyMotion
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import load_scenario

BOX, LEFT_HAND = slice(30, 33), slice(18, 21)
PUSH = 0.5


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("carry")


@pytest.fixture(scope="module")
def surroundings(scenario, character):
    return surroundings_of(scenario.scene, "humanoid", prop=character.prop)


@pytest.fixture(scope="module")
def problem(scenario, character, surroundings):
    behaviour = scenario.spec.behaviour.model_copy(update={"phases": 1, "terms": scenario.spec.behaviour.terms[1:]})
    return SynthesisProblem(character, surroundings, behaviour)


@pytest.fixture
def still(scenario, character, problem):
    x = character.features_at(scenario.scene, scenario.scene.q0)
    z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
    z[problem.knots :] = 0.0
    return z


@pytest.fixture
def stance(scenario, character, surroundings):
    scene = scenario.scene
    auditor = Auditor(scene, character, surroundings, friction=0.7, bounds=Bounds())
    x = np.tile(character.features_at(scene, scene.q0), (4, 1))
    angles, times = np.tile(scene.q0[character.joints.q_index], (2, 1)), np.array([0.05, 0.55])
    names = tuple(effector.name for effector in character.effectors)
    c = np.tile([1.0, 1.0, 0.0, 0.0, 1.0], (3, 1))
    return auditor, Motion(names, 0.2 * np.arange(4.0), x, 0.0 * x, c, times, np.zeros((2, 5, 6)), angles)


def forces(problem, z):
    """Return the forces of all instants, a view, (m, N, 6)."""
    return z[problem.knots :].reshape(len(problem.times(z)), -1)[:, :30].reshape(-1, 5, 6)


def violated(auditor, motion):
    return {finding.name for finding in auditor.audit(motion, ()).findings if not finding.met}


def test_an_object_that_rests_is_carried_by_its_patch(problem, still, character):
    assert [effector.name for effector in character.effectors][-1] == "box" and character.features == 36
    before = problem.breakdown(still)
    forces(problem, still)[:, 4, 2] = 1.0  # in weights of the object
    after = problem.breakdown(still)
    assert before["object force"] > 1e-3 and after["object force"] < 1e-12 and after["object moment"] < 1e-12
    assert after["root force"] == pytest.approx(before["root force"], rel=1e-12)


def test_hand_and_object_have_opposite_forces(problem, still, character):
    forces(problem, still)[:, 4, 2] = 1.0
    rows = {name: slice(a, b) for name, _, a, b in problem._terms[0]}
    before = problem.residuals(still)[0]
    forces(problem, still)[:, 2, :3] = [0.2, -0.1, PUSH]
    change = problem.residuals(still)[0] - before
    on_body, on_object = change[0, rows["root force"]], change[0, rows["object force"]]
    np.testing.assert_allclose(on_body, -character.prop.mass * on_object, atol=1e-12)
    assert np.linalg.norm(on_object) == pytest.approx(np.linalg.norm([0.2, -0.1, PUSH]))


def test_gradients_are_derivatives(problem, still, gradient_of):
    rng = np.random.default_rng(3)
    z = still.copy()
    z[problem.fixed :] += 0.02 * rng.normal(size=len(z) - problem.fixed)
    gradient = gradient_of(problem, z)
    _, differences = problem.differences(z, 1e-6)
    difference = np.abs(gradient - differences)[problem.fixed :]
    assert difference.max() < 1e-4 * np.abs(gradient).max()


def test_upper_arms_stay_off_the_trunk(scenario, problem, still, stance, character):
    links = [{name.removeprefix("humanoid/") for name in pair} for pair in character.close]
    assert links == [{"l_shoulder_yaw_link", "torso"}, {"r_shoulder_yaw_link", "torso"}]
    scene, (auditor, motion) = scenario.scene, stance
    joints = [scene.model.names[j].removeprefix("humanoid/") for j in character.joints.indices]
    angles = scene.q0[character.joints.q_index]
    angles[[joints.index("L_ELBOW_P"), joints.index("R_ELBOW_P")]] = -1.6  # forearms are off the hips
    angles[joints.index("L_SHOULDER_R")] -= 0.2
    problem.local_values(still)[1][:] = angles
    # a distance of -2.1 mm instead of 10 mm, at each of the 8 instants; without these pairs it would be 7e-5
    assert problem.breakdown(still)["own links"] > 4.0 * 0.012**2
    angles[joints.index("L_SHOULDER_R")] -= 0.1  # -13.8 mm
    q = scene.q0.copy()
    q[character.joints.q_index] = angles
    x = np.tile(character.features_at(scene, q), (4, 1))
    assert violated(auditor, replace(motion, x=x, angles=np.tile(angles, (2, 1)))) == {"own links"}


def test_an_object_at_rest_is_true(stance):
    assert violated(*stance) == set()


def test_an_object_that_nothing_carries_is_found(stance):
    auditor, motion = stance
    c = motion.c.copy()
    c[1, 4] = 0.0
    assert violated(auditor, replace(motion, c=c)) == {"object force"}


def test_an_object_that_slides_into_the_stand_is_found(stance):
    auditor, motion = stance
    x = motion.x.copy()
    x[2:, BOX] += [0.0, 0.03, -0.03]
    assert {"penetration", "contact slip", "contact gap"} <= violated(auditor, replace(motion, x=x))


def test_hands_that_carry_from_a_distance_are_found(stance):
    auditor, motion = stance
    c = motion.c.copy()
    c[:, 2:4], c[:, 4] = 1.0, 0.0
    assert {"object force", "contact gap"} <= violated(auditor, replace(motion, c=c))


def test_slip_of_a_hand_is_relative_to_the_object(stance, character):
    auditor, motion = stance
    c, x = motion.c.copy(), motion.x.copy()
    c[:, 2] = 1.0
    x[2:, BOX] += [0.0, 0.0, 0.1]
    x[2:, LEFT_HAND] += [0.0, 0.0, 0.1]
    slip = {f.name: f for f in auditor.audit(replace(motion, c=c, x=x), ()).findings}["contact slip"]
    assert not slip.where.startswith("left_hand")  # the object's patch slips, the hand moves with it


def test_plans_name_what_hands_touch(scenario, character, surroundings, stance):
    auditor, motion = stance
    c, x = motion.c.copy(), motion.x.copy()
    c[1:, 2] = 1.0
    x[:, LEFT_HAND] = x[:, BOX] + [0.0, 0.19, 0.0]
    motion = replace(motion, c=c, x=x)
    plan = timed_plan(scenario.scene, character, surroundings, motion, auditor.audit(motion, ()).postures)
    assert plan.touched[:, 2].tolist() == ["", "box/left", "box/left", "box/left"]
    assert plan.touched[:, 4].tolist() == ["stand/top"] * 4 and str(plan.prop) == "box"


@pytest.mark.parametrize(("bend", "stays"), [(0.0, "ground/floor"), (0.3, "")])
def test_a_foot_that_ends_in_the_air_is_no_contact(scenario, character, surroundings, stance, bend, stays):
    auditor, motion = stance
    scene, times = scenario.scene, np.linspace(0.0, 0.6, 4)
    plan = timed_plan(scene, character, surroundings, motion, auditor.audit(motion, ()).postures)
    assert plan.touched[-1, 1] == "ground/floor"
    q, touched = np.tile(scene.q0, (4, 1)), plan.touched[:3].copy()
    names = {name: scene.model.joints[j].idx_q for j, name in enumerate(scene.model.names)}
    q[2:, names["humanoid/R_KNEE_P"]] += bend
    touched[2, 1] = ""
    audit = SimpleNamespace(
        postures=SimpleNamespace(times=times, q=q),
        velocities=np.zeros((4, scene.nv)),
        dynamics=SimpleNamespace(forces=np.zeros((4, 5, 6)), torques=np.zeros((4, scene.na))),
    )
    body = WholeBodyMotion(times, q, touched, free=(0, q.shape[1] - 7))
    found = refined_plan(scene, character, surroundings, body, audit, plan, np.zeros((4, 0))).touched
    assert found[-1].tolist() == [plan.touched[-1, 0], stays, *plan.touched[-1, 2:]]


def test_the_inertia_of_the_object_moves_with_the_hands(scenario, character, stance):
    motion = stance[1]
    single = alone(scenario, "humanoid")
    other, scene = character_of(single), single.scene
    assert [e.name for e in other.effectors] == ["left_foot", "right_foot", "left_hand", "right_hand"]
    assert motion_alone(motion, character, 0).x.shape[1] == other.features
    touched = np.full((3, 5), "", dtype=object)
    touched[1:, 2:4], touched[0, 4] = "box/left", "stand/top"
    times = np.linspace(0.0, 0.6, 7)
    carried = carried_at(motion, character, 0, touched.astype(str), times, mass=2.0)
    assert carried.begin == 2 and carried.later(2, 0) and carried.carries(3, 6)
    touched[0, 2] = "box/left"  # while it rests
    resting = carried_at(motion, character, 0, touched.astype(str), times, mass=2.0)
    assert resting.touches(2, 0) and not resting.carries(2, 0) and not resting.touches(3, 0)
    models = carried.models(scene.model, scene, other, np.tile(scene.q0, (7, 1)))
    assert models[1] is scene.model and len(models) == 7
    data, full = models[4].createData(), scene.model.createData()
    com = pin.centerOfMass(models[4], data, scene.q0)
    expected = other.mass * pin.centerOfMass(scene.model, full, scene.q0) + 2.0 * motion.x[0, BOX]
    np.testing.assert_allclose(com, expected / (other.mass + 2.0), atol=1e-9)
    rotational = pin.ccrba(models[4], data, scene.q0, np.zeros(scene.nv))
    assert rotational.shape == (6, scene.nv)
    assert data.Ig.mass == pytest.approx(other.mass + 2.0)


def test_motions_with_an_object_have_its_velocity(scenario):
    scene, times = scenario.scene, np.linspace(0.0, 1.0, 21)
    q = np.tile(scene.q0, (21, 1))
    q[:, -7] += 0.1 * times**2 * (3 - 2 * times)
    found, v, a = WholeBodyMotion(times, q, np.full((20, 5), ""), free=(0, q.shape[1] - 7)).at(np.array([0.5, 0.501]))
    np.testing.assert_allclose(pin.difference(scene.model, found[0], found[1]) / 1e-3, v.mean(axis=0), atol=1e-5)
    assert v[0, -6] == pytest.approx(0.15, rel=1e-3) and np.abs(v[:, :-6]).max() < 1e-9
    np.testing.assert_allclose((v[1] - v[0]) / 1e-3, a.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hands: [left_hand, right_hand]", "hands: [left_hnd]", "left_hnd"),
        ("patches: {box: bottom}", "patches: {left_foot: bottom}", "name of an effector"),
        ("subsystem: box", "subsystem: humanoid", "humanoid"),
        ("  object: {subsystem: box, hands: [left_hand, right_hand], patches: {box: bottom}}\n", "", "no `object`"),
    ],
)
def test_errors_of_a_file_are_reported(refusal, old, new, message):
    assert message in refusal(scenario_path("carry"), old, new)
