"""Files for gz-sim, checked without gz-sim."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest
import yaml

from multi_qp_ros.gazebo_files import write_gazebo_files
from multi_qp_scene import load_scenario


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("lever")


@pytest.fixture(scope="module")
def files(scenario, tmp_path_factory):
    return write_gazebo_files(scenario, tmp_path_factory.mktemp("gazebo"))


@pytest.fixture(scope="module")
def models(files):
    return {model.name: model for model in files.models}


def test_every_part_is_spawned_and_only_actuated_ones_have_effort_controllers(scenario, models):
    assert set(models) == {*scenario.scene.subsystems, *scenario.scene.environment}
    assert models["humanoid"].controllers == ("joint_state_broadcaster", "effort_controller")
    assert models["lever"].controllers == ("joint_state_broadcaster",)
    assert models["ground"].controllers == ()


def test_the_controller_has_the_motors_in_our_order(scenario, models):
    settings = yaml.safe_load(models["humanoid"].controllers_file.read_text("utf-8"))
    effort = settings["/**/effort_controller"]["ros__parameters"]
    assert effort["interface_name"] == "effort"
    assert [f"humanoid/{joint}" for joint in effort["joints"]] == list(scenario.scene.actuated_joint_names)
    manager = settings["/**/controller_manager"]["ros__parameters"]
    assert manager["update_rate"] == round(1 / scenario.spec.dt)
    assert manager["effort_controller"]["type"] == "forward_command_controller/ForwardCommandController"


def test_the_urdf_has_the_effort_limits_of_the_scene(scenario, models):
    found = {
        f"{name}/{joint.get('name')}": float(joint.find("limit").get("effort"))
        for name, model in models.items()
        for joint in ElementTree.parse(model.urdf).getroot().iterfind("joint")
        if joint.find("limit") is not None
    }
    limits = dict(zip(scenario.scene.actuated_joint_names, scenario.scene.torque_limits.tolist(), strict=True))
    assert {joint: found[joint] for joint in limits} == limits


def test_the_urdf_starts_where_the_scene_does(scenario, models):
    """Read back by pinocchio, put together from the spawn pose and the initial values of the interfaces."""
    scene = scenario.scene
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, scene.q0)
    for name, model in models.items():
        root = ElementTree.parse(model.urdf).getroot()
        read = pin.buildModelFromUrdf(str(model.urdf))
        q = pin.neutral(read)
        for joint in root.iterfind("ros2_control/joint"):
            value = float(joint.find("state_interface[@name='position']/param").text)
            q[read.joints[read.getJointId(joint.get("name"))].idx_q] = value
        own = read.createData()
        pin.framesForwardKinematics(read, own, q)
        spawned = pin.SE3(pin.rpy.rpyToMatrix(*model.rpy), np.array(model.position))
        part = {**scene.subsystems, **scene.environment}[name]
        for link in part.links:
            expected = data.oMf[scene.model.getFrameId(link, pin.FrameType.BODY)]
            found = spawned * own.oMf[read.getFrameId(link.partition("/")[2], pin.FrameType.BODY)]
            assert found.isApprox(expected, 1e-6), link


def test_clock_and_odometry_are_bridged_to_the_subscriptions_of_the_controller(files, models):
    bridged = {entry["ros_topic_name"]: entry["ros_type_name"] for entry in yaml.safe_load(files.bridge.read_text())}
    assert bridged == {"/clock": "rosgraph_msgs/msg/Clock", "/humanoid/odom": "nav_msgs/msg/Odometry"}
    plugins = ElementTree.parse(models["humanoid"].urdf).getroot().findall("gazebo/plugin")
    assert [plugin.findtext("odom_topic") for plugin in plugins] == ["/humanoid/odom", None]
    assert plugins[1].findtext("ros/namespace") == "/humanoid"
