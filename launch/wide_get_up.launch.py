"""Starts the scenario "wide_get_up"; the arguments are those of scenario.launch.py."""

from multi_qp_ros.scenario_launch import scenario_launch

generate_launch_description = scenario_launch(__file__)
