"""The sword scene: a swordsman strikes, the opponent dodges."""

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
from multi_qp_simulator import Integrator, Run, RunResult
from multi_qp_simulator.runner import run_scenario

#: Well within reach of each other: the swordsman's user aims here [m].
BETWEEN = np.array([0.4, 0.0, 1.0])


@cache
def scripted_run() -> RunResult:
    return run_scenario(load_scenario("sword"))


def strike_without_avoidance() -> RunResult:
    return run_scenario(load_scenario("sword", parameters={"avoidance": 0}), duration=2.6)


class WildUser:
    """Moves the sword's target periodically to random poses within a distance [m]; finally commands `end`."""

    def __init__(self, *, every: int, reach: float, moves: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._every, self._reach, self._moves = every, reach, moves
        self._ticks = 0
        self.least_margins = np.array([np.inf, np.inf])

    def __call__(self, controller: Controller, command: Command) -> None:
        margins = [margin(controller, group, group[0]) for group in (["opponent"], ["swordsman", "sword"])]
        self.least_margins = np.minimum(self.least_margins, margins)
        if controller.machine.present.name != "play":
            return
        if self._ticks % self._every == 0:
            place = BETWEEN + self._reach * self._random.uniform(-1.0, 1.0, 3)
            controller.set_target("sword", place, pin.rpy.rpyToMatrix(*self._random.uniform(-3.0, 3.0, 3)))
            self._moves -= 1
        self._ticks += 1
        if self._moves == 0:
            controller.command("end")


def margin(controller: Controller, group: list[str], standing: str) -> float:
    """Return how far inside its feet's polygon a centre of mass is [m]."""
    surfaces = controller.scenario.scene.surfaces
    feet = [surfaces[f"{standing}/{side}_sole"] for side in ("left", "right")]
    polygon = support_polygon(controller.kinematics, feet)
    return distance_inside(polygon, Group.of(controller.scenario.scene, group).com(controller.kinematics))


def played(user: WildUser, *, dt: float = 0.01) -> RunResult:
    """Run the user's phase alone, from the guard."""
    scenario = load_scenario("sword")
    controller = Controller(scenario, dt=dt)
    controller.machine.enter("play", 0.0)
    return Run(scenario, controller, Integrator(scenario), observers=[user], interactive=True).execute()


def test_hands_are_on_the_hilt_from_the_start() -> None:
    scene = load_scenario("sword").scene
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for hand, handle in (("swordsman/right_grip", "sword/upper_grip"), ("swordsman/left_grip", "sword/lower_grip")):
        gap = data.oMf[scene.frame_id(handle)].actInv(data.oMf[scene.frame_id(hand)])
        assert np.linalg.norm(gap.translation) < 1e-4
        np.testing.assert_allclose(gap.rotation[:, 0], [1.0, 0.0, 0.0], atol=1e-4)


def test_sizes_are_those_of_the_paper() -> None:
    report = scripted_run().report
    assert report["dofs"] == 78 and report["actuated_dofs"] == 60
    assert report["planar_contact_points"] == 16 and report["grasp_contact_points"] == 8
    assert report["collision_pairs"] == 33
    assert report["qp"]["variables"] == 234 and report["qp"]["equalities"] == 150


def test_the_33_pairs_of_the_paper_protect_both_men() -> None:
    pairs = {frozenset(pair.links) for pair in Controller(load_scenario("sword")).collisions.watched}
    owners = [sorted({link.split("/")[0] for link in links}) for links in pairs]
    assert owners.count(["sword", "swordsman"]) == 3
    assert owners.count(["swordsman"]) == 2
    assert owners.count(["opponent", "sword"]) == 19
    assert owners.count(["opponent"]) == 9


def test_the_blade_never_touches(assert_sound: Callable[..., None]) -> None:
    result = scripted_run()
    assert result.succeeded
    assert_sound(result)
    assert result.report["goals"]["blade_never_touches"]["value"] > 0.03
    assert result.report["states_visited"][1:5] == ["torso", "back", "shoulder", "recover"]


def test_the_sword_tracks_its_reference() -> None:
    goals = scripted_run().report["goals"]
    assert goals["torso_strike_position"]["value"] < 5e-3
    assert goals["shoulder_strike_position"]["value"] < 5e-3


def test_the_dodge_is_smooth() -> None:
    acceleration = scripted_run().log.a
    assert np.abs(np.diff(acceleration, axis=0)).max() < 80.0


def test_without_avoidance_the_blade_would_have_hit() -> None:
    result = strike_without_avoidance()
    assert result.report["qp_failures"] == 0
    assert result.report["collision_pairs"] == 33
    clearance = result.report["goals"]["blade_never_touches"]
    assert clearance["value"] < -0.05
    assert not clearance["reached"]


def test_random_targets_leave_both_balanced_and_the_qp_feasible(assert_sound: Callable[..., None]) -> None:
    user = WildUser(every=60, reach=1.5, moves=5, seed=0)
    result = played(user)
    goals = result.report["goals"]
    assert_sound(result)
    assert user.least_margins.min() > 0.0
    assert result.report["states_visited"][-1] == "done"
    assert goals["blade_never_touches"]["reached"]
    # each is evaluated over its own feet
    assert goals["opponent_balanced"]["value"] == pytest.approx(user.least_margins[0])
    assert goals["swordsman_balanced"]["value"] == pytest.approx(user.least_margins[1])


def test_a_target_that_changes_at_every_tick(assert_sound: Callable[..., None]) -> None:
    user = WildUser(every=1, reach=10.0, moves=100, seed=1)
    assert_sound(played(user))
    assert user.least_margins.min() > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_targets_in_a_long_run(seed: int, assert_sound: Callable[..., None]) -> None:
    user = WildUser(every=(80, 20, 5)[seed % 3], reach=(1.5, 20.0)[seed % 2], moves=(20, 80, 320)[seed % 3], seed=seed)
    assert_sound(played(user))
    assert user.least_margins.min() > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.005, 0.02])
def test_half_and_twice_the_time_step(dt: float, assert_sound: Callable[..., None]) -> None:
    result = run_scenario(load_scenario("sword"), dt=dt)
    assert result.succeeded
    assert_sound(result)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_other_masses(seed: int, assert_sound: Callable[..., None]) -> None:
    factors = np.random.default_rng(seed).uniform(0.9, 1.1, 3)
    names = ("swordsman.mass", "opponent.mass", "sword.mass")
    masses = dict(zip(names, factors * [39.0, 39.0, 1.5], strict=True))
    result = run_scenario(load_scenario("sword", parameters=masses))
    assert result.succeeded
    assert_sound(result)


@pytest.mark.slow
@pytest.mark.parametrize("duration", [0.8, 2.0])
def test_fast_and_slow_strikes(duration: float, assert_sound: Callable[..., None]) -> None:
    result = run_scenario(load_scenario("sword", parameters={"strike.duration": duration}))
    assert result.succeeded
    assert_sound(result)
