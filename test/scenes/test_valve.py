"""The valve: constant speed for a full turn and more, at several speeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import RunResult, run_scenario


def run_valve(dt: float = 0.01, **parameters: float) -> RunResult:
    """Run it; names of parameters have `_` for `.`."""
    scenario = load_scenario("valve", parameters={k.replace("_", "."): v for k, v in parameters.items()})
    return run_scenario(scenario, dt=dt)


def test_a_full_turn_at_the_given_speed(assert_good: Callable[..., None]) -> None:
    result = run_valve()
    assert_good(result)
    log, report = result.log, result.report
    assert (report["dofs"], report["qp"]["variables"], report["qp"]["equalities"]) == (38, 116, 74)
    names = list(log.joint_names)
    # q and v end with the valve's two joints, one entry each
    assert names[-2:] == ["valve/stem", "valve/spin"]
    turning = log.state == "turn"
    angle, speed = log.q[turning, -2], log.v[turning, -2]
    since = log.time[turning] - log.time[turning][0]
    assert np.abs(speed[since > 1.0] - 1.0).max() < 0.05
    assert angle[-1] - angle[0] > 2 * np.pi - 0.02
    # the hand need not rotate with the wheel: the grip rotates relative to it
    assert log.q[turning, -1][-1] < -np.pi


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "turns"), [(0.5, 0.5), (2.0, 2.0), (1.0, 3.0)])
def test_other_speeds_and_several_turns(speed: float, turns: float, assert_good: Callable[..., None]) -> None:
    assert_good(run_valve(valve_speed=speed, valve_turns=turns))


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.0025, 0.005])
def test_smaller_steps_end_the_same(dt: float, assert_good: Callable[..., None]) -> None:
    assert_good(run_valve(dt))


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_other_masses(factor: float, assert_good: Callable[..., None]) -> None:
    assert_good(run_valve(humanoid_mass=39.0 / factor, valve_mass=4.25 * factor))
