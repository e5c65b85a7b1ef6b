"""Input files of gz-sim, gz_ros2_control and ros_gz_bridge for a scenario, generated without ROS."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import pinocchio as pin
import yaml

from multi_qp_ros import topics
from multi_qp_ros.state_assembly import joints_of
from multi_qp_scene.description import description_trees
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.subsystem import Subsystem

BROADCASTER, EFFORT = "joint_state_broadcaster", "effort_controller"
WORLD = "world"


@dataclass(frozen=True)
class GazeboModel:
    """One model to spawn.

    Attributes:
        name: name of the subsystem or environment part, and of its namespace.
        urdf: path of the URDF file.
        position: position of the root link in the world, (3,) [m]; zeros if it is fixed to the world.
        rpy: roll, pitch, yaw of the root link, (3,) [rad].
        controllers: names of the controllers, in the order of loading.
        controllers_file: path of their parameter file; None without joints.
    """

    name: str
    urdf: Path
    position: tuple[float, float, float]
    rpy: tuple[float, float, float]
    controllers: tuple[str, ...]
    controllers_file: Path | None


@dataclass(frozen=True)
class GazeboFiles:
    """The generated files.

    Attributes:
        models: models to spawn, the environment first.
        bridge: configuration of ros_gz_bridge: clock and odometry.
    """

    models: tuple[GazeboModel, ...]
    bridge: Path


def write_gazebo_files(scenario: Scenario, folder: Path) -> GazeboFiles:
    """Write the files of a scenario to an existing directory."""
    scene, rate = scenario.scene, max(1, round(1.0 / scenario.spec.dt))
    trees = description_trees(scenario)
    models = []
    for name, root in trees.items():
        subsystem = scene.subsystems.get(name)
        part = subsystem or scene.environment[name]
        placement, parameters = pin.SE3.Identity(), None
        controllers: tuple[str, ...] = ()
        base = _pose(scene, part)
        if subsystem is not None and subsystem.floating:
            placement = base
            _add_odometry(root, subsystem, rate)
        else:
            _fix_to_world(root, base)
        if subsystem is not None and joints_of(scene, subsystem):
            parameters = folder / f"{name}_controllers.yaml"
            settings = controller_settings(scene, subsystem, rate)
            parameters.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
            _add_control(root, scene, subsystem, parameters)
            controllers = (BROADCASTER, EFFORT) if len(subsystem.actuated) else (BROADCASTER,)
        urdf = folder / f"{name}.urdf"
        urdf.write_text(ElementTree.tostring(root, encoding="unicode"), encoding="utf-8")
        rpy = pin.rpy.matrixToRpy(placement.rotation)
        models.append(GazeboModel(name, urdf, _triple(placement.translation), _triple(rpy), controllers, parameters))
    bridge = folder / "bridge.yaml"
    bridge.write_text(yaml.safe_dump(bridge_settings(scene), sort_keys=False), encoding="utf-8")
    return GazeboFiles(tuple(models), bridge)


def controller_settings(scene: Scene, subsystem: Subsystem, rate: int) -> dict[str, Any]:
    """Return the parameters of one subsystem's controller manager, at a rate [Hz]."""
    kinds: dict[str, Any] = {
        "update_rate": rate,
        BROADCASTER: {"type": "joint_state_broadcaster/JointStateBroadcaster"},
    }
    settings: dict[str, Any] = {"/**/controller_manager": {"ros__parameters": kinds}}
    # its own topic: the robot's joint states, and no /joint_states of all
    settings[f"/**/{BROADCASTER}"] = {"ros__parameters": {"use_local_topics": False}}
    if len(subsystem.actuated):
        kinds[EFFORT] = {"type": "forward_command_controller/ForwardCommandController"}
        motors = [scene.actuated_joint_names[k].partition("/")[2] for k in subsystem.actuated]
        settings[f"/**/{EFFORT}"] = {"ros__parameters": {"joints": motors, "interface_name": "effort"}}
    return settings


def bridge_settings(scene: Scene) -> list[dict[str, str]]:
    """Return the topics bridged from gz to ROS: the clock, and the odometry of floating subsystems."""
    found = [_bridged(topics.CLOCK, "rosgraph_msgs/msg/Clock", "gz.msgs.Clock")]
    for subsystem in scene.subsystems.values():
        if subsystem.floating:
            topic = f"/{topics.odom(subsystem.name)}"
            found.append(_bridged(topic, "nav_msgs/msg/Odometry", "gz.msgs.Odometry"))
    return found


def _bridged(topic: str, ros: str, gz: str) -> dict[str, str]:
    return {
        "ros_topic_name": topic,
        "gz_topic_name": topic,
        "ros_type_name": ros,
        "gz_type_name": gz,
        "direction": "GZ_TO_ROS",
    }


def _pose(scene: Scene, part: Subsystem) -> pin.SE3:
    """Return the initial pose of a part's root link in the world."""
    data = place_frames(scene.model, scene.q0)
    return data.oMf[scene.model.getFrameId(part.base_link, pin.FrameType.BODY)]


def _add_odometry(root: Element, subsystem: Subsystem, rate: int) -> None:
    plugin = SubElement(SubElement(root, "gazebo"), "plugin")
    plugin.set("filename", "gz-sim-odometry-publisher-system")
    plugin.set("name", "gz::sim::systems::OdometryPublisher")
    for key, value in {
        "odom_frame": WORLD,
        "robot_base_frame": subsystem.base_link,
        "odom_topic": f"/{topics.odom(subsystem.name)}",
        "odom_publish_frequency": str(rate),
        "dimensions": "3",
    }.items():
        SubElement(plugin, key).text = value


def _fix_to_world(root: Element, pose: pin.SE3) -> None:
    """Connect the root link to the world by a fixed joint; gz treats a link named `world` as the world."""
    children = {element.get("link") for element in root.iterfind("joint/child")}
    base = next(link.get("name", "") for link in root.iterfind("link") if link.get("name") not in children)
    SubElement(root, "link", name=WORLD)
    joint = SubElement(root, "joint", name="fixed_to_world", type="fixed")
    SubElement(joint, "parent", link=WORLD)
    SubElement(joint, "child", link=base)
    rpy = pin.rpy.matrixToRpy(pose.rotation)
    SubElement(joint, "origin", xyz=_numbers(pose.translation), rpy=_numbers(rpy))


def _add_control(root: Element, scene: Scene, subsystem: Subsystem, parameters: Path) -> None:
    control = SubElement(root, "ros2_control", name=subsystem.name, type="system")
    SubElement(SubElement(control, "hardware"), "plugin").text = "gz_ros2_control/GazeboSimSystem"
    motors = {scene.actuated_joint_names[k].partition("/")[2] for k in subsystem.actuated}
    for known in joints_of(scene, subsystem):
        joint = SubElement(control, "joint", name=known.name)
        if known.name in motors:
            SubElement(joint, "command_interface", name="effort")
        position = SubElement(joint, "state_interface", name="position")
        SubElement(position, "param", name="initial_value").text = f"{known.angle(scene.q0):.9g}"
        SubElement(joint, "state_interface", name="velocity")
    plugin = SubElement(SubElement(root, "gazebo"), "plugin")
    plugin.set("filename", "gz_ros2_control-system")
    plugin.set("name", "gz_ros2_control::GazeboSimROS2ControlPlugin")
    SubElement(plugin, "parameters").text = str(parameters)
    SubElement(SubElement(plugin, "ros"), "namespace").text = f"/{subsystem.name}"


def _triple(values: Any) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _numbers(values: Any) -> str:
    return " ".join(f"{float(value):.9g}" for value in values)
