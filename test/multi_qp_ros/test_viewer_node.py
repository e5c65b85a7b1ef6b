"""Viewer node on a real graph: page, inputs, plans; without a controller too."""

from __future__ import annotations

import re
import socket
import urllib.error
import urllib.request

import numpy as np
import pinocchio as pin
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped, Quaternion, Transform, Vector3, Vector3Stamped
from std_msgs.msg import Float64, String
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_ros import topics
from multi_qp_ros.qos import LATCHED_QOS
from multi_qp_scene import load_scenario

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture(scope="module")
def process(start, port):
    return start("multi_qp_ros.nodes.viewer_node", scenario="box", port=port)


def plan(points):
    """Return a message of two contacts: one list of a position or None for each phase."""
    message = MultiDOFJointTrajectory(joint_names=["left_foot", "right_foot"])
    for phase in points:
        places = [place if place is not None else [float("nan")] * 3 for place in phase]
        transforms = [Transform(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(w=1.0)) for x, y, z in places]
        message.points.append(MultiDOFJointTrajectoryPoint(transforms=transforms))
    return message


def test_it_waits_for_the_robots_then_serves_its_page(process, graph, fake_robots, port, printed):
    graph.clear()
    graph.until(lambda: graph.diagnosed("viewer", "waiting for humanoid/joint_states", WARN), what="waiting")

    def well():
        fake_robots.send(1)
        return graph.diagnosed("viewer", "", OK)

    graph.until(well, what="an OK")
    address = re.search(r"in the viewer at (http://\S+)", printed(process))[1]
    assert address.startswith(f"http://127.0.0.1:{port}/?token=")
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert b"<html" in answer.read().lower()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10)


def test_centres_of_mass_and_tick_time_can_be_plotted(process, graph, fake_robots):
    scene = load_scenario("box").scene
    places, speeds, times = [], [], []
    for kind, name, received in (
        (PointStamped, topics.com("humanoid"), places),
        (Vector3Stamped, topics.com_velocity("humanoid"), speeds),
        (Float64, topics.TICK_TIME, times),
    ):
        graph.node.create_subscription(kind, name, received.append, 10)
    controller = graph.node.create_publisher(String, topics.CONTROLLER_STATE, LATCHED_QOS)

    def all_received():
        fake_robots.send(2)
        controller.publish(String(data='{"state": "lift", "status": "ok", "tick_ms": 1.5}'))
        return places and speeds and times

    graph.until(all_received, what="the messages")
    data = scene.model.createData()
    joint = scene.subsystems["humanoid"].root_joints[0]
    pin.centerOfMass(scene.model, data, scene.q0)
    expected = data.oMi[joint].act(data.com[joint])
    point = places[-1].point
    np.testing.assert_allclose([point.x, point.y, point.z], expected, atol=1e-9)
    assert places[-1].header.frame_id == "world" and times[-1].data == 1.5
    speed = speeds[-1].vector
    np.testing.assert_allclose([speed.x, speed.y, speed.z], 0.0, atol=1e-9)
    graph.node.destroy_publisher(controller)


def test_a_plan_becomes_markers_and_a_shorter_one_deletes(process, graph):
    received = []
    graph.node.create_subscription(MarkerArray, topics.PLAN_MARKERS, received.append, LATCHED_QOS)
    publisher = graph.node.create_publisher(MultiDOFJointTrajectory, topics.CONTACT_SEQUENCE, LATCHED_QOS)
    graph.until(publisher.get_subscription_count, what="a subscriber")
    left, right, ahead = (0.0, 0.1, 0.0), (0.0, -0.1, 0.0), (0.3, 0.1, 0.0)
    publisher.publish(plan([[left, right], [None, right], [ahead, right]]))
    markers = graph.until(lambda: received and received[-1].markers, what="markers")
    outlines = [m for m in markers if m.ns == "planned_contacts"]
    assert len(outlines) == 3  # the right foot stays where it is
    corners = np.array([[p.x, p.y, p.z] for p in outlines[-1].points])
    np.testing.assert_allclose(corners[:4].mean(axis=0), ahead, atol=1e-12)
    assert sorted(m.text for m in markers if m.ns == "planned_phases") == ["1", "1", "3"]
    received.clear()
    publisher.publish(plan([[left, right]]))
    markers = graph.until(lambda: received and received[-1].markers, what="markers")
    assert sorted(m.ns for m in markers if m.action == Marker.DELETE) == ["planned_contacts", "planned_phases"]
    graph.node.destroy_publisher(publisher)


def test_it_ends_on_a_signal(process):
    process.terminate()
    assert process.wait(60) == 0


def test_an_unknown_parameter_is_refused(start):
    assert start("multi_qp_ros.nodes.viewer_node", scenario="box", prot=1).wait(120) == 2


def test_an_address_of_another_machine_is_refused(start, printed):
    process = start("multi_qp_ros.nodes.viewer_node", scenario="box", host="192.0.2.1")
    assert process.wait(120) == 2
    assert "cannot listen at 192.0.2.1" in printed(process)
    assert "Traceback" not in printed(process)
