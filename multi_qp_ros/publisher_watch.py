"""Monitoring of the publishers of topics: several active ones, none, or one of another type."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy

#: Period in which all topics are checked, and least time between two checks [s].
ROUND, LEAST_INTERVAL = 0.25, 0.005
#: Publishers that have published within this time [s] are rivals; others are idle, or killed and still listed.
SENDING = 1.0
_PROBE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


class Topic(NamedTuple):
    """Full name of a topic and class of its messages, as `/box/odom`, `Odometry`."""

    name: str
    message: Any

    @property
    def type(self) -> str:
        """Name of its type, as `nav_msgs/msg/Odometry`."""
        return f"{self.message.__module__.partition('.')[0]}/msg/{self.message.__name__}"


class _Probe:
    """Second subscription of a topic that counts its active publishers: the executor does not pass on the publisher."""

    def __init__(self, node: Any, topic: Topic, now: float) -> None:
        self.began = now
        self._node = rclpy.create_node(
            f"_{node.get_name()}_probe", context=node.context, enable_rosout=False, start_parameter_services=False
        )
        self._subscription = self._node.create_subscription(topic.message, topic.name, id, _PROBE_QOS, raw=True)
        self._last_received: dict[bytes, float] = {}

    def sending(self, now: float) -> int:
        """Return the number of publishers that have published within `SENDING`."""
        for _ in range(_PROBE_QOS.depth):
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(self._subscription.msg_type, True)
            if taken is None:
                break
            self._last_received[bytes(taken[1]["publisher_gid"]["data"])] = now
        return sum(now - at < SENDING for at in self._last_received.values())

    def end(self) -> None:
        self._node.destroy_node()


class PublisherWatch:
    """Checks one topic after the other.

    Attributes:
        rivals: report for each topic with several active publishers, by its label.
        listed: the same for topics with several publishers of which at most one is active.
    """

    def __init__(self, node: Any, watched: Mapping[str, Topic]) -> None:
        """Watch topics.

        Args:
            node: node for queries of the graph.
            watched: topics by their label in reports.
        """
        self._node, self._watched = node, dict(watched)
        self._interval = max(LEAST_INTERVAL, ROUND / max(1, len(watched)))
        self._order, self._due = list(watched), 0.0
        self._last_received: dict[str, float] = {}
        self._probes: dict[str, _Probe] = {}
        self._texts: dict[str, str] = {}
        self.rivals: dict[str, str] = {}
        self.listed: dict[str, str] = {}

    def record(self, label: str, now: float) -> None:
        """Record a message of a topic at a time [s]."""
        self._last_received[label] = now

    def last_received(self, label: str) -> float:
        """Return the time of the last message of a topic [s], -inf if there was none."""
        return self._last_received.get(label, -inf)

    def look(self, now: float) -> None:
        """Check the next topic if it is due at `now` [s]."""
        if now < self._due or not self._order:
            return
        self._due = now + self._interval
        label = self._order.pop(0)
        self._order.append(label)
        self.look_at(label, now)
        for probed in self._probes:
            if probed != label:
                self._classify(probed, now)

    def look_at(self, label: str, now: float) -> None:
        """Check one topic."""
        topic = self._watched[label]
        if self._node.count_publishers(topic.name) < 2:
            self._remove(label)
            return
        if label not in self._probes:
            self._probes[label] = _Probe(self._node, topic, now)
        names = self.publishers(label)
        self._texts[label] = f"{label} has {len(names)} publishers: {', '.join(names)}"
        self._classify(label, now)

    def _classify(self, label: str, now: float) -> None:
        several = self._probes[label].sending(now) > 1
        here, there = (self.rivals, self.listed) if several else (self.listed, self.rivals)
        there.pop(label, None)
        here[label] = self._texts[label]

    def _remove(self, label: str) -> None:
        if label in self._probes:
            self._probes.pop(label).end()
            self.rivals.pop(label, None)
            self.listed.pop(label, None)

    def is_undecided(self, label: str, now: float) -> bool:
        """Return whether a topic has several publishers, and has not been probed for `SENDING` yet."""
        probe = self._probes.get(label)
        return probe is not None and now - probe.began < SENDING and label not in self.rivals

    def publishers(self, label: str) -> list[str]:
        """Return the full names of the nodes that publish a topic with its type, one entry per publisher."""
        topic = self._watched[label]
        return [_node_name(info) for info in self._infos(label) if info.topic_type == topic.type]

    def _infos(self, label: str) -> list[Any]:
        return list(self._node.get_publishers_info_by_topic(self._watched[label].name))

    def explain(self, label: str) -> str:
        """Return a likely reason for missing messages: the publishers of a topic, other types or other namespaces."""
        topic, infos = self._watched[label], self._infos(label)
        wrong = [f"{_node_name(info)} publishes {info.topic_type}" for info in infos if info.topic_type != topic.type]
        if wrong:
            return f"{', '.join(wrong)}, expected {topic.type}"
        if infos:
            return f"published by {', '.join(map(_node_name, infos))}"
        elsewhere = [
            name
            for name, types in self._node.get_topic_names_and_types()
            if name.endswith(f"/{label}") and topic.type in types and self._node.count_publishers(name)
        ]
        if elsewhere:
            return f"no publisher; {', '.join(elsewhere[:3])} is in another namespace"
        return "no publisher"

    def destroy(self) -> None:
        """Destroy the probe subscriptions."""
        for label in tuple(self._probes):
            self._remove(label)


def _node_name(info: Any) -> str:
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"
