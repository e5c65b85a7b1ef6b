"""Two characters and an object in one synthesis: dynamics, terms, audit, plan, errors of the file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.audit import Auditor, Bounds
from contact_invariant.carried import alone, carried_at, motion_alone
from contact_invariant.character_builder import character_of
from contact_invariant.motion import Motion
from contact_invariant.problem import SynthesisProblem
from contact_invariant.refined_audit import RefinedAuditor
from contact_invariant.surroundings import surroundings_of
from contact_invariant.synthesis import Synthesiser
from contact_invariant.timed_plan import timed_plan
from contact_invariant.whole_body import WholeBodyMotion
from motion_generation.motion_playback import MotionPlayback
from motion_generation.synthesised_states import with_motion
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.schema.behaviour import StandTerm

FILE = Path(__file__).parent / "hand_over_from_stand.yaml"
#: Its effectors: limbs of the first character, of its partner, patch of the object.
LIMBS = ["left_foot", "right_foot", "left_hand", "right_hand"]
TAKER_HAND, BOX = 6, 8


@pytest.fixture(scope="module")
def scenario():
    return load_scenario(str(FILE))


@pytest.fixture(scope="module")
def surroundings(scenario, character):
    return surroundings_of(scenario.scene, *character.names, prop=character.prop)


@pytest.fixture(scope="module")
def problem(scenario, character, surroundings):
    """The cost of one phase, with four times the effort of the first, hands that act together, and a level box."""
    character = replace(character, effort=4.0)
    terms = [StandTerm(type="stand", feet=["taker_left_foot", "taker_right_foot"])]
    behaviour = scenario.spec.behaviour
    held = behaviour.object.model_copy(update={"together": 3.0, "level": 2.0})
    behaviour = behaviour.model_copy(update={"phases": 1, "terms": terms, "object": held})
    return SynthesisProblem(character, surroundings, behaviour)


@pytest.fixture
def still(scenario, character, problem):
    x = character.features_at(scenario.scene, scenario.scene.q0)
    z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
    z[problem.knots :].reshape(len(problem.times(z)), -1)[:, :54] = 0.0
    return z


@pytest.fixture
def stance(scenario, character, surroundings):
    scene = scenario.scene
    auditor = Auditor(scene, character, surroundings, friction=0.7, bounds=Bounds())
    x = np.tile(character.features_at(scene, scene.q0), (4, 1))
    angles, times = np.tile(scene.q0[character.joints.q_index], (2, 1)), np.array([0.05, 0.55])
    c = np.tile([1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0], (3, 1))
    names = tuple(effector.name for effector in character.effectors)
    return auditor, Motion(names, 0.2 * np.arange(4.0), x, 0.0 * x, c, times, np.zeros((2, 9, 6)), angles)


def rows(problem, z):
    """Return the residuals of the dynamics by term at the first instant."""
    r = problem.residuals(z)[0][0]
    return {name: r[first:last] for name, _, first, last in problem._terms[0]}


def forces(problem, z):
    """Return the forces of all instants, a view, (m, N, 6)."""
    return z[problem.knots :].reshape(len(problem.times(z)), -1)[:, :54].reshape(-1, 9, 6)


def test_features_are_those_of_both_and_of_the_object(scenario, character):
    names = [effector.name for effector in character.effectors]
    assert names == [*LIMBS, *(f"taker_{name}" for name in LIMBS), "box"]
    assert [body.name for body in character.bodies] == ["giver", "taker", "box"] and character.features == 66
    x, scene = character.features_at(scenario.scene, scenario.scene.q0), scenario.scene
    data = scene.model.createData()
    pin.centerOfMass(scene.model, data, scene.q0, True)
    for k, body in enumerate(character.bodies):
        at = character.body_features(k)
        np.testing.assert_allclose(x[at][:3], data.oMi[body.root].act(data.com[body.root]), atol=1e-6)
    assert np.linalg.norm(x[character.body_features(1)][3:]) == pytest.approx(np.pi, abs=1e-6)  # faces the first


def test_a_hand_pushes_the_object_and_its_own_character_alone(problem, still, character):
    before = rows(problem, still)
    forces(problem, still)[:, TAKER_HAND, :3] = [0.2, -0.1, 0.5]
    change = {name: value - before[name] for name, value in rows(problem, still).items()}
    assert np.abs(change["root force"]).max() == np.abs(change["root moment"]).max() == 0.0
    on_object, on_taker = change["object force"], change["taker root force"]
    np.testing.assert_allclose(on_taker * character.bodies[1].mass, -character.prop.mass * on_object, atol=1e-12)
    assert np.linalg.norm(on_object) == pytest.approx(np.linalg.norm([0.2, -0.1, 0.5]))


def test_gradients_are_derivatives(problem, still, gradient_of):
    rng = np.random.default_rng(3)
    z = still.copy()
    z[problem.fixed :] += 0.02 * rng.normal(size=len(z) - problem.fixed)
    gradient = gradient_of(problem, z)
    chosen = rng.choice(np.arange(problem.fixed, problem.knots), 12, replace=False)
    for k in chosen:
        shift = np.zeros(len(z))
        shift[k] = 1e-6
        ahead, behind = (0.5 * sum((r**2).sum() for r in problem.residuals(z + s)) for s in (shift, -shift))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-6, abs=2e-5 * np.abs(gradient).max())


def test_stand_is_a_term_of_the_character_whose_feet_it_names(scenario, character, problem):
    x = character.features_at(scenario.scene, scenario.scene.q0)
    moved = x.copy()
    moved[character.body_features(1)][:2] += 0.1
    (residual,) = problem.terms.residuals
    at_rest, away = (np.array(residual(value, 0.0 * x)[0]).ravel() for value in (x, moved))
    np.testing.assert_allclose(away[:2] - at_rest[:2], 0.1)
    moved = x.copy()
    moved[:2] += 0.1  # of the first
    np.testing.assert_array_equal(np.array(residual(moved, 0.0 * x)[0]).ravel(), at_rest)


def test_effort_makes_the_motion_of_one_dearer(problem, still):
    costs = []
    for foot in (0, 4):
        z = still.copy()
        forces(problem, z)[:, foot, 2] = 1.0
        costs.append(problem.breakdown(z)["effort"])
    assert costs[0] == pytest.approx(4.0 * costs[1]) and costs[1] > 0.0


def test_hands_of_one_character_act_together_and_something_holds_the_object(problem, still):
    z = still.copy()
    logits = problem.logits(z)
    logits[:] = -50.0
    logits[:, 2:4] = 50.0  # both hands of the giver
    found = rows(problem, z)
    np.testing.assert_allclose(np.concatenate([found["hands together"], found["object held"]]), 0.0, atol=1e-9)
    logits[:, 3], logits[:, TAKER_HAND] = -50.0, 50.0  # one hand of each holds it
    found = rows(problem, z)
    np.testing.assert_allclose(np.abs(found["hands together"]), 3.0)
    np.testing.assert_allclose(found["object held"], 0.0, atol=1e-9)
    logits[:, TAKER_HAND] = -50.0
    np.testing.assert_allclose(rows(problem, z)["object held"], 3.0)
    logits[:] = -50.0
    logits[:, BOX] = 50.0  # it rests on the stand
    np.testing.assert_allclose(rows(problem, z)["object held"], 0.0, atol=1e-9)


def at_rest(problem, still, character, x):
    """Return the point at which all features stay where they are."""
    z, n = still.copy(), character.features
    for k in (0, *(2 * n + len(character.effectors) + 2 * n * piece for piece in range(2))):
        z[k : k + n] = x
    return z


def test_the_tilt_of_the_object_costs_and_its_heading_does_not(problem, still, character):
    x = still[: character.features].copy()
    turn = x[character.prop_features][3:]
    turn[:] = [0.0, 0.0, 0.8]
    np.testing.assert_allclose(rows(problem, at_rest(problem, still, character, x))["object tilt"], 0.0, atol=1e-9)
    turn[:] = [0.0, 0.3, 0.0]
    found = rows(problem, at_rest(problem, still, character, x))["object tilt"]
    np.testing.assert_allclose(found, 2.0 * np.array([np.sin(0.3), 0.0, np.cos(0.3) - 1.0]), atol=1e-9)


@pytest.mark.parametrize(("aside", "enters"), [(0.05, True), (0.09, False)])
def test_hands_of_both_that_overlap_at_their_sides_are_found(scenario, character, problem, still, aside, enters):
    """Hands are 78 mm wide, the capsules in their middle 28 mm: at 50 mm these alone are apart."""
    scene, x = scenario.scene, still[: character.features].copy()
    data, shapes = scene.model.createData(), scene.collision_model.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.collision_model, shapes, scene.q0)
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    across = shapes.oMg[names.index("giver/l_wrist_roll_link_0")].rotation[:, 0]
    x[character.body_features(1)] = x[character.body_features(0)]  # both at one place but for the distance
    x[character.body_features(1)][:3] += aside * across
    z = at_rest(problem, still, character, x)
    r, deepest = problem.residuals(z)[0][0], []
    for name, _, first, last in problem._terms[0]:
        deepest += [r[first:last].max()] if name == "own links" else []
    assert (max(deepest) > 0.005) == enters


def test_the_slip_of_hands_along_the_object_counts_as_that_of_its_patches(problem, still, character):
    """It has a weight of its own, as both touch for many phases; feet have none."""
    z, n = still.copy(), character.features
    problem.logits(z)[:] = 50.0
    z[n : 2 * n][character.prop_features] = [0.1, 0.0, 0.0, 0.0, 0.0, 0.2]
    r, found = problem.residuals(z)[0][0], {"slip": [], "object slip": []}
    for name, _, first, last in problem._terms[0]:
        if name in found:
            found[name].append(r[first:last])
    touching = [slip for slip, e in zip(found["slip"], character.effectors, strict=True) if e.on_prop or e.of_prop]
    assert min(np.linalg.norm(slip) for slip in touching) > 0.01
    np.testing.assert_allclose(found["object slip"], np.array(touching) / 0.3)


@pytest.mark.parametrize("depth", [0.015, -0.01])
def test_an_edge_of_the_object_does_not_enter_the_side_of_a_hand_between_the_corners_of_its_patch(
    scenario, character, problem, depth
):
    """The edge is along the palm's normal: it meets neither the capsule in the middle of the hand nor a corner."""
    scene = scenario.scene
    data, shapes = scene.model.createData(), scene.collision_model.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.collision_model, shapes, scene.q0)
    names = [piece.name for piece in scene.collision_model.geometryObjects]
    hand, box = names.index("giver/l_wrist_roll_link_0"), names.index("box/box_link_0")
    width = scene.collision_model.geometryObjects[hand].geometry.halfSide[0]
    half = scene.collision_model.geometryObjects[box].geometry.halfSide
    turn = pin.utils.rotate("y", np.pi / 4) @ pin.utils.rotate("x", np.pi / 2)  # z of the box, a third axis, is normal
    edge = turn @ (half * [1.0, 1.0, 0.0])  # its diagonal is along x of the hand
    edge = pin.Quaternion.FromTwoVectors(edge, np.array([1.0, 0.0, 0.0])).matrix() @ turn, np.linalg.norm(edge)
    place = shapes.oMg[hand] * pin.SE3(edge[0], np.array([depth - width - edge[1], 0.0, 0.0]))
    x = character.features_at(scene, scene.q0)
    x[character.prop_features] = np.append(place.translation, pin.log3(place.rotation))
    z = problem.initial(x, scene.q0[character.joints.q_index])
    found = []
    for terms, r in zip(problem._terms, problem.residuals(z), strict=False):
        found.append(max(r[0, first:last].max() for name, _, first, last in terms if name == "penetration"))
    assert found[1] == 0.0  # corners of patches and edges of the box
    assert (found[0] > 0.007) == (depth > 0.0)


