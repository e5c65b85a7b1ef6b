"""Plays a scenario in gz-sim: `ros2 launch multi_qp_controller gazebo.launch.py scenario:=lever`.

CI does not exercise this file; its tests only check what `gazebo_files` writes.
"""

import tempfile
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import (
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from multi_qp_ros.gazebo_files import BROADCASTER, EFFORT, write_gazebo_files
from multi_qp_ros.node_table import GAZEBO_ARGUMENTS, environment, node_table
from multi_qp_ros.rviz_config import rviz_config
from multi_qp_ros.scenario_launch import declared_arguments
from multi_qp_scene.scenario import load_scenario

#: Between the start of the controller and that of the effort controllers [s]: they begin with its first commands.
#: Until then gz_ros2_control holds the joints where they are.
LEAD = 3.0


def generate_launch_description():
    return LaunchDescription([*declared_arguments(GAZEBO_ARGUMENTS), OpaqueFunction(function=start)])


def start(context):
    given = {name: LaunchConfiguration(name).perform(context) for name in GAZEBO_ARGUMENTS}
    on = {name: given[name] == "true" for name, argument in GAZEBO_ARGUMENTS.items() if argument.is_switch}
    scenario = load_scenario(given["scenario"])
    folder = Path(tempfile.mkdtemp(prefix=f"{scenario.name}_gazebo_"))
    files = write_gazebo_files(scenario, folder)
    headless = on["headless"]
    nodes = node_table(
        str(scenario.path.resolve()),
        backend="none",
        use_sim_time=False,
        controller={"use_sim_time": True, "descriptions": False},  # gz_ros2_control wants its own, see `describe`
        viewer={"page": on["page"] and not headless, "use_sim_time": True},
    )
    spawned = [spawn(model) for model in files.models]
    actions = [
        gz_sim(headless),
        Node(
            package="ros_gz_bridge",
            executable="parameter_bridge",
            parameters=[{"config_file": str(files.bridge)}],
            output="screen",
        ),
        *(describe(model) for model in files.models),
        *spawned,
    ]
    for model, action in zip(files.models, spawned, strict=True):
        if BROADCASTER in model.controllers:
            then = RegisterEventHandler(OnProcessExit(target_action=action, on_exit=[spawner(model, BROADCASTER)]))
            actions.append(then)
        if EFFORT in model.controllers:
            actions.append(TimerAction(period=4 * LEAD, actions=[spawner(model, EFFORT)]))
    ours = [node_action(node, given["log_level"]) for node in nodes]
    actions.append(TimerAction(period=3 * LEAD, actions=ours))
    if on["rviz"] and not headless:
        config = folder / "scenario.rviz"
        config.write_text(rviz_config(scenario), encoding="utf-8")
        actions.append(
            Node(
                package="rviz2",
                executable="rviz2",
                arguments=["-d", str(config)],
                parameters=[{"use_sim_time": True}],
                output="log",
            )
        )
    return actions


def gz_sim(headless):
    file = Path(get_package_share_directory("ros_gz_sim")) / "launch" / "gz_sim.launch.py"
    arguments = "-r -s empty.sdf" if headless else "-r empty.sdf"
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(file)), launch_arguments={"gz_args": arguments}.items()
    )


def describe(model):
    """Publish the URDF with its <ros2_control> block; frames come from the viewer."""
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=model.name,
        parameters=[
            {
                "robot_description": ParameterValue(model.urdf.read_text(encoding="utf-8"), value_type=str),
                "use_sim_time": True,
            }
        ],
        remappings=[("/tf", "tf_unused"), ("/tf_static", "tf_static_unused")],
        output="log",
    )


def spawn(model):
    places = zip(("-x", "-y", "-z", "-R", "-P", "-Y"), (*model.position, *model.rpy), strict=True)
    pose = [text for flag, value in places for text in (flag, str(value))]
    arguments = ["-file", str(model.urdf), "-name", model.name, *pose]
    return Node(package="ros_gz_sim", executable="create", arguments=arguments, output="screen")


def spawner(model, controller):
    return Node(
        package="controller_manager",
        executable="spawner",
        namespace=model.name,
        arguments=[controller, "--controller-manager", f"/{model.name}/controller_manager"],
        output="screen",
    )


def node_action(node, log_level):
    return Node(
        package="multi_qp_controller",
        executable=node.executable,
        name=node.name,
        parameters=[{name: ParameterValue(value, value_type=type(value)) for name, value in node.parameters.items()}],
        ros_arguments=["--log-level", log_level],
        output="screen",
        additional_env=environment(),
    )
