"""A tick is answered, then settled: what a transition brings is in force from the next tick on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_controller.activity import Activity
from multi_qp_controller.command import Command, Status
from multi_qp_scene import load_scenario
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator import Integrator

#: `box` stands for 0.5 s, then reaches; its palms are laid on it after some 3.5 s.
DT = 0.02


def run(scenario: Scenario, *, settles: bool) -> Iterator[tuple[Controller, Command]]:
    """Yield every tick as it has been answered; with `settles`, each is settled before the next begins."""
    controller, world = Controller(scenario, dt=DT), Integrator(scenario)
    for tick in itertools.count():
        command = controller.step(world.state, tick * DT)
        yield controller, command
        world.step(command, DT)
        if settles:
            controller.settle()


def test_it_makes_no_difference_whether_a_step_has_to_settle_first() -> None:
    runs = [run(load_scenario("box"), settles=settles) for settles in (True, False)]
    states = set()
    for (_, early), (_, late) in itertools.islice(zip(*runs, strict=True), 190):
        assert early.tau.tobytes() == late.tau.tobytes()
        assert early.diagnostics.state == late.diagnostics.state
        states.add(early.diagnostics.state)
    assert states >= {"stand", "reach", "close", "lift"}


def test_a_state_is_in_force_for_as_long_as_it_lasts_and_begins_after_the_tick_that_ended_the_last(scenario) -> None:
    for tick, (controller, command) in enumerate(run(scenario, settles=False)):
        state = command.diagnostics.state
        assert state == controller.machine.phase.name  # who watches after a step sees the tick that was answered
        assert set(command.wrenches) == set(controller.contacts)
        if tick == 25:
            assert state == "stand"  # 0.5 s, in which it is seen that the state is over
            controller.settle()
            assert controller.machine.phase.name == "reach"
            assert controller.machine.entered == pytest.approx(0.5)
            assert controller.tasks["left_palm"].started_at == pytest.approx(0.5)
            settled = controller.tasks
            controller.settle()
            assert controller.tasks is settled  # there is nothing left to do
        if tick == 26:
            assert state == "reach"
            return


def test_a_contact_is_made_in_its_first_tick() -> None:
    """Palms that still close are held where they have come to, not where they were when that was decided."""
    ticks = run(load_scenario("box"), settles=True)
    controller = next(controller for controller, command in ticks if command.diagnostics.state == "lift")
    hands = [controller.contacts[name] for name in ("left_hand", "right_hand")]
    rows = controller.statement.contacts
    for contact in hands:
        assert contact.is_held
        assert contact.slip() == (0.0, 0.0)
        where = rows.row_slices[rows.contacts.index(contact)]
        twist, drift = contact.motion.twist, contact.motion.drift
        np.testing.assert_allclose(rows.rhs[where], -twist / DT - drift, atol=1e-9)  # its velocity goes, nothing else


def test_a_contact_that_waits_for_its_first_tick_is_remembered_as_such() -> None:
    ticks = run(load_scenario("box"), settles=False)
    for controller, command in ticks:
        if command.diagnostics.state == "close":
            controller.settle()
            if controller.machine.phase.name == "lift":
                break
    assert not controller.contacts["left_hand"].is_held
    other = Controller(load_scenario("box"), dt=DT)
    other.resume(controller.memory())
    assert not other.contacts["left_hand"].is_held
    assert other.contacts["left_foot"].is_held


def test_what_fails_while_it_settles_is_told_by_the_next_answer_and_the_run_goes_on(
    scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, enter = run(scenario, settles=True), Activity.enter

    def broken(*_: object) -> None:
        raise ZeroDivisionError("on the way")

    for _, command in itertools.islice(ticks, 25):
        assert command.diagnostics.status is Status.OK
    monkeypatch.setattr(Activity, "enter", broken)
    _, good = next(ticks)  # of 0.5 s: what settles it is to take up the next state
    controller, command = next(ticks)
    assert command.diagnostics.status is Status.FALLBACK
    assert command.diagnostics.message == "ZeroDivisionError: on the way"
    np.testing.assert_array_equal(command.tau, good.tau)
    monkeypatch.setattr(Activity, "enter", enter)
    assert command.diagnostics.state == "stand"
    _, command = next(ticks)
    assert (command.diagnostics.status, command.diagnostics.state) == (Status.OK, "reach")  # it was tried again


def test_a_fault_is_remembered(scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    controller, state = Controller(scenario, dt=DT), scenario.scene.initial_state()
    controller.step(state, 0.0)
    monkeypatch.setattr(Activity, "advance", lambda *_: 1 / 0)
    memory = controller.memory()
    monkeypatch.undo()
    for one in (controller, Controller(scenario, dt=DT)):
        one.resume(memory)
        command = one.step(state, DT)
        assert command.diagnostics.status is Status.FALLBACK
        assert command.diagnostics.message == "ZeroDivisionError: division by zero"
        assert one.step(state, 2 * DT).diagnostics.status is Status.OK
