"""The interactive phase of the box scene, driven by the Python API as by the viewer."""

from __future__ import annotations

import numpy as np

from multi_qp_controller import Command, Controller
from multi_qp_controller.contacts.support_polygon import distance_inside, support_polygon
from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_scene import load_scenario
from multi_qp_simulator import Integrator, Run


class WildUser:
    """Moves the box's target randomly by a metre and more, then continues the run."""

    def __init__(self, *, moves: int) -> None:
        self._random = np.random.default_rng(1)
        self._moves = moves
        self._ticks = 0
        self.least_margin = np.inf

    def __call__(self, controller: Controller, command: Command) -> None:
        if controller.machine.present.name != "play":
            return
        if self._ticks % 60 == 0:
            controller.set_target("box", np.array([0.4, 0.0, 1.0]) + self._random.uniform(-1.5, 1.5, 3))
            self._moves -= 1
        self._ticks += 1
        feet = [c.first for c in controller.contacts.values() if c.second.joint_id == 0]
        polygon = support_polygon(controller.kinematics, feet)
        com = Group.of(controller.scenario.scene, ["humanoid", "box"]).com(controller.kinematics)
        self.least_margin = min(self.least_margin, distance_inside(polygon, com))
        if self._moves == 0:
            controller.command("put_back")


def test_random_targets_leave_the_scene_balanced_and_the_qp_feasible() -> None:
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    controller = Controller(scenario, dt=0.01)
    user = WildUser(moves=12)
    result = Run(scenario, controller, Integrator(scenario), observers=[user], interactive=True).execute()
    assert result.report["qp_failures"] == 0
    assert user.least_margin > 0.0
    assert result.report["worst"]["penetration_m"] == 0.0
    assert result.report["worst"]["contact_slip_m"] < 1e-3
    assert result.succeeded


def test_a_target_with_nan_is_refused_and_changes_nothing() -> None:
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    controller = Controller(scenario, dt=0.01)
    refused = []

    def user(controller: Controller, command: Command) -> None:
        if "box" not in controller.targets:
            return
        try:
            controller.set_target("box", np.array([np.nan, 0.0, 1.0]))
        except ValueError:
            refused.append(command.time)
        controller.command("put_back")

    result = Run(scenario, controller, Integrator(scenario), observers=[user], interactive=True).execute()
    assert refused
    assert result.succeeded


def test_the_phase_is_skipped_in_headless_runs() -> None:
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    controller = Controller(scenario, dt=0.02)
    result = Run(scenario, controller, Integrator(scenario)).execute()
    visited = result.report["states_visited"]
    assert visited[visited.index("play") + 1] == "back"
    assert result.succeeded
