"""The coming state is gone through before it comes: its active rows are known, and nothing else is any different."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from pydantic import TypeAdapter

from multi_qp_controller import Controller
from multi_qp_controller.activity import Activity
from multi_qp_controller.blocks.direct import AHEAD_CHANGES
from multi_qp_controller.command import Command
from multi_qp_controller.conditions import Situation, earliest
from multi_qp_controller.memory import Memory
from multi_qp_controller.rehearsal import Rehearsal
from multi_qp_scene import State, load_scenario
from multi_qp_scene.jit import COMPILED
from multi_qp_scene.schema.states import Condition
from multi_qp_simulator import Integrator

pytestmark = pytest.mark.skipif(not COMPILED, reason="states are laid out for the compiled kernels only")

#: `box` up to where it has been lifted: with steps of 20 ms, in 190 ticks.
DT, TICKS = 0.02, 190


@cache
def lifted() -> list[tuple[State, Command, Memory]]:
    """Return states and commands of a run, and what the controller remembered before each."""
    scenario, kept = load_scenario("box"), []
    controller, world = Controller(scenario, dt=DT), Integrator(scenario)
    for tick in range(TICKS):
        state, memory = world.state, controller.memory()
        kept.append((State(state.q.copy(), state.v.copy()), controller.step(state, tick * DT), memory))
        world.step(kept[-1][1], DT)
    return kept


def answers(controller: Controller, first: int = 0) -> Iterator[tuple[Command, Command]]:
    """Answer the states of that run; yield these answers beside the run's own."""
    for tick, (state, expected, _) in enumerate(lifted()[first:], first):
        yield controller.step(state, tick * DT), expected


def lift() -> int:
    """Return the tick in which the box is lifted."""
    return next(k for k, (_, command, _) in enumerate(lifted()) if command.diagnostics.state == "lift")


def test_answers_are_those_of_a_controller_that_rehearses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lifted()[lift()][1].diagnostics.iterations <= 3
    monkeypatch.setattr(Rehearsal, "update", lambda *_: None)
    cold = []
    for command, expected in answers(Controller(load_scenario("box"), dt=DT)):
        assert command.diagnostics.state == expected.diagnostics.state
        for found, wanted in ((command.a, expected.a), (command.tau, expected.tau)):
            np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-10 * max(1.0, np.abs(wanted).max()))
        cold.append(command.diagnostics.iterations)
    assert cold[lift()] > AHEAD_CHANGES  # that took several ticks


def test_a_memory_holds_the_rows_that_were_found() -> None:
    controller = Controller(load_scenario("box"), dt=DT)
    controller.resume(lifted()[lift()][2])
    command, expected = next(answers(controller, lift()))
    assert command.diagnostics.iterations == expected.diagnostics.iterations <= 3
    np.testing.assert_array_equal(command.a, expected.a)
    np.testing.assert_array_equal(command.tau, expected.tau)


@pytest.mark.parametrize("before", range(1, 14))
def test_a_resumed_controller_finds_the_rows_that_were_not_yet_found(before: int) -> None:
    first = lift() - before
    controller = Controller(load_scenario("box"), dt=DT)
    controller.resume(lifted()[first][2])
    *_, (command, expected) = itertools.islice(answers(controller, first), before + 1)
    assert command.diagnostics.state == "lift"
    assert command.diagnostics.iterations <= 3
    for found, wanted in ((command.a, expected.a), (command.tau, expected.tau)):
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-10 * max(1.0, np.abs(wanted).max()))


def test_what_is_running_is_neither_started_nor_asked_by_a_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    first = lift() - 1
    controller = Controller(load_scenario("box"), dt=DT)
    controller.resume(lifted()[first][2])
    running, contacts = dict(controller.tasks), dict(controller.contacts)
    for task in running.values():
        for method in ("start", "sample", "compute", "bind"):
            monkeypatch.setattr(task, method, lambda *_: pytest.fail("a running task was disturbed"))
    kept = {name: (task.error, task.speed, task.path) for name, task in running.items()}
    watched, motions = controller.kinematics.watched, controller.kinematics.motions
    rehearsal = controller._progress._rehearsal
    rehearsal._due, rehearsal._stage = 0.0, 0
    for _ in range(8):
        rehearsal._next = 0.0
        rehearsal.update(controller._progress._now, controller.horizon)
    assert rehearsal._found is not None
    assert rehearsal._found[0] == "lift"
    assert controller.tasks == running
    assert controller.contacts == contacts
    assert {name: (task.error, task.speed, task.path) for name, task in running.items()} == kept
    assert (controller.kinematics.watched, controller.kinematics.motions) == (watched, motions)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"type": "time", "after": 1.5}, 11.5),
        ({"type": "reference_done", "task": "reach"}, 14.0),
        ({"type": "task", "task": "reach", "error": 0.01}, 14.0),
        ({"type": "touching", "contact": "left_hand"}, 10.0),
        ({"type": "not", "of": {"type": "time", "after": 1.5}}, 10.0),
        ({"type": "all", "of": [{"type": "time", "after": 1.5}, {"type": "touching", "contact": "left_hand"}]}, 11.5),
        ({"type": "any", "of": [{"type": "time", "after": 1.5}, {"type": "reference_done", "task": "reach"}]}, 11.5),
    ],
)
def test_the_earliest_end_of_a_state(condition, expected, scenario, lab) -> None:
    class Reaching:
        started_at, duration = 11.0, 3.0

    kinematics = lab.kinematics(scenario.scene, scenario.scene.initial_state())
    now = Situation(scenario, kinematics, {"reach": Reaching()}, 10.5, 10.0, frozenset())
    assert earliest(TypeAdapter(Condition).validate_python(condition), now) == expected


def test_parts_are_rehearsed_before_a_state_may_end_and_its_beginning_again_where_it_does_not() -> None:
    controller = Controller(load_scenario("box"), dt=DT)
    rehearsal, ticks = controller._progress._rehearsal, []
    controller.step(lifted()[0][0], 0.0)
    rehearsal._due = 20 * DT
    rehearsal._wait()
    for tick in range(120):
        before = rehearsal._next
        controller._progress._now.time = tick * DT
        rehearsal.update(controller._progress._now, controller.horizon)
        ticks += [tick] if rehearsal._next != before else []
    assert ticks[:8] == list(range(12, 20))
    assert np.diff(ticks[7:]).tolist() == [4, 8, 16, 16, 16, 16, 16]
    assert rehearsal.fault == ""


def test_what_cannot_be_rehearsed_is_left_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Activity, "rehearse", lambda *_: 1 / 0)
    controller = Controller(load_scenario("box"), dt=DT)
    for command, _ in itertools.islice(answers(controller), lift() + 1):
        assert command.diagnostics.status == "ok"
    assert controller._progress._rehearsal.fault == "lift: ZeroDivisionError: division by zero"
