"""The table of nodes that the launch file and the command line share; no ROS is needed for it."""

from __future__ import annotations

import ast
from pathlib import Path

from multi_qp_controller.ros.node_table import NodeSpec, node_table

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
    assert [node.name for node in node_table("king", backend="none")] == ["multi_qp_controller"]


def test_parameters_keep_their_types_on_the_command_line():
    node = NodeSpec("n", "m", "e", {"a": True, "b": 0.0, "c": 3, "d": "it's 5", "e": "true"})
    command = node.command(namespace="/lab/")
    given = [part for flag, part in zip(command, command[1:], strict=False) if flag == "-p"]
    assert given == ["a:=true", "b:=0.0", "c:=3", "d:='it''s 5'", "e:='true'"]
    assert command[command.index("-r") + 1] == "__ns:=/lab"


def test_the_modules_and_executables_exist():
    setup = (ROOT / "setup.py").read_text("utf-8")
    for node in node_table("box"):
        assert (ROOT / f"{node.module.replace('.', '/')}.py").exists()
        assert f"{node.executable} = {node.module}:main" in setup


def test_the_launch_file_takes_the_documented_arguments():
    source = (ROOT / "launch" / "scenario.launch.py").read_text("utf-8")
    tables = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Dict)]
    keys = [{key.value for key in table.keys if isinstance(key, ast.Constant)} for table in tables]
    expected = {"scenario", "backend", "rviz", "headless", "record", "use_sim_time", "log_level", "namespace"}
    assert expected in keys
    assert "node_table(" in source
