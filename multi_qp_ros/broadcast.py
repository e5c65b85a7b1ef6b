"""Publishers for visualisation: robot descriptions, contact wrenches and markers."""

from __future__ import annotations

from time import monotonic
from typing import Any

from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from multi_qp_controller.command import Command, Status
from multi_qp_controller.controller import Controller
from multi_qp_controller.take_snapshot import take_snapshot
from multi_qp_ros import topics
from multi_qp_ros.marker_process import MarkerProcess
from multi_qp_ros.qos import COMMAND_QOS, LATCHED_QOS
from multi_qp_ros.wrenches import WrenchOutput
from multi_qp_scene.description import robot_descriptions
from multi_qp_scene.scenario import Scenario

#: Timeout of the deletion of all markers [s].
PATIENCE = 0.5


class Broadcast:
    """Publishers of a controller that are not part of the control loop."""

    def __init__(self, node: Any, scenario: Scenario, *, marker_rate: float, descriptions: bool) -> None:
        """Publish the robot descriptions and create the other publishers.

        Args:
            node: node that publishes.
            scenario: controlled scenario.
            marker_rate: rate of the markers [Hz]; 0: none.
            descriptions: whether to publish the URDF of each part of the scene.

        Raises:
            MultiQpError: when the file of a model is missing.
        """
        self._period = 1.0 / marker_rate if marker_rate else None
        self._due = -float("inf")
        self._maker = MarkerProcess()
        self._shown = False
        self._markers = node.create_publisher(MarkerArray, topics.MARKERS, COMMAND_QOS)
        self._wrenches = WrenchOutput(node, scenario)
        for name, text in robot_descriptions(scenario).items() if descriptions else ():
            node.create_publisher(String, topics.robot_description(name), LATCHED_QOS).publish(String(data=text))

    def show(self, controller: Controller, command: Command, stamp: int, now: float) -> None:
        """Publish wrenches and markers of a tick after its command: stamp of the state [ns], current time [s]."""
        self._wrenches.send(command.wrenches, controller.contacts, stamp)
        self.pass_on()
        if command.diagnostics.status is Status.FALLBACK:
            if self._shown:  # no contact forces were computed, and the state may not be finite
                self._maker.request(None, stamp)
                self._shown = False
        elif self._period is not None and not self._due - self._period < now < self._due:
            self._due = now + self._period
            if not self._markers.get_subscription_count():
                return  # saves some milliseconds
            self._maker.request(take_snapshot(controller, command), stamp)
            self._shown = True

    def pass_on(self) -> None:
        """Publish the markers that are complete."""
        self._publish(self._maker.result())

    def clear(self, stamp: int) -> None:
        """Delete all markers; blocks up to `PATIENCE`, hence not for the control loop."""
        self._maker.request(None, stamp)
        end = monotonic() + PATIENCE
        while (markers := self._maker.result(wait=max(1e-3, end - monotonic()))) is not None:
            self._publish(markers)
        self._shown = False

    def _publish(self, markers: bytes | None) -> None:
        if markers:
            self._markers.publish(markers)

    def destroy(self) -> None:
        """End the process that makes the markers."""
        self._maker.close()
