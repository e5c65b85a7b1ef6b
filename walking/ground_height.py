"""Height of the ground below a walking robot, from its footholds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array
from walking.foot_frames import FootFrames
from walking.gait import Gait
from walking.gait_state import Measured, Walk, turned

#: Natural frequency of the filter of the ground height below the centre of mass [1/s].
GROUND_RATE = 12.0


def contact_height(walk: Walk, now: Measured) -> float:
    """Return the mean height of the ground below the feet in contact [m].

    Without measured forces it is that of the model: errors of the height at which feet land would add up.
    """
    below = now.feet[:, 2] if now.ground is None else now.ground
    heights = [float(z) for z, on in zip(below, walk.in_contact, strict=True) if on]
    return sum(heights) / len(heights)


def ground_heights(kinematics: Kinematics, frames: Sequence[int], feet: Array) -> Array:
    """Return the height at each foot, (n, 3) [m], of the plane of the surface frame below it, (n,) [m]."""
    heights = feet[:, 2].copy()
    for k, frame in enumerate(frames):
        pose = kinematics.pose(frame)
        normal = pose.rotation[:, 2]
        if normal[2] > 0.0:
            heights[k] -= normal @ (feet[k] - pose.translation) / normal[2]
    return heights


class GroundHeight:
    """Height of the ground below any point on the way, and below the centre of mass, filtered."""

    def __init__(self, gait: Gait, frames: FootFrames, *, level: bool) -> None:
        """Create it; a `level` ground is at the height of the feet in contact."""
        self._gait, self._frames, self._level = gait, frames, level

    def below(self, walk: Walk, point: Array, now: Measured, velocity: Array) -> float:
        """Return the height at a point, (2,), of lines that connect the footholds along the direction of travel [m].

        A centre of mass at a constant height above these lines is a linear pendulum, however high the steps are.
        """
        if self._level:
            return contact_height(walk, now)
        heading = self._frames.heading(now)
        ahead = velocity[:2] if np.abs(velocity[:2]).max() > 1e-3 else np.array([1.0, 0.0])
        direction = turned(ahead / float(np.linalg.norm(ahead)), heading)
        spots = sorted(self._spots(walk, now), key=lambda spot: float(direction @ spot[:2]))
        return float(np.interp(direction @ point, [direction @ spot[:2] for spot in spots], [s[2] for s in spots]))

    def follow(self, walk: Walk, now: Measured, velocity: Array, *, period: float, elapsed: float) -> None:
        """Advance `walk.ground` to the height below the centre of mass, with its rate as the robot moves.

        Args:
            walk: state of the gait.
            now: measured state.
            velocity: of the body, (3,).
            period: control period [s].
            elapsed: time since the last tick [s].
        """
        ground = walk.ground
        here = self.below(walk, now.com[:2], now, velocity)
        if math.isnan(ground[0]):
            ground[:] = here, 0.0, 0.0
        soon = here if self._level else self.below(walk, now.com[:2] + period * now.velocity[:2], now, velocity)
        rate = (soon - here) / period
        ground[2] = GROUND_RATE**2 * (here - ground[0]) + 2.0 * GROUND_RATE * (rate - ground[1])
        ground[1] += elapsed * ground[2]
        ground[0] += elapsed * ground[1]

    def _spots(self, walk: Walk, now: Measured) -> list[Array]:
        """Return the present footholds of both groups, and the one that comes next, (3,) each [m]."""
        spots = []
        for group in self._gait.groups:
            feet = list(group)
            if all(walk.in_contact[k] for k in feet):
                spots.append(now.feet[feet].mean(axis=0))
            else:
                spots += [walk.lift_places[feet].mean(axis=0), walk.landings[feet].mean(axis=0)]
        return spots
