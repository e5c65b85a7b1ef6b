"""Tests of user interaction: controls depend on the state, and inputs are applied between ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from multi_qp_cli.interaction import Interaction
from multi_qp_controller import Command, Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.walking import VelocityLimitsSpec
from multi_qp_simulator import Integrator, Run


class Control:
    def __init__(self, controls: dict[str, Any], name: str, callback: Callable[..., None]) -> None:
        self.controls, self.name, self.callback = controls, name, callback
        controls[name] = self

    def remove(self) -> None:
        del self.controls[self.name]


class FakeViewer:
    def __init__(self) -> None:
        self.handles: dict[str, Control] = {}
        self.buttons: dict[str, Control] = {}
        self.sliders: dict[str, Control] = {}
        self.pads: dict[str, Control] = {}
        self.positions: dict[str, np.ndarray] = {}

    def add_target_handle(self, name: str, position: np.ndarray, callback: Callable[..., None]) -> Control:
        self.positions[name] = position
        return Control(self.handles, name, callback)

    def add_slider(self, name: str, low: float, high: float, initial: float, callback: Callable[..., None]) -> Control:
        return Control(self.sliders, name, callback)

    def add_button(self, name: str, callback: Callable[..., None]) -> Control:
        return Control(self.buttons, name, callback)

    def add_velocity_pad(self, name: str, limits: VelocityLimitsSpec, callback: Callable[..., None]) -> Control:
        self.limits = limits
        return Control(self.pads, name, callback)


def test_controls_exist_only_in_their_phase() -> None:
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    controller = Controller(scenario, dt=0.02)
    viewer = FakeViewer()
    interaction = Interaction(viewer)
    seen = []

    def user(controller: Controller, command: Command) -> None:
        seen.append((controller.machine.present.name, sorted(viewer.handles), sorted(viewer.buttons)))
        if controller.machine.present.name != "play":
            return
        since = command.time - controller.machine.entered
        if since < 0.01:
            viewer.handles["box"].callback(viewer.positions["box"] + np.array([0.0, 0.05, 0.03]))
        if since > 2.5:
            moved.append(controller.tasks["box"].position_error)
            viewer.buttons["put back"].callback()

    moved: list[float] = []
    run = Run(scenario, controller, Integrator(scenario), observers=[interaction, user], interactive=True)
    result = run.execute()
    assert result.succeeded
    assert moved[0] < 0.01  # the box has reached the handle
    for phase, handles, buttons in seen:
        assert handles == (["box"] if phase == "play" else [])
        assert buttons == (["put back"] if phase == "play" else [])
    interaction.clear()
    assert not viewer.handles and not viewer.buttons and not viewer.sliders


def test_unknown_target_is_refused() -> None:
    controller = Controller(load_scenario("box"))
    with pytest.raises(MultiQpError, match="unknown target in state 'stand' 'box'"):
        controller.set_target("box", np.zeros(3))


def test_invalid_input_is_logged_and_the_run_continues(caplog: pytest.LogCaptureFixture) -> None:
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    controller = Controller(scenario, dt=0.02)
    viewer = FakeViewer()
    interaction = Interaction(viewer)

    def user(controller: Controller, command: Command) -> None:
        if "box" in viewer.handles and "not changed" not in caplog.text:
            viewer.handles["box"].callback(np.full(3, np.nan))
        if "put back" in viewer.buttons:
            viewer.buttons["put back"].callback()

    run = Run(scenario, controller, Integrator(scenario), observers=[interaction, user], interactive=True)
    assert run.execute().succeeded
    assert "'box' was not changed: position of target 'box' must be finite" in caplog.text


def test_inputs_after_the_end_do_not_affect_the_next_run() -> None:
    scenario = load_scenario("funambulist")
    viewer = FakeViewer()
    interaction = Interaction(viewer)

    def run() -> None:
        controller = Controller(scenario, dt=0.02)
        Run(scenario, controller, Integrator(scenario), duration=0.04, observers=[interaction]).execute()

    run()
    viewer.sliders["left_weight [kg]"].callback(1.0)
    interaction.clear()
    run()
    assert not scenario.scene.loads.get_state().wanted


def test_a_walking_robot_follows_the_velocity_pad_and_stops() -> None:
    scenario = load_scenario("walk")
    viewer = FakeViewer()
    interaction = Interaction(viewer)
    controller = Controller(scenario)
    velocities = []

    def user(controller: Controller, command: Command) -> None:
        velocities.append(controller.generator("gait").velocity.velocity[0])
        if command.time < 1.0:
            viewer.pads["gait"].callback(0.3, 0.0, 0.0)
        elif command.time < 1.0 + controller.dt / 2:
            viewer.pads["gait"].callback(0.0, 0.0, 0.0)
        if command.time < 0.01:
            viewer.buttons["finish"].callback()  # pending until the robot stands

    run = Run(scenario, controller, Integrator(scenario), duration=1.6, observers=[interaction, user], interactive=True)
    log = run.execute().log
    assert viewer.limits == VelocityLimitsSpec(ahead=0.8, back=0.5, aside=0.3, turn=1.0)
    assert max(velocities) == pytest.approx(0.3) and velocities[-1] == 0.0  # not the schedule of the scenario
    assert 0.1 < log.q[-1, 0] - log.q[0, 0] < 0.4
    assert controller.machine.present.name == "walk"
    interaction.clear()
    assert not viewer.pads


def test_sliders_change_the_settings_of_generators() -> None:
    scenario = load_scenario("hold")
    controller = Controller(scenario)
    viewer = FakeViewer()
    interaction = Interaction(viewer)

    def user(controller: Controller, command: Command) -> None:
        if command.time < 0.01:
            viewer.sliders["arms: tension"].callback(0.75)

    run = Run(scenario, controller, Integrator(scenario), observers=[interaction, user], duration=0.3)
    run.execute()
    assert controller.generator("arms").tension == 0.75
    copy = Controller(scenario)
    copy.set_state(controller.get_state())
    assert copy.generator("arms").changed == {"tension": 0.75}
