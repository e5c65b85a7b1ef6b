"""Task terms: derivatives, times, and the way from any inclination to standing."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.problem import SynthesisProblem
from contact_invariant.surroundings import surroundings_of
from contact_invariant.task_measurement import measured_terms
from contact_invariant.task_terms import TaskTerms
from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.scene import State
from multi_qp_scene.schema.goals import TaskTermsGoal
from multi_qp_simulator.goals import GoalMonitor

TERMS = """{type: position, target: [0.3, 0.1, 0.8], phase: 1}, {type: direction, yaw: 0.4},
    {type: strike, effector: right_hand, target: [0.5, -0.15, 1.0], velocity: [1.5, 0, 0], phase: 2},
    {type: stand, feet: [left_foot], phase: 1},
    {type: handstand, hands: [left_hand, right_hand], feet: [left_foot, right_foot], phase: 1},
    {type: rest, phase: 3},
    {type: rest, patches: [left_foot, right_foot], phase: 2}, {type: upright, phase: 2}"""


@pytest.fixture(scope="module")
def scenario(behaviour):
    return behaviour(phases=3, terms=TERMS)


@pytest.fixture(scope="module")
def terms(scenario, character):
    return TaskTerms(scenario.spec.behaviour, character, surroundings_of(scenario.scene, "humanoid"))


@pytest.mark.parametrize("pitch", [0.3, np.pi / 2, -np.pi / 2, 2.5])
def test_jacobians_are_derivatives(terms, scenario, character, pitch):
    rng = np.random.default_rng(1)
    x = character.features_at(scenario.scene, scenario.scene.q0) + 0.1 * rng.normal(size=character.features)
    x[3:6] = [0.3, pitch, 0.2]  # off the place where the trunk is exactly vertical and has no heading
    z, h = np.concatenate([x, 0.1 * rng.normal(size=len(x))]), 1e-6
    for function in terms.residuals:
        J = np.array(function(*np.split(z, 2))[1])
        for k in range(len(z)):
            step = h * np.eye(len(z))[k]
            ahead, behind = (np.array(function(*np.split(moved, 2))[0]).ravel() for moved in (z + step, z - step))
            np.testing.assert_allclose((ahead - behind) / (2 * h), J[:, k], rtol=1e-5, atol=2e-5)


def test_terms_are_measured_in_a_state_with_its_velocities(scenario, character):
    """A character that slides rigidly along x, which moves patches and centre of mass by as much as the root."""
    q, v = scenario.scene.q0, np.zeros(scenario.scene.nv)
    v[:3] = pin.XYZQUATToSE3(q[:7]).rotation.T @ [0.3, 0.0, 0.0]
    still, sliding = (dict_of(measured_terms(scenario, 3 * [State(q, w)])) for w in (0.0 * v, v))
    com = character.features_at(scenario.scene, q)[:3]
    found = [np.ravel(one["position: centre of mass, end of phase 1"]) for one in (still, sliding)]
    np.testing.assert_allclose(found, 2 * [com - [0.3, 0.1, 0.8]], atol=5e-3)  # that of the full model
    for name in (
        "stand: velocity of the centre of mass, end of phase 1",
        "stand: velocity of left_foot, end of phase 1",
        "rest: velocity of the centre of mass, end of phase 3",
    ):
        np.testing.assert_allclose(still[name], np.zeros(3), atol=1e-9)
        np.testing.assert_allclose(sliding[name], [0.3, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(sliding["strike: right_hand velocity, end of phase 2"], [-1.2, 0.0, 0.0], atol=1e-6)


def dict_of(values):
    found = {}
    for name, _, value in values:
        found.setdefault(name, []).append(value)
    return found


def test_a_goal_on_task_terms_needs_a_behaviour_and_a_motion(behaviour, refusal):
    path = behaviour().path
    goal = "goals: {task: {type: task_terms, speed: 0.5}}\nbehaviour:"
    scenario = behaviour()
    spec = scenario.spec.model_copy(update={"goals": {"task": TaskTermsGoal(type="task_terms")}})
    with pytest.raises(MultiQpError, match="needs a state with a generator `motion_playback`"):
        GoalMonitor(replace(scenario, spec=spec))
    online = goal.replace("behaviour:", "behaviour:\n  online: {speed: 0.3}")
    text = refusal(path, "behaviour:", online)
    assert "goals.task" in text and "without `online`" in text


@pytest.mark.parametrize("pitch", [-3.0, -np.pi / 2, -1.0, 1.0, np.pi / 2, 2.5])
def test_standing_pulls_upright_from_any_inclination(terms, character, pitch):
    names, rows = [name for name, _ in terms.features[0][0]], np.zeros(2 * character.features)
    upright = [k for k, name in enumerate(names) if name == "stand: trunk upright"]
    x, rate = np.split(rows, 2)
    x[4] = pitch
    r, J = (np.array(value)[upright] for value in terms.residuals[0](x, rate))
    slope = float(r.ravel() @ J[:, 4])  # half the derivative of the squared distance from upright
    assert slope * np.sign(pitch) > 0.1
    np.testing.assert_allclose(np.array(terms.residuals[-1](x, rate)[0]), r)  # `upright` is that part of `stand`


def test_a_handstand_is_upside_down_with_the_feet_up(terms, character, scenario):
    """The features vanish where the character is turned about its centre of mass, but for those of the hands."""
    x = character.features_at(scenario.scene, scenario.scene.q0)
    turn = pin.utils.rotate("y", np.pi)
    turned = x.copy()
    turned[3:6] = pin.log3(turn @ pin.exp3(x[3:6]))
    for k in range(6, len(x), 6):
        turned[k : k + 3] = x[:3] + turn @ (x[k : k + 3] - x[:3])
    values, upright = (np.array(terms.features[5][1](one, 0 * x, 0.0)).ravel() for one in (turned, x))
    names = [name for name, _ in terms.features[5][0]]
    trunk = [k for k, name in enumerate(names) if name == "handstand: trunk upside down"]
    feet = [k for k, name in enumerate(names) if name.endswith("foot above the trunk")]
    np.testing.assert_allclose(values[trunk], 0.0, atol=1e-8)
    rise = [k for k, name in enumerate(names) if "trunk above" in name]
    assert len(rise) == 2 and (values[rise] < -0.5).all()  # the arms point upwards there
    assert np.abs(values[feet]).max() < 0.1 and np.abs(upright[feet]).max() > 1.0


def test_resting_is_on_surfaces_and_without_motion(terms, character, scenario):
    x, rate = character.features_at(scenario.scene, scenario.scene.q0), np.zeros(character.features)
    names, function = terms.features[-2]
    values = np.array(function(x, rate, 0.0)).ravel()
    assert names[0][0] == "rest: velocity of the centre of mass" and np.abs(values).max() < 1e-6
    x[8] += 0.05
    rate[2], rate[15] = 0.1, 0.2
    values = np.array(function(x, rate, 0.0)).ravel()
    found = {name: np.abs(values[[k for k, (n, _) in enumerate(names) if n == name]]).max() for name, _ in names}
    assert {name: round(value, 4) for name, value in found.items() if value > 1e-6} == {
        "rest: velocity of the centre of mass": 0.1,
        "rest: left_foot on a surface": 0.05,
        "rest: rotation of right_foot": 0.2,
    }


def test_feet_stand_on_the_surface_that_a_term_names(behaviour):
    """Ground is 5 cm below the feet, the top of the block 0.15 m above them and 0.3 m ahead: the term knows the top."""
    one = "{type: stand, feet: [left_foot], on: block/top}"
    scenario = behaviour(terms=one, block=0.5)
    character = character_of(scenario)
    terms = TaskTerms(scenario.spec.behaviour, character, surroundings_of(scenario.scene, "humanoid"))
    x = character.features_at(scenario.scene, scenario.scene.q0)
    x[6:9] = [0.1, 0.1, 0.05]
    names, function = terms.features[-1]
    values = np.array(function(x, 0 * x, 0.0)).ravel()
    off = [value for (name, _), value in zip(names, values, strict=True) if name == "stand: left_foot on a surface"]
    left = character.effectors[0]
    assert left.name == "left_foot"
    np.testing.assert_allclose(off, [0.1 - (0.3 + left.margin), 0.0, 0.05 - 0.2], atol=1e-6)


def test_a_surface_that_does_not_exist_is_named(behaviour):
    with pytest.raises(ConfigError, match="block/top"):
        behaviour(terms="{type: stand, feet: [left_foot], on: block/top}")


def test_a_surface_to_stand_on_is_of_the_fixed_environment(behaviour):
    scenario = behaviour(terms="{type: stand, feet: [left_foot], on: humanoid/seat}")
    with pytest.raises(MultiQpError, match="humanoid/seat"):
        TaskTerms(scenario.spec.behaviour, character_of(scenario), surroundings_of(scenario.scene, "humanoid"))


def test_limbs_are_measured_from_the_trunk_where_the_centre_of_mass_is_shifted(terms, character, scenario):
    """A shift of the centre of mass moves it over the feet, and no limb's first joint."""
    x, shift = character.features_at(scenario.scene, scenario.scene.q0), np.array([[0.02], [0.01], [-0.03]])
    moved = x.copy()
    moved[:3] += shift.ravel()
    knots = [(x, 0 * x)] * 3, [(moved, 0 * x, shift)] * 3, [(moved, 0 * x)] * 3
    names = [name for name, _, _ in terms.values(knots[0])]
    plain, shifted, wrong = (np.array([value for _, _, value in terms.values(one)]) for one in knots)
    of_limbs = [k for k, name in enumerate(names) if any(part in name for part in ("extended", "above"))]
    over = [k for k, name in enumerate(names) if "centre of mass over" in name]
    assert of_limbs and over
    np.testing.assert_allclose(shifted[of_limbs], plain[of_limbs], atol=1e-9)
    assert np.abs(wrong[of_limbs] - plain[of_limbs]).max() > 0.01
    np.testing.assert_allclose((shifted - plain)[over].reshape(-1, 2), [[0.02, 0.01]] * (len(over) // 2), atol=1e-9)


def test_terms_hold_at_the_end_of_their_phase(terms, scenario, character, behaviour):
    assert terms.phases == [2, 0, 2, 1, 0, 0, 2, 1, 1]
    surroundings = surroundings_of(scenario.scene, "humanoid")
    given = "{type: position, target: [0.3, 0.1], phase: 1}"
    problem = SynthesisProblem(character, surroundings, behaviour(phases=3, terms=given).spec.behaviour)
    x = character.features_at(scenario.scene, scenario.scene.q0)
    z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
    before = problem.breakdown(z)["task"]
    block = 2 * character.features + len(character.effectors) + 2 * character.features
    z[block : block + 2] = [0.3, 0.1]
    assert problem.breakdown(z)["task"] < before
