"""Measured state of the scene for nodes outside the control loop, assembled from state messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from multi_qp_ros.health import Health
from multi_qp_ros.inputs import subscribe_states
from multi_qp_ros.raw_messages import Joints, Root
from multi_qp_ros.state_assembly import MessageStatus, StateAssembler
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
        subscribe_states(node, health, scene, self.assembler.topics, self._take_joints, self._take_root)

    def _take_joints(self, subsystem: str, joints: Joints) -> None:
        self._take(lambda: self.assembler.put_joints(subsystem, joints.stamp, monotonic(), *joints[1:4]))

    def _take_root(self, subsystem: str, root: Root) -> None:
        self._take(lambda: self.assembler.put_root(subsystem, root.stamp, monotonic(), root.pose, root.twist))

    def _take(self, put: Callable[[], MessageStatus]) -> None:
        if put() is MessageStatus.JUMPED_BACK:  # a new run
            self.assembler = self._make()
            if self._on_new_run is not None:
                self._on_new_run()
            put()

    def state(self) -> tuple[State, list[str]]:
        """Return the present state and its faults."""
        return self.assembler.state(monotonic())
