"""Starts a scenario: `ros2 launch multi_qp_controller scenario.launch.py scenario:=king`."""

import shutil
import tempfile

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import ExecuteProcess, LogInfo, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from multi_qp_ros.footprint import walking_robots
from multi_qp_ros.node_table import (
    LAUNCH_ARGUMENTS,
    environment,
    launch_port,
    launch_settings,
    node_table,
    planning_nodes,
)
from multi_qp_ros.parameters import assignments
from multi_qp_ros.rviz_config import rviz_config
from multi_qp_ros.scenario_launch import declared_arguments
from multi_qp_scene.scenario import load_scenario


def generate_launch_description():
    return LaunchDescription([*declared_arguments(LAUNCH_ARGUMENTS), OpaqueFunction(function=start)])


def start(context):
    given = {name: LaunchConfiguration(name).perform(context) for name in LAUNCH_ARGUMENTS}
    on = {name: given[name] == "true" for name, argument in LAUNCH_ARGUMENTS.items() if argument.is_switch}
    settings = launch_settings(assignments=given["set"], seed=given["seed"], dt=given["dt"])
    # wrong arguments are refused before any process starts
    scenario = load_scenario(given["scenario"], parameters=assignments(given["set"]), seed=settings["seed"])
    viewer = {"page": on["page"], "port": launch_port(given["port"])}
    headless = on["headless"]
    nodes = node_table(
        str(scenario.path.resolve()),
        backend=given["backend"],
        use_sim_time=on["use_sim_time"],
        speed=0.0 if headless and on["use_sim_time"] else 1.0,
        settings=settings,
        controller={"exit_at_end": headless, "record": f"{scenario.name}.mcap" if on["record"] else ""},
        viewer=None if headless else viewer,
        **planning_nodes(scenario.spec.plan is not None, goal=given["goal"], headless=headless),
        walks=bool(walking_robots(scenario)),
    )
    actions = [node_action(node, given) for node in nodes]
    if on["rviz"] and not headless:
        actions.append(rviz_action(scenario, given))
    if on["record"] and shutil.which("ros2"):  # all topics; what multi-qp replay reads is the controller's own
        actions.append(ExecuteProcess(cmd=["ros2", "bag", "record", "--all", "--storage", "mcap"], output="screen"))
    return actions


def node_action(node, given):
    return Node(
        package="multi_qp_controller",
        executable=node.executable,
        name=node.name,
        namespace=given["namespace"],
        parameters=[{name: ParameterValue(value, value_type=type(value)) for name, value in node.parameters.items()}],
        ros_arguments=["--log-level", given["log_level"]],
        output="screen",
        additional_env=environment(),
        on_exit=lambda event, context: ending(node, event.returncode, context),
    )


def ending(node, status, context):
    if context.is_shutdown or not node.ends_graph(status):
        return None
    if status != 0:  # an exception is how `ros2 launch` ends with status 1; it ends the other nodes too
        raise RuntimeError(f"{node.name} has ended with status {status}: the goals were not reached, or it has failed")
    return Shutdown(reason=f"{node.name} has ended")


def rviz_action(scenario, given):
    try:
        get_package_prefix("rviz2")
    except PackageNotFoundError:
        return LogInfo(msg="rviz2 is not installed: continuing without it (rviz:=false disables it)")
    with tempfile.NamedTemporaryFile(
        "w", prefix=f"{scenario.name}_", suffix=".rviz", delete=False, encoding="utf-8"
    ) as file:
        file.write(rviz_config(scenario, namespace=given["namespace"]))
    simulated = given["use_sim_time"] == "true" and given["backend"] != "none"
    return Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", file.name],
        parameters=[{"use_sim_time": simulated}],
        output="log",
    )
