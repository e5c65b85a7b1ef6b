"""Velocity command of a walking robot: schedule, commands from outside, limits and time-out."""

from __future__ import annotations

import logging
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.jit import compiled
from multi_qp_scene.schema.walking import RandomVelocitySpec, RouteSpec, TimedVelocitySpec, VelocityLimitsSpec
from multi_qp_scene.stateful import Stateful
from walking.route import Route

_log = logging.getLogger(__name__)
_NOWHERE = np.zeros(3)
_NAMES = ("vx", "vy", "wz")
#: Share of each limit that the commands may use together: the norm of vx, vy, wz relative to their limits.
TOGETHER = 1.2


def random_schedule(random: RandomVelocitySpec, limits: VelocityLimitsSpec) -> list[TimedVelocitySpec]:
    """Return random velocity commands over time, with zero at the end."""
    draws, schedule, at = np.random.default_rng(random.seed), [], 0.0
    while at < random.duration:
        vx, vy, wz = (
            random.scale * float(draws.uniform(low, high))
            for low, high in ((-limits.back, limits.ahead), (-limits.aside, limits.aside), (-limits.turn, limits.turn))
        )
        rests = draws.uniform() < random.rest
        schedule.append(TimedVelocitySpec(at=at, velocity=(0.0, 0.0, 0.0) if rests else (vx, vy, wz)))
        at += random.every * float(draws.uniform(0.5, 1.5))
    return [*schedule, TimedVelocitySpec(at=random.duration, velocity=(0.0, 0.0, 0.0))]


class VelocityCommand(Stateful):
    """Velocity (vx, vy, wz) of the body in its heading, limited in size and rate [m/s, m/s, rad/s].

    It is limited to `limits`, and to what the steps of the robot can do.

    The last command from outside applies until its time-out, and then zero; before the first one, the schedule or the
    route.

    Attributes:
        route: the route, if there is one.
        limits: limits of the command.
        velocity: present velocity, (3,).
        outside: last command from outside, (3,), None before the first one.
        received: time of the tick that dated it [s].
        pending: command from outside that the next tick dates, (3,), or None.
        refused: number of commands from outside that were refused.
        refusal: reason of the last refusal, or "".
        reduced: command of the last tick that was reduced, and what it was reduced to, (3,) each, or None; not of a
            route.
        silence: time since the last command from outside, if it was not zero and has timed out [s]; else 0.
    """

    @dataclass
    class Checkpoint:
        """Velocity and last command."""

        velocity: Annotated[Array, 3]
        outside: Annotated[Array, 3] | None
        received: float
        pending: Annotated[Array, 3] | None
        route: Route.Checkpoint | None

    def __init__(
        self,
        schedule: Sequence[TimedVelocitySpec],
        limits: VelocityLimitsSpec,
        route: RouteSpec | None = None,
        *,
        possible: Array | None = None,
    ) -> None:
        """Create it at rest; `possible`: largest |vx|, |vy|, |wz| that the steps permit, (3,); no bound if None."""
        self._schedule = sorted(schedule, key=lambda entry: entry.at)
        self._times = [entry.at for entry in self._schedule]
        self.limits = limits
        self.route = None if route is None else Route(route)
        self._possible = bound = np.full(3, np.inf) if possible is None else possible
        self._lower = np.maximum([-limits.back, -limits.aside, -limits.turn], -bound)
        self._upper = np.minimum([limits.ahead, limits.aside, limits.turn], bound)
        self.reduced: tuple[Array, Array] | None = None
        self._rates = np.array(limits.acceleration)
        self.velocity = np.zeros(3)
        self.outside: Array | None = None
        self.received = -math.inf
        self.pending: Array | None = None
        self.refused, self.refusal = 0, ""
        self.silence = 0.0

    def command(self, vx: float, vy: float, wz: float) -> None:
        """Set the command from outside; it is dated by the next tick.

        Raises:
            ArgumentError: when a component is not a finite number, or absurd; the command before remains until its
                time-out.
        """
        for name, value in zip(_NAMES, (vx, vy, wz), strict=True):
            try:
                fits = math.isfinite(value) and abs(value) <= self.limits.absurd
            except TypeError:
                fits = False
            if not fits:
                self.refused += 1
                self.refusal = f"{name} = {value!r}, expected a number within ± {self.limits.absurd:g}"
                _log.warning("velocity command refused: %s", self.refusal)
                raise ArgumentError(f"velocity command: {self.refusal}")
        self.pending = np.array([vx, vy, wz], dtype=float)

    def limited(self, wanted: Array) -> Array:
        """Return a velocity within the limits; combinations are reduced in proportion."""
        allowed = np.empty(3)
        _limit(wanted, self._lower, self._upper, self._possible, allowed)
        return allowed

    def update(
        self,
        time: float,
        elapsed: float,
        dt: float,
        place: Array = _NOWHERE,
        *,
        factor: float = 1.0,
        added: Array = _NOWHERE,
    ) -> Array:
        """Return the velocity of this tick, (3,).

        Args:
            time: [s].
            elapsed: time since the start of the state, for the schedule [s].
            dt: control period [s].
            place: of the body, for a route: x, y [m], heading [rad], (3,).
            factor: of the command.
            added: to the command, (3,).
        """
        if self.pending is not None:
            self.outside, self.received, self.pending = self.pending, time, None
        if self.outside is None:
            wanted = self._scheduled(elapsed) if self.route is None else self.route.velocity(place)
        elif time - self.received > self.limits.timeout:
            wanted = np.zeros(3)
            self.silence = time - self.received if self.outside.any() else 0.0
        else:
            wanted, self.silence = self.outside, 0.0
        wanted, step = factor * wanted + added, self._rates * dt
        allowed = self.limited(wanted)
        # a route's velocity towards its line is reduced all the time
        kept = (allowed == wanted).all() or (self.outside is None and self.route is not None)
        self.reduced = None if kept else (wanted, allowed)
        self.velocity = self.velocity + np.maximum(np.minimum(allowed - self.velocity, step), -step)
        return self.velocity

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state.

        Raises:
            ValueError: when one of both has a route and the other one has not.
        """
        if (self.route is None) != (saved.route is None):
            raise ValueError("the saved velocity command has another kind of command")
        super().set_state(saved)

    def _scheduled(self, elapsed: float) -> Array:
        begun = bisect_right(self._times, elapsed + 1e-9)
        return np.array(self._schedule[begun - 1].velocity) if begun else np.zeros(3)

    def is_over(self, elapsed: float) -> bool:
        """Return whether the schedule has ended and the robot is commanded to stand."""
        if self.route is not None and self.outside is None:
            return self.route.arrived and not self.velocity.any()
        ended = not self._schedule or elapsed >= self._schedule[-1].at
        return ended and not self.velocity.any()


@compiled
def _limit(wanted: Array, lower: Array, upper: Array, possible: Array, allowed: Array) -> None:
    """Write `VelocityCommand.limited` of a velocity, (3,), to `allowed`."""
    by_limits, by_steps = 0.0, 0.0
    for i in range(3):
        allowed[i] = min(max(wanted[i], lower[i]), upper[i])
        by_limits += (allowed[i] / upper[i]) ** 2
        by_steps += (allowed[i] / possible[i]) ** 2
    allowed /= max(math.sqrt(by_limits) / TOGETHER, math.sqrt(by_steps), 1.0)