def test_all_at_rest_is_true_and_a_partner_in_the_air_is_not(stance, character):
    auditor, motion = stance
    violated = {f.name for f in auditor.audit(motion, ()).findings if not f.met}
    assert violated == set()
    c = motion.c.copy()
    c[1, 4:6] = 0.0
    violated = {f.name for f in auditor.audit(replace(motion, c=c), ()).findings if not f.met}
    assert violated == {"taker root force", "flight"}


def test_characters_that_meet_are_found(stance, character):
    auditor, motion = stance
    x = motion.x.copy()
    shift = x[0, :3] - x[0, character.body_features(1)][:3]
    for k in range(4, 8):
        x[:, 6 + 6 * k : 9 + 6 * k] += shift
    x[:, character.body_features(1)][:, :3] += shift
    findings = {f.name: f for f in auditor.audit(replace(motion, x=x), ()).findings}
    assert "giver/" in findings["penetration"].where and "taker/" in findings["penetration"].where


def test_each_plays_its_own_part(scenario, character, surroundings, stance, tmp_path):
    auditor, motion = stance
    plan = timed_plan(scenario.scene, character, surroundings, motion, auditor.audit(motion, ()).postures)
    plan.save(tmp_path / "motion.npz")
    written = with_motion(scenario, plan, tmp_path / "motion.npz")
    specs = written.spec.states["motion"].generators
    giver, taker = (MotionPlayback(name, spec, written) for name, spec in specs.items())
    assert giver.plan.effectors.tolist() == [*LIMBS, "box"]
    assert taker.plan.effectors.tolist() == [f"taker_{name}" for name in LIMBS]
    assert set(specs["motion of taker"].contacts.values()) == {
        "taker_left_foot_on_ground_floor",
        "taker_right_foot_on_ground_floor",
    }
    scene = scenario.scene
    for generator, name in ((giver, "giver"), (taker, "taker")):
        body = scene.subsystems[name]
        np.testing.assert_allclose(generator.plan.postures[0], scene.q0[body.q_slice], atol=1e-3)
        np.testing.assert_allclose(generator.plan.x[0, -6:-3], scene.q0[scene.subsystems["box"].q_slice][:3], atol=1e-9)
    with pytest.raises(MultiQpError, match="a motion of giver and taker, not of 'box'"):
        plan.of("box")


