"""Recorded messages, read back value by value with libraries independent of this project."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from importlib import import_module

import numpy as np
import pinocchio as pin
import pytest
import yaml
from mcap.reader import make_reader
from mcap_ros2.reader import read_ros2_messages
from rosbags.highlevel import AnyReader

from multi_qp_ros import schemas
from multi_qp_ros.cdr import Template, encode, encode_string, stamp

ROS_PACKAGES = {kind.partition("/")[0] for kind in schemas.kinds()} - {"tf2_msgs"}  # not among the wheels


@pytest.fixture(scope="module")
def published(recorded) -> dict[str, list]:
    """Return all messages by topic, decoded by mcap-ros2-support: (stamp of the log [ns], message)."""
    found: dict[str, list] = {}
    for message in read_ros2_messages(recorded.path):
        found.setdefault(message.channel.topic, []).append((message.log_time_ns, message.ros_msg))
    return found


def nanoseconds(time) -> int:
    return time.sec * 1_000_000_000 + time.nanosec


def vector(v) -> list[float]:
    return [v.x, v.y, v.z]


def test_states_and_commands_are_the_ticks(recorded, published) -> None:
    scene = recorded.scenario.scene
    names = [name.partition("/")[2] for name in scene.joint_names if name.startswith("humanoid/")][1:]
    q, v = (getattr(scene.subsystems["humanoid"], part) for part in ("q_slice", "v_slice"))
    assert len(published["/humanoid/joint_states"]) == len(recorded.ticks) == 275
    for k, (given, command) in enumerate(recorded.ticks):
        time, joints = published["/humanoid/joint_states"][k]
        assert time == nanoseconds(joints.header.stamp) == round(given.time * 1e9)
        assert joints.name == names
        np.testing.assert_array_equal(joints.position, given.state.q[q][7:])
        np.testing.assert_array_equal(joints.velocity, given.state.v[v][6:])
        _, root = published["/humanoid/odom"][k]
        pose, twist = root.pose.pose, root.twist.twist
        o = pose.orientation
        assert [*vector(pose.position), o.x, o.y, o.z, o.w] == given.state.q[q][:7].tolist()
        assert [*vector(twist.linear), *vector(twist.angular)] == given.state.v[v][:6].tolist()
        assert (root.header.frame_id, root.child_frame_id) == ("world", scene.subsystems["humanoid"].base_link)
        _, answer = published["/humanoid/joint_commands"][k]
        assert answer.name == [name.partition("/")[2] for name in scene.actuated_joint_names]
        np.testing.assert_array_equal(answer.effort, command.tau)
        np.testing.assert_array_equal(published["/humanoid/effort_controller/commands"][k][1].data, command.tau)
        assert nanoseconds(published["/clock"][k][1].clock) == time


def test_wrenches_are_recorded_for_both_bodies_and_obey_newtons_third_law(recorded, published) -> None:
    scene, contacts = recorded.scenario.scene, recorded.scenario.spec.contacts
    by_time = {round(given.time * 1e9): (given, command) for given, command in recorded.ticks}
    data, checked = scene.model.createData(), 0
    for name, spec in contacts.items():
        topics = [
            f"/{surface.partition('/')[0]}/contacts/{name}/{surface.partition('/')[2]}" for surface in spec.surfaces
        ]
        first, second = (published[topic] for topic in topics)
        assert len(first) == len(second)
        for (time, on_first), (_, on_second) in zip(first, second, strict=True):
            given, command = by_time[time]
            wrenches = [[*vector(m.wrench.force), *vector(m.wrench.torque)] for m in (on_first, on_second)]
            assert [m.header.frame_id for m in (on_first, on_second)] == list(spec.surfaces)
            if name not in command.wrenches:
                assert wrenches == [[0.0] * 6] * 2, "let go: published once more"
                continue
            assert wrenches[0] == command.wrenches[name].tolist()
            pin.framesForwardKinematics(scene.model, data, given.state.q)
            about_world = [
                data.oMf[scene.surfaces[surface].frame_id].act(pin.Force(np.array(wrench))).vector
                for surface, wrench in zip(spec.surfaces, wrenches, strict=True)
            ]
            np.testing.assert_allclose(about_world[0], -about_world[1], atol=1e-9)
            checked += 1
    assert checked > 600


def test_the_tree_of_frames_is_whole_and_true(recorded, published) -> None:
    model = recorded.scenario.scene.model
    fixed = published["/tf_static"][0][1].transforms
    for time, message in published["/tf"][::40]:
        given = next(given for given, _ in recorded.ticks if round(given.time * 1e9) == time)
        data = model.createData()
        pin.framesForwardKinematics(model, data, given.state.q)
        poses = {"world": pin.SE3.Identity()}
        edges = [*fixed, *message.transforms]
        while edges:
            known = [e for e in edges if e.header.frame_id in poses]
            assert known, "every frame hangs on one that is known"
            for edge in known:
                t, r = edge.transform.translation, edge.transform.rotation
                X = pin.XYZQUATToSE3(np.array([*vector(t), r.x, r.y, r.z, r.w]))
                poses[edge.child_frame_id] = poses[edge.header.frame_id] * X
            edges = [e for e in edges if e not in known]
        assert {*recorded.scenario.scene.surfaces} <= poses.keys()
        for name, pose in poses.items():
            if name != "world":
                expected = data.oMf[
                    model.getFrameId(
                        name,
                        pin.FrameType.BODY if model.existFrame(name, pin.FrameType.BODY) else pin.FrameType.OP_FRAME,
                    )
                ]
                np.testing.assert_allclose(pose.homogeneous, expected.homogeneous, atol=1e-9)


def test_descriptions_and_diagnostics(recorded, published) -> None:
    for name in ("humanoid", "box", "table", "ground"):
        assert ElementTree.fromstring(published[f"/{name}/robot_description"][0][1].data).tag == "robot"
    statuses = [message.status[0] for _, message in published["/diagnostics"]]
    assert 5 <= len(statuses) <= 7
    assert {status.level for status in statuses} == {0}
    last = {pair.key: pair.value for pair in statuses[-1].values}
    assert int(last["ticks_ok"]) > 200


def test_rosbags_reads_the_same(recorded, published) -> None:
    count = dict.fromkeys(published, 0)
    with AnyReader([recorded.path]) as reader:
        assert {connection.topic for connection in reader.connections} == set(published)
        for connection, time, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            expected_time, expected = published[connection.topic][count[connection.topic]]
            count[connection.topic] += 1
            assert time == expected_time
            if connection.topic == "/humanoid/joint_states":
                assert message.position.tolist() == expected.position
                assert message.name == expected.name
            if connection.topic == "/box/odom":
                assert message.pose.pose.position.x == expected.pose.pose.position.x
            if connection.topic == "/multi_qp/tick":
                assert message.data == expected.data
    assert count == {topic: len(messages) for topic, messages in published.items()}


def test_ros_itself_reads_the_same(recorded, published) -> None:
    serialization = import_module("rclpy.serialization")

    seen = set()
    with recorded.path.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            package, _, name = schema.name.split("/")
            if package not in ROS_PACKAGES or channel.topic in seen:
                continue
            kind = getattr(import_module(f"{package}.msg"), name)
            read = serialization.deserialize_message(message.data, kind)
            assert same(read, published[channel.topic][0][1]), channel.topic
            seen.add(channel.topic)
    assert len(seen) > 15


def same(ros, ours) -> bool:
    """Return whether a message of ROS's own type holds what mcap-ros2-support read."""
    if hasattr(ros, "get_fields_and_field_types"):
        return all(same(getattr(ros, field), getattr(ours, field)) for field in ros.get_fields_and_field_types())
    if isinstance(ros, bytes):
        return ros[0] == ours
    if isinstance(ros, str | int | float):
        return ros == ours
    return len(ros) == len(ours) and all(map(same, ros, ours))


