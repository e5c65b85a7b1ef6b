"""Errors in states, transitions, conditions, goals: one message each with file, line, key and expected value."""

from __future__ import annotations

import pytest

WHEN = "{type: reference_done, task: reach}"
DONE = "done: {type: state, state: end}"

# file, replaced text, replacement, a text on the reported line, key, message
MISTAKES = {
    "transition to a state that is not there": (
        "scene.yaml",
        "to: end",
        "to: edn",
        "to: edn",
        "states.wait.transitions[0].to",
        "unknown state 'edn'; did you mean 'end'? (states: end, wait)",
    ),
    "initial state that is not there": (
        "scene.yaml",
        "initial_state: wait",
        "initial_state: start",
        "initial_state",
        "initial_state",
        "unknown state 'start' (states: end, wait)",
    ),
    "condition on a task of another state": (
        "scene.yaml",
        "  end:\n    contacts: [rest]",
        f"  end:\n    contacts: [rest]\n    transitions: [{{to: wait, when: {WHEN}}}]",
        "to: wait",
        "states.end.transitions[0].when.task",
        "unknown task of this state 'reach' (tasks of this state: posture)",
    ),
    "condition on a task that is dropped here": (
        "scene.yaml",
        "task: reach}}",
        "task: posture}}\n    description: x",
        "to: end",
        "states.wait.transitions[0].when.task",
        "unknown task of this state 'posture' (tasks of this state: reach)",
    ),
    "drops a task that is not there": (
        "scene.yaml",
        "  end:\n",
        "  end:\n    tasks: {balance: null}\n",
        "balance",
        "states.end.tasks.balance",
        "unknown task of the scenario 'balance' (tasks of the scenario: posture)",
    ),
    "condition of nothing": (
        "scene.yaml",
        WHEN,
        "{type: any, of: []}",
        "to: end",
        "states.wait.transitions[0].when.of",
        "give at least one condition",
    ),
    "condition deep inside": (
        "scene.yaml",
        WHEN,
        "{type: any, of: [{type: time, after: 1}, {type: not, of: {type: touching, contact: rst}}]}",
        "to: end",
        "states.wait.transitions[0].when.of[1].of.contact",
        "unknown contact 'rst'; did you mean 'rest'? (contacts: rest, touch)",
    ),
    "condition that bounds nothing": (
        "scene.yaml",
        WHEN,
        "{type: task, task: reach}",
        "to: end",
        "states.wait.transitions[0].when",
        "give `error`, `speed` or both",
    ),
    "unknown contact in a state": (
        "scene.yaml",
        "contacts: [rest]",
        "contacts: [rst]",
        "contacts: [rst]",
        "states.wait.contacts[0]",
        "unknown contact 'rst'; did you mean 'rest'? (contacts: rest, touch)",
    ),
    "contact named twice": (
        "scene.yaml",
        "contacts: [rest]",
        "contacts: [rest, rest]",
        "contacts: [rest, rest]",
        "states.wait.contacts[1]",
        "the contact 'rest' is named twice",
    ),
    "goal on an unknown task": (
        "scene.yaml",
        DONE,
        "done: {type: tracking, task: raech, position: 0.1}",
        "done:",
        "goals.done.task",
        "unknown task 'raech'; did you mean 'reach'? (tasks: posture, reach)",
    ),
    "goal on a task without a pose": (
        "scene.yaml",
        DONE,
        "done: {type: tracking, task: posture, position: 0.1}",
        "done:",
        "goals.done.task",
        "expected a task of type pose, and 'posture' is of type posture",
    ),
    "goal without a tolerance": (
        "scene.yaml",
        DONE,
        "done: {type: tracking, task: reach}",
        "done:",
        "goals.done",
        "give a tolerance: `position` [m], `rotation` [rad] or both",
    ),
    "goal on an unknown state": (
        "scene.yaml",
        DONE,
        "done: {type: state, state: edn}",
        "done:",
        "goals.done.state",
        "unknown state 'edn'; did you mean 'end'? (states: end, wait)",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_error_gives_one_message_with_file_line_and_key(mistake, folder):
    if mistake == "condition on a task that is dropped here":
        folder.edit("scene.yaml", "    tasks:\n", "    tasks:\n      posture: null\n")
    folder.blames(*MISTAKES[mistake])
