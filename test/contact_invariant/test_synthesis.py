"""Synthesis of behaviours from task terms alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.audit import Auditor, Bounds
from contact_invariant.character_builder import character_of
from contact_invariant.gait import agreement
from contact_invariant.least_squares import Fit
from contact_invariant.postures import postures_of
from contact_invariant.starts import REFINED, StartJob
from contact_invariant.surroundings import surroundings_of
from contact_invariant.synthesis import (
    EXACT,
    EXACTLY,
    FIRMING,
    LOGIT,
    STAGES,
    Synthesiser,
    adapted,
    resting_at_start,
    stages_of,
)
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario

FEET = "{left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}"


def synthesiser(scenario):
    found = Synthesiser(scenario)
    surroundings = found.problem.surroundings
    return found, Auditor(scenario.scene, found.character, surroundings, friction=0.7, bounds=Bounds())


@pytest.mark.slow
def test_standing_still_satisfies_stand(behaviour):
    maker, auditor = synthesiser(behaviour())
    seen = []
    synthesis = maker.run(progress=lambda stage, number, cost: seen.append(stage))
    assert synthesis.complete and list(dict.fromkeys(seen)) == [stage.name for stage in STAGES]
    audit = auditor.audit(synthesis.motion, synthesis.features)
    assert audit.passed, audit.findings
    assert synthesis.motion.contacts[:, :2].any(axis=1).all() and not synthesis.motion.contacts[:, 2:].any()
    assert np.ptp(synthesis.motion.x[:, :3], axis=0).max() < 0.03


@pytest.mark.slow
def test_a_target_out_of_reach_is_named_and_ends(behaviour):
    maker, auditor = synthesiser(behaviour(phases=4, terms="{type: position, target: [0, 0, 10]}"))
    synthesis = maker.run()
    assert all(fit.reason in ("converged", "iterations", "no decrease") for _, fit in synthesis.stages)
    audit = auditor.audit(synthesis.motion, synthesis.features)
    worst = {finding.name: finding for finding in audit.findings if not finding.met}
    assert worst["task distance"].value > 1.0 or worst["reach"].value > 1.0


@pytest.mark.slow
def test_walking_emerges(behaviour):
    maker, auditor = synthesiser(behaviour(phases=10, terms="{type: position, target: [1.2, 0]}"))
    true = 0
    for seed in range(5):
        synthesis = maker.run(seed)
        audit = auditor.audit(synthesis.motion, synthesis.features)
        true += audit.passed
        feet = synthesis.motion.contacts[:, :2]
        assert (np.diff(feet.astype(int), axis=0) != 0).any(axis=0).all()  # both feet step
    assert true >= 3


PUNCH = "{type: strike, effector: right_hand, target: [0.5, -0.15, 1.0], velocity: [1.5, 0, 0], phase: 3}"


@pytest.mark.slow
def test_a_hand_strikes_a_target_and_the_feet_stay(behaviour):
    maker, auditor = synthesiser(behaviour(phases=4, terms=PUNCH))
    synthesis = maker.run()
    audit = auditor.audit(synthesis.motion, synthesis.features)
    assert audit.passed, audit.findings
    at = 3 * synthesis.motion.pieces
    hand = synthesis.motion.x[at, 6 + 6 * 3 :][:3]
    np.testing.assert_allclose(hand, [0.5, -0.15, 1.0], atol=0.03)
    assert synthesis.motion.rates[at, 6 + 6 * 3] > 1.0
    assert not synthesis.motion.contacts[:, 2:].any()


@pytest.mark.slow
def test_three_targets_are_struck_in_turn():
    scenario = load_scenario("punch")
    maker, auditor = synthesiser(scenario)
    for seed in range(2):
        synthesis = maker.run(seed)
        assert auditor.audit(synthesis.motion, synthesis.features).passed
        feet = synthesis.motion.contacts[:, :2]
        assert (np.diff(feet.astype(int), axis=0) != 0).any()  # it steps, though no term says so


def test_a_bar_is_stepped_over_and_the_character_stands_behind_it():
    maker, auditor = synthesiser(load_scenario("step_over"))
    synthesis = maker.run(0)
    audit, motion = auditor.audit(synthesis.motion, synthesis.features), synthesis.motion
    assert audit.passed, audit.findings
    assert motion.contacts[:, :2].any(axis=1).all() and not motion.contacts[:, 2:].any()  # feet alone
    times = np.linspace(0.0, motion.duration - 1e-9, 200)
    x = motion.features(times)[0]
    for foot in (x[:, 6:12], x[:, 12:18]):
        above = (foot[:, 0] > 0.5) & (foot[:, 0] < 0.7)
        assert foot[0, 0] < 0.1 and foot[-1, 0] > 0.9 and (foot[above, 2] > 0.2).all()
    settled = times > 3.25  # it stands for the last phase
    assert np.ptp(x[settled, :3], axis=0).max() < 0.03


@pytest.mark.slow
def test_free_durations_give_swings_more_of_the_same_time():
    scenario = load_scenario("walk_to")
    free = scenario.spec.behaviour.model_copy(update={"duration_factor": 1.5})
    free = replace(scenario, spec=scenario.spec.model_copy(update={"behaviour": free}))
    (fixed, _), (maker, auditor) = synthesiser(scenario), synthesiser(free)
    synthesis = maker.run(0)
    durations = np.diff(synthesis.motion.knots)
    assert durations.sum() == pytest.approx(5.0, abs=0.05)
    assert 0.5 / 1.53 < durations.min() < 0.36 and 0.6 < durations.max() < 0.5 * 1.53
    assert auditor.audit(synthesis.motion, synthesis.features).passed
    swings = ~synthesis.motion.contacts[:, :2].all(axis=1)
    assert durations[swings].mean() > 1.4 * durations[~swings].mean()
    assert synthesis.costs["acceleration"] < 0.8 * fixed.run(0).costs["acceleration"]


QUADRUPED = str(Path(__file__).with_name("quadruped.yaml"))


@pytest.mark.parametrize("name", ["wide_walk", pytest.param(QUADRUPED, id="quadruped", marks=pytest.mark.slow)])
def test_other_characters_walk_by_the_same_terms(name):
    scenario, other = load_scenario(name), load_scenario("walk_to")
    assert [t.type for t in scenario.spec.behaviour.terms] == [t.type for t in other.spec.behaviour.terms]
    maker, auditor = synthesiser(scenario)
    synthesis = maker.run(2)
    audit = auditor.audit(synthesis.motion, synthesis.features)
    assert audit.passed, audit.findings
    assert (np.diff(synthesis.motion.contacts.astype(int), axis=0) != 0).any(axis=0).all()  # each foot steps


@pytest.mark.slow
def test_a_trot_emerges():
    scenario = load_scenario("quadruped_walk")
    assert {t.type for t in scenario.spec.behaviour.terms} == {"stand", "position"}
    maker, auditor = synthesiser(scenario)
    figures = []
    for seed in (0, 3):
        synthesis = maker.run(seed)
        assert auditor.audit(synthesis.motion, synthesis.features).passed
        contacts, names = synthesis.motion.contacts, synthesis.motion.effectors
        assert names == ("left_front", "right_front", "left_hind", "right_hind")
        assert contacts[0].all()  # `held_start`
        figures.append([agreement(contacts, pairs) for pairs in (((0, 3), (1, 2)), ((0, 2), (1, 3)), ((0, 1), (2, 3)))])
    diagonal, side, end = np.mean(figures, axis=0)
    assert diagonal > 0.85 and side < 0.15 and end < 0.15


LYING_ON = {"back", "sacrum", "left_tailbone", "right_tailbone", "left_hand", "right_hand"}
PRONE = str(Path(__file__).with_name("kneel_from_belly.yaml"))
PRONE_ON = {"belly", "chest", *(f"{side}_{part}" for side in ("left", "right") for part in ("hand", "knee", "toes"))}


def test_what_a_lying_character_rests_on_begins_as_a_contact():
    for name, expected in (("get_up_from_back", LYING_ON), (PRONE, PRONE_ON), ("walk_to", set())):
        scenario = load_scenario(name)
        character, scene = character_of(scenario), scenario.scene
        surroundings = surroundings_of(scene, "humanoid")
        found = resting_at_start(scene, character, surroundings, scenario.spec.behaviour)
        assert {e.name for e, rests in zip(character.effectors, found, strict=True) if rests} == expected


def missed(audit):
    """Return the names of the bounds that are not met."""
    return {finding.name for finding in audit.findings if not finding.met}


@pytest.mark.slow
def test_a_platform_above_the_hips_is_climbed_without_preferences():
    """It finds to take hold of the edge, to set a knee on the front, then a foot on the top; the audit is met."""
    start = StartJob("climb_high", refine=True, seed=3).starts.one(3)
    assert start.passed, start.missed
    names, touched = list(start.synthesis.motion.effectors), start.refined.refinement.motion.touched

    def first(surface, *limbs):
        nodes = [np.flatnonzero(touched[:, names.index(limb)] == surface) for limb in limbs]
        return min(int(found[0]) for found in nodes if len(found))

    hands, knee = first("platform/top", "left_hand", "right_hand"), first("platform/back", "left_knee", "right_knee")
    assert hands < knee < first("platform/top", "left_foot", "right_foot")


@pytest.mark.slow
def test_getting_up_from_the_back_with_the_hands_emerges():
    scenario = load_scenario("get_up_from_back")
    maker, auditor = synthesiser(scenario)
    synthesis = maker.run(0)
    motion, audit = synthesis.motion, auditor.audit(synthesis.motion, synthesis.features)
    assert missed(audit) <= REFINED
    made = dict(zip(motion.effectors, motion.contacts.T, strict=True))
    assert made["sacrum"][0] and not made["sacrum"][-1] and made["left_foot"][-1] and made["right_foot"][-1]
    assert made["left_hand"][1:4].all() and made["right_hand"][1:4].all()  # while the trunk is raised
    assert made["left_tailbone"][:3].all() and (made["left_tailbone"] == made["right_tailbone"]).all()
    assert motion.x[0, 2] < 0.15 and motion.x[-1, 2] > 0.7  # it lies, and stands
    moments = [finding.value for finding in audit.findings if finding.name == "root moment"]
    assert moments and moments[0] < 0.005
    q = postures_of(scenario.scene, maker.character, motion, np.array([motion.duration - 1e-9])).q[0]
    com = pin.centerOfMass(scenario.scene.model, scenario.scene.model.createData(), q)
    off = (com - 0.5 * (motion.x[-1, 6:9] + motion.x[-1, 12:15]))[:2]
    found = [value for name, _, value in synthesis.features if "centre of mass over the feet" in name][-2:]
    np.testing.assert_allclose(np.abs(found), np.abs(off), atol=1e-3)  # of the full model


@pytest.mark.slow
def test_kneeling_emerges_on_the_way_from_the_belly_to_the_feet():
    maker, auditor = synthesiser(load_scenario(PRONE))
    synthesis = maker.run(0)
    motion, audit = synthesis.motion, auditor.audit(synthesis.motion, synthesis.features)
    assert "swing clearance" in missed(audit) <= REFINED  # knees slide
    made = dict(zip(motion.effectors, motion.contacts.T, strict=True))
    hands, feet = made["left_hand"] | made["right_hand"], made["left_foot"] | made["right_foot"]
    lies = made["belly"] | made["chest"]
    assert (hands & ~lies)[2:4].all() and not hands[5:].any() and not lies[2:].any()  # palms push the trunk up
    kneels = made["left_knee"] & made["right_knee"] & ~hands & ~feet & ~lies
    assert kneels.sum() >= 2 and not made["left_knee"][8:].any()
    assert np.flatnonzero(kneels).max() < np.flatnonzero(feet).min()
    assert made["left_foot"][-3:].all() and made["right_foot"][-3:].all()
    assert motion.x[0, 2] < 0.1 and motion.x[-1, 2] > 0.7  # it lies, and stands


@pytest.mark.slow
def test_a_lunge_emerges_from_the_belly_if_knees_are_no_contacts():
    maker, auditor = synthesiser(load_scenario("get_up_from_belly"))
    synthesis = maker.run(3)
    motion, audit = synthesis.motion, auditor.audit(synthesis.motion, synthesis.features)
    assert missed(audit) <= {"contact slip", "swing clearance"}  # toes lift slowly
    made = dict(zip(motion.effectors, motion.contacts.T, strict=True))
    hands, one_leg = made["left_hand"] | made["right_hand"], made["left_toes_inner"] ^ made["right_toes_inner"]
    assert (hands & one_leg).any()  # a foot is drawn forward while palms and the toes of the other leg bear the body
    assert made["left_foot"][-5:].all() and made["right_foot"][-5:].all() and not hands[-6:].any()
    assert motion.x[0, 2] < 0.12 and motion.x[-1, 2] > 0.7  # it lies, and stands


def test_factors_of_a_behaviour_change_its_weights_alone(behaviour):
    weights = STAGES[-1].weights
    plain = adapted(weights, behaviour().spec.behaviour)
    assert plain == {**weights, "overload": 0.0}
    found = adapted(weights, behaviour(options="physics: 16").spec.behaviour)
    changed = {name: factor * weights[name] for name, factor in (("physics", 16), ("absent", 4), ("contact", 2))}
    assert found == {**weights, **changed, "overload": 0.0}
    limited = adapted(weights, behaviour(options="limb_weights: true\n  torque_limits: 1").spec.behaviour)
    assert limited == weights
    with pytest.raises(MultiQpError, match="limb_weights: true"):
        behaviour(options="torque_limits: 1")


def test_a_further_stage_has_weights_between_those_of_the_last_two(behaviour):
    assert stages_of(behaviour().spec.behaviour) == STAGES
    stages = stages_of(behaviour(options="firming: true").spec.behaviour)
    assert [stage.name for stage in stages] == ["task", "contacts", "physics", FIRMING, "refinement"]
    before, between, after = (stage.weights for stage in stages[-3:])
    assert between["contact"] == pytest.approx((before["contact"] * after["contact"]) ** 0.5)
    for name, weight in between.items():
        inside = min(before[name], after[name]) < weight < max(before[name], after[name])
        assert inside or weight == pytest.approx(before[name])


def test_an_exact_stage_at_the_end_has_larger_weights_of_physics_and_contacts(behaviour):
    *before, last, exact = stages_of(behaviour(options="exact: true").spec.behaviour)
    assert (*before, last) == STAGES and exact.name == EXACT
    changed = {name: exact.weights[name] / weight for name, weight in last.weights.items() if weight > 0.0}
    assert {name: factor for name, factor in changed.items() if factor != 1.0} == pytest.approx(EXACTLY)
    firming = stages_of(behaviour(options="firming: true\n  exact: true").spec.behaviour)
    assert [stage.name for stage in firming[-3:]] == [FIRMING, "refinement", EXACT]


def test_contacts_of_an_exact_stage_begin_as_those_before_it_end(behaviour):
    maker, seen = Synthesiser(behaviour(phases=1, effectors=FEET, options="exact: true")), []

    def minimise(problem, z, **_):
        seen.append(problem.logits(z).copy())
        problem.logits(z)[:] = 7.0
        return Fit(z, [0.0], [0.0], "converged")

    maker._minimise = minimise
    maker.run(0)
    *_, last, exact = seen
    assert last.max() == LOGIT and (exact == 7.0).all()


def test_support_and_drag_weigh_more_in_the_last_stages(behaviour):
    def weights(options):
        maker, seen = Synthesiser(behaviour(phases=1, effectors=FEET, options=options)), []

        def minimise(problem, z, **_):
            seen.append((problem.weights["support"], problem.weights["drag"]))
            problem.logits(z)[:] = 3.0  # without a contact, the second stage would begin again
            return Fit(z, [0.0], [0.0], "converged")

        maker._minimise = minimise
        maker.run(0)
        return np.array(seen)

    plain, changed = weights(""), weights("support: 3\n  drag: 2")
    np.testing.assert_allclose(plain, [(s.weights["support"], s.weights["drag"]) for s in STAGES])
    np.testing.assert_allclose(changed[plain[:, 0] > 0, 0] / plain[plain[:, 0] > 0, 0], [1, 3, 3])
    np.testing.assert_allclose(changed[:, 1], plain[:, 1] * [1, 1, 1, 2])


def test_more_instants_of_the_path_weigh_the_same(behaviour):
    """A foot that slides along the ground."""
    found = []
    for count in (20, 40):
        scenario = behaviour(phases=1, effectors=FEET, options=f"path_samples: {count}")
        maker, q = Synthesiser(scenario), scenario.scene.q0
        problem, x = maker.problem, maker.character.features_at(scenario.scene, q)
        x[6] += 0.5
        z = problem.initial(x, q[maker.character.joints.q_index])
        z[6] -= 0.5
        path = problem.residuals(z)[1]
        drag = [slice(first, last) for name, _, first, last in problem._terms[1] if name == "drag"]
        found.append((len(path), sum(float((path[:, rows] ** 2).sum()) for rows in drag)))
    assert [count for count, _ in found] == [20, 40]
    assert found[0][1] > 0.01 and found[1][1] == pytest.approx(found[0][1], rel=0.1)  # instants are not quite even


@pytest.mark.slow
def test_a_handstand_emerges_from_a_crouch():
    scenario = load_scenario("handstand")
    assert {term.type for term in scenario.spec.behaviour.terms} == {"handstand"}
    maker, auditor = synthesiser(scenario)
    synthesis = maker.run(0)
    motion, audit = synthesis.motion, auditor.audit(synthesis.motion, synthesis.features)
    assert audit.passed, audit.findings
    made = dict(zip(motion.effectors, motion.contacts.T, strict=True))
    assert made["left_hand"].all() and made["right_hand"].all()
    assert not made["left_foot"][-4:].any() and not made["right_foot"][-4:].any()  # held for four phases
    assert motion.x[-1, 8] > 1.5 and motion.x[-1, 14] > 1.5  # the feet


@pytest.mark.parametrize(("flights", "tries"), [(0, 1), (1, 2), (2, 3), (5, 3)])
def test_contacts_are_found_again_if_a_phase_has_none(behaviour, flights, tries):
    """With other noise, a few times; the cheapest result is kept."""
    maker, begins = Synthesiser(behaviour()), []

    def minimise(problem, z, **options):
        begins.append(z.copy())
        problem.logits(z)[1] = -3.0 if 1 < len(begins) <= 1 + flights else 3.0  # the first stage is the task's
        return Fit(z, [float(100 - len(begins))], [0.0], "converged")

    maker._minimise = minimise
    synthesis = maker.run()
    assert len(begins) == len(STAGES) - 1 + tries
    assert [name for name, _ in synthesis.stages] == [stage.name for stage in STAGES]
    assert synthesis.motion.contacts[1, :2].all() or flights > tries
    assert all(np.abs(a - b).max() > 0.0 for a, b in zip(begins[1:], begins[2:], strict=False))
