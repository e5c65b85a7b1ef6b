"""Where the robots are, for nodes that are not in the loop: state messages put together to the state of the scene."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_controller.ros import conversions, topics
from multi_qp_controller.ros.state_assembly import Receipt, StateAssembler
from multi_qp_scene.scene import Scene, State


class RobotStates:
    """Listens to the states of all subsystems.

    Attributes:
        assembler: of the messages; a new one when time jumps back.
    """

    def __init__(
        self, node: Any, scene: Scene, *, max_age: float, period: float, on_new_run: Callable[[], None] | None = None
    ) -> None:
        """Listen.

        Args:
            node: that listens.
            scene: whose subsystems.
            max_age: from when on a message is too old, by the steady clock [s].
            period: about how long it is from one state to the next [s].
            on_new_run: called when time jumps back.
        """
        self._make = partial(StateAssembler, scene, max_age=max_age, period=period)
        self._on_new_run = on_new_run
        self.assembler = self._make()
        kinds: dict[str, tuple[Any, Callable[..., Receipt]]] = {
            "joint_states": (JointState, self._put_joints),
            "odom": (Odometry, self._put_root),
        }
        for topic in self.assembler.topics:
            subsystem, kind = topic.split("/")
            message, put = kinds[kind]
            node.create_subscription(message, topic, partial(self._take, put, subsystem), topics.STATE_QOS)

    def _take(self, put: Callable[..., Receipt], subsystem: str, message: Any) -> None:
        if put(subsystem, message) is Receipt.JUMPED_BACK:  # a new run
            self.assembler = self._make()
            if self._on_new_run is not None:
                self._on_new_run()
            put(subsystem, message)

    def _put_joints(self, subsystem: str, message: JointState) -> Receipt:
        stamp = conversions.from_stamp(message.header.stamp)
        return self.assembler.put_joints(
            subsystem, stamp, monotonic(), message.name, message.position, message.velocity
        )

    def _put_root(self, subsystem: str, message: Odometry) -> Receipt:
        pose, twist = conversions.pose_array(message.pose.pose), conversions.twist_array(message.twist.twist)
        stamp = conversions.from_stamp(message.header.stamp)
        return self.assembler.put_root(subsystem, stamp, monotonic(), pose, twist)

    def state(self) -> tuple[State, list[str]]:
        """Return the state now, and what is wrong with it."""
        return self.assembler.state(monotonic())
