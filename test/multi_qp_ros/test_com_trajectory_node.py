"""Node `com_trajectory` on a real graph: contact sequences, curves, markers, invalid input."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_ros import com_markers, topics
from multi_qp_ros.plan_messages import sequence_message, sequence_of
from multi_qp_ros.qos import LATCHED_QOS
from multi_qp_scene import load_scenario
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.sequence_file import load_contact_sequence

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
NODE = "com_trajectory"


@pytest.fixture(scope="module")
def process(start):
    return start("multi_qp_ros.nodes.com_trajectory_node", scenario="walk_plan")


@pytest.fixture(scope="module")
def wires(graph, process):
    """Received messages of the node, and a function that publishes a sequence."""
    received: dict[str, list] = {"curve": [], "markers": []}
    node = graph.node
    node.create_subscription(MultiDOFJointTrajectory, topics.COM_TRAJECTORY, received["curve"].append, LATCHED_QOS)
    node.create_subscription(MarkerArray, topics.COM_MARKERS, received["markers"].append, LATCHED_QOS)
    publisher = node.create_publisher(MultiDOFJointTrajectory, topics.CONTACT_SEQUENCE, LATCHED_QOS)
    yield received, publisher.publish
    node.destroy_publisher(publisher)  # its last message is latched, and other modules use this topic


def steps(count: int) -> ContactSequence:
    whole = load_contact_sequence("level_walking")
    return ContactSequence(whole.phases[:count], whole.models, "steps")


def array(vectors) -> np.ndarray:
    return np.array([[v.x, v.y, v.z] for v in vectors])


def test_a_sequence_gives_a_curve_with_its_derivatives(graph, wires):
    received, send = wires
    graph.until(lambda: graph.diagnosed(NODE, "waiting for a contact sequence", OK), what="the node")
    send(sequence_message(steps(5), 0))
    graph.until(lambda: received["curve"], what="a curve")
    message = received["curve"][-1]
    assert message.joint_names == ["walker"] and message.header.frame_id == "world"
    times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points])
    place = array(p.transforms[0].translation for p in message.points)
    rate = array(p.velocities[0].linear for p in message.points)
    second = array(p.accelerations[0].linear for p in message.points)
    assert times[0] == 0.0 and (np.diff(times) > 0.0).all()
    # two steps of 20 cm ahead, over the feet, at standing height
    assert place[0, 0] < 0.03 and 0.25 < place[-1, 0] < 0.35 and np.abs(place[:, 1]).max() < 0.11
    assert (place[:, 2] > 0.6).all() and (place[:, 2] < 0.8).all()
    inner = slice(2, -2)
    middle = 0.5 * (rate[1:] + rate[:-1])
    np.testing.assert_allclose(middle, np.diff(place, axis=0) / np.diff(times)[:, None], atol=5e-3)
    change = np.gradient(rate, times, axis=0)
    assert np.median(np.abs(change - second)[inner]) < 5e-3
    np.testing.assert_allclose(rate[[0, -1]], 0.0, atol=1e-6)


def test_markers_show_polytopes_points_and_curve(graph, wires):
    received, _ = wires
    graph.until(lambda: received["markers"], what="markers")
    shown = [m for m in received["markers"][-1].markers if m.action == Marker.ADD]
    assert {m.ns for m in shown} == set(com_markers.NAMESPACES)
    count = {name: sum(m.ns == name for m in shown) for name in com_markers.NAMESPACES}
    assert count == {"com_polytopes": 5, "com_regions": 5, "transition_points": 4, "com_curve": 1}
    triangles = next(m for m in shown if m.ns == "com_polytopes")
    assert len(triangles.points) % 3 == 0 and len(triangles.points) > 30


def test_a_repeated_sequence_is_ignored_and_a_new_one_gives_a_curve(graph, wires):
    received, send = wires
    before = len(received["curve"])
    send(sequence_message(steps(5), 7_000_000_000))
    graph.listen(1.0)
    assert len(received["curve"]) == before
    send(sequence_message(steps(3), 0))
    graph.until(lambda: len(received["curve"]) > before, what="another curve")
    assert received["curve"][-1].points[-1].transforms[0].translation.x < 0.2
    # the markers of the phases that are no longer there are deleted
    graph.until(lambda: any(m.action == Marker.DELETE for m in received["markers"][-1].markers), what="deletions")


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda m: m.joint_names.__setitem__(0, "walker/left_sock"), "left_sock"),
        (lambda m: m.points[0].transforms.pop(), "expected a transform for each name"),
        (lambda m: m.points.clear(), "there are no phases"),
        (lambda m: setattr(m.points[0].transforms[0].rotation, "w", 9.0), "unit quaternion"),
        (lambda m: setattr(m.points[0].transforms[0].translation, "z", 3.0), "cannot stand"),
    ],
)
def test_a_wrong_sequence_is_diagnosed_and_changes_nothing(graph, wires, process, spoil, text):
    received, send = wires
    before = len(received["curve"])
    message = copy.deepcopy(sequence_message(steps(3), 0))
    message.joint_names = list(message.joint_names)
    spoil(message)
    graph.clear()
    send(message)
    graph.until(lambda: graph.diagnosed(NODE, text, WARN), what=text)
    assert len(received["curve"]) == before and process.poll() is None


def test_a_valid_sequence_after_an_invalid_one_gives_a_curve(graph, wires):
    received, send = wires
    before = len(received["curve"])
    send(sequence_message(steps(4), 0))
    graph.until(lambda: len(received["curve"]) > before, what="a curve")


def test_sequences_are_unchanged_by_the_way_through_messages():
    scenario, sequence = load_scenario("walk_plan"), steps(6)
    back = sequence_of(sequence_message(sequence, 0), scenario, friction=0.6)
    assert len(back.phases) == 6
    for there, here in zip(sequence.phases, back.phases, strict=True):
        assert not there.made(here) and not there.broken(here)
        assert {c.size for c in here.contacts} == {(0.21, 0.1)} and {c.friction for c in here.contacts} == {0.6}
    with pytest.raises(MultiQpError, match="unknown contact or surface"):
        sequence_of(sequence_message(sequence, 0), load_scenario("box"), friction=0.6)
