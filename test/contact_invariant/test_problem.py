"""Cost of a motion: residuals, derivatives, and what single terms cost."""

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.character_builder import character_of
from contact_invariant.least_squares import cost_of
from contact_invariant.problem import SAMPLES, SynthesisProblem
from contact_invariant.residuals import _cone, _point_cone
from contact_invariant.surroundings import surroundings_of
from multi_qp_scene.errors import MultiQpError

EFFECTORS_WITH_CHEST = """{left_foot: {surface: left_sole}, right_foot: {surface: right_sole},
    left_hand: {surface: left_palm}, right_hand: {surface: right_palm}, back: {surface: back}}"""


@pytest.fixture(scope="module")
def scenario(behaviour):
    return behaviour(block=0.8)


@pytest.fixture(scope="module")
def surroundings(scenario):
    return surroundings_of(scenario.scene, "humanoid")


@pytest.fixture(scope="module")
def problem(character, surroundings, scenario):
    return SynthesisProblem(character, surroundings, scenario.spec.behaviour)


def test_the_cost_of_a_posture_at_rest_does_not_depend_on_the_number_of_samples(behaviour, character, surroundings):
    costs = []
    for samples in (8, 16):
        scenario = behaviour(options=f"samples: {samples}")
        problem = SynthesisProblem(character, surroundings, scenario.spec.behaviour)
        x = character.features_at(scenario.scene, scenario.scene.q0)
        z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
        times = problem.times(z)
        assert len(times) == 2 * samples and (np.diff(times) < 1.0 / samples).all()
        costs.append(problem.normal_equations(z)[0])
    assert costs[0] > 0.0 and costs[1] == pytest.approx(costs[0], rel=1e-9)


def test_initial_kinematics_match_and_only_forces_cost(scenario, character, problem):
    x = character.features_at(scenario.scene, scenario.scene.q0)
    angles = scenario.scene.q0[character.joints.q_index]
    costs = problem.breakdown(problem.initial(x, angles))
    for name in ("limb kinematics", "joint limits", "penetration", "slip", "drag", "acceleration", "posture"):
        assert costs[name] == pytest.approx(0.0, abs=1e-6), name
    assert costs["root force"] > 0.0


@pytest.mark.parametrize("factor", [1.0, 1.02, 3.0])  # durations are fixed; out of, and within their limits
def test_normal_equations_match_finite_differences(behaviour, character, surroundings, factor):
    scenario = behaviour(options=f"duration_factor: {factor}\n  overlap: 0.5")
    problem = SynthesisProblem(character, surroundings, scenario.spec.behaviour)
    rng = np.random.default_rng(1)
    x = character.features_at(scenario.scene, scenario.scene.q0)
    angles = scenario.scene.q0[character.joints.q_index]
    z = problem.initial(x, angles)
    z[problem.fixed :] += 0.05 * rng.normal(size=len(z) - problem.fixed)
    along = np.zeros(len(z))
    along[problem.fixed :] = rng.normal(size=len(z) - problem.fixed)
    cost, blocks = problem.normal_equations(z)
    assert cost == pytest.approx(cost_of(problem.residuals(z)))
    slope = curvature = 0.0
    for part in blocks:
        motion, (first, second) = part.map.moved(along[: problem.knots]), part.pairs
        twice = np.where(first == second, 1.0, 2.0)
        slope += (part.b * motion).sum()
        curvature += (part.H * twice * motion[:, first] * motion[:, second]).sum()
        if part.local is not None:
            local = along[part.local.first[:, None] + np.arange(part.local.D.shape[1])]
            D = np.tril(part.local.D) + np.tril(part.local.D, -1).transpose(0, 2, 1)
            slope += (part.local.mixed[:, -1] * local).sum()
            curvature += np.einsum("sl,slm,sm->", local, D, local)
            curvature += 2.0 * np.einsum("se,sel,sl->", motion[:, part.local.columns], part.local.mixed[:, :-1], local)
    if (shared := problem.shared(z)) is not None:
        rate = shared[1] @ along[: problem.knots]
        slope, curvature = slope + shared[0] * rate, curvature + rate**2
    step = 1e-6
    ahead, behind = (problem.residuals(z + sign * step * along) for sign in (1.0, -1.0))
    assert slope == pytest.approx((cost_of(ahead) - cost_of(behind)) / (2.0 * step), rel=1e-6)
    rates = [(a - b) / (2.0 * step) for a, b in zip(ahead, behind, strict=True)]
    assert curvature == pytest.approx(2.0 * cost_of(rates), rel=1e-5)  # |J v|²
    assert sum(problem.breakdown(z).values()) == pytest.approx(cost)


