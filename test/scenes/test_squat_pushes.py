"""Scene squat: pushes that planted feet cannot hold are recovered from by steps."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.runner import run_scenario


def pushed(degrees, *, backend):
    """Return the result with a push of 250 N, and the way of the base in its direction [m]."""
    scenario = load_scenario("squat")
    toward = (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0)
    push = PushSpec(link="humanoid/torso", direction=toward, force=250.0, duration=20 / 120, at=1.8)
    mismatch = scenario.spec.mismatch.model_copy(update={"pushes": [push]})
    scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch}))
    result = run_scenario(scenario, backend=backend)
    return result, (result.log.q[-1, :2] - result.log.q[0, :2]) @ toward[:2]


@pytest.mark.slow
@pytest.mark.parametrize("direction", [0, 90, 180, 270])
def test_pushes_of_250_newtons_are_recovered_from(direction):
    result, way = pushed(direction, backend="mujoco")
    assert result.log.state[-1] == "stand" and result.report["goals"]["upright"]["reached"]
    assert result.report["qp_failures"] <= 3
    assert 0.1 < way < 1.5  # several steps in the direction of the push


@pytest.mark.slow
@pytest.mark.parametrize("direction", [90, 270])
def test_pushes_aside_are_recovered_from_in_the_integrator_where_feet_land_at_the_modelled_ground(direction):
    result, way = pushed(direction, backend="integrator")
    assert result.succeeded
    assert 0.5 < way < 1.5
