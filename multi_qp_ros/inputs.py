"""Subscriptions of the controller node: states and forces, targets, loads, velocities and user commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from multi_qp_ros import conversions, topics, velocity_commands
from multi_qp_ros.contact_forces import measured_contacts
from multi_qp_ros.footprint import walking_robots
from multi_qp_ros.health import Health
from multi_qp_ros.publisher_watch import Topic
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

    def take_target(self, name: str, position: Array, rotation: Array | None) -> None:
        """Move a target: position (3,) [m], rotation (3, 3) in the world frame.

        Raises:
            ValueError: when the target cannot be moved in the present state.
        """

    def take_load(self, name: str, mass: float) -> None:
        """Change a load [kg].

        Raises:
            ValueError: when the load cannot be changed in the present state.
        """

    def refuse_target(self, name: str, reason: str) -> None:
        """Report a rejected target."""

    def take_force(self, contact: str, force: float, stamp: int) -> None:
        """Process the measured normal force of a contact [N] and its stamp [ns]."""

    def take_velocity(self, robot: str, message: Any) -> None:
        """Process the velocity command of a walking robot.

        Raises:
            ValueError: when it cannot be followed.
        """

    def take_command(self, name: str) -> None:
        """Process a user command.

        Raises:
            ValueError: when no state waits for it.
        """


class Inputs:
    """Subscriptions of the controller node.

    Attributes:
        states: resolved topics of the measured state, by `<subsystem>/joint_states` and the like.
    """

    def __init__(
        self,
        node: Any,
        health: Health,
        scenario: Scenario,
        state_topics: tuple[str, ...],
        listener: Listener,
        *,
        stamped_velocity: bool,
    ) -> None:
        """Create the subscriptions.

        Args:
            node: the subscribing node.
            health: diagnostics of the node.
            scenario: scenario with the targets, loads and commands.
            state_topics: `<subsystem>/joint_states` and `<subsystem>/odom`.
            listener: receiver of the data.
            stamped_velocity: whether velocity commands are TwistStamped, not Twist.
        """
        self._node, self._health, self._listener = node, health, listener
        self._subscriptions: list[Any] = []
        self.states: dict[str, Topic] = {}
        for topic in state_topics:
            subsystem, kind = topic.split("/")
            if kind == "odom":
                take = partial(self._take_root, subsystem)
                reader = OdometryReader(conversions.root_frames(scenario.scene.subsystems[subsystem]))
                name = self._subscribe(Odometry, topic, take, topics.STATE_QOS, reader.read)
                self.states[topic] = Topic(name, Odometry)
            else:
                take = partial(listener.take_joints, subsystem)
                name = self._subscribe(JointState, topic, take, topics.STATE_QOS, JointReader().read)
                self.states[topic] = Topic(name, JointState)
        for name in interactive_targets(scenario):
            self._subscribe_event(PoseStamped, topics.target(scenario.name, name), partial(self._take_target, name))
            self._subscribe_event(
                PointStamped, topics.target_point(scenario.name, name), partial(self._take_point, name)
            )
        for name in scenario.scene.loads.masses:
            self._subscribe_event(Float64, topics.target(scenario.name, name), partial(self._take_load, name))
        self._subscribe_event(String, topics.user_command(scenario.name), self._take_command)
        for contact, surface in measured_contacts(scenario).items():
            topic = topics.contact_force(surface.partition("/")[0], contact)
            self._subscribe(WrenchStamped, topic, partial(self._take_wrench, contact), topics.STATE_QOS)
        kind = velocity_commands.message_type(stamped=stamped_velocity)
        for robot in walking_robots(scenario):
            self._subscribe_event(kind, topics.cmd_vel(robot), partial(listener.take_velocity, robot))

    def _subscribe(
        self,
        message: Any,
        topic: str,
        take: Callable[[Any], None],
        qos: Any,
        read: Callable[[bytes], Any] | None = None,
    ) -> str:
        subscription = subscribe(self._node, self._health, message, topic, take, qos, read=read)
        self._subscriptions.append(subscription)
        return str(subscription.topic_name)

    def _subscribe_event(self, message: Any, topic: str, callback: Callable[[Any], None]) -> None:
        self._subscribe(message, topic, callback, topics.EVENT_QOS)

    def _take_root(self, subsystem: str, message: tuple[int, Array, Array]) -> None:
        self._listener.take_root(subsystem, *message)

    def _take_target(self, name: str, message: PoseStamped) -> None:
        self._try(name, lambda: self._listener.take_target(name, *conversions.read_target(message)))

    def _take_point(self, name: str, message: PointStamped) -> None:
        self._try(name, lambda: self._listener.take_target(name, conversions.read_point(message), None))

    def _take_load(self, name: str, message: Float64) -> None:
        self._try(name, lambda: self._listener.take_load(name, message.data))

    def _try(self, name: str, take: Callable[[], None]) -> None:
        try:
            take()
        except ValueError as error:
            self._listener.refuse_target(name, str(error))

    def _take_wrench(self, contact: str, message: WrenchStamped) -> None:
        force = -message.wrench.force.z
        if not math.isfinite(force):
            raise ValueError("its force is not finite")
        self._listener.take_force(contact, force, conversions.from_stamp(message.header.stamp))

    def _take_command(self, message: String) -> None:
        self._listener.take_command(message.data)

    def destroy(self) -> None:
        """Destroy the subscriptions."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)


def interactive_targets(scenario: Scenario) -> list[str]:
    """Return the names of all targets of a scenario that a user can move in some state."""
    spec = scenario.spec
    tasks: list[Any] = list(spec.tasks.values())
    for state in spec.states.values():
        tasks += state.tasks.values()
    names = (getattr(getattr(task, "target", None), "interactive", None) for task in tasks)
    return list(dict.fromkeys(name for name in names if name is not None))
