"""Unmet conditions reported by a run that ends by a timeout, with the remaining error."""

from __future__ import annotations

import re

import pytest

from multi_qp_simulator.runner import run_scenario

GO = {"type": "command", "name": "go"}
LATE = {"type": "time", "after": 5}
DONE = {"type": "time", "after": 0}
KNEE = {"type": "joint", "joint": "humanoid/R_KNEE_P", "above": 3}
AGAIN = {"type": "visits", "state": "wait", "count": 3}
APART = {"type": "separated", "contact": "left_foot", "distance": 0.1}
STILL = {"type": "task", "task": "balance", "error": 1e-9, "speed": 1e-9}
AHEAD = {"type": "com_inside", "subsystems": ["humanoid"], "contacts": ["left_foot"], "margin": 1}


@pytest.mark.parametrize(
    "when, said",
    [
        (GO, "command 'go'"),
        (LATE, "5 s to pass"),
        (KNEE, r"humanoid/R_KNEE_P is at [\d.]+"),
        (AGAIN, "'wait' entered 1 of 3 times"),
        (APART, r"separated 'left_foot' \([-\d.e]+ mm apart\)"),
        (STILL, r"task 'balance' \(error [-\d.e]+, speed [-\d.e]+\)"),
        (AHEAD, "the centre of mass of humanoid over left_foot"),
        ({"type": "all", "of": [DONE, GO, LATE]}, "command 'go' and 5 s to pass"),
        ({"type": "any", "of": [GO, LATE]}, "command 'go' or 5 s to pass"),
        ({"type": "not", "of": DONE}, "not"),
    ],
)
def test_unmet_conditions_are_reported(when, said, stand):
    scenario = stand({"wait": {"timeout": 0.02, "transitions": [{"to": "end", "when": when}]}, "end": {}})
    report = run_scenario(scenario).report
    assert report["ended"] == "state 'wait' took longer than its timeout of 0.02 s", "the same for all runs of a sweep"
    assert re.fullmatch(f"'end' waits for {said}", report["waited_for"])


def test_every_transition_is_reported(stand):
    ways = [{"to": "end", "when": GO}, {"to": "wait", "when": LATE}]
    scenario = stand({"wait": {"timeout": 0.02, "transitions": ways}, "end": {}})
    waited_for = run_scenario(scenario).report["waited_for"]
    assert waited_for == "'end' waits for command 'go'; 'wait' waits for 5 s to pass"


def test_a_state_without_transitions_waits_for_nothing(stand):
    scenario = stand({"wait": {"timeout": 0.02, "hold": 1}})
    assert run_scenario(scenario).report["waited_for"] is None
