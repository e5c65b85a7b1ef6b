"""Subscriptions of the controller node for the measured state and contact forces."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_ros import conversions, topics
from multi_qp_ros.contact_forces import measured_contacts
from multi_qp_ros.health import Health
from multi_qp_ros.publisher_watch import Topic
from multi_qp_ros.qos import STATE_QOS
from multi_qp_ros.raw_messages import JointReader, Joints, OdometryReader
from multi_qp_ros.subscriptions import subscribe
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario


class Listener(Protocol):
    """Receiver of the data in the messages."""

    def take_joints(self, subsystem: str, joints: Joints) -> None:
        """Process a joint state of a subsystem."""

    def take_root(self, subsystem: str, stamp: int, pose: Array, twist: Array) -> None:
        """Process the state of a floating base: stamp [ns]; see `StateAssembler.put_root`."""

    def take_force(self, contact: str, force: float, stamp: int) -> None:
        """Process the measured normal force of a contact [N] and its stamp [ns]."""


class Inputs:
    """Subscriptions of the controller node for measurements.

    Attributes:
        states: resolved topics of the measured state, by `<subsystem>/joint_states` and the like.
    """

    def __init__(
        self, node: Any, health: Health, scenario: Scenario, state_topics: tuple[str, ...], listener: Listener
    ) -> None:
        """Create the subscriptions.

        Args:
            node: the subscribing node.
            health: diagnostics of the node.
            scenario: scenario with the contacts.
            state_topics: `<subsystem>/joint_states` and `<subsystem>/odom`.
            listener: receiver of the data.
        """
        self._listener = listener
        self.states: dict[str, Topic] = {}
        add = partial(subscribe, node, health, qos=STATE_QOS)
        for topic in state_topics:
            subsystem, kind = topic.split("/")
            if kind == "odom":
                message: Any = Odometry
                read = OdometryReader(conversions.root_frames(scenario.scene.subsystems[subsystem])).read
                subscription = add(message, topic, partial(self._take_root, subsystem), read=read)
            else:
                message = JointState
                subscription = add(message, topic, partial(listener.take_joints, subsystem), read=JointReader().read)
            self.states[topic] = Topic(str(subscription.topic_name), message)
        for contact, surface in measured_contacts(scenario).items():
            topic = topics.contact_force(surface.partition("/")[0], contact)
            add(WrenchStamped, topic, partial(self._take_wrench, contact))

    def _take_root(self, subsystem: str, message: tuple[int, Array, Array]) -> None:
        self._listener.take_root(subsystem, *message)

    def _take_wrench(self, contact: str, message: WrenchStamped) -> None:
        force = -message.wrench.force.z
        if not math.isfinite(force):
            raise ValueError("its force is not finite")
        self._listener.take_force(contact, force, conversions.from_stamp(message.header.stamp))
