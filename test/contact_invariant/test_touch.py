"""Contact with the moving trunk of another character: forces on both, relative motion, audit, plan, errors."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.audit import Auditor, Bounds
from contact_invariant.motion import Motion
from contact_invariant.problem import SynthesisProblem
from contact_invariant.refined_audit import RefinedAuditor
from contact_invariant.starts import Starts
from contact_invariant.surroundings import SHARPNESS, surroundings_of, with_trunks
from contact_invariant.symbols import ca
from contact_invariant.task_terms import state_at
from contact_invariant.timed_plan import timed_plan
from contact_invariant.touch import touch_of
from contact_invariant.whole_body import WholeBodyMotion
from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import load_scenario

FILE = scenario_path("on_back")
#: Half of the distance of the feet, and the displacement onto the back [m].
STANCE, ONTO = 0.085, np.array([0.5, 0.0, 0.35])
EFFECTORS, LEFT, RIGHT = 6, 0, 1


@pytest.fixture(scope="module")
def scenario():
    return load_scenario(str(FILE))


@pytest.fixture(scope="module")
def surroundings(scenario, character):
    return with_trunks(surroundings_of(scenario.scene, *character.names), scenario.scene, character)


@pytest.fixture(scope="module")
def problem(scenario, character, surroundings):
    behaviour = scenario.spec.behaviour.model_copy(update={"phases": 1, "terms": scenario.spec.behaviour.terms[-1:]})
    return SynthesisProblem(character, surroundings, behaviour)


@pytest.fixture
def on_top(scenario, character):
    """Features with the humanoid on the back of the quadruped."""
    x = character.features_at(scenario.scene, scenario.scene.q0)
    for first in (0, 6, 12):
        x[first : first + 3] += ONTO
    return x


@pytest.fixture(scope="module")
def touch(character, surroundings):
    """A function of features and rates: near, normal, speed, spin, and the share of the quadruped of the left foot."""
    x, rate = ca.SX.sym("x", character.features), ca.SX.sym("rate", character.features)
    found = touch_of(character, surroundings, state_at(character, x, rate), LEFT)
    ((body, share),) = found.shares
    assert body == 1
    function = ca.Function("touch", [x, rate], [found.near, found.normal, found.speed, found.spin, share])
    return lambda *values: [np.array(one).ravel() for one in function(*values)]


def turned(x, character, turn):
    """Return features with the quadruped rotated, and with the left foot where it was on its back."""
    found, at = x.copy(), character.body_features(1)
    R, moved = pin.exp3(x[at][3:]), pin.exp3(np.array(turn)) @ pin.exp3(x[at][3:])
    found[at] = np.append(x[at][:3], pin.log3(moved))
    found[6:9] = x[at][:3] + moved @ R.T @ (x[6:9] - x[at][:3])
    return found


def test_the_nearest_point_is_on_the_surface_as_it_moves(character, on_top, touch):
    x = turned(on_top, character, [0.1, -0.05, 0.2])
    near, normal, _, _, share = touch(x, 0.0 * x)
    np.testing.assert_allclose(near, x[6:9], atol=1e-3)
    expected = pin.exp3(np.array([0.1, -0.05, 0.2])) @ [0.0, 0.0, 1.0]
    np.testing.assert_allclose(normal, expected, atol=1e-3)
    height = x[8]  # above the ground
    assert share == pytest.approx(1.0 - 1.0 / (2.0 + SHARPNESS * height**2), abs=1e-5)


def test_the_speed_is_that_of_the_surface(character, on_top, touch):
    rng, at, step = np.random.default_rng(1), character.body_features(1), 1e-6
    x = turned(on_top, character, [0.1, -0.05, 0.2])
    rate = np.zeros_like(x)
    rate[at] = rng.normal(size=6)
    _, _, speed, spin, share = touch(x, rate)
    fixed = pin.exp3(x[at][3:]).T @ (x[6:9] - x[at][:3])  # the point of the trunk
    ends = [x[at] + sign * step * rate[at] for sign in (1.0, -1.0)]
    ahead, behind = (one[:3] + pin.exp3(one[3:]) @ fixed for one in ends)
    np.testing.assert_allclose(speed, share * (ahead - behind) / (2.0 * step), atol=1e-6)
    turn = pin.log3(pin.exp3(ends[0][3:]) @ pin.exp3(ends[1][3:]).T) / (2.0 * step)
    np.testing.assert_allclose(spin, share * turn, atol=1e-5)


@pytest.mark.parametrize("height", [0.0, -0.17])
def test_forces_on_both_are_equal_and_opposite_but_for_what_the_ground_bears(character, problem, on_top, touch, height):
    x = turned(on_top, character, [0.1, -0.05, 0.2])
    x[8] += height  # with -0.17, halfway between the ground and the back
    z = problem.initial(x, np.zeros(len(character.joints.indices)))
    forces = z[problem.knots :].reshape(len(problem.times(z)), -1)[:, : 6 * EFFECTORS].reshape(-1, EFFECTORS, 6)
    forces[:] = 0.0
    wrenches = []
    for push in (np.zeros(6), np.array([0.2, -0.1, 0.5, 0.01, 0.02, -0.03])):
        forces[:, LEFT] = push
        r = problem.residuals(z)[0][0]
        terms = {name: r[first:last] for name, _, first, last in problem._terms[0]}
        total = np.zeros(6)
        for name, body in zip(("root", "quadruped root"), range(2), strict=True):
            mass, p = character.bodies[body].mass, x[character.body_features(body)][:3]
            force, moment = mass * terms[f"{name} force"], 0.5 * mass * terms[f"{name} moment"]
            total += np.append(force, moment + np.cross(p, force))
        wrenches.append(total)
    R = pin.exp3(x[9:12]) @ character.effectors[LEFT].nominal.rotation
    force, moment = R @ push[:3], R @ push[3:]  # of the foot on what it touches
    of_foot = np.append(force, moment + np.cross(x[6:9], force))
    share = touch(x, 0.0 * x)[4]
    assert (share > 0.999) if height == 0.0 else (0.1 < share < 0.9)
    np.testing.assert_allclose(wrenches[1] - wrenches[0], (1.0 - share) * of_foot, atol=1e-9)


def test_gradients_are_derivatives(character, problem, on_top, gradient_of):
    rng = np.random.default_rng(3)
    z = problem.initial(on_top, np.zeros(len(character.joints.indices)))
    z[problem.fixed :] += 0.02 * rng.normal(size=len(z) - problem.fixed)
    gradient = gradient_of(problem, z)
    at = character.body_features(1)
    windows = problem.knots - 2 * character.features + np.arange(2 * character.features)
    chosen = np.concatenate([windows[at], rng.choice(np.arange(problem.fixed, len(z)), 12, replace=False)])
    for k in chosen:
        shift = np.zeros(len(z))
        shift[k] = 1e-6
        ahead, behind = (0.5 * sum((r**2).sum() for r in problem.residuals(z + s)) for s in (shift, -shift))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-6, abs=2e-5 * np.abs(gradient).max())


@pytest.fixture
def stance(scenario, character, surroundings, on_top):
    """An auditor, and a motion of 0.06 s on the back."""
    scene = scenario.scene
    auditor = Auditor(scene, character, surroundings, friction=0.7, bounds=Bounds())
    x = np.tile(on_top, (4, 1))
    angles, times = np.tile(scene.q0[character.joints.q_index], (2, 1)), np.array([0.005, 0.055])
    names = tuple(effector.name for effector in character.effectors)
    forces = np.zeros((2, EFFECTORS, 6))
    return auditor, Motion(names, 0.02 * np.arange(4.0), x, 0.0 * x, np.ones((3, EFFECTORS)), times, forces, angles)


def figures(auditor, motion):
    return {finding.name: finding for finding in auditor.audit(motion, ()).findings}


def test_standing_on_the_other_passes_the_audit_while_the_other_stands(stance):
    auditor, motion = stance
    assert {name for name, one in figures(auditor, motion).items() if not one.met} == set()
    c = motion.c.copy()
    c[:, 2:] = 0.0
    found = figures(auditor, replace(motion, c=c))
    assert not found["quadruped root force"].met and not found["flight"].met
    c = motion.c.copy()
    c[:, :2] = 0.0
    found = figures(auditor, replace(motion, c=c))
    assert found["root force"].value == pytest.approx(1.0) and found["quadruped root force"].value < 1e-6


def test_slip_and_gap_are_relative_to_the_surface(stance, character):
    auditor, motion = stance
    sway, at = np.array([0.0, 0.0, 0.02, 0.02]), character.body_features(1)
    x = motion.x.copy()
    for first in (0, 6, 12, at.start):
        x[:, first] += sway
    together = figures(auditor, replace(motion, x=x))
    assert together["contact slip"].value < 1e-9 and together["contact gap"].value < 1e-4
    for first in (0, 6, 12):
        x[:, first] -= sway
    alone = figures(auditor, replace(motion, x=x))
    assert alone["contact slip"].value == pytest.approx(0.02, abs=1e-3) and "foot" in alone["contact slip"].where
    x[:, at.start], x[:, at.start + 2] = motion.x[:, at.start], motion.x[:, at.start + 2] - sway  # it sinks
    lower = figures(auditor, replace(motion, x=x))
    assert lower["contact gap"].value == pytest.approx(0.02, abs=1e-6) and "foot" in lower["contact gap"].where


def test_the_plan_names_the_surface_of_the_other(scenario, character, surroundings, stance):
    auditor, motion = stance
    postures = auditor.audit(motion, ()).postures
    plan = timed_plan(scenario.scene, character, surroundings, motion, postures)
    assert set(plan.touched[:, :2].ravel()) == {"quadruped/back"}
    assert set(plan.touched[:, 2:].ravel()) == {"ground/floor"}


def test_the_full_models_bear_each_other(scenario, character, surroundings):
    """The soles' forces are those that the feet of the other bear as well: action is reaction."""
    scene, floor, back = scenario.scene, "ground/floor", "quadruped/back"
    data, q = scene.model.createData(), scene.q0.copy()
    pin.framesForwardKinematics(scene.model, data, q)
    soles = [data.oMf[scene.surfaces[effector.surface].frame_id].translation for effector in character.effectors[:2]]
    under = data.oMf[scene.surfaces[back].frame_id].translation
    q[:3] += under - np.mean(soles, axis=0)
    touched = np.tile([back, back, floor, floor, floor, floor], (4, 1))
    roots = tuple(int(scene.model.joints[body.root].idx_q) for body in character.bodies)
    still = WholeBodyMotion(np.linspace(0.0, 0.2, 5), np.tile(q, (5, 1)), touched, roots)
    auditor = RefinedAuditor(scene, character, surroundings, friction=0.7, bounds=Bounds())
    audit = auditor.audit_refined(still, np.array([0.0, 0.2]), lambda ends: [])
    figures = {finding.name: finding.value for finding in audit.findings}
    for name in ("root force", "root moment", "quadruped root force", "quadruped root moment", "contact gap"):
        assert figures[name] < 1e-3, name
    borne = audit.dynamics.forces[0, :, 2]
    masses = np.array([body.mass * character.mass * 9.81 for body in character.bodies])
    np.testing.assert_allclose([borne[:2].sum(), borne[2:].sum()], [masses[0], masses.sum()], rtol=2e-3)
    touched[:, :2] = floor
    audit = auditor.audit_refined(still, np.array([0.0, 0.2]), lambda ends: [])
    assert not audit.passed  # the floor is 0.35 m below


