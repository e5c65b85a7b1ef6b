"""What the controller hears: states of the subsystems, targets and commands of a user."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from geometry_msgs.msg import PointStamped, PoseStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from multi_qp_controller.ros import conversions, topics
from multi_qp_controller.ros.wire import JointReader, Joints, read_odometry
from multi_qp_scene.scenario import Scenario


class Listener(Protocol):
    """Who takes in what is heard."""

    def take_joints(self, subsystem: str, joints: Joints) -> None:
        """A subsystem tells of its joints."""

    def take_root(self, subsystem: str, stamp: int, pose: conversions.Array, twist: conversions.Array) -> None:
        """A subsystem tells of its floating base: stamp [ns]; see `StateAssembler.put_root`."""

    def take_target(self, name: str, position: conversions.Array, rotation: conversions.Array | None) -> None:
        """A user moves a target: position (3,) [m], rotation (3, 3) in the world.

        Raises:
            ValueError: when that is not possible now.
        """

    def take_load(self, name: str, mass: float) -> None:
        """A user changes a load [kg].

        Raises:
            ValueError: when that is not possible now.
        """

    def refuse_target(self, name: str, reason: str) -> None:
        """A target could not be taken."""

    def take_command(self, name: str) -> None:
        """A user gives a command."""


class Inputs:
    """The subscriptions of a controller's node."""

    def __init__(self, node: Any, scenario: Scenario, state_topics: tuple[str, ...], listener: Listener) -> None:
        """Listen.

        Args:
            node: that listens.
            scenario: whose targets and commands.
            state_topics: `<subsystem>/joint_states` and `<subsystem>/odom`.
            listener: who takes it in.
        """
        self._node, self._listener = node, listener
        self._subscriptions: list[Any] = []
        for topic in state_topics:
            subsystem, kind = topic.split("/")
            if kind == "odom":
                self._listen(Odometry, topic, partial(self._take_root, subsystem), topics.STATE_QOS, raw=True)
            else:
                take = partial(self._take_joints, subsystem, JointReader())
                self._listen(JointState, topic, take, topics.STATE_QOS, raw=True)
        for name in interactive_targets(scenario):
            self._hear(PoseStamped, topics.target(scenario.name, name), partial(self._take_target, name))
            self._hear(PointStamped, topics.target_point(scenario.name, name), partial(self._take_point, name))
        for name in scenario.scene.loads.masses:
            self._hear(Float64, topics.target(scenario.name, name), partial(self._take_load, name))
        self._hear(String, topics.user_command(scenario.name), self._take_command)

    def _listen(
        self, message: Any, topic: str, callback: Callable[[Any], None], qos: Any, *, raw: bool = False
    ) -> None:
        self._subscriptions.append(self._node.create_subscription(message, topic, callback, qos, raw=raw))

    def _hear(self, message: Any, topic: str, callback: Callable[[Any], None]) -> None:
        self._listen(message, topic, callback, topics.EVENT_QOS)

    def _take_joints(self, subsystem: str, reader: JointReader, data: bytes) -> None:
        self._listener.take_joints(subsystem, reader.read(data))

    def _take_root(self, subsystem: str, data: bytes) -> None:
        self._listener.take_root(subsystem, *read_odometry(data))

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

    def _take_command(self, message: String) -> None:
        self._listener.take_command(message.data)

    def destroy(self) -> None:
        """Take the subscriptions back."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)


def interactive_targets(scenario: Scenario) -> list[str]:
    """Return the names of all targets of a scenario that a user may move in one state or another."""
    spec = scenario.spec
    tasks: list[Any] = list(spec.tasks.values())
    for state in spec.states.values():
        tasks += state.tasks.values()
    names = (getattr(getattr(task, "target", None), "interactive", None) for task in tasks)
    return list(dict.fromkeys(name for name in names if name is not None))
