"""The launch files where launch_ros is installed; elsewhere test_node_table.py holds them against their table."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("launch_ros")

from launch import LaunchContext
from launch.launch_description_sources import PythonLaunchDescriptionSource

from multi_qp_ros.node_table import GAZEBO_ARGUMENTS, LAUNCH_ARGUMENTS

FOLDER = Path(__file__).resolve().parents[2] / "launch"


def arguments(file: Path) -> dict:
    description = PythonLaunchDescriptionSource(str(file)).get_launch_description(LaunchContext())
    return {argument.name: argument for argument in description.get_launch_arguments()}


@pytest.mark.parametrize(
    "name, table", [("scenario.launch.py", LAUNCH_ARGUMENTS), ("gazebo.launch.py", GAZEBO_ARGUMENTS)]
)
def test_a_launch_file_declares_its_table(name, table):
    declared = arguments(FOLDER / name)
    assert declared.keys() == table.keys()
    assert all(declared[key].description.startswith(argument.description) for key, argument in table.items())


def test_the_short_files_pass_their_arguments_on():
    """Those of other scenarios differ in the name, see test_node_table.py."""
    assert arguments(FOLDER / "king.launch.py").keys() >= LAUNCH_ARGUMENTS.keys() - {"scenario"}
