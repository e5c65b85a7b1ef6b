"""The funambulist scene: walk on a beam with a bar of variable weights, at random and by a user."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller import Command, Controller
from multi_qp_controller.contacts.support_polygon import distance_inside, support_polygon
from multi_qp_controller.dynamics.kinematics import Group
from multi_qp_scene import load_scenario
from multi_qp_scene.schema.tasks import PoseTaskSpec
from multi_qp_simulator import Integrator, Run, RunResult
from multi_qp_simulator.runner import run_scenario

SECURITY = 0.012  # minimum distance of the legs [m]


@cache
def short_walk() -> RunResult:
    """Two steps, at twice the paper's time step."""
    return run_scenario(load_scenario("funambulist", parameters={"funambulist.steps": 2}), dt=0.01)


class WeighingUser:
    """Switches the weights between their limits periodically, then continues the run."""

    def __init__(self, *, every: int, jumps: int) -> None:
        self._every, self._jumps = every, jumps
        self._random = np.random.default_rng(0)
        self._ticks = 0
        self.least_margin = np.inf
        self.masses: list[tuple[float, ...]] = []

    def __call__(self, controller: Controller, command: Command) -> None:
        scene = controller.scenario.scene
        feet = [scene.surfaces[f"humanoid/{side}_sole"] for side in ("left", "right")]
        com = Group.of(scene, ["humanoid", "barbell"]).com(controller.kinematics)
        margin = distance_inside(support_polygon(controller.kinematics, feet), com)
        self.least_margin = min(self.least_margin, margin)
        self.masses.append(tuple(scene.loads.masses.values()))
        if self._ticks % self._every == 0:
            first = self._ticks // self._every < 4
            left, right = ((5.0, 0.5), (0.5, 5.0))[self._ticks // self._every % 2]
            scene.loads.set_mass("left_weight", left if first else self._random.choice([0.5, 5.0]))
            scene.loads.set_mass("right_weight", right if first else self._random.choice([0.5, 5.0]))
            self._jumps -= 1
        self._ticks += 1
        if self._jumps == 0:
            controller.command("finish")


def assert_walked(result: RunResult, assert_sound: Callable[..., None]) -> None:
    goals = result.report["goals"]
    assert result.succeeded, (result.report["ended"], goals)
    assert_sound(result, slip=1e-3)
    assert goals["balanced"]["value"] > 0.01
    assert goals["legs_apart"]["value"] > SECURITY - 1e-3


def test_hands_enclose_the_bar_and_feet_stand_in_tandem_from_the_start() -> None:
    scene = load_scenario("funambulist").scene
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for side in ("left", "right"):
        handle, grip = (data.oMf[scene.frame_id(name)] for name in (f"barbell/{side}_handle", f"humanoid/{side}_grip"))
        gap = handle.actInv(grip)
        assert np.linalg.norm(gap.translation) < 1e-4
        assert np.linalg.norm(gap.rotation[1:, 0]) < 1e-4
    left, right = (data.oMf[scene.frame_id(f"humanoid/{side}_sole")] for side in ("left", "right"))
    np.testing.assert_allclose(left.translation - right.translation, [0.28, 0.0, 0.0], atol=1e-4)
    np.testing.assert_allclose([left.rotation[2, 2], right.rotation[2, 2]], -1.0, atol=1e-6)


def test_sizes_are_those_of_the_paper() -> None:
    report = short_walk().report
    assert report["dofs"] == 42 and report["actuated_dofs"] == 30
    assert report["planar_contact_points"] == 8 and report["grasp_contact_points"] == 8
    assert report["collision_pairs"] == 7
    assert report["qp"]["variables"] == 136 and report["qp"]["equalities"] == 90


def test_walks_two_steps_in_balance(assert_sound: Callable[..., None]) -> None:
    result = short_walk()
    assert_walked(result, assert_sound)
    assert np.ptp(result.log.load_mass, axis=0).min() > 1.0  # both weights did change


def test_the_foot_avoids_the_other_leg_without_a_task() -> None:
    spec = load_scenario("funambulist").spec
    for side in ("left", "right"):
        tasks = spec.states[f"swing_{side}"].tasks.values()
        foot = [task for task in tasks if isinstance(task, PoseTaskSpec) and task.frame == f"humanoid/{side}_sole"]
        assert foot and not any("y" in task.axes for task in foot)


def test_without_avoidance_the_legs_would_have_hit() -> None:
    scenario = load_scenario("funambulist", parameters={"avoidance": 0})
    result = run_scenario(scenario, dt=0.01, duration=2.5)
    assert result.report["qp_failures"] == 0
    assert result.report["goals"]["legs_apart"]["value"] < -0.02


def test_steps_of_the_weights_by_a_user_do_not_disturb_the_balance(assert_sound: Callable[..., None]) -> None:
    scenario = load_scenario("funambulist")
    controller = Controller(scenario, dt=0.01)
    controller.machine.enter("weigh", 0.0)
    user = WeighingUser(every=50, jumps=7)
    result = Run(scenario, controller, Integrator(scenario), observers=[user], interactive=True).execute()
    assert_sound(result, slip=1e-3)
    assert result.report["goals"]["done"]["reached"]
    assert user.least_margin > 0.02
    rates = np.abs(np.diff(np.array(user.masses), axis=0)) / 0.01
    assert rates.max() <= 3.0 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.0025, 0.005, 0.01])
def test_walks_at_every_time_step(dt: float, assert_sound: Callable[..., None]) -> None:
    assert_walked(run_scenario(load_scenario("funambulist"), dt=dt), assert_sound)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_walks_with_other_masses_and_weights(seed: int, assert_sound: Callable[..., None]) -> None:
    lighter, heavier = np.random.default_rng(seed).uniform(0.9, 1.1, 2)
    masses = {"humanoid.mass": 39.0 * lighter, "barbell.mass": 2.0 * heavier}
    assert_walked(run_scenario(load_scenario("funambulist", parameters=masses, seed=seed)), assert_sound)