def test_each_is_refined_alone(scenario, character, stance):
    motion = stance[1]
    for k, name in enumerate(character.names):
        part = alone(scenario, name)
        own, motion_of_one = character_of(part), motion_alone(motion, character, k)
        assert own.name == name and own.effectors[2].name == character.effectors[4 * k + 2].name
        np.testing.assert_allclose(motion_of_one.x[0], own.features_at(part.scene, part.scene.q0), atol=1e-9)
        assert motion_of_one.contacts[0].tolist() == [True, True, False, False]
        pieces = [piece.name for piece in part.scene.collision_model.geometryObjects]
        assert sum(piece.startswith("box/") for piece in pieces) == 1
        assert {piece.split("/")[0] for piece in pieces} == {name, "box", "stand", "wall", "ground"}


def test_hands_of_both_share_the_object(scenario, character, stance):
    touched = np.full((3, 9), "", dtype=object)
    touched[0, 8], touched[1:, 2:4], touched[1:, 6:7] = "stand/top", "box/left", "box/right"
    times = np.linspace(0.0, 0.6, 7)
    shares = []
    for k, name in enumerate(character.names):
        scene = alone(scenario, name).scene
        own = character_of(alone(scenario, name))
        carried = carried_at(stance[1], character, k, touched.astype(str), times, mass=2.0)
        model = carried.models(scene.model, scene, own, np.tile(scene.q0, (7, 1)))[4]
        shares.append(pin.computeTotalMass(model) - pin.computeTotalMass(scene.model))
    np.testing.assert_allclose(shares, [4.0 / 3.0, 2.0 / 3.0])


