"""Speed at which a motion passes: scheduled, set by a user, and slower after a disturbance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multi_qp_scene.schema.modal import SlowDownSpec, TimedSpeedSpec
from multi_qp_scene.stateful import Stateful

#: Largest rate of change of the speed [1/s].
RATE = 2.0


class Pace(Stateful):
    """Speed of a motion relative to that of its file.

    Attributes:
        speed: present speed.
        slowed_until: time since the start up to which it is slower after a disturbance [s].
    """

    @dataclass
    class Checkpoint:
        """Present speed, and the end of a slower part."""

        speed: float
        slowed_until: float

    def __init__(self, schedule: Sequence[TimedSpeedSpec], slow_down: SlowDownSpec | None) -> None:
        self._schedule, self._slow_down = sorted(schedule, key=lambda one: one.at), slow_down
        self.start()

    def start(self) -> None:
        """Begin at the first speed."""
        self.speed, self.slowed_until = self._scheduled(0.0), 0.0

    def update(self, elapsed: float, dt: float, disturbance: float, chosen: float | None) -> float:
        """Return the speed of this tick.

        Args:
            elapsed: time since the start [s].
            dt: control period [s].
            disturbance: error of the velocity of the centre of mass [m/s].
            chosen: speed that a user has set, instead of the schedule.
        """
        wanted, slow = self._scheduled(elapsed) if chosen is None else chosen, self._slow_down
        if slow is not None:
            if disturbance > slow.above:
                self.slowed_until = elapsed + slow.duration
            if elapsed < self.slowed_until:
                wanted *= slow.factor
        self.speed += float(np.clip(wanted - self.speed, -RATE * dt, RATE * dt))
        return self.speed

    def _scheduled(self, elapsed: float) -> float:
        return ([one.factor for one in self._schedule if one.at <= elapsed + 1e-9] or [1.0])[-1]
