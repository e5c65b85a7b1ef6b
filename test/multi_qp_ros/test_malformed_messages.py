"""Malformed messages: refused, counted and named; every node continues."""

from __future__ import annotations

import json
import time
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Point, PoseStamped, Transform, Twist
from mutations import mutations
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_ros.diagnostics import Level
from multi_qp_ros.health import Health
from multi_qp_ros.qos import COMMAND_QOS, EVENT_QOS, LATCHED_QOS
from multi_qp_ros.raw_messages import JointReader, OdometryReader, read_message
from multi_qp_scene import load_scenario
from multi_qp_viewer.marker_board import MarkerBoard

#: After this long [s], what has not been reported is published again.
PUBLISH_AGAIN = 3.0
JOINTS = JointState(name=["left", "right"], position=[0.1, 0.2], velocity=[1.0, 2.0], effort=[3.0, 4.0])
PLAN = MultiDOFJointTrajectory(
    joint_names=["left_foot", "right_foot"],
    points=[MultiDOFJointTrajectoryPoint(transforms=[Transform()] * 2, velocities=[Twist()] * 2)] * 3,
)
POSTURES = JointTrajectory(joint_names=["a", "b"], points=[JointTrajectoryPoint(positions=[1.0, 2.0])] * 3)
MARKERS = MarkerArray(markers=[Marker(ns="n", id=k, type=k, points=[Point()] * 6) for k in range(12)])
for one in MARKERS.markers:
    one.header.frame_id = "world"
MESSAGES = [JOINTS, Odometry(), PoseStamped(), Float64MultiArray(data=[1.0, 2.0]), String(data='{"a": 1}')]
MESSAGES += [PLAN, POSTURES, MARKERS]


def reads(message):
    """Return how a node reads messages of this type."""
    match message:
        case JointState():
            return JointReader().read
        case Odometry():
            return OdometryReader().read
        case MarkerArray():
            return lambda data: MarkerBoard().update(read_message(MarkerArray, data))
        case _:
            return lambda data: read_message(type(message), data)


def read_all(message, seed, count):
    """Read damaged versions of a message, and return how many were refused."""
    read, data, refused = reads(message), serialize_message(message), 0
    read(data)
    for damaged in mutations(data, seed, count):
        try:
            read(damaged)
        except ValueError as error:
            assert str(error)
            refused += 1
    return refused


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_read_or_refused(message):
    assert read_all(message, 0, 300) > 60


@pytest.mark.slow
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_messages_are_read_or_refused(message, seed):
    read_all(message, seed, 1000)


@pytest.mark.parametrize("seconds, nanoseconds", [(-1, 0), (0, 10**9)])
@pytest.mark.parametrize("message", [JointState(), Odometry(), PoseStamped()], ids=lambda m: type(m).__name__)
def test_a_stamp_that_is_not_a_time_is_refused(message, seconds, nanoseconds):
    message.header.stamp.sec, message.header.stamp.nanosec = seconds, nanoseconds
    with pytest.raises(ValueError, match=f"stamp is not a time: {seconds} s and {nanoseconds} ns"):
        reads(message)(serialize_message(message))


def test_invalid_markers_are_refused_and_valid_ones_are_drawn():
    board = MarkerBoard()
    board.update(MARKERS)
    shown = board.drawings
    for field, value in (("points", [Point()] * 5), ("points", [Point(x=np.nan)] * 6)):
        marker = Marker(ns="n", id=7, type=Marker.LINE_LIST, **{field: value})
        marker.header.frame_id = "world"
        with pytest.raises(ValueError, match="marker 7 of 'n'"):
            board.update(MarkerArray(markers=[Marker(action=Marker.DELETEALL), marker]))
        assert all(a is b for a, b in zip(board.drawings, shown, strict=True))


def test_diagnostics_and_log_lines_do_not_end_at_a_nul_of_a_received_name():
    node = Mock()
    node.get_clock().now().nanoseconds = 0
    node.get_fully_qualified_name.return_value = "/tester"
    health = Health(node, dt=0.01)
    health.set_status(Level.ERROR, "names knee\0 instead")
    health.refuse("joint_states", "names hip\0 twice")
    health.publish()
    published = node.create_publisher().publish.call_args[0][0]
    (status,) = deserialize_message(serialize_message(published), DiagnosticArray).status
    assert status.message == r"names knee\x00 instead; joint_states: names hip\x00 twice"
    lines = [
        call[0][0] for call in (*node.get_logger().error.call_args_list, *node.get_logger().warning.call_args_list)
    ]
    assert lines == [r"names knee\x00 instead", r"a message on joint_states was refused: names hip\x00 twice"]


# -- on the graph


