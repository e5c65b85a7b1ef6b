"""What /diagnostics says of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from multi_qp_controller.ros.conversions import to_stamp


class Level(Enum):
    """How bad it is."""

    OK = DiagnosticStatus.OK
    WARN = DiagnosticStatus.WARN
    ERROR = DiagnosticStatus.ERROR
    STALE = DiagnosticStatus.STALE


def diagnostic_array(
    *, stamp: int, name: str, level: Level, message: str, values: Mapping[str, object]
) -> DiagnosticArray:
    """Return the message that tells of one node at a time [ns]."""
    status = DiagnosticStatus(level=level.value, name=name, hardware_id="multi_qp", message=message)
    status.values = [KeyValue(key=key, value=_shown(value)) for key, value in values.items()]
    array = DiagnosticArray(status=[status])
    array.header.stamp = to_stamp(stamp)
    return array


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass
class TickStatistics:
    """Periods and execution times since they were last told.

    Attributes:
        dt: the period that is wanted [s].
    """

    dt: float
    _began: list[float] = field(default_factory=list)
    _took: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def tick(self, began: float, ended: float) -> None:
        """Note one tick, by a steady clock [s]."""
        self._began.append(began)
        self._took.append(ended - began)

    def count(self, what: str) -> None:
        """Count an event; counts are never reset."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def take(self) -> dict[str, object]:
        """Return the figures and begin anew."""
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
