"""Two humanoids carry a third on a litter, and a table, each walking by its own route."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.robustness import RANDOMISED
from multi_qp_simulator.runner import run_scenario


def checked(result):
    """Return the report of a run without QP failures, slip, and torques beyond their limits."""
    report = result.report
    assert report["qp_failures"] == 0 and report["relaxed_ticks"] == 0
    assert report["worst"]["contact_slip_m"] < 3e-3 and report["worst"]["torque_ratio"] <= 1.0 + 1e-9
    return report


def heading(log, first):
    """Return the heading of a body whose pose begins at an entry of q, (T,)."""
    x, y, z, w = log.q[:, first + 3 : first + 7].T
    return np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


def entry(scenario, name):
    """Return the first entry of a subsystem in q."""
    model = scenario.scene.model
    return model.joints[scenario.scene.subsystems[name].root_joints[0]].idx_q


def carried(name, seed):
    """Return the log of a run under mismatch, and the first entry of the carried body in q."""
    scenario = load_scenario(name, seed=seed)
    scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": RANDOMISED}))
    result = run_scenario(scenario, backend="mujoco")
    assert result.succeeded, (result.report["goals"], result.report["problems"])
    checked(result)
    return result.log, entry(scenario, "litter" if name == "litter_walk" else "table")


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("table_carry", 0.2),
        pytest.param("table_carry", 3.0, marks=pytest.mark.slow),
        pytest.param("litter_walk", 3.0, marks=pytest.mark.slow),
    ],
)
def test_the_first_steps(name, seconds):
    scenario = load_scenario(name)
    result = run_scenario(scenario, backend="mujoco", duration=seconds)
    report = checked(result)
    assert report["goals"]["level"]["error"] < 0.02
    k = entry(scenario, "litter" if name == "litter_walk" else "table")
    assert result.log.q[-1, k] - result.log.q[0, k] > 0.25 * (seconds - 1.0)
    names = list(result.log.contact_names)
    assert result.log.contact_active[:, [names.index(hand) for hand in names if hand.endswith("hand")]].all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_litter_turns_by_60_degrees_and_stays_level(seed):
    log, k = carried("litter_walk", seed)
    assert np.linalg.norm(np.diff(log.q[:, k : k + 2], axis=0), axis=1).sum() > 4.8
    turned = heading(log, k)
    assert turned[-1] - turned[0] == pytest.approx(np.pi / 3, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_table_passes_between_the_posts(seed):
    log, k = carried("table_carry", seed)
    x, y, yaw = log.q[:, k], log.q[:, k + 1], heading(log, k)
    for post in ((1.4, 0.62), (3.6, 0.1)):
        ahead, aside = post[0] - x, post[1] - y
        u, v = np.cos(yaw) * ahead + np.sin(yaw) * aside, np.cos(yaw) * aside - np.sin(yaw) * ahead
        beside = np.hypot(np.maximum(np.abs(u) - 0.55, 0.0), np.maximum(np.abs(v) - 0.33, 0.0))
        assert beside.min() > 0.06  # beyond the half diagonal of a post