def damage(graph, process, node, seed, count, messages):
    """Publish damaged versions of messages, (topic, message, quality of service), until the node reports refused ones.

    They are published again every few seconds: what is published before the node has discovered a publisher is lost.
    """
    publishers = [graph.node.create_publisher(type(message), topic, qos) for topic, message, qos in messages]
    due = 0.0

    def reported():
        nonlocal due
        if time.monotonic() >= due:
            for publisher, (topic, message, _) in zip(publishers, messages, strict=True):
                for damaged in mutations(serialize_message(message), seed, count):
                    publisher.publish(damaged)
                    graph.listen(0.002)
                    assert process.poll() is None, (topic, damaged)
            due = time.monotonic() + PUBLISH_AGAIN
        return refused(graph, node, messages)

    try:
        for publisher, (topic, _, _) in zip(publishers, messages, strict=True):
            others = partial(lambda it, ours: it.get_subscription_count() > ours, publisher, topic in graph.received)
            graph.until(others, what=f"a subscriber of {topic}")
        graph.until(reported, what="a count and a reason")
    finally:
        for publisher in publishers:
            graph.node.destroy_publisher(publisher)


def refused(graph, node, messages):
    """Return whether a node counts refused messages, and names one by its topic."""
    counted = graph.diagnosed(node, "refused_messages=")
    return counted and any(graph.diagnosed(node, f"{topic}: ") for topic, _, _ in messages)


def plan_of(names):
    """Return a contact sequence of two phases with some contacts, all in the origin."""
    poses = [Transform() for _ in names]
    for pose in poses:
        pose.rotation.w = 1.0
    points = [MultiDOFJointTrajectoryPoint(transforms=poses)] * 2
    return MultiDOFJointTrajectory(joint_names=names, points=points)


@pytest.fixture(params=[pytest.param(8, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)])
def count(request):
    return request.param


def test_the_controller_continues(start_here, graph, fake_robots, count):
    graph.clear()
    settings = {"scenario": "box", "dt": 0.01, "lock_step": True, "autostart": True, "marker_rate": 0.0}
    process = start_here("multi_qp_ros.nodes.controller_node", **settings)
    fake_robots.begin()
    text = fake_robots.messages(0)
    state = [(topic, message, COMMAND_QOS) for topic, message in text.items()]
    state.append(("box/target/box", PoseStamped(), EVENT_QOS))
    state.append(("box/command", String(data="go"), EVENT_QOS))
    damage(graph, process, "multi_qp_controller", 1, count, state)
    assert graph.transition("deactivate") and graph.transition("activate")
    assert fake_robots.begin()[1]["status"] == "ok"


def test_the_simulator_continues(start_here, graph, fake_robots, count):
    graph.clear()
    process = start_here("multi_qp_ros.nodes.simulator_node", scenario="box", dt=0.01, lock_step=True)
    motors = [joint.name for joint in fake_robots.joints]
    commands = [
        ("humanoid/joint_commands", JointState(name=motors, effort=[0.0] * len(motors)), COMMAND_QOS),
        ("multi_qp/state", String(data='{"stamp": 0, "contacts": ["left_foot"]}'), LATCHED_QOS),
    ]
    damage(graph, process, "simulator", 2, count, commands)
    graph.clear()
    graph.until(lambda: graph.received["humanoid/joint_states"], what="the state again")


def test_the_viewer_continues(start_here, graph, fake_robots, count):
    graph.clear()
    process = start_here("multi_qp_ros.nodes.viewer_node", scenario="box", page=False)
    contacts = [*fake_robots.scenario.spec.contacts][:2]
    shown = [(topic, message, COMMAND_QOS) for topic, message in fake_robots.messages(1).items()]
    shown += [
        ("multi_qp/state", String(data='{"state": "stand", "status": "ok", "tick_ms": 1.0}'), LATCHED_QOS),
        ("multi_qp/markers", MARKERS, EVENT_QOS),
        ("multi_qp/com_markers", MARKERS, LATCHED_QOS),
        ("contact_sequence", plan_of(contacts), LATCHED_QOS),
        ("com_trajectory", plan_of(contacts), LATCHED_QOS),
    ]
    damage(graph, process, "viewer", 3, count, shown)


@pytest.mark.parametrize("node", ["com_trajectory", "contact_planner"])
def test_planning_continues(start_here, graph, node, count):
    graph.clear()
    process = start_here(f"multi_qp_ros.nodes.{node}_node", scenario="stairs")
    scenario = load_scenario("stairs")
    latched = LATCHED_QOS
    status = {"active": False, "standing": False, "waiting": False, "plan": 0, "refused": 0, "reason": ""}
    robot = scenario.spec.plan.character
    received = {
        "com_trajectory": [
            ("contact_sequence", plan_of(["humanoid/left_sole"]), latched),
            ("planned_postures", POSTURES, latched),
        ],
        "contact_planner": [
            ("stairs/goal", PoseStamped(), EVENT_QOS),
            ("multi_qp/plan_status", String(data=json.dumps(status)), latched),
            (f"{robot}/joint_states", JOINTS, COMMAND_QOS),
            (f"{robot}/odom", Odometry(), COMMAND_QOS),
        ],
    }[node]
    damage(graph, process, node, 4, count, received)
