"""The humanoid walks over blocks that its model does not contain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.robustness import RANDOMISED
from multi_qp_simulator.runner import run_scenario


def test_the_first_steps_onto_blocks():
    scenario = load_scenario("walk_uneven")
    log = run_scenario(scenario, backend="mujoco", duration=4.0).log
    scene = scenario.scene
    kinematics, lowest, highest = Kinematics(scene), 0.1, 0.1
    sole = scene.surfaces["humanoid/left_mid_sole"].frame_id
    stands = log.contact_active[:, list(log.contact_names).index("left_foot")]
    for q in log.q[stands][::20]:
        kinematics.update(State(q, log.v[0]))
        height = float(kinematics.pose(sole).translation[2])
        lowest, highest = min(lowest, height), max(highest, height)
    assert highest - lowest > 0.01
    assert log.q[-1, 0] > log.q[0, 0] + 0.05 and log.q[-1, 2] > 0.65


def test_the_controller_has_level_ground_only():
    scenario = load_scenario("walk_uneven", parameters={"blocks.across": 2})
    assert set(scenario.controlled.scene.environment) == {"start"}
    assert len(scenario.scene.environment) == 10


@pytest.mark.slow
def test_it_crosses_the_blocks_under_mismatch():
    crossed = 0
    for seed in range(10):
        scenario = load_scenario("walk_uneven", seed=seed)
        scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": RANDOMISED}))
        crossed += run_scenario(scenario, backend="mujoco").succeeded
    assert crossed >= 9
