"""The wrench of each contact as messages, one for each of its two bodies: action and reaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray

from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.ros import topics
from multi_qp_controller.ros.conversions import to_stamp
from multi_qp_scene.scenario import Scenario

Array = NDArray[np.float64]

#: How often to look who listens [ns]: asking at each tick for each topic costs more than telling some of them.
LOOK_EVERY = 100_000_000


class WrenchOutput:
    """Publishes the wrenches of all contacts of a scenario.

    On each of its two bodies a contact's wrench acts at the origin of that body's surface and is given in that
    surface's frame, which the header names: Newton's third law makes the second body's the opposite of the first's.
    A contact that is let go is told of once more, with zeros. Topics that nobody listens to cost nothing.
    """

    def __init__(self, node: Any, scenario: Scenario) -> None:
        self._node = node
        self._sides = {
            name: tuple(self._side(name, surface) for surface in spec.surfaces)
            for name, spec in scenario.spec.contacts.items()
        }
        self._on: set[str] = set()
        self._looked: int | None = None
        self._heard: dict[str, tuple[bool, ...]] = {}

    def _side(self, contact: str, surface: str) -> tuple[Any, WrenchStamped]:
        message = WrenchStamped()
        message.header.frame_id = surface
        topic = topics.wrench(contact, surface)
        return self._node.create_publisher(WrenchStamped, topic, topics.COMMAND_QOS), message

    def send(self, wrenches: Mapping[str, Array], contacts: Mapping[str, ActiveContact], stamp: int) -> None:
        """Publish the wrenches of a command; nothing for contacts of which it tells none, as in a fallback.

        Args:
            wrenches: by contact: force [N], then moment [N m], on the first surface's body, in its frame, (6,).
            contacts: those that are on.
            stamp: of the state [ns].
        """
        if self._looked is None or abs(stamp - self._looked) >= LOOK_EVERY:
            self._look(stamp)
        if self._on != contacts.keys():
            for name in self._on - contacts.keys():
                for publisher, message in self._sides[name]:
                    _send(publisher, message, np.zeros(6), to_stamp(stamp))
            self._on = set(contacts)
        for name, (by_first, by_second) in self._heard.items():
            wrench = wrenches.get(name)
            if wrench is None:
                continue
            (on_first, first), (on_second, second) = self._sides[name]
            if by_first:
                _send(on_first, first, wrench, to_stamp(stamp))
            if by_second:
                _send(on_second, second, reaction(wrench, contacts[name].motion.X_B_A), to_stamp(stamp))

    def _look(self, stamp: int) -> None:
        self._looked, self._heard = stamp, {}
        for name, sides in self._sides.items():
            heard = tuple(publisher.get_subscription_count() > 0 for publisher, _ in sides)
            if any(heard):
                self._heard[name] = heard

    def destroy(self) -> None:
        """Take the publishers back."""
        for sides in self._sides.values():
            for publisher, _ in sides:
                self._node.destroy_publisher(publisher)


def reaction(wrench: Array, X_second_first: pin.SE3) -> Array:
    """Return the wrench on the second body, in its surface's frame, (6,), from that on the first, in its own."""
    return -X_second_first.act(pin.Force(wrench)).vector


def _send(publisher: Any, message: WrenchStamped, wrench: Array, time: Any) -> None:
    message.header.stamp = time
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench.tolist()
    publisher.publish(message)
