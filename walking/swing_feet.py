"""Landing places and references of the swinging feet."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from walking.gait import Gait, WalkingRobot
from walking.gait_state import URGENT, Measured, Walk, turned, wrapped
from walking.ground_height import contact_height
from walking.swing import APEX, EARLY_APEX, LATE_APEX, LATER, SEARCH_SPEED, advance
from walking.terrain import Terrain

#: Part of a swing after which its patch of the terrain is fixed.
CHOSEN = 0.4
#: Largest horizontal speed of a foot that is late on unknown ground [m/s].
FOLLOW_SPEED = 0.6
#: Part of the height of a swing up to which the end of a pitched sole stays low.
ROLL = 0.6
#: Height of known terrain on the way, above the place of lift-off, above which a foot stays level [m].
LEVEL = 0.005
#: Distance of a foot from its reference from which on it stays level in this step [m].
OFF = 0.03
#: Largest vertical speed of the planned landing where feet have to land slowly [m/s].
SLOW_LANDING = 0.05


class SwingFeet:
    """Feet that swing to the planned place of their group, on a terrain or on level ground."""

    def __init__(self, robot: WalkingRobot, gait: Gait, terrain: Terrain | None, *, rise: float) -> None:
        """Create it; `rise`: largest difference in height between two footholds [m]."""
        self._robot, self._gait, self._terrain, self._rise = robot, gait, terrain, rise
        # nominal place of each foot relative to the centre of its group
        self._places = robot.places.copy()
        for group in gait.groups:
            self._places[list(group)] -= robot.places[list(group)].mean(axis=0)

    def land(self, walk: Walk, now: Measured, progress: float) -> bool:
        """Set the landing of each swinging foot; return whether the terrain moved the place of the group.

        Args:
            walk: state of the gait.
            now: measured state.
            progress: part of the swing that has passed.
        """
        moved, group = False, self._gait.groups[walk.swinging]
        for k in group:
            if walk.in_contact[k]:
                continue
            walk.landings[k, :2] = walk.place[:2] + turned(self._places[k], walk.place[2])
            walk.landings[k, 2] = self._ground_height(walk, now, k)
            if self._terrain is None:
                continue
            place = np.array([walk.landings[k, 0], walk.landings[k, 1], walk.place[2]])
            stance = max(float(now.feet[j, 2]) for j, on in enumerate(walk.in_contact) if on)
            found = self._terrain.landing(
                k, place, stance=stance, rise=self._rise, chosen=walk.patches[k], fixed=progress > CHOSEN
            )
            if found is not None:
                moved = moved or math.dist(found.place, place[:2]) > 1e-6
                walk.patches[k] = found.patch
                walk.landings[k] = *found.place, found.height
        if moved:
            walk.place[:2] = walk.landings[list(group), :2].mean(axis=0)
        return moved

    def advance(self, walk: Walk, now: Measured, tick: float) -> None:
        """Advance the references of the swinging feet by a time [s]."""
        elapsed, goal, landing = now.time - walk.since, np.zeros(4), self._landing_speed(walk, now)
        for k in self._gait.groups[walk.swinging]:
            if walk.in_contact[k]:
                continue
            walk.is_level = walk.is_level or math.dist(now.feet[k], walk.swings[k][0, :3]) > OFF
            goal[:3] = walk.landings[k]
            if self._terrain is None:
                goal[2] = self._ground_height(walk, now, k)
            goal[3] = walk.swings[k][0, 3] + wrapped(walk.place[2] - walk.swings[k][0, 3])
            self._advance_foot(walk, k, goal, elapsed, walk.touchdown - now.time, landing, tick)

    def restart(self, walk: Walk, now: Measured) -> None:
        """Let the references of the swinging feet start again from their measured motion, and be level."""
        walk.is_level = True
        for k in self._gait.groups[walk.swinging]:
            if not walk.in_contact[k]:
                walk.swings[k][0, :3], walk.swings[k][0, 3] = now.feet[k], now.yaws[k]
                walk.swings[k][1, :4], walk.swings[k][1, 4], walk.swings[k][2] = now.foot_rates[k], 0.0, 0.0
                if now.time >= walk.touchdown:  # it may have landed and bounced meanwhile
                    walk.swings[k][1, 2] = min(walk.swings[k][1, 2], -SEARCH_SPEED)

    def _ground_height(self, walk: Walk, now: Measured, foot: int) -> float:
        """Return the expected height of a landing [m]: on unknown ground, the mean of the last two footholds."""
        stance = contact_height(walk, now)
        return stance if self._gait.unknown_ground is None else 0.5 * (stance + float(walk.lift_places[foot, 2]))

    def _landing_speed(self, walk: Walk, now: Measured) -> float:
        """Return the vertical speed of the planned landing [m/s]."""
        if now.forces is None:  # feet that move would land below the ground
            return min(self._gait.landing_speed, SLOW_LANDING)
        if self._gait.unknown_ground is not None:
            return self._gait.unknown_ground.landing_speed
        slow = walk.recovering or walk.error > URGENT  # fast landings survive weaker pushes
        return min(self._gait.landing_speed, SLOW_LANDING) if slow else self._gait.landing_speed

    def _advance_foot(
        self, walk: Walk, foot: int, goal: Array, elapsed: float, remaining: float, landing: float, tick: float
    ) -> None:
        begin, lift = walk.lift_places[foot], self._gait.lift
        apex, before, after, top, search, follow = APEX, 0.0, 0.0, max(begin[2], goal[2]), SEARCH_SPEED, 0.0
        pitch = 0.0
        unknown = self._gait.unknown_ground
        if self._terrain is not None:
            apex = min(max(APEX + LATER * (goal[2] - begin[2]), EARLY_APEX), LATE_APEX)
            yaw = float(walk.swings[foot][0, 3])
            before, after, top = self._terrain.passing(foot, begin, goal[:3].copy(), yaw=yaw, lift=lift, apex=apex)
        elif unknown is not None:
            before, after, search, follow = unknown.rise, unknown.descent, unknown.search_speed, FOLLOW_SPEED
        climbs = self._terrain is not None and top > begin[2] + LEVEL
        if unknown is None and not (climbs or walk.recovering or walk.is_level or walk.error > URGENT):
            pitch = self._pitch(foot, begin, goal)
        times, total = (remaining, elapsed), elapsed + remaining
        advance(
            walk.swings[foot],
            goal,
            *times,
            top + lift,
            pitch,
            apex,
            before * total,
            after * total,
            landing,
            search,
            follow,
            tick,
        )

    def _pitch(self, foot: int, begin: Array, goal: Array) -> float:
        """Return the pitch of a foot when it is highest [rad]."""
        ahead = float(turned(goal[:2] - begin[:2], -float(goal[3]))[0])
        limit = ROLL * self._gait.lift / max(float(self._robot.half_soles[foot, 0]), self._gait.lift)
        return min(max(self._gait.foot_pitch * ahead, -limit), limit)
