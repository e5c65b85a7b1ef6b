"""The lever: held against its spring, its ball avoided; without avoidance the ball would have hit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.runner import RunResult, run_scenario

ONE_DEGREE = np.radians(1.0)


def run_lever(dt: float = 0.01, **parameters: float) -> tuple[Scenario, RunResult]:
    """Run it; names of parameters have `_` for `.`."""
    scenario = load_scenario("lever", parameters={k.replace("_", "."): v for k, v in parameters.items()})
    return scenario, run_scenario(scenario, dt=dt)


def moment_of_the_hand(scenario: Scenario, result: RunResult, tick: int) -> float:
    """Moment of the grasp's wrench about the lever's joint [N m]."""
    log, model = result.log, scenario.scene.model
    data = model.createData()
    pin.computeJointJacobians(model, data, log.q[tick])
    pin.updateFramePlacements(model, data)
    hand, grip = scenario.scene.frame_id("humanoid/right_grip"), scenario.scene.frame_id("lever/grip")
    on_hand = pin.Force(log.contact_wrench[tick, list(log.contact_names).index("grasp")])
    on_lever = -data.oMf[grip].actInv(data.oMf[hand].act(on_hand)).vector
    return float(pin.getFrameJacobian(model, data, grip, pin.LOCAL)[:, -1] @ on_lever)


def test_it_is_pulled_held_and_let_back(assert_good: Callable[..., None]) -> None:
    scenario, result = run_lever()
    assert_good(result)
    log = result.log
    holding = np.flatnonzero(log.state == "hold")
    assert log.time[holding[-1]] - log.time[holding[0]] > 1.95
    angle = log.q[holding, -1]
    assert np.abs(angle - 0.6).max() < ONE_DEGREE
    # what the hand holds is the spring, less the weight of the leaning lever
    passive = scenario.scene.passive
    spring = passive.resistance(log.q[holding[-1]], np.zeros(scenario.scene.nv))[0]
    weight = pin.computeGeneralizedGravity(scenario.scene.model, scenario.scene.model.createData(), log.q[holding[-1]])
    assert spring > 15.0
    assert moment_of_the_hand(scenario, result, int(holding[-1])) == pytest.approx(spring + weight[-1], abs=0.1)
    # it comes back gently
    returning = log.state == "return"
    assert np.abs(log.v[returning, -1]).max() < 0.6


def test_without_avoidance_the_ball_would_have_hit() -> None:
    _, result = run_lever(dt=0.02, avoidance=0)
    assert result.report["worst"]["penetration_m"] > 0.01
    assert not result.succeeded


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.0025, 0.005])
def test_smaller_steps_end_the_same(dt: float, assert_good: Callable[..., None]) -> None:
    assert_good(run_lever(dt)[1])


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_other_masses(factor: float, assert_good: Callable[..., None]) -> None:
    assert_good(run_lever(humanoid_mass=39.0 / factor, lever_mass=2.7 * factor)[1])
