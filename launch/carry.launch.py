"""Starts the scenario "carry"; the arguments are those of scenario.launch.py."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource


def generate_launch_description():
    scenario = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))
    return LaunchDescription([IncludeLaunchDescription(scenario, launch_arguments={"scenario": "carry"}.items())])
