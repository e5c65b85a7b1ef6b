"""State manager: `post_update` takes transitions, which take effect in the next tick."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from multi_qp_controller import Controller
from multi_qp_controller.command import Command, Status
from multi_qp_controller.state_machine.active_setup import ActiveSetup
from multi_qp_scene import load_scenario
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator import Integrator

#: In `box`, the state "stand" lasts 0.5 s; the palms make contact after about 3.5 s.
DT = 0.02


def run(scenario: Scenario, *, post_update: bool) -> Iterator[tuple[Controller, Command]]:
    """Yield controller and command of every tick; with `post_update`, it is called before the next step."""
    controller, world = Controller(scenario, dt=DT), Integrator(scenario)
    for tick in itertools.count():
        command = controller.step(world.state, tick * DT)
        yield controller, command
        world.step(command, DT)
        if post_update:
            controller.post_update()


def test_commands_are_equal_when_step_calls_post_update() -> None:
    runs = [run(load_scenario("box"), post_update=early) for early in (True, False)]
    states = set()
    for (_, early), (_, late) in itertools.islice(zip(*runs, strict=True), 190):
        assert early.tau.tobytes() == late.tau.tobytes()
        assert early.diagnostics.state == late.diagnostics.state
        states.add(early.diagnostics.state)
    assert states >= {"stand", "reach", "close", "lift"}


def test_transition_takes_effect_in_the_next_tick(scenario) -> None:
    for tick, (controller, command) in enumerate(run(scenario, post_update=False)):
        state = command.diagnostics.state
        assert state == controller.machine.present.name  # after a step, queries refer to its tick
        assert set(command.wrenches) == set(controller.contacts)
        if tick == 25:
            assert state == "stand"  # at 0.5 s, the tick after which the transition is due
            controller.post_update()
            assert controller.machine.present.name == "reach"
            assert controller.machine.entered == pytest.approx(0.5)
            assert controller.tasks["left_palm"].started_at == pytest.approx(0.5)
            tasks = controller.tasks
            controller.post_update()
            assert controller.tasks is tasks  # a second call has no effect
        if tick == 26:
            assert state == "reach"
            return


def test_contact_is_made_in_its_first_tick() -> None:
    """Moving palms are held at their pose in the first tick, not at the one of the transition."""
    ticks = run(load_scenario("box"), post_update=True)
    controller = next(controller for controller, command in ticks if command.diagnostics.state == "lift")
    hands = [controller.contacts[name] for name in ("left_hand", "right_hand")]
    rows = controller.qp_data.contacts
    for contact in hands:
        assert contact.held_at is not None
        assert contact.slip() == (0.0, 0.0)
        where = rows.row_slices[rows.contacts.index(contact)]
        twist, drift = contact.motion.twist, contact.motion.drift
        np.testing.assert_allclose(rows.rhs[where], -twist / DT - drift, atol=1e-9)  # only the velocity is corrected


def test_contact_before_its_first_tick_is_restored_as_not_held() -> None:
    ticks = run(load_scenario("box"), post_update=False)
    for controller, command in ticks:
        if command.diagnostics.state == "close":
            controller.post_update()
            if controller.machine.present.name == "lift":
                break
    assert {contact.name: contact for contact in controller.qp_data.contacts.contacts}["left_hand"].held_at is None
    other = Controller(load_scenario("box"), dt=DT)
    other.set_state(controller.get_state())
    assert other.contacts["left_hand"].held_at is None
    assert other.contacts["left_foot"].held_at is not None


def test_failure_in_post_update_is_reported_by_the_next_step(scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, enter = run(scenario, post_update=True), ActiveSetup.enter

    def broken(*_: object) -> None:
        raise ZeroDivisionError("in enter")

    for _, command in itertools.islice(ticks, 25):
        assert command.diagnostics.status is Status.OK
    monkeypatch.setattr(ActiveSetup, "enter", broken)
    _, good = next(ticks)  # at 0.5 s: its `post_update` enters the next state
    controller, command = next(ticks)
    assert command.diagnostics.status is Status.FALLBACK
    assert command.diagnostics.message.startswith(f"ZeroDivisionError: in enter ({__file__}:")
    np.testing.assert_array_equal(command.tau, good.tau)
    monkeypatch.setattr(ActiveSetup, "enter", enter)
    assert command.diagnostics.state == "stand"
    _, command = next(ticks)
    assert (command.diagnostics.status, command.diagnostics.state) == (
        Status.OK,
        "reach",
    )  # the transition is tried again


def test_pending_fault_is_saved_and_restored(scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    controller, state = Controller(scenario, dt=DT), scenario.scene.initial_state()
    controller.step(state, 0.0)
    monkeypatch.setattr(ActiveSetup, "advance", lambda *_: 1 / 0)
    saved = controller.get_state()
    monkeypatch.undo()
    for one in (controller, Controller(scenario, dt=DT)):
        one.set_state(saved)
        command = one.step(state, DT)
        assert command.diagnostics.status is Status.FALLBACK
        assert command.diagnostics.message.startswith(f"ZeroDivisionError: division by zero ({__file__}:")
        assert one.step(state, 2 * DT).diagnostics.status is Status.OK
