"""Subscriptions of nodes for the measured state and contact forces."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_ros import conversions, topics
from multi_qp_ros.contact_forces import measured_contacts
from multi_qp_ros.health import Health
from multi_qp_ros.publisher_watch import Topic
from multi_qp_ros.qos import STATE_QOS
from multi_qp_ros.raw_messages import JointReader, Joints, OdometryReader, Root
from multi_qp_ros.subscriptions import subscribe
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene


def subscribe_states(
    node: Any,
    health: Health,
    scene: Scene,
    state_topics: tuple[str, ...],
    take_joints: Callable[[str, Joints], None],
    take_root: Callable[[str, Root], None],
) -> dict[str, Topic]:
    """Subscribe to the measured state.

    Args:
        node: the subscribing node.
        health: diagnostics of the node.
        scene: scene with the subsystems.
        state_topics: `<subsystem>/joint_states` and `<subsystem>/odom`.
        take_joints: called with each joint state and its subsystem.
        take_root: called with each state of a floating base and its subsystem.

    Returns:
        The resolved topics by `state_topics`.
    """
    found = {}
    for topic in state_topics:
        subsystem, kind = topic.split("/")
        message, read, take = (
            (Odometry, OdometryReader(conversions.root_frames(scene.subsystems[subsystem])).read, take_root)
            if kind == "odom"
            else (JointState, JointReader().read, take_joints)
        )
        subscription = subscribe(node, health, message, topic, partial(take, subsystem), STATE_QOS, read=read)
        found[topic] = Topic(str(subscription.topic_name), message)
    return found


def subscribe_forces(node: Any, health: Health, scenario: Scenario, take: Callable[[str, float, int], None]) -> None:
    """Subscribe to measured contact forces: `take` is called with a contact, its normal force [N] and stamp [ns]."""

    def take_wrench(contact: str, message: WrenchStamped) -> None:
        force = -message.wrench.force.z
        if not math.isfinite(force):
            raise ValueError("its force is not finite")
        take(contact, force, conversions.from_stamp(message.header.stamp))

    for contact, surface in measured_contacts(scenario).items():
        topic = topics.contact_force(surface.partition("/")[0], contact)
        subscribe(node, health, WrenchStamped, topic, partial(take_wrench, contact), STATE_QOS)
