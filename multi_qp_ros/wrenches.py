"""Publishers of the wrenches of contacts on both bodies: action and reaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import WrenchStamped

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_ros import topics
from multi_qp_ros.cdr import Template
from multi_qp_ros.qos import COMMAND_QOS
from multi_qp_ros.scene_templates import wrench_template
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario

#: Interval between queries of the subscription counts [ns], which cost more than publishing some of the wrenches.
LOOK_EVERY = 100_000_000


class WrenchOutput:
    """Publishers of the wrenches of all contacts of a scenario.

    The wrench on each of the two bodies acts at the origin of that body's surface and is expressed in the frame of that
    surface, which the header names; the wrench on the second body is the reaction to that on the first. When a contact
    is removed, zeros are published once. Topics without subscriptions are skipped.
    """

    def __init__(self, node: Any, scenario: Scenario) -> None:
        self._node = node
        self._sides = {
            name: tuple(self._side(name, surface) for surface in spec.surfaces)
            for name, spec in scenario.spec.contacts.items()
        }
        self._on: set[str] = set()
        self._queried: int | None = None
        self._subscribed: dict[str, tuple[bool, ...]] = {}

    def _side(self, contact: str, surface: str) -> tuple[Any, Template]:
        topic = topics.wrench(contact, surface)
        return self._node.create_publisher(WrenchStamped, topic, COMMAND_QOS), wrench_template(surface)

    def send(self, wrenches: Mapping[str, Array], contacts: Mapping[str, ActiveContact], stamp: int) -> None:
        """Publish the wrenches of a command; contacts without wrench, as in a fallback, are skipped.

        Args:
            wrenches: by contact: force [N], then moment [N m], on the first surface's body, in its frame, (6,).
            contacts: active contacts.
            stamp: stamp of the state [ns].
        """
        if self._queried is None or abs(stamp - self._queried) >= LOOK_EVERY:
            self._query_subscriptions(stamp)
        if self._on != contacts.keys():
            for name in self._on - contacts.keys():
                for publisher, template in self._sides[name]:
                    publisher.publish(template.fill(stamp, np.zeros(6)))
            self._on = set(contacts)
        for name, (by_first, by_second) in self._subscribed.items():
            wrench = wrenches.get(name)
            if wrench is None:
                continue
            (on_first, first), (on_second, second) = self._sides[name]
            if by_first:
                on_first.publish(first.fill(stamp, wrench))
            if by_second:
                reaction = -contacts[name].motion.X_B_A.act(pin.Force(wrench)).vector
                on_second.publish(second.fill(stamp, reaction))

    def _query_subscriptions(self, stamp: int) -> None:
        self._queried, self._subscribed = stamp, {}
        for name, sides in self._sides.items():
            subscribed = tuple(publisher.get_subscription_count() > 0 for publisher, _ in sides)
            if any(subscribed):
                self._subscribed[name] = subscribed
