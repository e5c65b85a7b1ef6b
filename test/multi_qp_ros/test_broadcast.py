"""Topics of the controller node for observers, on a real graph: models; wrenches as action and reaction."""

from __future__ import annotations

import time

import numpy as np
import pinocchio as pin
import pytest
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import String

from multi_qp_ros import conversions, topics
from multi_qp_ros.qos import EVENT_QOS, LATCHED_QOS

DT = 0.01


@pytest.fixture(scope="module")
def robots(start, graph, fake_robots):
    start("multi_qp_ros.nodes.controller_node", scenario="box", dt=DT, lock_step=True, autostart=True)
    graph.clear()
    graph.until(lambda: graph.diagnosed("multi_qp_controller", "waiting for"), what="an active controller")
    return fake_robots


@pytest.fixture(scope="module")
def wrenches(robots, graph):
    """By contact: the messages on the body of the first surface and on that of the second, of one tick."""
    received = {}
    for name in ("left_foot", "right_foot", "box_on_table"):
        for surface in robots.scenario.spec.contacts[name].surfaces:
            messages = received.setdefault((name, surface), [])
            topic = topics.wrench(name, surface)
            graph.node.create_subscription(WrenchStamped, topic, messages.append, EVENT_QOS)
    robots.begin()
    tick, due = 0, 0.0

    def all_received():
        """Run ticks until all topics are discovered: topics without subscribers are not published."""
        nonlocal tick, due
        if time.monotonic() >= due:
            tick += 1
            robots.ask(tick)
            due = time.monotonic() + 0.3
        stamps = [conversions.from_stamp(messages[-1].header.stamp) for messages in received.values() if messages]
        return len(stamps) == len(received) and set(stamps) == {round(tick * DT * 1e9)}

    graph.until(all_received, what="the wrenches of one tick")
    return {key: messages[-1] for key, messages in received.items()}


def in_world(robots, message):
    """Return force, then moment about the world's origin, (6,), of a message by its own header."""
    model = robots.scenario.scene.model
    data = model.createData()
    pin.framesForwardKinematics(model, data, robots.state.q)
    X = data.oMf[model.getFrameId(message.header.frame_id)]
    w = message.wrench
    return X.act(pin.Force(np.array([w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z]))).vector


@pytest.mark.parametrize("contact", ["left_foot", "right_foot", "box_on_table"])
def test_action_is_reaction(robots, wrenches, contact):
    first, second = robots.scenario.spec.contacts[contact].surfaces
    on_first, on_second = wrenches[contact, first], wrenches[contact, second]
    assert (on_first.header.frame_id, on_second.header.frame_id) == (first, second)
    action = in_world(robots, on_first)
    assert np.linalg.norm(action[:3]) > 1.0
    np.testing.assert_allclose(in_world(robots, on_second), -action, atol=1e-9)


def test_they_carry_the_weight(robots, wrenches):
    """Everything stands still: the ground pushes the feet up, the table the box, by their weight."""
    spec = robots.scenario.spec.contacts
    feet = sum(in_world(robots, wrenches[name, spec[name].surfaces[0]]) for name in ("left_foot", "right_foot"))
    box = in_world(robots, wrenches["box_on_table", spec["box_on_table"].surfaces[0]])
    subsystems = robots.scenario.scene.subsystems
    assert feet[2] == pytest.approx(9.81 * subsystems["humanoid"].mass, rel=0.02)
    assert box[2] == pytest.approx(9.81 * subsystems["box"].mass, rel=0.02)


@pytest.mark.parametrize("name", ["humanoid", "box", "table", "ground"])
def test_models_are_latched_for_late_subscribers(robots, graph, name):
    received = []
    subscription = graph.node.create_subscription(String, topics.robot_description(name), received.append, LATCHED_QOS)
    text = graph.until(lambda: received, what="a model")[0].data
    graph.node.destroy_subscription(subscription)
    assert pin.buildModelFromXML(text).name == name
