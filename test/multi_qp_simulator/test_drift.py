"""Drift of planted feet: while standing, and while a user moves targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.mujoco_world import MujocoBackend
from multi_qp_simulator.robustness import RANDOMISED
from multi_qp_simulator.runner import make_controller

#: Scenes with an interactive phase: the state, the target, the range of its motion [m].
PHASES = {
    "box": ("play", "box", (0.04, 0.08, 0.06)),
    "sword": ("play", "sword", (0.05, 0.08, 0.06)),
    "acrobats": ("play", "top_com", (0.02, 0.03, 0.02)),
    "king": ("user", "hand", (0.08, 0.08, 0.08)),
}


def randomised(scenario):
    return replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": RANDOMISED}))


def planted(controller):
    """Return the position of each planted sole relative to what it stands on, since a shoulder moves, (k, 3) [m]."""
    kinematics = controller.kinematics
    soles = [c for c in controller.contacts.values() if "_sole" in c.first.name + c.second.name]
    return np.array(
        [kinematics.pose(c.second.frame_id).actInv(kinematics.pose(c.first.frame_id)).translation for c in soles]
    )


def furthest(start, end):
    return float(np.linalg.norm(end - start, axis=1).max())


def drift_while_standing(seconds):
    scenario = randomised(load_scenario("stand", parameters={"stand.duration": seconds}))
    controller, backend = make_controller(scenario, "mujoco"), MujocoBackend(scenario)
    start = None
    for tick in range(round(seconds / controller.dt)):
        backend.step(controller.step(backend.measure(), tick * controller.dt), controller.dt)
        if tick == 20:  # the soles are at rest on the floor
            start = planted(controller)
    return furthest(start, planted(controller))


def drift_in_interaction(name, seconds):
    """Return the largest drift of a sole over a phase in which the target jumps at random every two seconds [m]."""
    scenario = randomised(load_scenario(name))
    state, target, reach = PHASES[name]
    controller, backend = make_controller(scenario, "mujoco"), MujocoBackend(scenario)
    controller.interactive = True
    random, tick, began, start, centre = np.random.default_rng(0), 0, None, None, None
    while began is None or (tick - began) * controller.dt < seconds:
        backend.step(controller.step(backend.measure(), tick * controller.dt), controller.dt)
        if began is None and controller.machine.present.name == state:
            began, start = tick, planted(controller)
            centre = controller.targets[target].target(controller.kinematics).position
        elif began is not None and (tick - began) % round(2.0 / controller.dt) == 0:
            controller.set_target(target, centre + random.uniform(-1.0, 1.0, 3) * np.array(reach))
        tick += 1
        assert tick * controller.dt < 60.0 + seconds, "the phase never came"
    return furthest(start, planted(controller))


def test_planted_feet_do_not_creep():
    assert drift_while_standing(2.0) < 0.005 / 10.0


@pytest.mark.slow
def test_planted_feet_do_not_creep_in_a_minute(record_property):
    drift = drift_while_standing(60.0)
    record_property("drift_m", drift)
    assert drift < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PHASES))
def test_feet_stay_while_a_user_plays_for_a_minute(name, record_property):
    drift = drift_in_interaction(name, 60.0)
    record_property("drift_m", drift)
    assert drift < 0.005
