"""Which obstacle a hand meets: those that are in a safety region or will be, and the choice of hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.schema.upper_body import AnticipationSpec
from upper_body.regions import Region

#: Smallest speed of approach [m/s].
SLOW = 0.02
#: Distance by which another obstacle must be nearer for a hand to change its target [m].
CHANGE = 0.05
#: Step of the prediction of falling obstacles [s], and gravity [m/s²].
STEP, GRAVITY = 0.01, np.array([0.0, 0.0, -9.81])


class Meeting(NamedTuple):
    """An obstacle that a hand may meet.

    Attributes:
        obstacle: its index.
        region: index of the safety region.
        direction: from the centre of the region to where it is met, world frame, (3,).
        place: of the palm at which it is stopped, world frame, (3,) [m].
        distance: present distance from that centre [m].
        time: until it enters the region [s]; 0 if it is inside.
        speed: of its approach [m/s].
        miss: by how much its smallest distance that is predicted exceeds `hold`, relative to the radius.
    """

    obstacle: int
    region: int
    direction: Array
    place: Array
    distance: float
    time: float
    speed: float
    miss: float


class Approach(NamedTuple):
    """Motion of an obstacle relative to the centre of a region.

    Attributes:
        way: from the centre to the nearest point of the obstacle, (3,) [m].
        distance: of that point; negative inside of the obstacle [m].
        velocity: of that point relative to the centre, (3,) [m/s].
        falls: whether it falls freely.
    """

    way: Array
    distance: float
    velocity: Array
    falls: bool


def meeting(obstacle: int, k: int, region: Region, centre: Array, one: Approach, look_ahead: float) -> Meeting | None:
    """Return where and when an obstacle meets a safety region; None if it does not within a time.

    Args:
        obstacle: its index.
        k: index of the region.
        region: the region.
        centre: of the region, world frame, (3,) [m].
        one: motion of the obstacle.
        look_ahead: that time [s].
    """
    if float(np.linalg.norm(one.way)) < 1e-6:
        return None
    found = _falling(region, one, look_ahead) if one.falls else _steady(region, one, look_ahead)
    if found is None:
        return None
    met, time, speed, miss = found
    direction = met / np.linalg.norm(met)
    place = centre + region.hold * direction
    beyond = max(miss - region.hold, 0.0) / region.radius
    return Meeting(obstacle, k, direction, place, max(one.distance, 0.0), time, speed, beyond)


def _steady(region: Region, one: Approach, look_ahead: float) -> tuple[Array, float, float, float] | None:
    """Return place, time, speed and smallest distance for an obstacle that moves at a constant velocity."""
    way, velocity, radius = one.way, one.velocity, region.radius
    length = float(np.linalg.norm(way))
    a, b = float(velocity @ velocity), float(way @ velocity)
    nearest = way + min(max(-b / a, 0.0), look_ahead) * velocity if a > SLOW**2 else way
    miss = float(np.linalg.norm(nearest))
    if one.distance <= radius:
        return way, 0.0, max(0.0, -b / length), miss
    # |way + t velocity| = radius at the smaller root t
    root = b * b - a * (length * length - radius**2)
    if a < SLOW**2 or b >= 0.0 or root < 0.0:
        return None
    time = float((-b - np.sqrt(root)) / a)
    return None if time > look_ahead else (way + time * velocity, time, float(np.sqrt(a)), miss)


def _falling(region: Region, one: Approach, look_ahead: float) -> tuple[Array, float, float, float] | None:
    """Return the same for an obstacle in free fall, which is met where it comes as near as `hold`."""
    times: Array = np.arange(0.0, look_ahead + STEP, STEP, dtype=np.float64)
    distances: Array = np.linalg.norm(_fall(one, times[:, None]), axis=1).astype(np.float64)
    last = int(np.argmin(distances))
    if last == 0 or distances[last] > region.radius:
        return None
    nearest = _nearest_time(one, float(times[last]))
    least = float(np.linalg.norm(_fall(one, nearest)))
    entry = _crossing(times, distances, region.radius)
    met = nearest if least > region.hold else min(_crossing(times, distances, region.hold), nearest)
    return _fall(one, met), entry, float(np.linalg.norm(one.velocity)), least


def _fall(one: Approach, time: float | Array) -> Array:
    """Return the ways to an obstacle in free fall at times [s], (3,) or (n, 3) for times (n, 1) [m]."""
    return np.asarray(one.way + time * one.velocity + 0.5 * time * time * GRAVITY)


def _nearest_time(one: Approach, time: float) -> float:
    """Return when the distance is least, near a time on the grid, by Newton steps on its derivative [s].

    From tick to tick the times of the grid would shift along the path by as much as the obstacle moves within a step.
    """
    found = time
    for _ in range(3):
        way, rate = _fall(one, found), one.velocity + found * GRAVITY
        curvature = float(rate @ rate + way @ GRAVITY)
        if curvature <= 0.0:
            break
        found = min(max(found - float(way @ rate) / curvature, time - STEP), time + STEP)
    return found


def _crossing(times: Array, distances: Array, within: float) -> float:
    """Return the first time at which a distance is reached, by linear interpolation on the grid [s]."""
    k = int(np.argmax(distances <= within))
    if k == 0:
        return float(times[0] if distances[0] <= within else times[int(np.argmin(distances))])
    share = (distances[k - 1] - within) / (distances[k - 1] - distances[k])
    return float(times[k - 1] + share * (times[k] - times[k - 1]))


def by_region(
    candidates: Sequence[Meeting], target: int, region: int, shared: Sequence[bool], crowd: int | None = None
) -> list[Meeting]:
    """Return one meeting for each obstacle: those in regions that all hands share before others, then by time.

    An obstacle is met in the region that it comes nearest to, the last one of those that it comes into as far as
    `hold`; the present obstacle of a hand in its present region.

    Args:
        candidates: in all regions of a hand.
        target: present obstacle of the hand, -1 for none.
        region: its present region.
        shared: whether hands share each region, (r,).
        crowd: number of obstacles in other regions from which none of these is met; any if None.
    """
    best: dict[int, Meeting] = {}
    for one in candidates:
        other = best.get(one.obstacle)
        held = one.obstacle == target and one.region == region
        kept = other is not None and other.obstacle == target and other.region == region
        if other is None or held or (not kept and one.miss <= other.miss):
            best[one.obstacle] = one
    found = sorted(best.values(), key=lambda one: (not shared[one.region], one.time, one.distance))
    first = [one for one in found if shared[one.region]]
    return first if crowd is not None and len(found) - len(first) >= crowd else found


def choose(
    rules: AnticipationSpec,
    meetings: Sequence[Sequence[Meeting]],
    masses: Array,
    palms: Sequence[Array],
    targets: Sequence[int],
    shared: Sequence[bool],
) -> list[Meeting | None]:
    """Return the obstacle of each hand: one in its regions, by the nearer hand, or by both.

    In a region that both keep free, where they would be at one place, only the nearer one meets it.

    Args:
        rules: the rules.
        meetings: obstacles of each hand, those met first before others.
        masses: expected masses of all obstacles, (o,) [kg].
        palms: place of each hand, world frame, (3,) [m].
        targets: present obstacle of each hand, -1 for none.
        shared: whether hands share each region, (r,).
    """
    chosen: list[Meeting | None] = [None] * len(meetings)
    for h, own in enumerate(meetings):
        for one in own:
            places = [m.place for others in meetings for m in others if m.obstacle == one.obstacle]
            point = np.mean(places, axis=0)
            distances = [float(np.linalg.norm(palm - point)) for palm in palms]
            if shared[one.region]:
                taken = one.obstacle in targets and targets[h] != one.obstacle
                meets = not taken and (targets[h] == one.obstacle or h == int(np.argmin(distances)))
            else:
                heavy = masses[one.obstacle] >= rules.both_hands
                meets = heavy or distances[h] <= min(distances) + rules.tie or targets[h] == one.obstacle
            if meets:
                chosen[h] = one
                break
        last = [one for one in own if one.obstacle == targets[h]]
        present = chosen[h]
        if last and present is not None and shared[last[0].region] >= shared[present.region]:
            chosen[h] = last[0] if last[0].distance < present.distance + CHANGE else present
    return chosen
