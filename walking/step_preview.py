"""Preview of a step: next landing and its time, by the divergent component of motion (DCM) of the nominal gait."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from walking.foot_frames import FootFrames
from walking.gait import TURNING_ROOM, Gait, PeriodicGait, WalkingRobot
from walking.gait_state import Measured, turned
from walking.preview_kernel import StepChoice, best_step

#: Weights of the preview: footstep, shift of the zero-moment point, divergent component, touchdown time.
WEIGHTS = np.array([1.0, 0.6, 100.0, 0.4])
#: Time before touchdown from which place and time of the landing are fixed [s].
FREEZE = 0.06
#: Part of the line between two supporting points in which the zero-moment point is kept.
LINE = 0.6
#: Least speed of a swing foot against the walk, relative to the largest one with the robot at rest.
SLOWEST = 0.2
#: Resolution of the touchdown time [s].
RESOLUTION = 0.005


class StepPreview:
    """Optimal steps of one robot and gait."""

    def __init__(self, robot: WalkingRobot, gait: Gait, frames: FootFrames, *, swing_speed: float) -> None:
        """Create it; `swing_speed`: largest mean speed of a swing foot relative to the walk [m/s]."""
        self._robot, self._gait, self._frames, self._swing_speed = robot, gait, frames, swing_speed
        self._times = RESOLUTION * np.arange(1, round(gait.longest_swing / RESOLUTION) + 1, dtype=np.float64)
        self._periodic = PeriodicGait(robot, gait)
        # bounds of the zero-moment point for each stance group: two feet share a line, see `_line`
        soles = [robot.half_soles[group[0]] if len(group) == 1 else np.zeros(2) for group in gait.groups]
        self._shifts = [np.stack([-half, half], axis=1) for half in soles]
        self._on_points = [len(group) == 2 and not robot.half_soles[list(group)].any() for group in gait.groups]

    def best(
        self,
        now: Measured,
        xi: Array,
        velocity: Array,
        *,
        swinging: int,
        elapsed: float,
        nominal_time: float,
        place: Array | None = None,
        remaining: float | None = None,
    ) -> StepChoice:
        """Return the optimal step of a group.

        Args:
            now: measured state.
            xi: divergent component, (2,) [m].
            velocity: of the body, (3,).
            swinging: the group that swings.
            elapsed: time since its lift-off [s].
            nominal_time: nominal duration of its swing [s].
            place: of the landing, (2,) [m], where it is fixed already.
            remaining: time until touchdown [s], where it is fixed already.
        """
        gait, times = self._gait, self._times
        centre, heading = self._frames.frame(1 - swinging, now)
        foot = self._frames.frame(swinging, now)[0]
        step = self._periodic.step(velocity, stance=1 - swinging)
        if remaining is None:
            low = max(gait.least_swing - elapsed, FREEZE)
            high = max(gait.longest_swing - elapsed, low)
            if place is not None:  # when the foot can be there
                way = turned(place - foot, -heading)
                low = min(max(low, self._least_time(way, velocity)), high)
            times = times[math.ceil(low / RESOLUTION - 1e-6) - 1 : math.floor(high / RESOLUTION + 1e-6)]
        else:
            times = np.array([max(remaining, 0.0)])
        turn = float(velocity[2]) * (max(nominal_time, elapsed) + gait.double_support)
        box = (
            self._box(swinging, turn) if place is None else np.repeat(turned(place - centre, -heading), 2).reshape(2, 2)
        )
        return best_step(
            turned(xi - centre, -heading),
            self._robot.omega,
            times,
            0.5 * gait.double_support,
            nominal_time - elapsed,
            step.place,
            velocity[:2],
            step.offset,
            box,
            self._shifts[1 - swinging],
            turned(self._line(now, 1 - swinging), -heading),
            turned(foot - centre, -heading),
            self._swing_speed,
            WEIGHTS,
        )

    def _least_time(self, way: Array, velocity: Array) -> float:
        """Return the time in which a swing foot moves along a way, (2,) [m], in the heading of the stance [s]."""
        speeds = self._swing_speed + np.sign(way) * velocity[:2]
        return float((np.abs(way) / np.maximum(speeds, SLOWEST * self._swing_speed)).max())

    def _line(self, now: Measured, stance: int) -> Array:
        """Return half of the line between two feet without soles, without the margin, (2,) [m]; else 0."""
        if not self._on_points[stance]:
            return np.zeros(2)
        first, second = self._gait.groups[stance]
        return LINE * 0.5 * (now.feet[second, :2] - now.feet[first, :2])

    def _box(self, swinging: int, turn: float) -> Array:
        """Return the bounds of the next place relative to the stance centre; `turn`: of the next foot [rad]."""
        (ahead, aside), least = self._robot.reach, self._robot.least_width + TURNING_ROOM * abs(turn)
        spread = self._periodic.centres[swinging, 1] - self._periodic.centres[1 - swinging, 1]
        if spread > 0.0:
            return np.array([[-ahead, ahead], [least, max(least, aside)]])
        if spread < 0.0:
            return np.array([[-ahead, ahead], [-max(least, aside), -least]])
        return np.array([[-ahead, ahead], [-aside, aside]])
