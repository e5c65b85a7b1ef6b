"""Speed at which a motion passes: scheduled, set by a user, and slower after a disturbance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multi_qp_scene.schema.modal import SlowDownSpec, TimedSpeedSpec
from multi_qp_scene.stateful import Stateful

#: Largest rate of change of the speed [1/s].
RATE = 2.0
#: Factor of the speed of a hurried step, and its largest rate of change [1/s].
HURRIED, HURRYING = 1.5, 10.0


class Pace(Stateful):
    """Speed of a motion relative to that of its file.

    Attributes:
        calm: present speed without the hurry.
        hurry: present factor of hurried steps.
        slowed_until: time since the start up to which it is slower after a disturbance [s].
    """

    @dataclass
    class Checkpoint:
        """Present speed, factor of hurried steps, and the end of a slower part."""

        calm: float
        hurry: float
        slowed_until: float

    def __init__(self, schedule: Sequence[TimedSpeedSpec], slow_down: SlowDownSpec | None) -> None:
        self._schedule, self._slow_down = sorted(schedule, key=lambda one: one.at), slow_down
        self.start()

    def start(self) -> None:
        """Begin at the first speed."""
        self.calm, self.hurry, self.slowed_until = self._scheduled(0.0), 1.0, 0.0

    @property
    def speed(self) -> float:
        """Present speed."""
        return self.calm * self.hurry

    def update(
        self, elapsed: float, dt: float, disturbance: float, chosen: float | None, *, hurried: bool = False
    ) -> float:
        """Return the speed of this tick.

        Args:
            elapsed: time since the start [s].
            dt: control period [s].
            disturbance: error of the velocity of the centre of mass [m/s].
            chosen: speed that a user has set, instead of the schedule.
            hurried: whether a step is hurried.
        """
        wanted, slow = self._scheduled(elapsed) if chosen is None else chosen, self._slow_down
        if slow is not None:
            if disturbance > slow.above:
                self.slowed_until = elapsed + slow.duration
            if elapsed < self.slowed_until:
                wanted *= slow.factor
        self.calm += float(np.clip(wanted - self.calm, -RATE * dt, RATE * dt))
        self.hurry += float(np.clip((HURRIED if hurried else 1.0) - self.hurry, -HURRYING * dt, HURRYING * dt))
        return self.speed

    def _scheduled(self, elapsed: float) -> float:
        return ([one.factor for one in self._schedule if one.at <= elapsed + 1e-9] or [1.0])[-1]