def test_only_surfaces_of_the_trunk_can_be_touched(scenario, character, surroundings):
    foot = replace(character, touchable=((), ("quadruped/left_front_foot",)))
    with pytest.raises(MultiQpError, match="expected a planar surface of the trunk, got 'quadruped/left_front_foot'"):
        with_trunks(surroundings, scenario.scene, foot)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("touchable: [back]", "touchable: [neck]", "unknown surface 'neck'"),
        ("  seed: ${seed}", "  touchable: [sacrum]", "two characters that may touch each other are not refined"),
    ],
)
def test_errors_of_the_file(refusal, old, new, message):
    assert message in refusal(FILE, old, new)


def test_without_a_partner_no_surface_is_touchable(behaviour):
    with pytest.raises(ConfigError, match=r"behaviour\.touchable: there is no `partner`"):
        behaviour(options="touchable: [seat]")


@pytest.mark.slow
def test_a_humanoid_climbs_on_a_quadruped(scenario):
    start = Starts(scenario).one(0)
    assert start.passed and start.refined is not None, start.missed
    motion = start.synthesis.motion
    assert motion.x[-1, 2] - motion.x[0, 2] > 0.3  # its centre of mass is above where it can stand on the ground
    feet = motion.contacts[:, :2]
    assert feet[0].all() and feet[-1].all() and motion.x[-1, [8, 14]].min() > 0.3