def test_a_hand_has_released_the_object(character, stance):
    touched = np.full((3, 9), "", dtype=object)
    touched[:2, 2], touched[1:, 3] = "box/left", "box/right"
    carried = carried_at(stance[1], character, 0, touched.astype(str), np.linspace(0.0, 0.6, 7), mass=2.0)
    assert [carried.released(2, k) for k in range(7)] == [False] * 4 + [True] * 3
    assert not any(carried.released(3, k) for k in range(7))


def test_the_full_model_of_both_is_audited(scenario, character, surroundings):
    scene = scenario.scene
    auditor = RefinedAuditor(scene, character, surroundings, friction=0.7, bounds=Bounds())
    floor = "ground/floor"
    touched = np.tile([floor, floor, "", "", floor, floor, "", "", "stand/top"], (4, 1))
    roots = tuple(int(scene.model.joints[body.root].idx_q) for body in character.bodies)
    still = WholeBodyMotion(np.linspace(0.0, 0.2, 5), np.tile(scene.q0, (5, 1)), touched, roots)
    audit = auditor.audit_refined(still, np.array([0.0, 0.2]), lambda ends: [])
    assert audit.passed, [finding for finding in audit.findings if not finding.met]
    weights = audit.dynamics.forces[0, :, 2]
    masses = [body.mass * character.mass * 9.81 for body in character.bodies]
    np.testing.assert_allclose([weights[:2].sum(), weights[4:6].sum(), weights[8]], masses, rtol=2e-3)
    touched[:, 4:6] = ""
    in_the_air = auditor.audit_refined(replace(still, touched=touched), np.array([0.0, 0.2]), lambda ends: [])
    figures = {finding.name: finding.value for finding in in_the_air.findings}
    assert figures["taker root force"] == pytest.approx(1.0, rel=1e-3) and figures["root force"] < 1e-3


def test_the_first_phase_has_the_contacts_of_the_start_pose():
    scenario = load_scenario("hand_over")
    assert scenario.spec.behaviour.held_start
    maker = Synthesiser(scenario)
    held = maker.character.effectors[2:4]
    assert all(effector.on_prop for effector in held)
    c = 1.0 / (1.0 + np.exp(-maker._held))
    assert (c[:6] > 0.9).all() and (c[6:] < 1e-4).all()  # the taker's hands, far from the box, cost nothing


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    character: taker", "    character: giver", "behaviour.partner.character: 'giver' is the first character"),
        ("      taker_left_foot: {", "      left_foot: {", "'left_foot' is an effector of the first character"),
        ("  seed: ${seed}", "  online: {}", "behaviour.online: motions of two characters are not made again"),
        ("taker_left_hand: {surface: left_palm}", "taker_left_hand: {surface: palm}", "unknown surface 'palm'"),
        ("upright: true}", "upright: true}\n    - {type: upright, character: box}", "unknown character 'box'"),
    ],
)
def test_errors_of_the_file(refusal, old, new, message):
    assert message in refusal(FILE, old, new)
