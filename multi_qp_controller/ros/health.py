"""What a node says of itself on /diagnostics, and when."""

from __future__ import annotations

from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray

from multi_qp_controller.ros import topics
from multi_qp_controller.ros.diagnostics import Level, TickStatistics, diagnostic_array

#: Seconds between two diagnostics while nothing changes.
PERIOD = 1.0


class Health:
    """Tells at once when things get better or worse, and regularly how they are.

    Attributes:
        level: how bad it is.
        message: what it is.
        statistics: periods, execution times and counts.
        due: when to publish next, by the steady clock [s].
    """

    def __init__(self, node: Any, *, dt: float) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, topics.EVENT_QOS)
        self.level, self.message = Level.STALE, "not active"
        self.statistics = TickStatistics(dt)
        self.due = 0.0

    def tell(self, level: Level, message: str) -> None:
        """Note how things are."""
        changed = level is not self.level
        self.level, self.message = level, message
        if changed:
            self.publish()

    def publish_if_due(self, now: float) -> None:
        """Publish if it is time to."""
        if now >= self.due:
            self.publish()

    def warn(self, message: str) -> None:
        """Tell of something that passes."""
        self.publish(Level.WARN, message)

    def publish(self, level: Level | None = None, message: str | None = None) -> None:
        """Publish how things are, or something that passes."""
        self.due = monotonic() + PERIOD
        self._publisher.publish(
            diagnostic_array(
                stamp=int(self._node.get_clock().now().nanoseconds),
                name=self._node.get_fully_qualified_name(),
                level=level or self.level,
                message=self.message if message is None else message,
                values=self.statistics.take(),
            )
        )
