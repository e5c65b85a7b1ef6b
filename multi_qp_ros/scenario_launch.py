"""Launch descriptions: of one shipped scenario, and the arguments of a table; imported by launch files only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from multi_qp_ros.node_table import LaunchArgument


def scenario_launch(file: str) -> Callable[[], LaunchDescription]:
    """Return `generate_launch_description` of the file `NAME.launch.py`, which starts the scenario NAME."""
    path = Path(file)
    arguments = {"scenario": path.name.removesuffix(".launch.py")}
    included = PythonLaunchDescriptionSource(str(path.with_name("scenario.launch.py")))
    return lambda: LaunchDescription([IncludeLaunchDescription(included, launch_arguments=arguments.items())])


def declared_arguments(table: Mapping[str, LaunchArgument]) -> list[DeclareLaunchArgument]:
    """Return the declarations of launch arguments."""
    return [
        DeclareLaunchArgument(
            name,
            default_value=argument.default,
            description=argument.description,
            choices=list(argument.choices) or None,
        )
        for name, argument in table.items()
    ]
