"""The viewer's controls follow what the present state lets a user do, and reach the controller between ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from multi_qp_cli.interaction import Interaction
from multi_qp_controller import Command, Controller
from multi_qp_scene import load_scenario
from multi_qp_simulator import Integrator, Run


class Control:
    def __init__(self, shelf: dict[str, Any], name: str, callback: Callable[..., None]) -> None:
        self.shelf, self.name, self.callback = shelf, name, callback
        shelf[name] = self

    def remove(self) -> None:
        del self.shelf[self.name]


class FakeViewer:
    def __init__(self) -> None:
        self.handles: dict[str, Control] = {}
        self.buttons: dict[str, Control] = {}
        self.positions: dict[str, np.ndarray] = {}

    def add_target_handle(self, name: str, position: np.ndarray, callback: Callable[..., None]) -> Control:
        self.positions[name] = position
        return Control(self.handles, name, callback)

    def add_slider(self, name: str, low: float, high: float, initial: float, callback: Callable[..., None]) -> Control:
        raise AssertionError("the box scene has no loads")

    def add_button(self, name: str, callback: Callable[..., None]) -> Control:
        return Control(self.buttons, name, callback)


def test_handle_and_button_come_with_the_phase_and_go_with_it() -> None:
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    controller = Controller(scenario, dt=0.02)
    viewer = FakeViewer()
    interaction = Interaction(viewer)
    seen = []

    def user(controller: Controller, command: Command) -> None:
        seen.append((controller.machine.phase.name, sorted(viewer.handles), sorted(viewer.buttons)))
        if controller.machine.phase.name != "play":
            return
        since = command.time - controller.machine.entered
        if since < 0.01:
            viewer.handles["box"].callback(viewer.positions["box"] + np.array([0.0, 0.05, 0.03]))
        if since > 2.5:
            moved.append(controller.tasks["box"].position_error)
            viewer.buttons["put back"].callback()

    moved: list[float] = []
    run = Run(scenario, controller, Integrator(scenario), observers=[interaction, user], attended=True)
    result = run.execute()
    assert result.succeeded
    assert moved[0] < 0.01  # the box went where the handle was put
    for phase, handles, buttons in seen:
        assert handles == (["box"] if phase == "play" else [])
        assert buttons == (["put back"] if phase == "play" else [])
    interaction.clear()
    assert not viewer.handles and not viewer.buttons


def test_an_unknown_target_is_a_key_error() -> None:
    controller = Controller(load_scenario("box"))
    with pytest.raises(KeyError):
        controller.set_target("box", np.zeros(3))
