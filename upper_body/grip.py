"""Contact of a hand that sticks to its obstacle, and is placed anew when its place is out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful
from upper_body.meetings import Meeting
from upper_body.regions import Region
from upper_body.sight import Sight

#: Distance by which the palm's place may exceed the reach before the hand is placed anew [m].
SLACK = 0.03
#: Size of the tangents of the path to a new place, along the normals, α in [Alvarado2022] section 5.3 [m].
LEAVE = 0.3


class Grip(Stateful):
    """Place of one palm on a link of its obstacle, [Alvarado2022] section 5.3.

    Attributes:
        frame: the link, a frame of the scene of the surroundings; -1 while the hand does not stick.
        place: of the palm in the axes of the link, (3,) [m].
        normal: out of the obstacle there, (3,).
        before: place before the last new one, (3,) [m].
        normal_before: out of the obstacle there, (3,).
        placed_at: time of the last new place [s].
        duration: of the path to it [s].
    """

    @dataclass
    class Checkpoint:
        """Place and path."""

        frame: int
        place: Annotated[Array, 3]
        normal: Annotated[Array, 3]
        before: Annotated[Array, 3]
        normal_before: Annotated[Array, 3]
        placed_at: float
        duration: float

    def __init__(self) -> None:
        self.frame, self.placed_at, self.duration = -1, 0.0, 1.0
        self.place, self.normal, self.before, self.normal_before = np.zeros((4, 3))

    def release(self) -> None:
        """End the contact."""
        self.frame = -1

    def hold(self, frame: int, pose: pin.SE3, point: Array, normal: Array, time: float, duration: float) -> None:
        """Stick to a point, from the present place within a duration if the hand sticks to the same link already.

        Args:
            frame: the link.
            pose: of the link in the world.
            point: in the world, (3,) [m].
            normal: out of the obstacle, (3,).
            time: [s].
            duration: of the path [s].
        """
        place, out = pose.actInv(point), pose.rotation.T @ normal
        self.before, self.normal_before = (self.place, self.normal) if frame == self.frame else (place, out)
        self.frame, self.place, self.normal = frame, place, out
        self.placed_at, self.duration = time, duration

    def moves(self, time: float) -> bool:
        """Return whether the hand is on its way to a new place."""
        return self.frame >= 0 and time < self.placed_at + self.duration

    def at(self, time: float, pose: pin.SE3) -> Array:
        """Return the place in the world, (3,) [m], on a cubic Hermite path out of the old place into the new one.

        Args:
            time: [s].
            pose: of the link in the world.
        """
        s = float(np.clip((time - self.placed_at) / self.duration, 0.0, 1.0))
        rise = s * s * (3.0 - 2.0 * s)
        apart = LEAVE * float(np.linalg.norm(self.place - self.before) > 1e-9)
        place = self.before + rise * (self.place - self.before)
        # tangents along the normals, out of the old place and into the new one
        place = place + apart * (s * (1.0 - s) ** 2 * self.normal_before + s * s * (1.0 - s) * self.normal)
        return np.asarray(pose.act(place))


def palm_offset(
    grip: Grip, one: Meeting, region: Region, centre: Array, time: float, sight: Sight | None, forward: Array
) -> tuple[Array, Array]:
    """Return the offset from the centre of a region to where a palm meets an obstacle, (3,) [m], and its normal, (3,).

    A palm slides along the nearest points, or sticks: its place is replaced by the nearest point, within twice the
    shortest reaction time, when it is out of reach. Behind the centre an arm cannot follow a place, and slides.

    Args:
        grip: of the hand.
        one: the obstacle.
        region: the region.
        centre: of the region, world frame, (3,) [m].
        time: [s].
        sight: of the obstacles if the palm sticks to what is within reach; None if it slides.
        forward: direction in which the body faces, (3,).
    """
    if sight is not None and one.time <= 0.0 and one.distance <= region.reach:
        if not grip.moves(time) and _distance(grip, centre, time, sight) > region.reach + SLACK:
            frame, point = sight.touched(one.obstacle, centre)
            out = centre - point
            normal = out / max(float(np.linalg.norm(out)), 1e-9)
            grip.hold(frame, sight.pose(frame), point, normal, time, 2.0 * region.reaction[0])
        pose = sight.pose(grip.frame)
        offset = grip.at(time, pose) - centre
        if offset @ forward >= 0.0:
            return _in_range(offset, region), np.asarray(-pose.rotation @ grip.normal)
    grip.release()
    return _in_range((one.distance if one.time <= 0.0 else region.radius) * one.direction, region), one.direction


def _distance(grip: Grip, centre: Array, time: float, sight: Sight) -> float:
    """Return how far the place of a palm is from a point [m], infinite if it does not stick."""
    return np.inf if grip.frame < 0 else float(np.linalg.norm(grip.at(time, sight.pose(grip.frame)) - centre))


def _in_range(offset: Array, region: Region) -> Array:
    """Return an offset of the same direction that ends within the range of the palm, (3,) [m]."""
    length = max(float(np.linalg.norm(offset)), 1e-9)
    return np.asarray(offset * min(max(length, region.hold), region.reach) / length)
