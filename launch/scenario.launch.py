"""Starts a scenario: `ros2 launch multi_qp_controller scenario.launch.py scenario:=king`."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from multi_qp_controller.ros.node_table import node_table

ARGUMENTS = {
    "scenario": (None, "name of a scenario, or path of its file"),
    "backend": ("integrator", "who plays the robots; none: they are real"),
    "rviz": ("true", "open RViz"),
    "headless": ("false", "no RViz, and as fast as the nodes go"),
    "record": ("false", "record all topics with ros2 bag, as MCAP"),
    "use_sim_time": ("true", "lock-step with the simulator's clock; else by the wall clock"),
    "log_level": ("info", "of the nodes"),
    "namespace": ("", "of all nodes and topics"),
}


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context):
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    headless, use_sim_time = given["headless"] == "true", given["use_sim_time"] == "true"
    nodes = node_table(
        given["scenario"],
        backend=given["backend"],
        use_sim_time=use_sim_time,
        speed=0.0 if headless and use_sim_time else 1.0,
        controller={"exit_at_end": headless},
    )
    actions = [
        Node(
            package="multi_qp_controller",
            executable=node.executable,
            name=node.name,
            namespace=given["namespace"],
            parameters=[dict(node.parameters)],
            arguments=["--ros-args", "--log-level", given["log_level"]],
            output="screen",
            on_exit=Shutdown(),
        )
        for node in nodes
    ]
    if given["rviz"] == "true" and not headless:
        actions.append(Node(package="rviz2", executable="rviz2", arguments=["-f", "world"]))
    if given["record"] == "true":
        actions.append(ExecuteProcess(cmd=["ros2", "bag", "record", "-a", "-s", "mcap"], output="screen"))
    return actions