def test_times_follow_free_durations_and_a_posture_at_rest_costs_the_same(behaviour, character, surroundings):
    scenario = behaviour(options="duration_factor: 2")
    problem = SynthesisProblem(character, surroundings, scenario.spec.behaviour)
    q = scenario.scene.q0
    z = problem.initial(character.features_at(scenario.scene, q), q[character.joints.q_index])
    np.testing.assert_allclose(problem.durations(z), 0.5)
    before = problem.breakdown(z)
    first, stride = 2 * character.features + len(character.effectors), (problem.knots - 2 * character.features) // 2
    z[first], z[first + stride] = np.log(1.5), np.log(0.5)
    np.testing.assert_allclose(problem.durations(z), [0.75, 0.25])
    assert problem.shared(z)[0] == pytest.approx(0.0, abs=1e-12)  # the sum is that of the behaviour
    times = problem.times(z)
    np.testing.assert_allclose(np.diff(times[:8]), 3.0 * np.diff(times[8:]))
    assert times[7] < 0.75 < times[8] and times[-1] < 1.0
    after = problem.breakdown(z)
    assert after.pop("durations") > before.pop("durations") == 0.0
    assert sum(after.values()) == pytest.approx(sum(before.values()))


@pytest.mark.parametrize(("share", "violation"), [(1.0, 0.0), (0.5, 10 * (0.08 - 0.5 * 0.105))])
def test_the_origin_of_force_stays_in_a_share_of_the_patch(behaviour, share, violation):
    sole = character_of(behaviour()).effectors[0]
    assert sole.half[0] == pytest.approx(0.105)
    wrench = ca.SX(ca.DM([0.0, 0.0, 1.0, 0.0, 0.08, 0.0]))  # 8 cm from the middle
    found = ca.Function("f", [], [ca.vertcat(*_cone(wrench, sole, 0.7, share))])()["o0"]
    np.testing.assert_allclose(np.array(found).ravel(), [0.0, 0.0, 0.0, violation, 0.0], atol=1e-9)


@pytest.mark.parametrize(
    ("push", "moment", "violation"),
    [
        ([0.0, 0.0, 1.0], 0.0, [0.0, 0.0, 0.0]),
        ([0.0, 0.0, -0.3], 0.0, [0.3, 0.21, 0.0]),  # it pulls
        ([0.6, 0.8, 1.0], 0.0, [0.0, 0.3, 0.0]),  # it slides
        ([0.0, 0.0, 1.0], 0.02, [0.0, 0.0, 0.2]),  # a point has no moment
    ],
)
def test_the_friction_cone_of_a_point_is_about_the_normal_of_the_surface(push, moment, violation):
    """Without the frame of its link, which may turn: the tailbone of one that lies would else pull at the ground."""
    rows = _point_cone(ca.SX(ca.DM(push)), ca.SX(ca.DM([0.0, moment, 0.0])), ca.SX(ca.DM([0.0, 0.0, 1.0])), 0.7)
    found = np.array(ca.evalf(ca.vertcat(*rows))).ravel()
    assert [found[0], found[1], np.abs(found[2:]).max()] == pytest.approx(violation, abs=1e-3)


JOINED = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole, joined: left_foot}}"


def test_joined_effectors_have_one_contact_variable_and_together_cost_as_much_as_one(behaviour):
    costs = {}
    for effectors in (JOINED, JOINED.replace(", joined: left_foot", "")):
        scenario = behaviour(effectors=effectors)
        character = character_of(scenario)
        problem = SynthesisProblem(character, surroundings_of(scenario.scene, "humanoid"), scenario.spec.behaviour)
        x = character.features_at(scenario.scene, scenario.scene.q0)
        z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
        z[2 * len(x) : problem.knots] += 0.01 * np.random.default_rng(0).normal(size=problem.knots - 2 * len(x))
        problem.logits(z)[:] = [1.0, -3.0]
        joined, before = character.variables == [0, 0], problem.breakdown(z)
        problem.logits(z)[:, 1] = -2.0
        after = problem.breakdown(z)
        changed = {name for name, cost in after.items() if abs(cost - before[name]) > 1e-9}
        assert changed == ({"contact variables"} if joined else changed) and "contact variables" in changed
        problem.logits(z)[:] = 1.0
        costs[joined] = problem.breakdown(z)
    for name, factor in (("contact", 0.5), ("slip", 0.5), ("forces without contact", 2.0), ("effort", 2.0)):
        assert costs[True][name] == pytest.approx(factor * costs[False][name], rel=1e-6) and costs[True][name] > 0.0


