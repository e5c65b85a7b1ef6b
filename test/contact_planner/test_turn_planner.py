from dataclasses import replace

import numpy as np
import pytest

from motion_generation.turns import plan_turns, turn_planner
from multi_qp_scene import ConfigError, MultiQpError, load_scenario
from multi_qp_simulator.plan_audit import PlanAudit
from multi_qp_simulator.runner import run_scenario

TURNS = 6


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("twister", seed=1, parameters={"turns": TURNS})


@pytest.fixture(scope="module")
def planned(scenario):
    return plan_turns(scenario)


def test_every_turn_is_valid_with_the_others_at_their_configuration(scenario, planned):
    sequence = planned.sequence
    assert sequence.complete, sequence.reason
    assert [turn.player for turn in sequence.turns] == ["humanoid", "quadruped"] * (TURNS // 2)
    for player in sequence.first:
        audit = PlanAudit(scenario, player, margin=0.9 * scenario.spec.turns.margin)
        for turn in sequence.turns:
            if turn.player == player:
                assert audit.mistakes(turn.plan, q=turn.q) == []


def test_a_turn_moves_the_drawn_limb_to_a_free_tile_of_the_drawn_colour(planned):
    stances = dict(planned.sequence.first)
    for turn in planned.sequence.turns:
        taken = {contact.other for stance in stances.values() for contact in stance.contacts.values()}
        landed = turn.plan.stances[-1].contacts[turn.limb]
        assert landed.other.startswith(f"mat/{turn.color}_") and landed.other not in taken
        before = stances[turn.player].contacts
        assert all(landed_as_before(turn, limb, before) for limb in before if limb != turn.limb)
        stances[turn.player] = turn.plan.stances[-1]


def landed_as_before(turn, limb, before):
    return turn.plan.stances[-1].contacts[limb].same_as(before[limb])


def test_each_turn_starts_at_the_configuration_after_the_previous_one(scenario, planned):
    q = scenario.scene.q0.copy()
    for turn in planned.sequence.turns:
        np.testing.assert_array_equal(turn.q, q)
        q[scenario.scene.subsystems[turn.player].q_slice] = turn.plan.stances[-1].q


def test_the_other_player_is_an_obstacle(scenario):
    turns = turn_planner(scenario)
    planner = turns._planner("humanoid")
    q = turns.stances["humanoid"].q
    assert planner.clearance.is_free(q)
    turns.q[scenario.scene.subsystems["quadruped"].q_slice.start + 1] += 0.5  # into the humanoid
    hits = turns._planner("humanoid").clearance.hits(q)
    assert any("quadruped/" in name for pair in hits for name in pair)


def test_waiting_players_keep_their_contacts_and_tasks(planned):
    spec = planned.scenario.spec
    for name, state in spec.states.items():
        if "halt" in name or name == "end":
            continue
        waiting = "quadruped" if "_humanoid_" in name else "humanoid"
        assert {f"{waiting}_com", f"{waiting}_posture", f"{waiting}_base"} <= set(state.tasks)
        feet = [contact for contact in state.contacts if contact.startswith(waiting)]
        assert len(feet) >= (4 if waiting == "quadruped" else 2)
    assert spec.initial_state.startswith("01_humanoid_")


def test_a_match_without_a_step_has_a_reason(scenario):
    planner = turn_planner(scenario)
    planner._colors = {color: () for color in planner._colors}
    sequence = planner.plan(2)
    assert not sequence.complete and sequence.reason == "turn 1: there is no step for humanoid"
    assert sequence.turns == ()


def test_the_same_seed_gives_the_same_draws(scenario, planned):
    again = turn_planner(scenario).plan(2)
    assert [(t.limb, t.color) for t in again.turns] == [(t.limb, t.color) for t in planned.sequence.turns[:2]]


def test_a_scenario_without_turns_is_refused():
    with pytest.raises(MultiQpError, match="has no `turns`"):
        turn_planner(load_scenario("stand"))


def test_errors_list_unknown_names(scenario, tmp_path):
    text = scenario.path.read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text.replace("mat/red_*", "mat/purple_*").replace("left_hand: left_palm", "left_hand: left_plam"))
    with pytest.raises(ConfigError) as error:
        load_scenario(str(wrong))
    assert "purple" in str(error.value) and "left_plam" in str(error.value)


@pytest.mark.slow  # half a minute
def test_a_game_is_executed(scenario):
    short = replace(scenario, spec=scenario.spec.model_copy(
        update={"turns": scenario.spec.turns.model_copy(update={"count": 4})}))  # fmt: skip
    report = run_scenario(plan_turns(short).scenario).report
    assert report["completed"] and report["qp_failures"] == 0
    assert report["worst"]["contact_slip_m"] < 2e-3
