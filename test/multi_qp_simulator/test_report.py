"""The report: every documented key, with its type, in JSON without NaN."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from multi_qp_scene.scenario import load_scenario

KEYS: dict[str, Any] = {
    "scenario": str,
    "backend": str,
    "solver": str,
    "formulation": str,
    "seed": int,
    "parameters": dict,
    "completed": bool,
    "ended": str,
    "sim_time": float,
    "ticks": int,
    "dt": float,
    "subsystems": int,
    "dofs": int,
    "actuated_dofs": int,
    "planar_contact_points": int,
    "grasp_contact_points": int,
    "collision_pairs": int,
    "qp": {"variables": int, "equalities": int, "inequalities": int},
    "tick_ms": {"min": float, "median": float, "p99": float, "max": float},
    "settling_ms": {"min": float, "median": float, "p99": float, "max": float},
    "realtime_factor": float,
    "states_visited": list,
    "contacts_made": list,
    "contacts_missed": list,
    "lost_contacts": list,
    "qp_failures": int,
    "relaxed_ticks": int,
    "failure": (dict, type(None)),
    "worst": {
        "contact_slip_m": float,
        "contact_twist_rad": float,
        "penetration_m": float,
        "torque_ratio": float,
        "joint_limit_violation_rad": float,
        "velocity_ratio": float,
        "dynamics_residual": float,
    },
    "touches": list,
    "health": {"healthy": bool, "problems": list},
    "goals": dict,
}


def assert_shape(data: dict[str, Any], keys: dict[str, Any]) -> None:
    assert set(keys) <= set(data), set(keys) - set(data)
    for name, kind in keys.items():
        if isinstance(kind, dict):
            assert_shape(data[name], kind)
        else:
            assert isinstance(data[name], kind), (name, data[name])


@pytest.fixture(scope="module")
def report(box_run) -> dict[str, Any]:
    """Return the report of `box` read back from its file."""
    return json.loads(json.dumps(box_run.report, allow_nan=False))


def test_every_key_has_its_type(report):
    assert_shape(report, KEYS)


def test_the_report_names_the_run(report):
    names = ("scenario", "backend", "solver", "formulation", "seed", "dt")
    assert [report[name] for name in names] == ["box", "integrator", "active_set", "condensed", 0, 0.005]
    sizes = {"box.depth": 0.24, "box.width": 0.3, "box.height": 0.22}
    assert report["parameters"] == {"box.mass": 3.0, **sizes, "humanoid.mass": 39.0, "path.duration": 10.0}
    assert report["completed"] is True and report["ended"] == "completed" and report["failure"] is None


def test_the_sizes_are_counted_as_the_paper_counts(report):
    """42 degrees of freedom, 30 motors, 4 planar contacts of 4 points: two feet with two hands, or with the table."""
    assert (report["subsystems"], report["dofs"], report["actuated_dofs"]) == (2, 42, 30)
    assert (report["planar_contact_points"], report["grasp_contact_points"]) == (16, 0)
    assert report["qp"]["variables"] == 42 + 30 + 16 * 4
    assert report["qp"]["equalities"] == 42 + 12 * 4
    assert report["qp"]["inequalities"] > 16 * 4
    assert report["collision_pairs"] > 10


def test_times_fit_together(report, box_run):
    assert report["ticks"] == len(box_run.log.time)
    assert report["sim_time"] == pytest.approx(report["ticks"] * report["dt"])
    tick = report["tick_ms"]
    assert 0.0 < tick["min"] <= tick["median"] <= tick["p99"] <= tick["max"]
    assert report["realtime_factor"] > 0.0


def test_the_visited_states_are_those_of_the_log(report, box_run):
    states = list(box_run.log.state)
    changes = [state for before, state in zip([None, *states], states, strict=False) if state != before]
    passed_through = [state for state in report["states_visited"] if state in changes]
    assert passed_through == changes
    assert report["states_visited"][0] == "stand" and report["states_visited"][-1] == "done"


def test_the_worst_figures_are_those_of_the_log(report, box_run):
    scene = load_scenario("box").scene
    ratio = abs(box_run.log.tau / scene.torque_limits).max()
    assert report["worst"]["torque_ratio"] == pytest.approx(ratio)
    speed = abs(box_run.log.v[:, scene.limits.v_index]) / scene.limits.velocity
    assert report["worst"]["velocity_ratio"] == pytest.approx(speed.max())


def test_goals_have_one_structure(report):
    assert set(report["goals"]) >= {"path_tracked_position", "path_tracked_rotation", "box_put_back", "done"}
    for goal in report["goals"].values():
        assert set(goal) == {"value", "target", "error", "tolerance", "reached"}
        assert goal["reached"] is True
    tracked = report["goals"]["path_tracked_rotation"]
    assert tracked["value"] == tracked["error"] <= tracked["tolerance"] <= math.radians(2.0)
    assert len(report["goals"]["box_put_back"]["value"]) == 3
