"""What a controller tells those who watch: models, contact wrenches, markers."""

from __future__ import annotations

from typing import Any

from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.observe import take_snapshot
from multi_qp_controller.ros import topics
from multi_qp_controller.ros.marker_process import MarkerProcess
from multi_qp_controller.ros.wrenches import WrenchOutput
from multi_qp_scene.description import robot_descriptions
from multi_qp_scene.scenario import Scenario

#: How long to wait for what takes all markers away [s].
PATIENCE = 2.0


class Broadcast:
    """The publishers of a controller that nothing in the loop depends on."""

    def __init__(self, node: Any, scenario: Scenario, *, marker_rate: float, descriptions: bool) -> None:
        """Publish the models; get ready for the rest.

        Args:
            node: that publishes.
            scenario: what is controlled.
            marker_rate: markers a second; 0: none.
            descriptions: whether to publish the URDF of each part of the scene.

        Raises:
            MultiQpError: when a model's file has gone.
        """
        self._node = node
        self._period = 1.0 / marker_rate if marker_rate else None
        self._due = -float("inf")
        self._maker = MarkerProcess()
        self._shown = False
        self._markers = node.create_publisher(MarkerArray, topics.MARKERS, topics.COMMAND_QOS)
        self._wrenches = WrenchOutput(node, scenario)
        self._descriptions = []
        for name, text in robot_descriptions(scenario).items() if descriptions else ():
            publisher = node.create_publisher(String, topics.robot_description(name), topics.LATCHED_QOS)
            publisher.publish(String(data=text))
            self._descriptions.append(publisher)

    def show(self, controller: Controller, command: Command, stamp: int, now: float) -> None:
        """Show a tick after its command was sent: its stamp [ns], and the time now [s]."""
        self._wrenches.send(command.wrenches, controller.contacts, stamp)
        self.pass_on()
        if command.diagnostics.status is Status.FALLBACK:
            if self._shown:  # nobody chose forces, and the state may not be finite
                self._maker.ask(None, stamp)
                self._shown = False
        elif self._period is not None and not self._due - self._period < now < self._due:
            self._due = now + self._period
            if not self._markers.get_subscription_count():
                return  # some milliseconds, for nobody
            self._maker.ask(take_snapshot(controller, command), stamp)
            self._shown = True

    def pass_on(self) -> None:
        """Publish markers that have been made."""
        self._publish(self._maker.answer())

    def clear(self, stamp: int) -> None:
        """Take away all that is drawn; not for a loop, as it waits until that is done."""
        self._maker.ask(None, stamp)
        while (markers := self._maker.answer(wait=PATIENCE)) is not None:
            self._publish(markers)
        self._shown = False

    def _publish(self, markers: bytes | None) -> None:
        if markers:
            self._markers.publish(markers)

    def destroy(self) -> None:
        """Take the publishers back."""
        self._maker.close()
        self._wrenches.destroy()
        for publisher in (self._markers, *self._descriptions):
            self._node.destroy_publisher(publisher)
