"""Scenes with obstacles outside the QP: raised forearms keep plants off head and trunk."""

from __future__ import annotations

import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario

#: Links that the arms keep free.
TRUNK = {f"humanoid/{link}" for link in ("head", "neck_yaw_link", "torso", "chest_pitch_link")}


def touched(result, prefix):
    """Return the links that obstacles with a prefix touched, each with the names of the obstacles."""
    found: dict[str, set[str]] = {}
    for touch in result.report["touches"]:
        first, second = sorted(touch["bodies"], key=lambda name: name.startswith(prefix))
        if second.startswith(prefix):
            found.setdefault(first, set()).add(second.split("/")[0])
    return found


def on_trunk(result, prefix):
    """Return the obstacles that touched head or trunk."""
    return set().union(*(owners for link, owners in touched(result, prefix).items() if link in TRUNK))


def test_forearms_meet_the_first_plants():
    result = run_scenario(load_scenario("thicket"), backend="mujoco", duration=5.0)
    found = touched(result, "plant")
    assert not TRUNK & set(found)
    assert any("wrist" in link or "elbow" in link for link in found)
    assert not result.report["qp_failures"]


def test_hands_push_the_gate_open():
    scenario = load_scenario("gate")
    result = run_scenario(scenario, backend="mujoco", duration=8.0)
    found = touched(result, "gate")
    assert {"humanoid/l_wrist_roll_link", "humanoid/r_wrist_yaw_link"} <= set(found)
    assert all("wrist" in link for link in found)
    angle = result.log.q[:, scenario.scene.subsystems["gate"].q_slice]
    assert angle.max() > 1.3 and angle[-1] > 1.2  # the leaf swings back from its stop
    assert not result.report["health"]["problems"]


def test_hands_are_over_the_head_in_time():
    result = run_scenario(load_scenario("apples", seed=2), backend="mujoco", duration=5.8)
    met = touched(result, "apple_1")
    assert any("wrist" in link for link in met)
    assert not {"humanoid/head", "humanoid/torso"} & set(met)


def test_twigs_are_pushed_aside_and_an_apple_is_met_among_them():
    result = run_scenario(load_scenario("orchard", seed=1), backend="mujoco", duration=4.8)
    hands = {"humanoid/l_wrist_roll_link", "humanoid/r_wrist_roll_link"}
    assert hands & set(touched(result, "apple_1")) and hands & set(touched(result, "tree"))
    assert not on_trunk(result, "apple")
    assert not result.report["qp_failures"]


@pytest.mark.slow
def test_without_sight_apples_hit_the_head():
    result = run_scenario(load_scenario("apples", parameters={"watch": 0}, seed=2), backend="mujoco", duration=5.8)
    assert "humanoid/head" in touched(result, "apple_1")


@pytest.mark.slow
@pytest.mark.parametrize("sticks", [0, 1])
def test_the_gate_is_passed(sticks):
    assert run_scenario(load_scenario("gate", parameters={"sticks": sticks}), backend="mujoco").succeeded


@pytest.mark.slow
def test_the_orchard_is_crossed():
    raised, hanging = (
        run_scenario(load_scenario("orchard", parameters={"watch": watch}), backend="mujoco") for watch in (1, 0)
    )
    assert raised.succeeded
    count = [len(on_trunk(result, "tree") | on_trunk(result, "apple")) for result in (raised, hanging)]
    assert 3 * count[0] <= count[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_third_of_the_plants_touch_the_trunk_at_most(seed):
    raised, hanging = (
        run_scenario(load_scenario("thicket", parameters={"watch": watch}, seed=seed), backend="mujoco")
        for watch in (1, 0)
    )
    assert raised.succeeded
    assert 3 * len(on_trunk(raised, "plant")) <= len(on_trunk(hanging, "plant"))