def costs_at_start(scenario, *, rate=0.0):
    """Return the costs of a start pose with the left foot alone in contact, and features that change at a rate."""
    character = character_of(scenario)
    problem = SynthesisProblem(character, surroundings_of(scenario.scene, "humanoid"), scenario.spec.behaviour)
    x = character.features_at(scenario.scene, scenario.scene.q0)
    z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
    problem.knot_values(z)[1][:] = rate
    problem.logits(z)[:] = [2.0, -4.0]
    return problem.breakdown(z)


def test_a_phase_needs_a_contact_that_supports(behaviour):
    """With the left foot alone in contact: c = 1 / (1 + e⁻²) of what counts, else 0.018."""
    costs = []
    for given in ("", ", supports: 0.34", ", supports: false"):
        effectors = f"{{left_foot: {{surface: left_sole{given}}}, right_foot: {{surface: right_sole}}}}"
        scenario = behaviour(effectors=effectors)
        samples = SAMPLES * scenario.spec.behaviour.phases
        costs.append(costs_at_start(scenario)["support"] / (0.5 * samples))
    left, right = 1.0 / (1.0 + np.exp([-2.0, 4.0]))
    missing = 1.0 - right - left * np.array([1.0, 0.34, 0.0])
    np.testing.assert_allclose(costs, missing**2, rtol=1e-6)


def test_over_a_change_of_phase_contacts_last_that_support(behaviour):
    """From the left foot to the right one nothing lasts; from both to one, that one does."""
    costs = {}
    for share in (1.0, 0.5):
        effectors = f"{{left_foot: {{surface: left_sole, supports: {share}}}, right_foot: {{surface: right_sole}}}}"
        scenario = behaviour(effectors=effectors, options="overlap: 1")
        character = character_of(scenario)
        problem = SynthesisProblem(character, surroundings_of(scenario.scene, "humanoid"), scenario.spec.behaviour)
        x = character.features_at(scenario.scene, scenario.scene.q0)
        z = problem.initial(x, scenario.scene.q0[character.joints.q_index])
        phases = {"other": [[30, -30], [-30, 30]], "same": [[30, 30], [30, -30]], "none": [[-30, -30], [-30, -30]]}
        for name, logits in phases.items():
            problem.logits(z)[:] = logits
            costs[name, share] = problem.breakdown(z)["overlap"]
            if name == "none":  # as much as a phase without a contact; there are two
                assert 2.0 * costs[name, share] == pytest.approx(problem.breakdown(z)["support"])
    whole = costs["none", 1.0]
    assert whole > 0.0 and [costs["other", share] for share in (1.0, 0.5)] == pytest.approx([whole, whole])
    assert costs["same", 1.0] == pytest.approx(0.0, abs=1e-12) and costs["same", 0.5] == pytest.approx(0.25 * whole)


def test_slip_cost_is_a_factor_of_the_velocity_in_contact(behaviour):
    effectors = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}"
    scenarios = [behaviour(effectors=effectors, options=f"slip_cost: {slip}") for slip in (1, 3)]
    first, second = (costs_at_start(scenario, rate=0.1) for scenario in scenarios)
    changed = {name for name, cost in second.items() if cost != first[name]}
    assert changed == {"slip"} and second["slip"] == pytest.approx(9.0 * first["slip"]) and first["slip"] > 0.0


@pytest.mark.parametrize("other", ["right_foot", "left_hand"])
def test_an_effector_is_joined_to_another_one_that_is_not_joined_itself(behaviour, other):
    with pytest.raises(MultiQpError, match=r"right_foot\.joined: .*" + other):
        behaviour(effectors=JOINED.replace("joined: left_foot", f"joined: {other}"))


def test_balance_is_the_displacement_of_the_centre_of_mass_while_it_stands(behaviour):
    scenario = behaviour(options="limb_weights: true\n  balanced: true", effectors=EFFECTORS_WITH_CHEST)
    scene, character = scenario.scene, character_of(scenario)
    problem = SynthesisProblem(character, surroundings_of(scene, "humanoid"), scenario.spec.behaviour)
    problem.weights = {**dict.fromkeys(problem.weights, 0.0), "balance": 2.0}
    q = scene.q0.copy()
    q[scene.model.joints[scene.model.getJointId("humanoid/CHEST_P")].idx_q] += 0.3
    x = character.features_at(scene, scene.q0)
    r = problem.residuals(problem.initial(x, q[character.joints.q_index]))[0]
    shift = pin.centerOfMass(scene.model, scene.model.createData(), q) - x[:3]
    assert abs(shift[0]) > 0.02
    last = len(r) - 1  # it stands at the end
    np.testing.assert_allclose(np.linalg.norm(r[last]), 2.0 * np.linalg.norm(shift[:2]), rtol=1e-6)
    assert not r[:last].any()
