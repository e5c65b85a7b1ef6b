"""The acrobats: the stances are geometrically sound, the climbs, the steps and the user's phase happen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from multi_qp_controller import Command, Controller
from multi_qp_controller.contacts.support_polygon import distance_inside, support_polygon
from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_scene import load_scenario
from multi_qp_simulator import Integrator, Run
from multi_qp_simulator.runner import run_scenario

#: Half the outline of the humanoid's shoe, (x, y) [m].
HALF_SHOE = np.array([0.1175, 0.0575])
#: Supports of each character of the tower.
LEVELS = {
    "top": (["top"], ["top_left", "top_right"]),
    "middle": (["middle", "top"], ["middle_left", "middle_right"]),
    "bottom": (["bottom", "middle", "top"], ["bottom_left", "bottom_right"]),
}

#: States in which the tower stands.
TOWER_STATES = ("right_leans", "left_leans", "centre", "shake_left", "shake_right", "done")


class Watcher:
    """Records the least margin of every level in some states, and the largest acceleration change between ticks."""

    def __init__(self, *states: str) -> None:
        self._states = states
        self._last: np.ndarray | None = None
        self._phase = ""
        self.least_margin = dict.fromkeys(LEVELS, np.inf)
        self.largest_jump = 0.0

    def __call__(self, controller: Controller, command: Command) -> None:
        phase = controller.machine.present.name
        if self._last is not None and phase == self._phase:
            self.largest_jump = max(self.largest_jump, float(np.abs(command.a - self._last).max()))
        self._last, self._phase = command.a.copy(), phase
        if phase not in self._states:
            return
        for level, (members, contacts) in LEVELS.items():
            polygon = support_polygon(controller.kinematics, [controller.contacts[name].first for name in contacts])
            com = Group.of(controller.scenario.scene, members).com(controller.kinematics)
            self.least_margin[level] = min(self.least_margin[level], distance_inside(polygon, com))


class WildUser(Watcher):
    """Moves the target of the top's centre of mass randomly by more than a metre; then continues the run."""

    def __init__(self, *, ticks: int, every: int, reach: float) -> None:
        super().__init__("play")
        self._random = np.random.default_rng(1)
        self._left, self._every, self._reach = ticks, every, reach
        self._home: np.ndarray | None = None
        self.farthest = np.zeros(3)

    def __call__(self, controller: Controller, command: Command) -> None:
        super().__call__(controller, command)
        if controller.machine.present.name != "play":
            return
        com = Group.of(controller.scenario.scene, ["top"]).com(controller.kinematics)
        self._home = com if self._home is None else self._home
        self.farthest = np.maximum(self.farthest, np.abs(com - self._home))
        if self._left % self._every == 0:
            controller.set_target("top_com", self._home + self._random.uniform(-self._reach, self._reach, 3))
        self._left -= 1
        if self._left == 0:
            controller.command("finish")


def test_the_first_foot_lies_wholly_over_the_contact_points_on_the_shoulder(assert_sound: Callable[..., None]) -> None:
    scenario = load_scenario("acrobats")
    controller = Controller(scenario)
    result = Run(scenario, controller, Integrator(scenario), duration=4.2).execute()
    report = result.report
    assert report["states_visited"][-1] == "top_crosses"
    assert report["qp_failures"] == 0
    assert_sound(result)
    contact = controller.contacts["top_right"]
    first, second = (controller.kinematics.pose(one.frame_id) for one in (contact.first, contact.second))
    on_sole = [second.actInv(first.act(point)) for point in contact.first.points]
    assert (np.abs(np.array(on_sole)[:, :2]) <= HALF_SHOE).all()
    assert np.abs(np.array(on_sole)[:, 2]).max() < 1e-3


def test_only_the_bottom_has_practically_no_torque_limits() -> None:
    scene = load_scenario("acrobats").scene
    limits = dict(zip(scene.actuated_joint_names, scene.torque_limits, strict=True))
    assert {limit for name, limit in limits.items() if name.startswith("bottom/")} == {2000.0}
    assert limits["middle/L_KNEE_P"] == limits["top/L_KNEE_P"] == 300.0


def assert_built_walked_and_shaken(report: dict[str, Any], watcher: Watcher) -> None:
    size = (report["qp"]["variables"], report["qp"]["equalities"])
    assert size == (294, 180)
    counts = ("dofs", "actuated_dofs", "planar_contact_points", "grasp_contact_points", "collision_pairs")
    assert [report[key] for key in counts] == [108, 90, 24, 0, 6]
    visited = report["states_visited"]
    phases = ["top_rises", "middle_rises", "right_step", "left_step", "shake_left", "shake_right", "play", "done"]
    assert [state for state in visited if state in phases] == phases
    assert min(watcher.least_margin.values()) > 0.01


def test_all_four_phases_are_completed_with_random_user_targets(assert_good: Callable[..., None]) -> None:
    """At twice the paper's time step, with random targets of the top's centre of mass for 3 s."""
    scenario = load_scenario("acrobats")
    watcher, user = Watcher(*TOWER_STATES), WildUser(ticks=150, every=35, reach=1.5)
    controller = Controller(scenario, dt=0.02)
    run = Run(scenario, controller, Integrator(scenario), observers=[watcher, user], interactive=True)
    result = run.execute()
    assert_good(result, slip=2e-3)
    assert_built_walked_and_shaken(result.report, watcher)
    assert min(user.least_margin.values()) > 0.0
    assert user.farthest.max() > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.005, 0.01])
def test_all_four_phases_happen(dt: float, assert_good: Callable[..., None]) -> None:
    watcher = Watcher(*TOWER_STATES)
    result = run_scenario(load_scenario("acrobats"), dt=dt, observers=[watcher])
    assert_good(result, slip=2e-3)
    assert_built_walked_and_shaken(result.report, watcher)
    assert watcher.largest_jump < 20.0


@pytest.mark.slow
@pytest.mark.parametrize(("every", "reach"), [(70, 1.5), (1, 1.0), (350, 1e6)])
def test_random_targets_leave_the_tower_standing_and_the_qp_feasible(
    every: int, reach: float, assert_sound: Callable[..., None]
) -> None:
    scenario = load_scenario("acrobats")
    user = WildUser(ticks=700, every=every, reach=reach)
    result = Run(scenario, Controller(scenario), Integrator(scenario), observers=[user], interactive=True).execute()
    assert result.report["qp_failures"] == 0
    assert_sound(result)
    assert min(user.least_margin.values()) > 0.0
    assert every == 1 or user.farthest.max() > 0.02
    assert result.succeeded
