"""The humanoid walks up and down stairs that it knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_simulator.robustness import RANDOMISED
from multi_qp_simulator.runner import make_controller, run_scenario

TREADS = [f"up_{k}" for k in range(1, 5)] + ["landing"] + [f"down_{k}" for k in range(4, 0, -1)]


def feet_on(log):
    """Return the surfaces that a foot stood on, in the order of the first time."""
    active = log.contact_active
    names = [name.partition("_")[2] for name in log.contact_names]
    order = sorted((int(np.argmax(active[:, k])), name) for k, name in enumerate(names) if active[:, k].any())
    return list(dict.fromkeys(name for _, name in order))


def checked(report):
    assert report["qp_failures"] == 0 and report["relaxed_ticks"] == 0
    assert report["worst"]["contact_slip_m"] < 3e-3 and report["worst"]["torque_ratio"] <= 1.0 + 1e-9


def test_the_first_steps_in_mujoco():
    result = run_scenario(load_scenario("walk_stairs"), backend="mujoco", duration=3.8)
    checked(result.report)
    assert feet_on(result.log) == ["foot", "up_1", "up_2", "up_3"]
    base = result.log.q[:, :3]
    assert base[-1, 2] > base[0, 2] + 0.2


@pytest.mark.slow
def test_it_walks_up_and_down_in_the_integrator():
    result = run_scenario(load_scenario("walk_stairs"), backend="integrator")
    assert result.succeeded, result.report["goals"]
    assert feet_on(result.log) == ["foot", *TREADS]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_it_walks_up_and_down_under_mismatch(seed):
    scenario = load_scenario("walk_stairs", seed=seed)
    scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": RANDOMISED}))
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded, (result.report["goals"], result.report["problems"])
    checked(result.report)
    assert feet_on(result.log) == ["foot", *TREADS]


def test_treads_are_level_surfaces_of_the_environment():
    scenario = load_scenario("walk_stairs")
    contacts = dict(scenario.spec.contacts)
    contacts["left_up_1"] = contacts["left_up_1"].model_copy(update={"surfaces": ("humanoid/left_sole", "up_1/front")})
    contacts["right_up_1"] = contacts["right_up_1"].model_copy(
        update={"surfaces": ("humanoid/right_sole", "up_1/front")}
    )
    wrong = replace(scenario, spec=scenario.spec.model_copy(update={"contacts": contacts}))
    with pytest.raises(MultiQpError, match="'up_1/front' must be a level planar surface"):
        make_controller(wrong, "mujoco")


def test_all_feet_have_the_same_treads():
    scenario = load_scenario("walk_stairs")
    states = dict(scenario.spec.states)
    gait = states["walk"].generators["gait"]
    treads = {**gait.treads, "right_foot": gait.treads["right_foot"][1:]}
    generators = {"gait": gait.model_copy(update={"treads": treads})}
    states["walk"] = states["walk"].model_copy(update={"generators": generators})
    wrong = replace(scenario, spec=scenario.spec.model_copy(update={"states": states}))
    with pytest.raises(MultiQpError, match="same surfaces as those of 'left_foot'"):
        make_controller(wrong, "mujoco")
