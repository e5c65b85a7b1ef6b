"""Messages on /diagnostics and statistics of tick times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from multi_qp_ros.conversions import to_stamp


class Level(Enum):
    """Level of a DiagnosticStatus."""

    OK = DiagnosticStatus.OK
    WARN = DiagnosticStatus.WARN
    ERROR = DiagnosticStatus.ERROR
    STALE = DiagnosticStatus.STALE


def diagnostic_array(
    *, stamp: int, name: str, level: Level, message: str, values: Mapping[str, object]
) -> DiagnosticArray:
    """Return the diagnostics message of one node at a time [ns].

    Names are those of diagnostic_updater, "<node>: <task>", so that a diagnostic_aggregator can match them; the
    hardware of a node is the node itself, with its namespace.
    """
    node = name.strip("/")
    status = DiagnosticStatus(level=level.value, name=f"{node}: status", hardware_id=node, message=message)
    status.values = [KeyValue(key=key, value=_shown(value)) for key, value in values.items()]
    array = DiagnosticArray(status=[status])
    array.header.stamp = to_stamp(stamp)
    return array


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass
class TickStatistics:
    """Periods and execution times since the last diagnostics.

    Attributes:
        dt: desired period [s].
        counts: number of events by name.
    """

    dt: float
    _began: list[float] = field(default_factory=list)
    _took: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def tick(self, began: float, ended: float) -> None:
        """Record beginning and end of one tick, by a steady clock [s]."""
        self._began.append(began)
        self._took.append(ended - began)

    def count(self, what: str) -> None:
        """Count an event; counts are never reset."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def take(self) -> dict[str, object]:
        """Return the statistics and reset those of periods and execution times."""
        periods, took = np.diff(self._began), np.array(self._took or [0.0])
        error = (periods if len(periods) else np.array([self.dt])) - self.dt
        figures: dict[str, object] = {
            "ticks": len(self._took),
            "period_error_mean_ms": float(error.mean() * 1e3),
            "period_error_max_ms": float(np.abs(error).max() * 1e3),
            "execution_time_median_ms": float(np.median(took) * 1e3),
            "execution_time_max_ms": float(took.max() * 1e3),
        }
        self._began, self._took = self._began[-1:], []
        return figures | self.counts
