"""Publishers of the controller node: efforts, controller state and report."""

from __future__ import annotations

import json
from time import sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from multi_qp_controller.command import Command
from multi_qp_ros import topics
from multi_qp_ros.publisher_watch import Topic
from multi_qp_ros.qos import COMMAND_QOS, LATCHED_QOS
from multi_qp_ros.scene_templates import command_template, effort_template, motor_names
from multi_qp_scene.scenario import Scenario

#: Real-time mode: period at which an unchanged controller state is published [ns].
STATE_PERIOD = 100_000_000
#: Real-time mode: number of repetitions of the last command, and the time before each [s].
LAST_REPEATS, REPEAT_PERIOD = 2, 0.01


class CommandOutput:
    """Publishers of the controller node.

    Attributes:
        report: publisher of the report at the end of a run.
        efforts: resolved topics of the efforts, by `<subsystem>/joint_commands` and the like.
    """

    def __init__(self, node: Any, scenario: Scenario, *, every: bool) -> None:
        """Create the publishers.

        Args:
            node: the publishing node.
            scenario: scenario with the robots.
            every: whether to publish the controller state with every command, for a simulator that waits for its stamp;
                else when it changes, and ten times per second: that message costs more than all efforts.
        """
        self._every = every
        self._published: tuple[Any, ...] = ()
        self._published_at = 0
        self._scene = scenario.scene
        self._robots = {
            s.name: (
                command_template(motor_names(self._scene, s)),
                effort_template(len(s.actuated)),
                node.create_publisher(JointState, topics.joint_commands(s.name), COMMAND_QOS),
                node.create_publisher(Float64MultiArray, topics.effort_commands(s.name), COMMAND_QOS),
            )
            for s in scenario.scene.subsystems.values()
            if len(s.actuated)
        }
        self.efforts: dict[str, Topic] = {}
        for robot, (_, _, with_names, bare) in self._robots.items():
            self.efforts[topics.joint_commands(robot)] = Topic(with_names.topic_name, JointState)
            self.efforts[topics.effort_commands(robot)] = Topic(bare.topic_name, Float64MultiArray)
        self._state = node.create_publisher(String, topics.CONTROLLER_STATE, LATCHED_QOS)
        self.report = node.create_publisher(String, topics.REPORT, LATCHED_QOS)
        self._last: tuple[Any, Any, int] | None = None

    def send(self, command: Command, contacts: tuple[str, ...], stamp: int) -> None:
        """Send the command for the state with a stamp [ns], with the names of the active contacts."""
        now = command.diagnostics
        content = (now.state, now.status, now.message, contacts, now.finished)
        if not self._every and content == self._published and 0 <= stamp - self._published_at < STATE_PERIOD:
            self._send(None, command.tau, stamp)
            return
        self._published, self._published_at = content, stamp
        state = {
            "stamp": stamp,
            "state": now.state,
            "status": str(now.status),
            "message": now.message,
            "contacts": list(contacts),
            "finished": now.finished,
            "tick_ms": round(now.tick_ms, 3),
        }
        self._send(state, command.tau, stamp)

    def rest(self, stamp: int, contacts: tuple[str, ...]) -> None:
        """Send zero efforts as the last command."""
        state = {"stamp": stamp, "status": "inactive", "contacts": list(contacts)}
        self._published = ()
        self._send(state, np.zeros(self._scene.na), stamp)
        for _ in range(0 if self._every else LAST_REPEATS):  # a best-effort subscription may lose one
            sleep(REPEAT_PERIOD)
            self._send(None, np.zeros(self._scene.na), stamp)

    def repeat(self) -> None:
        """Send the last command again."""
        if self._last is not None:
            self._send(*self._last)

    def _send(self, state: dict[str, Any] | None, tau: NDArray[np.float64], stamp: int) -> None:
        self._last = (state, tau, stamp)
        # contacts first: the simulator applies them together with the efforts
        if state is not None:
            self._state.publish(String(data=json.dumps(state)))
        for name, (named, unnamed, with_names, bare) in self._robots.items():
            efforts = tau[self._scene.subsystems[name].actuated]
            with_names.publish(named.fill(stamp, efforts))
            if bare.get_subscription_count():
                bare.publish(unnamed.fill(stamp, efforts))
