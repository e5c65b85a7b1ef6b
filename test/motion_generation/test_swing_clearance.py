"""Swings over the edges of stairs, and ways of hands around a table."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from motion_generation.planning import carried_out, goals_of, joined, joined_postures, make_planner, ways_around
from motion_generation.swing_clearance import SwingClearance, around, direct
from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario

FOOT = (0.105, -0.105)  # front and back of the sole from its frame [m]
SOLE = np.diag([1.0, -1.0, -1.0])


def height_of_stairs(x):
    """Return the height of the stairs of the scene `stairs` at a distance ahead [m]."""
    return 0.1 * min(max(np.floor((x - 0.35) / 0.3) + 1, 0), 5)


def lowest_clearance(positions):
    """Return the least height of the sole above the stairs along a path, at toe and heel [m]."""
    return min(p[2] - height_of_stairs(p[0] + offset) for p in positions for offset in np.linspace(*FOOT, 20))


def test_swing_over_stairs_is_raised_until_it_is_free():
    clearance = SwingClearance(load_scenario("stairs").scene)
    start = pin.SE3(SOLE, np.array([0.22, -0.1, 0.0]))  # the toe is 25 mm before the first step
    end = pin.SE3(SOLE, np.array([0.77, -0.1, 0.23]))
    assert lowest_clearance(direct(start, end, 0.08)) < -0.01
    via = clearance.raised("humanoid/right_sole", start, end, 0.08)
    assert via is not None
    assert lowest_clearance(around(start, end, via)) > -1e-9


def test_swing_on_level_ground_is_direct():
    clearance = SwingClearance(load_scenario("stairs").scene)
    start, end = (pin.SE3(SOLE, np.array([x, -0.1, z])) for x, z in ((-0.6, 0.0), (-0.2, 0.03)))
    assert clearance.raised("humanoid/right_sole", start, end, 0.08) is None


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    path = Path(__file__).parents[2] / "benchmarks" / "planned_scenes.py"
    specification = importlib.util.spec_from_file_location("planned_scenes", path)
    sys.modules["planned_scenes"] = module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("scenes")
    module.write_scenes(folder)
    return module, folder


@pytest.mark.slow
def test_hand_goes_around_the_edge_of_a_table(scenes):
    scenario = load_scenario(str(scenes[1] / "table.yaml"))
    plan = make_planner(scenario).plan(goals_of(scenario))
    sequence, postures = joined(plan.sequence), joined_postures(plan.sequence, plan.postures)
    ways = ways_around(scenario, sequence, postures)
    assert 0 in ways
    report = run_scenario(carried_out(scenario, plan)).report
    assert report["goals"]["arrived"]["reached"] and report["health"]["problems"] == []
    assert not [touch for touch in report["touches"] if touch["overlap_m"] > 2e-3]


def test_a_forearm_is_withdrawn_from_the_edge_of_a_table(scenes):
    """With seed 13 every release of the hand collided there, until the budget was used up."""
    scenario = load_scenario(str(scenes[1] / "table.yaml"), seed=13)
    plan = make_planner(scenario).plan(goals_of(scenario))
    assert plan.complete, plan.reason


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("table", 3), ("table", 6), ("ramp", 3), ("stones", 3), ("slope_30", 9)])
def test_plans_of_randomised_scenes_are_executed(scenes, name, seed):
    """With seed 9 of slope_30 the curve at rest passed half a metre from the postures."""
    module, folder = scenes
    assert module.execute(module.plan(folder, name, seed), "mujoco").failure == ""
