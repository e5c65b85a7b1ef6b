"""Pushes of 0.1 s at the chest of the humanoid: standing becomes stepping, and standing again."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_simulator.mujoco_world import MujocoBackend
from multi_qp_simulator.runner import Run, make_controller
from walking.gait_state import Walk

#: 1.5 times the largest push that planted feet survive, 2.5 times ahead and back [N]; by direction, in steps of 45°.
STANDING = (318, 268.5, 243, 262.5, 310, 262.5, 243, 268.5)


class Outcome(NamedTuple):
    """Height of the base [m], its tilt and largest change of a joint since before the pushes [rad]; gait at the end."""

    height: float
    tilt: float
    changed: float
    walk: Walk

    @property
    def is_upright(self) -> bool:
        return self.height > 0.63 and self.tilt < 0.1

    @property
    def stands_as_before(self) -> bool:
        return self.is_upright and self.changed < 0.05 and self.walk.phase == "stand"


def pushed(force, direction, *, velocity=(0.0, 0.0, 0.0), at=(2.0,), seconds=5.0):
    """Return the outcome of pushes; the velocity is commanded from 0.5 s on."""
    scenario, angle, ticks = load_scenario("walk"), math.radians(direction), iter(range(10**6))
    to = (math.cos(angle), math.sin(angle), 0)
    pushes = [PushSpec(link="humanoid/torso", direction=to, force=force, at=time) for time in at]
    world = MujocoBackend(scenario, scenario.spec.mismatch.model_copy(update={"pushes": pushes}))
    controller = make_controller(scenario, "mujoco")
    gait = controller.generator("gait")

    before = None

    def pad(*_):
        nonlocal before
        if before is None and world.time >= at[0] - 0.01:
            before = world.state.q.copy()
        gait.command(*(velocity if next(ticks) * controller.dt > 0.5 else (0.0, 0.0, 0.0)))

    run = Run(scenario, controller, world, backend_name="mujoco", duration=seconds, observers=[pad])
    result = run.execute()
    assert result.report["sim_time"] >= seconds - 0.02, result.report["ended"]
    q = world.state.q
    # e_z of the base, from its quaternion (x, y, z, w)
    tilt = math.acos(1.0 - 2.0 * (q[3] ** 2 + q[4] ** 2))
    return Outcome(q[2], tilt, float(np.abs(q[7:] - before[7:]).max()), gait.stepper.walk)


def test_a_weak_push_needs_no_step():
    found = pushed(60.0, 0.0, seconds=3.0)
    assert found.stands_as_before and found.walk.steps == 0


def test_no_task_of_the_gait_is_given_up_while_a_qp_has_no_solution():
    generator = make_controller(load_scenario("walk"), "mujoco").generator("gait")
    assert {name for name, spec in generator.tasks.items() if spec.importance is not None} == set()


@pytest.mark.parametrize("direction", [0.0, pytest.param(180.0, marks=pytest.mark.slow)])
def test_a_push_beyond_planted_feet_makes_it_step_and_stand_again(direction):
    found = pushed(300.0, direction, seconds=4.5)
    assert found.stands_as_before and 1 <= found.walk.steps <= 6


@pytest.mark.slow
@pytest.mark.parametrize("sector", range(8))
def test_standing_it_survives_half_as_much_again_as_planted_feet(sector):
    found = pushed(STANDING[sector], 45.0 * sector)
    assert found.stands_as_before and found.walk.steps > 0


@pytest.mark.slow
@pytest.mark.parametrize("sector", range(8))
def test_it_survives_three_pushes_in_a_row(sector):
    found = pushed(200.0, 45.0 * sector, at=(2.0, 3.5, 5.0), seconds=8.0)
    assert found.stands_as_before and found.walk.steps > 2


@pytest.mark.slow
@pytest.mark.parametrize("direction", [0.0, 90.0, 180.0, 270.0])
@pytest.mark.parametrize("at", [3.0, 3.24, 3.48, 3.72])
def test_walking_it_survives_a_push(direction, at):
    assert pushed(100.0, direction, velocity=(0.3, 0.0, 0.0), at=(at,), seconds=6.0).is_upright


@pytest.mark.slow
def test_walking_it_survives_30_of_32_pushes_of_150_newtons():
    survived = 0
    for direction in range(0, 360, 45):
        for at in (3.0, 3.24, 3.48, 3.72):
            try:
                survived += pushed(150.0, direction, velocity=(0.3, 0.0, 0.0), at=(at,), seconds=6.0).is_upright
            except AssertionError:  # the run ended early: it fell
                continue
    assert survived >= 30
