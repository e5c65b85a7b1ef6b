"""Table of nodes shared by launch file and command line; without ROS."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from multi_qp_ros import start_node
from multi_qp_ros.node_table import (
    GAZEBO_ARGUMENTS,
    LAUNCH_ARGUMENTS,
    LONG_PATIENCE,
    NodeSpec,
    launch_port,
    launch_settings,
    node_table,
    planning_nodes,
)
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_names

ROOT = Path(__file__).resolve().parents[2]


def test_both_sides_get_the_same_scenario_and_mode():
    simulator, controller = node_table("king", settings={"seed": 3}, controller={"exit_at_end": True})
    for node in (simulator, controller):
        assert node.parameters["scenario"] == "king"
        assert node.parameters["seed"] == 3
        assert node.parameters["lock_step"] is True
    assert controller.parameters["exit_at_end"] is True
    assert "exit_at_end" not in simulator.parameters


def test_real_robots_need_no_simulator():
    (controller,) = node_table("king", backend="none")
    assert controller.name == "multi_qp_controller"
    # and wait for no answer: whatever is asked for, lost states and late answers are judged by the wall clock
    assert controller.parameters["lock_step"] is controller.parameters["use_sim_time"] is False


def test_as_fast_as_they_go_the_slow_are_waited_for():
    """Else a run would not be repeatable on a busy machine, and a launch file's another than that of the command."""
    assert node_table("king", speed=0.0)[0].parameters["patience"] == LONG_PATIENCE
    assert "patience" not in node_table("king")[0].parameters


def test_parameters_keep_their_types_on_the_command_line():
    node = NodeSpec("n", "m", "e", {"a": True, "b": 0.0, "c": 3, "d": "it's 5", "e": "true"})
    command = node.command(namespace="/lab/")
    given = [part for flag, part in zip(command, command[1:], strict=False) if flag == "-p"]
    assert given == ["a:=true", "b:=0.0", "c:=3", "d:='it''s 5'", "e:='true'"]
    assert command[command.index("-r") + 1] == "__ns:=/lab"


def test_the_modules_and_executables_exist():
    setup = (ROOT / "setup.py").read_text("utf-8")
    for node in node_table("box", viewer={}, com_trajectory={}, contact_planner={}):
        assert (ROOT / f"{node.module.replace('.', '/')}.py").exists()
        assert f"{node.executable} = multi_qp_ros.start_node:{node.executable}" in setup
        assert getattr(start_node, node.executable).args == (node.module,)


def test_a_viewer_gets_the_scene_and_makes_the_controller_interactive():
    *_, controller, viewer = node_table("king", settings={"set": "king.mass=50", "dt": 0.01}, viewer={"port": 9000})
    assert viewer.parameters == {
        "scenario": "king",
        "set": "king.mass=50",
        "port": 9000,
        "use_sim_time": True,
    }
    assert not viewer.essential
    assert controller.parameters["interactive"] is True
    assert node_table("king", viewer={"page": False})[1].parameters["interactive"] is False


def test_a_scenario_with_a_plan_has_its_planners():
    given = planning_nodes(True, goal="1.0 0.0 0.7", headless=True)
    *_, com, planner = node_table("stairs", settings={"seed": 3, "dt": 0.01}, **given)
    assert (com.name, com.parameters) == ("com_trajectory", {"scenario": "stairs", "seed": 3})
    assert planner.name == "contact_planner" and planner.parameters["goal"] == "1.0 0.0 0.7"
    assert not com.essential and not planner.essential  # each may be started again
    assert planner.failure == 1  # without a plan, and without a user who could give another goal, the run has failed
    interactive = node_table("stairs", **planning_nodes(True, goal="scenario", headless=False))[-1]
    assert interactive.failure is None
    assert planning_nodes(False, goal="scenario", headless=False) == {}