@pytest.mark.parametrize("kind", [k for k in schemas.kinds() if k.partition("/")[0] in ROS_PACKAGES])
def test_definitions_are_those_of_ros(kind) -> None:
    package, _, name = kind.partition("/")
    module = import_module(f"{package}.msg")
    ours = {}
    for line in schemas.definition(kind).splitlines():
        type_, field = line.split()[:2]
        if "=" not in line:
            ours[field] = type_
    theirs = getattr(module, name).get_fields_and_field_types()
    assert list(ours) == list(theirs)
    for field, type_ in ours.items():
        text = (
            theirs[field]
            .replace("sequence<", "")
            .replace(">", "[]")
            .replace("double", "float64")
            .replace("octet", "byte")
        )
        assert text == type_, field


def test_templates_serialise_as_the_library_does() -> None:
    def make(time, x):
        return {"header": {"stamp": time, "frame_id": "f"}, "name": ["a", "bcd"], "position": x[:2], "effort": x[2:]}

    template = Template("sensor_msgs/JointState", make, 4)
    for time, numbers in ((0, [1.0, -2.5, 0.0, 1e-300]), (1_763_700_000_123_456_789, [np.pi, 1e300, -0.0, 7.0])):
        expected = encode("sensor_msgs/JointState", make(stamp(time), numbers))
        assert template.fill(time, np.array(numbers)) == expected
    assert encode_string("größe 1 m²") == encode("std_msgs/String", {"data": "größe 1 m²"})


LATCHED = {"/tf_static", "/humanoid/robot_description", "/box/robot_description", "/multi_qp/recording"}


def test_topics_that_are_latched_on_the_graph_are_latched_when_rosbag2_plays_them(recorded) -> None:
    """In the YAML of rosbag2's metadata version 9, read by ourselves and by `rosbags`."""
    with recorded.path.open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
        profiles = {c.topic: yaml.safe_load(c.metadata["offered_qos_profiles"]) for c in summary.channels.values()}
    assert {topic for topic, (profile,) in profiles.items() if profile["durability"] == "transient_local"} >= LATCHED
    infinite = {"sec": 9223372036, "nsec": 854775807}
    for topic, (profile,) in profiles.items():
        latched = topic.endswith("/robot_description") or topic in LATCHED
        assert profile == {
            "history": "keep_last",
            "depth": 1 if latched else 10,
            "reliability": "reliable",
            "durability": "transient_local" if latched else "volatile",
            "deadline": infinite,
            "lifespan": infinite,
            "liveliness": "automatic",
            "liveliness_lease_duration": infinite,
            "avoid_ros_namespace_conventions": False,
        }

    with AnyReader([recorded.path]) as bag:
        for connection in bag.connections:
            (offered,) = connection.ext.offered_qos_profiles
            latched = profiles[connection.topic][0]["durability"] == "transient_local"
            assert offered.durability.name == ("TRANSIENT_LOCAL" if latched else "VOLATILE")
            assert offered.reliability.name == "RELIABLE" and offered.history.name == "KEEP_LAST"
