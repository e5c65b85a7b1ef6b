"""Path of a hand: from where it was to its obstacle, or back to the posture, within the reaction time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_scene.arrays import Array
from multi_qp_scene.schema.upper_body import AnticipationSpec
from multi_qp_scene.stateful import Stateful
from upper_body.meetings import Meeting
from upper_body.regions import Region


def reaction_time(safety: float, bounds: tuple[float, float], time: float) -> float:
    """Return t_r [s], [Alvarado2022] (5); the time until an obstacle enters its region stands for (d − r)/|v|."""
    return float(np.clip(safety * time, *bounds))


def nearby(centre: Array, place: Array, within: float) -> Array:
    """Return the point nearest to a place that is within a distance of another one, (3,) [m]."""
    way = place - centre
    return np.asarray(centre + way * min(1.0, within / max(float(np.linalg.norm(way)), 1e-9)))


class HandPath(Stateful):
    """What one hand does, since when, and its tension.

    Attributes:
        target: index of its obstacle, -1 for none.
        region: index of the safety region that it keeps free.
        solution: angles at which it would meet the obstacle, for all hinges, (n,) [rad].
        origin: angles when it last changed what it does, for all hinges, (n,) [rad].
        changed_at: time of that change [s].
        duration: duration of the path since then [s].
        tension: present tension, 0 to 1.
    """

    @dataclass
    class Checkpoint:
        """Path and tension."""

        target: int
        region: int
        solution: Array
        origin: Array
        changed_at: float
        duration: float
        tension: float

    def __init__(self, angles: Array, approach: Array, time: float, duration: float, tension: float) -> None:
        self.target, self.region, self.tension = -1, 0, tension
        self.solution, self.origin = approach.copy(), angles.copy()
        self.changed_at, self.duration = time, duration

    def assign(
        self,
        rules: AnticipationSpec,
        one: Meeting | None,
        region: Region,
        time: float,
        angles: Array,
        reaction: tuple[float, float] | None = None,
    ) -> bool:
        """Begin a path at the present angles if the obstacle is another one; return whether there is a new one.

        Args:
            rules: the rules.
            one: the obstacle, None for the way back.
            region: the region in which it is met.
            time: [s].
            angles: present target of all hinges, (n,) [rad].
            reaction: bounds of the reaction time [s]; those of the region if None.
        """
        target = -1 if one is None else one.obstacle
        if target == self.target and (one is None or one.region == self.region):
            return False
        self.target, self.origin, self.changed_at = target, angles.copy(), time
        if one is None:
            self.duration = rules.duration
            return False
        self.region = one.region
        self.duration = reaction_time(rules.safety, reaction or region.reaction, one.time)
        self.solution = region.approach.copy()
        return True

    def leave(self, time: float, angles: Array, duration: float) -> None:
        """Begin a path of a duration at angles of all hinges, (n,)."""
        self.origin, self.changed_at, self.duration = angles.copy(), time, duration

    def at(self, time: float, goal: Array) -> Array:
        """Return the angles of all hinges on the way to a goal, (n,) [rad], [Alvarado2022] (4)."""
        share, _, _ = minimum_jerk(time - self.changed_at, self.duration)
        return np.asarray(self.origin + share * (goal - self.origin))

    def is_over(self, time: float) -> bool:
        """Return whether the path to the present obstacle, or back, is over."""
        return time - self.changed_at >= self.duration

    def arrived(self, time: float) -> bool:
        """Return whether the hand has no obstacle and is back."""
        return self.target < 0 and self.is_over(time)

    def tense(self, wanted: float, step: float) -> None:
        """Change the tension towards the wanted one by at most a step."""
        self.tension += float(np.clip(wanted - self.tension, -step, step))