def test_launch_arguments_become_parameters():
    given = {
        key: LAUNCH_ARGUMENTS[name].default for key, name in {"assignments": "set", "seed": "seed", "dt": "dt"}.items()
    }
    assert launch_settings(**given) == {"set": "", "seed": 0, "dt": 0.0}
    for node in node_table("box", settings=launch_settings(assignments="box.mass=5", seed="3", dt="0.01")):
        assert (node.parameters["set"], node.parameters["seed"], node.parameters["dt"]) == ("box.mass=5", 3, 0.01)
    assert launch_port(LAUNCH_ARGUMENTS["port"].default) == 8080


@pytest.mark.parametrize(
    "wrong", [{"seed": "x"}, {"seed": "-1"}, {"seed": "1.5"}, {"dt": "5"}, {"dt": "nan"}, {"dt": "-0.01"}]
)
def test_wrong_launch_arguments_are_refused_by_name(wrong):
    with pytest.raises(MultiQpError, match=f"^{next(iter(wrong))}"):
        launch_settings(**({"assignments": "", "seed": "0", "dt": "0"} | wrong))


@pytest.mark.parametrize("wrong", ["x", "0", "65536", "80.5"])
def test_a_wrong_port_is_refused(wrong):
    with pytest.raises(MultiQpError, match="^port: expected"):
        launch_port(wrong)


def test_missed_goals_end_the_graph():
    controller = NodeSpec("c", "m", "e", {})
    planner = NodeSpec("p", "m", "e", {}, essential=False, failure=1)
    assert controller.ends_graph(0) and controller.ends_graph(1)
    assert planner.ends_graph(1) and not planner.ends_graph(0)


def test_launch_takes_the_documented_arguments():
    expected = {
        "scenario",
        "backend",
        "goal",
        "set",
        "seed",
        "dt",
        "port",
        "rviz",
        "headless",
        "record",
        "use_sim_time",
        "log_level",
        "namespace",
    }
    assert expected <= LAUNCH_ARGUMENTS.keys()
    for name, argument in LAUNCH_ARGUMENTS.items():
        assert argument.description
        assert argument.default is None or not argument.choices or argument.default in argument.choices, name


@pytest.mark.parametrize("file", ["scenario.launch.py", "gazebo.launch.py"])
def test_a_launch_file_reads_declared_arguments_and_all_of_them(file):
    """Without launch_ros: what stands in the brackets after `given` and `on` are the table's own keys."""
    tree = ast.parse((ROOT / "launch" / file).read_text("utf-8"))
    used = {
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in ("given", "on")
        if isinstance(node.slice, ast.Constant)
    }
    table = LAUNCH_ARGUMENTS if file == "scenario.launch.py" else GAZEBO_ARGUMENTS
    assert used == table.keys()


@pytest.fixture(scope="module")
def installed_launch_files():
    """Paths of the launch files that setup.py installs, by name."""
    with mock.patch("setuptools.setup") as setup:
        runpy.run_path(str(ROOT / "setup.py"))
    (files,) = (names for folder, names in setup.call_args.kwargs["data_files"] if folder.endswith("launch"))
    return {Path(file).name: ROOT / file for file in files}


@pytest.mark.parametrize("scenario", scenario_names())
def test_each_shipped_scenario_has_a_launch_file(scenario, installed_launch_files, monkeypatch):
    """Run with doubles of the classes of `launch`, which is not among the wheels."""
    for name, members in _LAUNCH.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**members))
    monkeypatch.setitem(sys.modules, "multi_qp_ros.scenario_launch", None)  # as it was, afterwards
    monkeypatch.delitem(sys.modules, "multi_qp_ros.scenario_launch")
    file = installed_launch_files[f"{scenario}.launch.py"]
    assert file.read_text("utf-8").startswith(f'"""Starts the scenario "{scenario}";')
    included, arguments = runpy.run_path(str(file))["generate_launch_description"]()
    assert included == str(file.with_name("scenario.launch.py")) and arguments == {"scenario": scenario}


_LAUNCH = {
    "launch": {"LaunchDescription": lambda actions: actions[0]},
    "launch.actions": {
        "DeclareLaunchArgument": None,
        "IncludeLaunchDescription": lambda source, launch_arguments: (source, dict(launch_arguments)),
    },
    "launch.launch_description_sources": {"PythonLaunchDescriptionSource": str},
}
