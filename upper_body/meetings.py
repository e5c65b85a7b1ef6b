"""Which obstacle a hand meets: those that are in a safety region or will be, and the choice of hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.schema.generators import AnticipationSpec

#: Smallest speed of approach [m/s].
SLOW = 0.02
#: Distance by which another obstacle must be nearer for a hand to change its target [m].
CHANGE = 0.05


class Meeting(NamedTuple):
    """An obstacle that a hand may meet.

    Attributes:
        obstacle: its index.
        direction: from the centre of the safety region to where it is met, world frame, (3,).
        distance: present distance from that centre [m].
        time: until it enters the region [s]; 0 if it is inside.
        speed: of its approach [m/s].
    """

    obstacle: int
    direction: Array
    distance: float
    time: float
    speed: float


def meeting(
    obstacle: int, way: Array, distance: float, velocity: Array, radius: float, look_ahead: float
) -> Meeting | None:
    """Return where and when an obstacle meets a safety region; None if it does not within a time.

    Args:
        obstacle: its index.
        way: from the centre of the region to the nearest point of the obstacle, (3,) [m].
        distance: of that point; negative inside of the obstacle [m].
        velocity: of that point relative to the centre, (3,) [m/s].
        radius: of the region [m].
        look_ahead: that time [s].
    """
    length = float(np.linalg.norm(way))
    if length < 1e-6:
        return None
    if distance <= radius:
        speed = max(0.0, -float(way @ velocity) / length)
        return Meeting(obstacle, way / length, max(distance, 0.0), 0.0, speed)
    # |way + t velocity| = radius at the smaller root t
    a, b = float(velocity @ velocity), float(way @ velocity)
    root = b * b - a * (length * length - radius**2)
    if a < SLOW**2 or b >= 0.0 or root < 0.0:
        return None
    time = (-b - np.sqrt(root)) / a
    if time > look_ahead:
        return None
    met = way + time * velocity
    return Meeting(obstacle, met / radius, distance, float(time), float(np.sqrt(a)))


def choose(
    rules: AnticipationSpec,
    meetings: Sequence[Sequence[Meeting]],
    masses: Array,
    shoulders: Sequence[Array],
    palms: Sequence[Array],
    targets: Sequence[int],
) -> list[Meeting | None]:
    """Return the obstacle of each hand: that of its own region, by the nearer hand, or by both.

    Args:
        rules: the rules.
        meetings: obstacles of each hand, those met first before others.
        masses: expected masses of all obstacles, (o,) [kg].
        shoulders: centre of the region of each hand, world frame, (3,) [m].
        palms: place of each hand, world frame, (3,) [m].
        targets: present obstacle of each hand, -1 for none.
    """
    chosen: list[Meeting | None] = [None] * len(meetings)
    for h, own in enumerate(meetings):
        for one in own:
            places = [
                shoulder + rules.hold * m.direction
                for shoulder, others in zip(shoulders, meetings, strict=True)
                for m in others
                if m.obstacle == one.obstacle
            ]
            point = np.mean(places, axis=0)
            distances = [float(np.linalg.norm(palm - point)) for palm in palms]
            heavy = masses[one.obstacle] >= rules.both_hands
            if heavy or distances[h] <= min(distances) + rules.tie or targets[h] == one.obstacle:
                chosen[h] = one
                break
        last = [one for one in own if one.obstacle == targets[h]]
        present = chosen[h]
        if last and present is not None and last[0].distance < present.distance + CHANGE:
            chosen[h] = last[0]
    return chosen
