"""Goals: measured quantities and evaluation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_simulator.goals import GoalMonitor, GoalResult
from multi_qp_simulator.runner import run_scenario


def goals_of(stand, goals, states=None, **more):
    scenario = stand(states or {"only": {"hold": 0.05}}, goals=goals, **more)
    return run_scenario(scenario).report["goals"]


def test_a_pose_goal_measures_a_distance_at_the_end(stand):
    scenario = stand({"only": {}})
    box = scenario.scene.q0[scenario.scene.subsystems["box"].q_slice][:3]
    goal = {"type": "pose", "frame": "box/box_link", "tolerance": 0.05}
    near, far = (box + [0.03, 0.0, 0.04]).tolist(), (box + [0.0, 0.06, 0.0]).tolist()
    goals = goals_of(
        stand, {"near": goal | {"target": near}, "far": goal | {"target": far}, "home": goal | {"target": "initial"}}
    )
    np.testing.assert_allclose(goals["near"]["value"], box, atol=1e-6)
    assert goals["near"]["error"] == pytest.approx(0.05, abs=1e-6)
    assert goals["far"]["error"] == pytest.approx(0.06, abs=1e-6) and not goals["far"]["reached"]
    assert goals["home"]["error"] == pytest.approx(0.0, abs=1e-6) and goals["home"]["reached"]
    assert goals["home"]["target"] == pytest.approx(box.tolist())


def test_a_tracking_goal_is_the_rms_while_its_task_runs(stand):
    """A set-point 4 cm away of a task without any weight: the error stays what it is."""
    target = {"frame": "entry", "position": [0.04, 0.0, 0.0]}
    idle = {"type": "pose", "frame": "box/box_link", "target": target, "weight": 0.0}
    last = {"type": "time", "after": 0.05}
    states = {"off": {"transitions": [{"to": "on", "when": last}]}, "on": {"tasks": {"idle": idle}, "hold": 0.1}}
    goal = {"type": "tracking", "task": "idle", "position": 0.05, "rotation": 0.01}
    goals = goals_of(stand, {"track": goal, "strict": goal | {"position": 0.03}}, states)
    assert goals["track_position"]["value"] == pytest.approx(0.04, rel=1e-3)
    assert goals["track_position"]["tolerance"] == 0.05 and goals["track_position"]["reached"]
    assert goals["track_rotation"]["value"] == pytest.approx(0.0, abs=1e-4) and goals["track_rotation"]["reached"]
    assert not goals["strict_position"]["reached"]


def test_a_tracking_goal_whose_task_never_ran_is_missed(stand):
    idle = {"type": "pose", "frame": "box/box_link", "target": {"frame": "entry"}}
    states = {"only": {"hold": 0.02}, "never": {"tasks": {"idle": idle}}}
    goals = goals_of(stand, {"track": {"type": "tracking", "task": "idle", "position": 0.05}}, states)
    assert set(goals) == {"track_position"}, "only what has a tolerance"
    assert goals["track_position"]["error"] is None and not goals["track_position"]["reached"]


def test_a_state_goal_counts_visits(stand):
    soon = {"type": "time", "after": 0.02}
    states = {"a": {"transitions": [{"to": "b", "when": soon}]}, "b": {}, "c": {}}
    goals = goals_of(stand, {name: {"type": "state", "state": name} for name in "abc"}, states)
    assert goals["a"]["reached"] and goals["b"]["reached"] and not goals["c"]["reached"]
    assert goals["c"]["value"] == "b" and goals["c"]["target"] == "c"


def test_a_missed_goal_fails_a_run_that_was_completed(stand):
    goal = {"type": "pose", "frame": "box/box_link", "target": [9.0, 0.0, 0.0], "tolerance": 0.01}
    result = run_scenario(stand({"only": {}}, goals={"far": goal}))
    assert result.report["completed"] and not result.succeeded


def test_results_have_no_numbers_without_json_equivalent():
    result = GoalResult([math.nan, 1.0], 0.0, math.inf, 0.1, False).as_dict()
    assert result == {"value": [None, 1.0], "target": 0.0, "error": None, "tolerance": 0.1, "reached": False}


def test_goals_are_evaluated_at_the_given_state(standing):
    monitor = GoalMonitor(standing)
    assert monitor.results(State(standing.scene.q0, np.zeros(standing.scene.nv)), ["only"]) == {}


@pytest.fixture
def turntable(tmp_path):
    """Return a function that runs a platter on a continuous joint, from 3 rad to 3.4 rad, under some goals."""
    inertia = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
    (tmp_path / "table.urdf").write_text(
        '<robot name="table"><link name="base"/>'
        f'<link name="platter"><inertial><mass value="1"/>{inertia}</inertial></link>'
        '<joint name="axle" type="continuous"><parent link="base"/><child link="platter"/><axis xyz="0 0 1"/>'
        '<limit effort="20" velocity="9"/></joint></robot>'
    )
    (tmp_path / "table.yaml").write_text("urdf: table.urdf\nroot: fixed\n")
    turn = {"type": "joint_angle", "joint": "t/axle", "target": 3.4, "duration": 0.3, "stiffness": 200}

    def run(goals):
        scenario = {
            "description": "a platter turns past half a turn",
            "dt": 0.01,
            "subsystems": {"t": {"model": "table.yaml", "posture": {"axle": 3.0}}},
            "initial_state": "turn",
            "states": {"turn": {"tasks": {"turn": turn}, "hold": 0.6}, "never": {}},
            "goals": goals,
        }
        (tmp_path / "turn.yaml").write_text(yaml.safe_dump(scenario, sort_keys=False))
        return run_scenario(load_scenario(tmp_path / "turn.yaml")).report["goals"]

    return run


def test_a_goal_on_a_continuous_joint_is_on_its_angle_the_short_way_round(turntable):
    goal = {"type": "joint", "joint": "t/axle", "tolerance": 0.05}
    goals = turntable(
        {
            "there": goal | {"target": 3.4},
            "a turn before": goal | {"target": 3.4 - math.tau, "state": "turn"},
            "where it began": goal | {"target": 3.0},
            "in no state": goal | {"target": 3.4, "state": "never"},
        }
    )
    assert goals["there"]["reached"] and goals["a turn before"]["reached"]
    assert goals["there"]["value"] == pytest.approx(3.4 - math.tau, abs=0.05), "in (−π, π]"
    assert goals["where it began"]["error"] == pytest.approx(0.4, abs=0.05)
    assert goals["in no state"]["error"] is None and not goals["in no state"]["reached"]


def test_a_pass_goal_is_the_least_distance_in_its_interval(stand):
    """Without its contact the box falls by g t²/2: 2 cm after 64 ms, 4.9 cm at the end."""
    states = {"only": {"hold": 0.1, "contacts": ["left_foot", "right_foot"]}}
    scenario = stand(states)
    box = scenario.scene.q0[scenario.scene.subsystems["box"].q_slice][:3]
    frame = {"type": "pass", "frame": "box/box_link", "tolerance": 0.005}
    below = frame | {"target": (box - [0.0, 0.0, 0.02]).tolist()}
    goals = goals_of(
        stand,
        {"passed": below, "early": below | {"between": [0.0, 0.03]}, "never": below | {"between": [50.0, 60.0]}},
        states,
    )
    assert goals["passed"]["reached"] and goals["passed"]["value"][2] == pytest.approx(box[2] - 0.02, abs=0.005)
    assert goals["early"]["error"] == pytest.approx(0.02 - 9.81 * 0.03**2 / 2, abs=0.003)
    assert not goals["early"]["reached"]
    assert goals["never"]["error"] is None and not goals["never"]["reached"]


def test_a_pass_goal_needs_an_interval(tmp_path):
    data = yaml.safe_load(scenario_path("box").read_text())
    goal = {"type": "pass", "frame": "box/box_link", "target": [0, 0, 0], "tolerance": 0.1, "between": [2.0, 1.0]}
    path = tmp_path / "box.yaml"
    path.write_text(yaml.safe_dump(data | {"goals": {"passed": goal}}, sort_keys=False))
    with pytest.raises(MultiQpError, match="between: expected a first time before the last one"):
        load_scenario(path)
