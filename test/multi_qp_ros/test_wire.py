"""In-place serialisation and deserialisation of messages, compared with that of ROS."""

from __future__ import annotations

import numpy as np
import pytest
import ros_messages
from hypothesis import given, settings
from hypothesis import strategies as st
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from multi_qp_ros import conversions
from multi_qp_ros.raw_messages import JointReader, OdometryReader
from multi_qp_ros.scene_templates import command_template
from multi_qp_ros.state_assembly import joints_of
from multi_qp_ros.state_output import StateOutput
from multi_qp_scene import load_scenario

STAMP = 1_234_567_890_123_456_789 // 1000 * 1000 + 7


def joint_message(names, position=(), velocity=(), effort=(), frame="") -> bytes:
    message = JointState(name=list(names), position=list(position), velocity=list(velocity), effort=list(effort))
    message.header.stamp = conversions.to_stamp(STAMP)
    message.header.frame_id = frame
    return serialize_message(message)


@pytest.mark.parametrize("frame", ["", "b", "base", "longer than it"])
@pytest.mark.parametrize("names", [(), ("a",), ("ab", "", "c_d_e"), ("knee", "hüfte", "x" * 33, "y")])
def test_joint_states_with_any_strings_are_read(names, frame):
    n, reader = len(names), JointReader()
    for values in (np.arange(n) + 0.5, -np.arange(n) * np.nan):
        read = reader.read(joint_message(names, values, 2.0 * values, frame=frame))
        assert (read.stamp, read.names) == (STAMP, names)
        np.testing.assert_array_equal(read.position, values)
        np.testing.assert_array_equal(read.velocity, 2.0 * values)
        assert not len(read.effort)


def test_unchanged_names_are_the_same_object_and_changes_are_detected():
    reader = JointReader()
    first = reader.read(joint_message(["a", "bc"], effort=[1.0, 2.0]))
    assert reader.read(joint_message(["a", "bc"], [1.0], [3.0, 4.0, 5.0])).names is first.names
    np.testing.assert_array_equal(first.effort, [1.0, 2.0])
    for names in (("bc", "a"), ("a", "bd"), ("a",), ("a", "bc", "d"), ()):
        assert reader.read(joint_message(names, [1.0] * len(names))).names == names
    assert reader.read(joint_message(["a", "bc"])).names == first.names


def test_an_odometry_is_read_as_ros_reads_it():
    rng = np.random.default_rng(0)
    for frame, child in (("world", "a/base"), ("", ""), ("map", "xyz12")):
        message = Odometry(child_frame_id=child)
        message.header.frame_id, message.header.stamp = frame, conversions.to_stamp(STAMP)
        message.pose.covariance, message.twist.covariance = rng.standard_normal(36), rng.standard_normal(36)
        pose, twist = message.pose.pose, message.twist.twist
        pose.position.x, pose.position.y, pose.position.z = rng.standard_normal(3)
        pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = rng.standard_normal(4)
        twist.linear.x, twist.linear.y, twist.linear.z = rng.standard_normal(3)
        twist.angular.x, twist.angular.y, twist.angular.z = rng.standard_normal(3)
        stamp, q, v = OdometryReader().read(serialize_message(message))
        assert stamp == STAMP
        np.testing.assert_array_equal(q, conversions.pose_array(pose))
        np.testing.assert_array_equal(v, conversions.twist_array(twist))


class Publishers:
    """Keeps what is published, by topic."""

    def __init__(self) -> None:
        self.text: dict[str, list] = {}

    def create_publisher(self, kind, topic, qos):
        received = self.text.setdefault(topic, [])
        return type("Publisher", (), {"publish": lambda _, data: received.append(deserialize_message(data, kind))})()


@pytest.mark.parametrize("name", ["box", "valve"])
def test_states_are_serialised_as_by_ros(name):
    scene, node = load_scenario(name).scene, Publishers()
    output, rng = StateOutput(node, scene), np.random.default_rng(1)
    state = scene.initial_state()
    for stamp in (STAMP, STAMP + 5_000_000):
        state.v[:] = rng.standard_normal(scene.nv)
        output.publish(state, stamp)
        for subsystem in scene.subsystems.values():
            joints = joints_of(scene, subsystem)
            if joints:
                expected = ros_messages.joint_state(joints, state, stamp)
                assert node.text[f"{subsystem.name}/joint_states"][-1] == expected
            if subsystem.floating:
                assert node.text[f"{subsystem.name}/odom"][-1] == ros_messages.odometry(subsystem, state, stamp)


def test_commands_are_serialised_as_by_ros():
    names, efforts = ["hip", "knee_", "an"], np.array([1.0, -2.5, np.pi])
    template = command_template(names)
    for k in range(2):
        sent = deserialize_message(template.fill(STAMP + k, efforts + k), JointState)
        assert sent == ros_messages.joint_command(names, efforts + k, STAMP + k)


NUMBERS = st.floats(allow_nan=False, width=64)
STAMPS = st.integers(0, 2**31 * 1_000_000_000 - 1)


@given(
    names=st.lists(st.text(max_size=12).filter(lambda name: "\0" not in name), max_size=6), stamp=STAMPS, data=st.data()
)
@settings(max_examples=60, deadline=None)
def test_serialised_messages_are_read_by_ros_and_by_this_project(names, stamp, data):
    efforts = np.array(data.draw(st.lists(NUMBERS, min_size=len(names), max_size=len(names))))
    sent = command_template(names).fill(stamp, efforts)
    message = deserialize_message(sent, JointState)
    assert message == ros_messages.joint_command(names, efforts, stamp)
    read = JointReader().read(sent)
    assert (read.stamp, read.names) == (stamp, tuple(names))
    np.testing.assert_array_equal(read.effort, efforts)
