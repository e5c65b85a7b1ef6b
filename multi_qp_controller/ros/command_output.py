"""What the controller sends at every tick."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from multi_qp_controller.command import Command
from multi_qp_controller.ros import conversions, topics
from multi_qp_controller.ros.wire import Template
from multi_qp_scene.scenario import Scenario

#: By the wall clock: how often a state that has not changed is told [ns].
TELL_PERIOD = 100_000_000


class CommandOutput:
    """The publishers of a controller node.

    Attributes:
        report: of a run at its end.
    """

    def __init__(self, node: Any, scenario: Scenario, *, every: bool) -> None:
        """Make the publishers.

        Args:
            node: that sends.
            scenario: whose robots.
            every: whether to tell the controller's state with every command, for a world that waits for its stamp;
                else when it changes, and ten times a second: that message costs more than all efforts.
        """
        self._node = node
        self._every = every
        self._told: tuple[Any, ...] = ()
        self._told_at = 0
        self._scene = scenario.scene
        self._robots = {
            s.name: (
                _named_template(conversions.motor_names(self._scene, s)),
                node.create_publisher(JointState, topics.joint_commands(s.name), topics.COMMAND_QOS),
                node.create_publisher(Float64MultiArray, topics.effort_commands(s.name), topics.COMMAND_QOS),
            )
            for s in scenario.scene.subsystems.values()
            if len(s.actuated)
        }
        self._state = node.create_publisher(String, topics.CONTROLLER_STATE, topics.LATCHED_QOS)
        self.report = node.create_publisher(String, topics.REPORT, topics.LATCHED_QOS)
        self._last: tuple[Any, Any, int] | None = None

    def send(self, command: Command, contacts: tuple[str, ...], stamp: int) -> None:
        """Send a command as the answer to the state of a stamp [ns], with the contacts that are on."""
        now = command.diagnostics
        telling = (now.state, now.status, now.message, contacts, now.finished)
        if not self._every and telling == self._told and 0 <= stamp - self._told_at < TELL_PERIOD:
            self._send(None, command.tau, stamp)
            return
        self._told, self._told_at = telling, stamp
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
        """Send zero efforts, as the last command."""
        state = {"stamp": stamp, "status": "inactive", "contacts": list(contacts)}
        self._told = ()
        self._send(state, np.zeros(self._scene.na), stamp)

    def repeat(self) -> None:
        """Send the last command again."""
        if self._last is not None:
            self._send(*self._last)

    def _send(self, state: dict[str, Any] | None, tau: conversions.Array, stamp: int) -> None:
        self._last = (state, tau, stamp)
        # first of all the contacts: the efforts are then taken for what they are meant
        if state is not None:
            self._state.publish(String(data=json.dumps(state)))
        for name, (template, with_names, bare) in self._robots.items():
            efforts = tau[self._scene.subsystems[name].actuated]
            with_names.publish(template.fill(stamp, efforts))
            if bare.get_subscription_count():
                bare.publish(conversions.effort_command(efforts))

    def destroy(self) -> None:
        """Take the publishers back."""
        bare = [publisher for _, *pair in self._robots.values() for publisher in pair]
        for publisher in (*bare, self._state, self.report):
            self._node.destroy_publisher(publisher)


def _named_template(names: list[str]) -> Template:
    return Template(lambda efforts: JointState(name=names, effort=conversions.doubles(efforts)), len(names))
