"""Publication of a node's diagnostics, with rate-limited log lines."""

from __future__ import annotations

import re
import traceback
from math import inf
from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray

from multi_qp_ros import topics
from multi_qp_ros.diagnostics import Level, TickStatistics, diagnostic_array
from multi_qp_ros.qos import EVENT_QOS
from multi_qp_scene.errors import printable

#: Period of the diagnostics while nothing changes [s].
PERIOD = 1.0
#: A state of the node other than an error is logged once it has lasted this long [s].
LASTING = 1.0
#: Time after which the same cause is logged again [s], and most causes of one topic that are logged in that time.
LOG_AGAIN, MOST_CAUSES = 30.0, 20
#: Most texts in one diagnostics message besides the state of the node.
MOST_TEXTS = 20
#: Longest reason that is published [characters]; it may contain data of a received message.
LONGEST_TEXT = 400


class Health:
    """Publishes a node's diagnostics when their level changes, and periodically.

    Texts may quote received data. Control characters are escaped: at a NUL, ROS messages and log lines would end.

    Attributes:
        level: level of the node's state.
        message: description of the node's state.
        statistics: periods, execution times and counts.
        due: time of the next publication, by the steady clock [s].
        refusals: reason for which the last message was rejected, by topic.
    """

    def __init__(self, node: Any, *, dt: float) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, EVENT_QOS)
        self.level, self.message = Level.STALE, "not active"
        self.statistics = TickStatistics(dt)
        self.due = 0.0
        self.refusals: dict[str, str] = {}
        self._since, self._is_logged = inf, False
        self._passing: dict[str, str] = {}  # since the last diagnostics, by topic or cause
        self._logged: dict[str, dict[str, float]] = {}  # when each cause was logged [s], by topic

    def set_status(self, level: Level, message: str, *, lasting: bool = False, logged: bool = False) -> None:
        """Set the state of the node.

        Args:
            level: level of the state.
            message: its description; texts that differ in their numbers alone have the same cause.
            lasting: whether it has lasted long enough to be logged. Errors are logged at once.
            logged: whether it is logged elsewhere.
        """
        changed, self._is_logged = level is not self.level, logged
        self.level, self.message = level, printable(message)
        if changed:
            self._since = monotonic()
            self.publish()
        if lasting or level is Level.ERROR:
            self._log_state()

    def log(self, fault: str) -> None:
        """Log a fault that the diagnostics contain within another text."""
        if self._may_log("faults", fault):
            self._node.get_logger().error(printable(fault))

    def publish_if_due(self, now: float) -> None:
        """Publish if it is due."""
        if now >= self.due:
            self.publish()

    def warn(self, message: str) -> None:
        """Report a transient event in the next diagnostics and the log."""
        message = printable(message)
        cause = _cause(message)
        self._record(cause, message)
        if self._may_log("", cause):
            self._node.get_logger().warning(message)
            self.publish()

    def refuse(self, topic: str, reason: str) -> None:
        """Count a rejected message; report it in the next diagnostics and, once, in the log."""
        self.statistics.count("refused_messages")
        reason = printable(reason[:LONGEST_TEXT])
        self.refusals[topic] = reason
        self._record(topic, f"{topic}: {reason}")
        if self._may_log(topic, reason):
            self._node.get_logger().warning(f"a message on {topic} was refused: {reason}")

    def failed(self, doing: str, error: BaseException) -> None:
        """Count an exception; report it in the next diagnostics and, once, with its traceback in the log."""
        self.statistics.count("exceptions")
        reason = printable(f"{type(error).__name__}: {error}")
        self._record(doing, f"{doing}: {reason}")
        if self._may_log(doing, reason):
            text = printable("".join(traceback.format_exception(error)))
            self._node.get_logger().error(f"{doing}: {reason}\n{text}")

    def end(self, reason: str) -> None:
        """Publish the end of the process and its reason."""
        self.level, self.message = Level.STALE, printable(f"the process ends: {reason}")
        self.publish()

    def _record(self, key: str, text: str) -> None:
        if key in self._passing or len(self._passing) < MOST_TEXTS:
            self._passing[key] = text

    def _may_log(self, topic: str, reason: str) -> bool:
        now, cause = monotonic(), _cause(reason)
        logged = self._logged.setdefault(topic, {})
        for other in [other for other, at in logged.items() if now - at > LOG_AGAIN]:
            del logged[other]
        if cause in logged or len(logged) == MOST_CAUSES:
            return False
        logged[cause] = now
        return True

    def _log_state(self) -> None:
        if self._is_logged or not self._may_log(f"state {self.level.name}", self.message):
            return
        logger = self._node.get_logger()
        if self.level is Level.ERROR:
            logger.error(self.message)
        elif self.level is Level.WARN:
            logger.warning(self.message)
        else:
            logger.info(self.message)

    def publish(self) -> None:
        """Publish the state of the node and the transient events since the last publication."""
        now = monotonic()
        self.due = now + PERIOD
        if self.level is not Level.OK and now - self._since >= LASTING:
            self._log_state()
        level, message = self.level, self.message
        if self._passing:
            level = Level.WARN if level in (Level.OK, Level.STALE) else level
            message = "; ".join([*filter(None, [message]), *self._passing.values()])
            self._passing.clear()
        self._publisher.publish(
            diagnostic_array(
                stamp=int(self._node.get_clock().now().nanoseconds),
                name=self._node.get_fully_qualified_name(),
                level=level,
                message=message,
                values=self.statistics.take(),
            )
        )


def _cause(message: str) -> str:
    """Return a message with its numbers replaced by '#'."""
    return re.sub(r"\d+", "#", message)
