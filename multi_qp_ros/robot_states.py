"""Measured state of the scene for nodes outside the control loop, assembled from state messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_ros import conversions
from multi_qp_ros.health import Health
from multi_qp_ros.qos import STATE_QOS
from multi_qp_ros.raw_messages import JointReader, OdometryReader
from multi_qp_ros.state_assembly import MessageStatus, StateAssembler
from multi_qp_ros.subscriptions import subscribe
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene, State


class RobotStates:
    """Subscriptions of the states of all subsystems.

    Attributes:
        assembler: assembler of the messages; a new one after time jumps back.
    """

    def __init__(
        self,
        node: Any,
        health: Health,
        scene: Scene,
        *,
        max_age: float,
        period: float,
        on_new_run: Callable[[], None] | None = None,
    ) -> None:
        """Create the subscriptions.

        Args:
            node: the subscribing node.
            health: diagnostics of the node.
            scene: scene with the subsystems.
            max_age: age from which on a message is too old, by the steady clock [s].
            period: approximate time between two states [s].
            on_new_run: called when time jumps back.
        """
        self._make = partial(StateAssembler, scene, max_age=max_age, period=period)
        self._on_new_run = on_new_run
        self.assembler = self._make()
        for topic in self.assembler.topics:
            subsystem, kind = topic.split("/")
            message, read, put = (
                (Odometry, OdometryReader(conversions.root_frames(scene.subsystems[subsystem])).read, self._put_root)
                if kind == "odom"
                else (JointState, JointReader().read, self._put_joints)
            )
            take = partial(self._take, put, subsystem)
            subscribe(node, health, message, topic, take, STATE_QOS, read=read)

    def _take(self, put: Callable[..., MessageStatus], subsystem: str, message: Any) -> None:
        if put(subsystem, *message) is MessageStatus.JUMPED_BACK:  # a new run
            self.assembler = self._make()
            if self._on_new_run is not None:
                self._on_new_run()
            put(subsystem, *message)

    def _put_joints(
        self, subsystem: str, stamp: int, names: tuple[str, ...], q: Array, v: Array, _: Array
    ) -> MessageStatus:
        return self.assembler.put_joints(subsystem, stamp, monotonic(), names, q, v)

    def _put_root(self, subsystem: str, stamp: int, pose: Array, twist: Array) -> MessageStatus:
        return self.assembler.put_root(subsystem, stamp, monotonic(), pose, twist)

    def state(self) -> tuple[State, list[str]]:
        """Return the present state and its faults."""
        return self.assembler.state(monotonic())
