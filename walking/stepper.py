"""Walking by steps: phases of the gait, preview at every tick, references of feet and centre of mass."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import numpy as np

from multi_qp_controller.contacts.support_polygon import hull_corners
from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful
from walking.gait import GRAVITY, TURNING_ROOM, Gait, WalkingRobot, group_place, nominal_step
from walking.preview_kernel import StepChoice, best_step
from walking.support import clipped_to
from walking.swing import APEX, EARLY_APEX, LATE_APEX, LATER, advance, resting
from walking.terrain import Terrain

STAND, SHIFT, SWING, DOUBLE = "stand", "shift", "swing", "double"

#: Weights of the preview: footstep, shift of the zero-moment point, divergent component, touchdown time.
WEIGHTS = np.array([1.0, 0.6, 100.0, 0.4])
#: Time before touchdown from which place and time of the landing are fixed [s].
FREEZE = 0.06
#: Resolution of the touchdown time [s].
RESOLUTION = 0.005
#: Fraction of the swing after which a contact force is a touchdown.
EARLIEST = 0.55
#: Deviation of the divergent component above which the double support is cut to its shortest duration [m], [s].
URGENT, SHORTEST_DOUBLE = 0.06, 0.02
#: Integral gain on the velocity error [1/s], and largest correction [m/s].
CORRECTION_GAIN, CORRECTION = 0.5, 0.06
#: Longest time between two ticks by which references advance [s].
LONGEST_TICK = 0.1
#: Duration of the weight shift before the first step [s].
SHIFT_TIME = 0.2
#: Factor by which the divergent component may be farther from the middle of the feet when the robot stops.
SETTLED = 1.4
#: Natural frequency of the filter of the ground height below the centre of mass [1/s].
GROUND_RATE = 12.0
#: Part of a swing after which its patch of the terrain is fixed.
CHOSEN = 0.4


@dataclass
class Measured:
    """What the walking algorithm measures.

    Attributes:
        time: [s].
        com: centre of mass, (3,) [m].
        velocity: of the centre of mass, (3,) [m/s].
        feet: positions of the soles, (n, 3) [m].
        yaws: headings of the soles, (n,) [rad].
        forces: measured normal force of each foot, (n,) [N]; None where it is not measured.
        patches: patch of the terrain that each foot presses on, where forces are measured on a terrain.
    """

    time: float
    com: Array
    velocity: Array
    feet: Array
    yaws: Array
    forces: Array | None
    patches: list[int] | None = None


@dataclass
class Walk:
    """State of the gait; all that is carried from tick to tick.

    Attributes:
        phase: of the gait.
        since: time at which the phase began [s].
        swinging: group that swings, or swings next.
        touchdown: planned touchdown [s].
        place: planned centre of the swinging group's landing, (3,): x, y [m], heading [rad].
        zmp: zero-moment point of the last tick, (2,) [m].
        lift_places: place of each foot at lift-off, (n, 3) [m].
        landings: planned place of each foot that swings, (n, 3) [m].
        patches: patch of the terrain of each foot, of its landing while it swings; -1 before it is chosen.
        ground: filtered height of the ground below the centre of mass, its rate and second derivative, (3,) [m]; NaN
            before the first tick.
        error: last deviation of the divergent component [m].
        in_contact: whether each foot is in contact, (n,).
        swings: references of the feet: position, velocity, acceleration of x, y, z [m] and yaw [rad], (n, 3, 4).
        recovering: whether the step reacts to a push.
        steps: number of steps so far.
        time: time of the last tick [s]; NaN before the first one.
        correction: integral of the velocity error, in the heading, (2,) [m/s].
    """

    phase: str = STAND
    since: float = 0.0
    swinging: int = 0
    touchdown: float = 0.0
    place: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))
    zmp: Annotated[Array, 2] = field(default_factory=lambda: np.zeros(2))
    lift_places: Annotated[Array, None, 3] = field(default_factory=lambda: np.zeros((0, 3)))
    landings: Annotated[Array, None, 3] = field(default_factory=lambda: np.zeros((0, 3)))
    patches: list[int] = field(default_factory=list)
    ground: Annotated[Array, 3] = field(default_factory=lambda: np.full(3, math.nan))
    error: float = 0.0
    in_contact: list[bool] = field(default_factory=list)
    swings: Annotated[Array, None, 3, 4] = field(default_factory=lambda: np.zeros((0, 3, 4)))
    recovering: bool = False
    steps: int = 0
    time: float = math.nan
    correction: Annotated[Array, 2] = field(default_factory=lambda: np.zeros(2))


class Stepper(Stateful):
    """Steps of a gait.

    Attributes:
        walk: state of the gait.
        acceleration: horizontal acceleration of the centre of mass, (2,) [m/s²].
        choice: optimum of the last preview.
    """

    Checkpoint = Walk

    def __init__(
        self,
        robot: WalkingRobot,
        gait: Gait,
        *,
        dt: float,
        touch_force: float = 25.0,
        swing_speed: float = 2.2,
        height_stiffness: float = 80.0,
        terrain: Terrain | None = None,
        rise: float = 0.2,
    ) -> None:
        """Create it standing; `touch_force` [N], `swing_speed` [m/s], `weights.height`, `rise` as in the specification.

        Without a terrain, the ground is level at the height of the feet in contact.
        """
        self.robot, self.gait = robot, gait
        self.terrain, self._rise = terrain, rise
        self._height_stiffness = height_stiffness
        self._touch_force, self._swing_speed = touch_force, swing_speed
        self.acceleration = np.zeros(2)
        self.choice: StepChoice | None = None
        self._framed: Measured | None = None
        self._frames: list[tuple[Array, float]] = []
        self._times = RESOLUTION * np.arange(1, round(gait.longest_swing / RESOLUTION) + 1, dtype=np.float64)
        self.start(dt)

    def start(self, dt: float) -> None:
        """Stand on all feet; `dt` is the control period [s]."""
        n, self._period = len(self.robot.places), dt
        self._elapsed = dt  # since the tick before, which is longer after a stall
        self.walk = Walk(
            lift_places=np.zeros((n, 3)),
            landings=np.zeros((n, 3)),
            patches=[0] * n,
            in_contact=[True] * n,
            swings=np.zeros((n, 3, 4)),
        )

    def com_height(self) -> tuple[float, float, float]:
        """Return the reference height of the centre of mass, its rate and second derivative [m], [m/s], [m/s²]."""
        height, rate, second = self.walk.ground.tolist()
        return height + self.robot.com_height, rate, second

    def foot_motion(self, foot: int, now: Measured) -> tuple[Array, Array]:
        """Return position and velocity of a foot in the plane, of its reference while it swings, (2,) each."""
        if self.walk.in_contact[foot]:
            return now.feet[foot, :2], np.zeros(2)
        reference = self.walk.swings[foot]
        return reference[0, :2], reference[1, :2]

    def body_heading(self, now: Measured) -> tuple[float, float]:
        """Return heading of the body and its rate: the mean of both groups, of the reference while one swings."""
        yaws, rates = [], []
        for k, group in enumerate(self.gait.groups):
            if all(self.walk.in_contact[foot] for foot in group):
                yaws.append(self._frame(k, now)[1])
                rates.append(0.0)
            else:
                swings = [self.walk.swings[foot] for foot in group if not self.walk.in_contact[foot]]
                yaws.append(float(swings[0][0, 3]))
                rates.append(float(swings[0][1, 3]))
        return yaws[0] + 0.5 * _wrapped(yaws[1] - yaws[0]), 0.5 * (rates[0] + rates[1])

    def get_state(self) -> Walk:
        """Return a copy of the state of the gait."""
        return copy.deepcopy(self.walk)

    def set_state(self, saved: Walk) -> None:
        """Restore a saved state.

        Raises:
            ValueError: when it is of another number of feet.
        """
        n = len(self.robot.places)
        sizes = {len(saved.swings), len(saved.in_contact), len(saved.lift_places), len(saved.landings)}
        if sizes != {n} or len(saved.patches) != n:
            raise ValueError(f"the saved gait is not one of {n} feet")
        self.walk = copy.deepcopy(saved)

    def _frame(self, group: int, now: Measured) -> tuple[Array, float]:
        """Return the centre and the heading of a group of feet; computed once for each measurement."""
        if self._framed is not now:
            self._framed, self._frames = now, [self._compute_frame(k, now) for k in (0, 1)]
        return self._frames[group]

    def _compute_frame(self, group: int, now: Measured) -> tuple[Array, float]:
        feet = list(self.gait.groups[group])
        if len(feet) == 1:
            return now.feet[feet[0], :2], float(now.yaws[feet[0]])
        centre = now.feet[feet, :2].mean(axis=0)
        nominal = self.robot.places[feet] - self.robot.places[feet].mean(axis=0)
        actual = now.feet[feet, :2] - centre
        cross = float((nominal[:, 0] * actual[:, 1] - nominal[:, 1] * actual[:, 0]).sum())
        return centre, math.atan2(cross, float((nominal * actual).sum()))

    def heading(self, now: Measured) -> float:
        """Return the mean heading of the feet."""
        yaws = [self._frame(k, now)[1] for k in (0, 1)]
        return yaws[0] + 0.5 * _wrapped(yaws[1] - yaws[0])

    def ground(self, now: Measured) -> float:
        """Return the mean height of the feet in contact [m]."""
        heights = [float(z) for z, on in zip(now.feet[:, 2], self.walk.in_contact, strict=True) if on]
        return sum(heights) / len(heights)

    def _spots(self, now: Measured) -> list[Array]:
        """Return the present footholds of both groups, and the one that comes next, (3,) each [m]."""
        walk, spots = self.walk, []
        for group in self.gait.groups:
            feet = list(group)
            if all(walk.in_contact[k] for k in feet):
                spots.append(now.feet[feet].mean(axis=0))
            else:
                spots += [walk.lift_places[feet].mean(axis=0), walk.landings[feet].mean(axis=0)]
        return spots

    def _ground_below(self, point: Array, now: Measured, velocity: Array) -> float:
        """Return the height at a point, (2,), of lines that connect the footholds along the direction of travel [m].

        A centre of mass at a constant height above these lines is a linear pendulum, however high the steps are.
        Without a terrain it is the height of the feet in contact.
        """
        if self.terrain is None:
            return self.ground(now)
        heading = self.heading(now)
        ahead = velocity[:2] if np.abs(velocity[:2]).max() > 1e-3 else np.array([1.0, 0.0])
        direction = turned(ahead / float(np.linalg.norm(ahead)), heading)
        spots = sorted(self._spots(now), key=lambda spot: float(direction @ spot[:2]))
        return float(np.interp(direction @ point, [direction @ spot[:2] for spot in spots], [s[2] for s in spots]))

    def _follow_ground(self, now: Measured, velocity: Array) -> None:
        """Filter the height of the ground below the centre of mass, with its rate as the robot moves."""
        ground, step = self.walk.ground, self._period
        here = self._ground_below(now.com[:2], now, velocity)
        if math.isnan(ground[0]):
            ground[:] = here, 0.0, 0.0
        soon = self._ground_below(now.com[:2] + step * now.velocity[:2], now, velocity)
        rate = (soon - here) / step
        ground[2] = GROUND_RATE**2 * (here - ground[0]) + 2.0 * GROUND_RATE * (rate - ground[1])
        ground[1] += self._elapsed * ground[2]
        ground[0] += self._elapsed * ground[1]

    def polygon(self, now: Measured) -> Array:
        """Return the support polygon of the feet in contact, counter-clockwise, (k, 2) [m]."""
        points = []
        for k, on in enumerate(self.walk.in_contact):
            if not on:
                continue
            hx, hy = self.robot.half_soles[k]
            c, s = math.cos(now.yaws[k]), math.sin(now.yaws[k])
            for x, y in ((hx, hy), (hx, -hy), (-hx, hy), (-hx, -hy)):
                points.append((now.feet[k, 0] + c * x - s * y, now.feet[k, 1] + s * x + c * y))
        corners = np.array(points)
        return corners[hull_corners(corners)]

    def update(self, now: Measured, velocity: Array) -> None:
        """Advance by one tick with the body velocity (vx, vy, wz) [m/s, m/s, rad/s]."""
        walk, omega = self.walk, self.robot.omega
        self._elapsed = self._period if math.isnan(walk.time) else min(max(now.time - walk.time, 0.0), LONGEST_TICK)
        walk.time = now.time
        velocity = self._corrected(now, velocity)
        xi = now.com[:2] + now.velocity[:2] / omega
        self._follow_ground(now, velocity)
        if walk.phase == SWING:
            self._touch(now)
        if walk.phase == DOUBLE and now.time - walk.since >= self._double_time() - 1e-9:
            self._after_double(now, xi, velocity)
        elif walk.phase == SHIFT and now.time - walk.since >= SHIFT_TIME - 1e-9:
            self._lift(now, self.gait.swing_time)
        if walk.phase == STAND:
            self._consider_walking(now, xi, velocity)
        if walk.phase == STAND:
            centre = 0.5 * (self._frame(0, now)[0] + self._frame(1, now)[0])
            zmp = clipped_to(self.polygon(now), xi + (xi - centre) * 3.0 / omega)
        elif walk.phase == SHIFT:
            zmp = self._shift(now, xi, velocity)
        else:
            zmp = self._step(now, xi, velocity)
        walk.zmp = zmp
        # of a point mass on the force from the zero-moment point, at the height and vertical acceleration of this tick
        height, rate, second = self.com_height()
        below, k = now.com[2] - height, self._height_stiffness
        vertical = GRAVITY + second - k * below - 2.0 * math.sqrt(k) * (now.velocity[2] - rate)
        height = max(now.com[2] - self._ground_below(zmp, now, velocity), 0.5 * self.robot.com_height)
        self.acceleration = max(vertical, 0.0) / height * (now.com[:2] - zmp)

    def _corrected(self, now: Measured, velocity: Array) -> Array:
        """Return the velocity with the integral of its error, so that the mean velocity is the commanded one."""
        walk = self.walk
        if walk.phase not in (SWING, DOUBLE) or not velocity.any():
            walk.correction = np.zeros(2)
            return velocity
        error = velocity[:2] - turned(now.velocity[:2], -self.heading(now))
        walk.correction = np.clip(walk.correction + CORRECTION_GAIN * self._elapsed * error, -CORRECTION, CORRECTION)
        return np.array([*(velocity[:2] + walk.correction), velocity[2]])

    def _double_time(self) -> float:
        return SHORTEST_DOUBLE if self.walk.error > URGENT else self.gait.double_support

    def _touch(self, now: Measured) -> None:
        walk = self.walk
        total = max(walk.touchdown - walk.since, 0.05)
        progress = (now.time - walk.since) / total
        for k in self.gait.groups[walk.swinging]:
            if walk.in_contact[k] or progress < EARLIEST:
                continue
            if now.forces is not None:
                landed = now.forces[k] > self._touch_force
            else:
                landed = progress >= 1.0 - 1e-9 and now.feet[k, 2] <= walk.landings[k, 2] + 1e-3
            if landed:
                walk.in_contact[k] = True
                walk.patches[k] = walk.patches[k] if now.patches is None else now.patches[k]
        if all(walk.in_contact):
            walk.phase, walk.since = DOUBLE, now.time
            walk.swinging = 1 - walk.swinging
            walk.steps += 1

    def _lift(self, now: Measured, swing_time: float) -> None:
        walk = self.walk
        walk.phase, walk.since, walk.touchdown = SWING, now.time, now.time + swing_time
        for k in self.gait.groups[walk.swinging]:
            walk.in_contact[k] = False
            walk.lift_places[k] = walk.landings[k] = now.feet[k]
            walk.patches[k] = -1
            walk.swings[k] = resting(now.feet[k], float(now.yaws[k]))

    def _after_double(self, now: Measured, xi: Array, velocity: Array) -> None:
        if np.abs(velocity).max() < 1e-3 and self._settled(now, xi):
            self.walk.phase, self.walk.since, self.walk.recovering = STAND, now.time, False
            return
        self.walk.recovering = self.walk.error > URGENT
        self._lift(now, self.gait.recovery_swing if self.walk.recovering else self.gait.swing_time)

    def _settled(self, now: Measured, xi: Array) -> bool:
        """Return whether the feet are side by side and the divergent component is well inside the support."""
        nominal = nominal_step(self.robot, self.gait, np.zeros(3), stance=0)
        centre, heading = self._frame(0, now)
        other, yaw = self._frame(1, now)
        apart = turned(other - centre, -heading) - nominal.place
        middle = 0.5 * (centre + other)
        enlarged = middle + SETTLED * (xi - middle)
        holds = math.dist(clipped_to(self.polygon(now), enlarged), enlarged) < 1e-6
        return bool(np.abs(apart).max() < 0.03 and abs(_wrapped(yaw - heading)) < 0.1 and holds)

    def _consider_walking(self, now: Measured, xi: Array, velocity: Array) -> None:
        walk = self.walk
        outside = math.dist(clipped_to(self.polygon(now), xi), xi)
        if outside > 0.0:
            best = min(
                (0, 1),
                key=lambda k: (
                    self.preview(now, xi, velocity, swinging=k, elapsed=0.0, nominal_time=self.gait.recovery_swing).cost
                ),
            )
            walk.swinging, walk.recovering, walk.error = best, True, outside
            self._lift(now, self.gait.recovery_swing)
        elif np.abs(velocity).max() >= 1e-3:
            vx, vy, wz = velocity
            left = 0 if group_place(self.robot, self.gait, 0)[1] >= group_place(self.robot, self.gait, 1)[1] else 1
            aside = vy if abs(vy) > 0.3 * abs(vx) else wz
            walk.swinging = left if aside > 0.0 else 1 - left
            walk.phase, walk.since, walk.error, walk.recovering = SHIFT, now.time, 0.0, False

    def _shift(self, now: Measured, xi: Array, velocity: Array) -> Array:
        """Return the zero-moment point that brings the divergent component to the beginning of the first step."""
        walk, omega = self.walk, self.robot.omega
        centre, heading = self._frame(1 - walk.swinging, now)
        step = nominal_step(self.robot, self.gait, np.zeros(3), stance=walk.swinging)
        wanted = centre + turned(step.offset, heading) * math.exp(omega * 0.5 * self.gait.double_support)
        remaining = max(walk.since + SHIFT_TIME - now.time, 0.04)
        growth = math.exp(omega * remaining)
        return clipped_to(self.polygon(now), (wanted - growth * xi) / (1.0 - growth))

    def preview(
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
        gait, robot, times = self.gait, self.robot, self._times
        centre, heading = self._frame(1 - swinging, now)
        step = nominal_step(robot, gait, velocity, stance=1 - swinging)
        if remaining is None:
            low = max(gait.least_swing - elapsed, FREEZE)
            high = max(gait.longest_swing - elapsed, low)
            if place is not None:  # when the foot can be there
                reach = float(np.abs(place - self._frame(swinging, now)[0]).max()) / self._swing_speed
                low = min(max(low, reach), high)
            times = times[(times >= low - 1e-9) & (times <= high + 1e-9)]
        else:
            times = np.maximum([remaining], 0.0)
        turn = float(velocity[2]) * (max(nominal_time, elapsed) + gait.double_support)
        box = (
            self._box(swinging, turn) if place is None else np.repeat(turned(place - centre, -heading), 2).reshape(2, 2)
        )
        stance = list(gait.groups[1 - swinging])
        shifts = robot.half_soles[stance[0]] if len(stance) == 1 else np.zeros(2)
        return best_step(
            turned(xi - centre, -heading),
            robot.omega,
            times,
            0.5 * gait.double_support,
            nominal_time - elapsed,
            step.place,
            velocity[:2],
            step.offset,
            box,
            np.stack([-shifts, shifts], axis=1),
            turned(self._frame(swinging, now)[0] - centre, -heading),
            self._swing_speed,
            WEIGHTS,
        )

    def _box(self, swinging: int, turn: float) -> Array:
        """Return the bounds of the next place relative to the stance centre; `turn`: of the next foot [rad]."""
        robot, gait = self.robot, self.gait
        (ahead, aside), least = robot.reach, robot.least_width + TURNING_ROOM * abs(turn)
        spread = group_place(robot, gait, swinging)[1] - group_place(robot, gait, 1 - swinging)[1]
        if spread > 0.0:
            return np.array([[-ahead, ahead], [least, max(least, aside)]])
        if spread < 0.0:
            return np.array([[-ahead, ahead], [-max(least, aside), -least]])
        return np.array([[-ahead, ahead], [-aside, aside]])

    def _step(self, now: Measured, xi: Array, velocity: Array) -> Array:
        """Plan the landing and return the zero-moment point."""
        walk, gait = self.walk, self.gait
        swinging = walk.swinging
        centre, heading = self._frame(1 - swinging, now)
        nominal_time = gait.recovery_swing if walk.recovering else gait.swing_time
        if walk.phase == DOUBLE:
            return self._transfer(now, xi, velocity, nominal_time)
        elapsed, remaining = now.time - walk.since, walk.touchdown - now.time
        preview = partial(
            self.preview, now, xi, velocity, swinging=swinging, elapsed=elapsed, nominal_time=nominal_time
        )
        if remaining > FREEZE:
            choice = preview()
            turn = velocity[2] * (elapsed + choice.remaining + gait.double_support)
            walk.place[:2] = centre + turned(np.array([choice.x, choice.y]), heading)
            walk.place[2] = heading + turn
            if self._land_on_patches(now, elapsed / (elapsed + choice.remaining)):
                choice = preview(place=walk.place[:2])
            walk.touchdown = now.time + choice.remaining
        else:
            choice = preview(place=walk.place[:2], remaining=remaining)
        self.choice, walk.error = choice, choice.error
        self._swing(now)
        return centre + turned(np.array([choice.shift_x, choice.shift_y]), heading)

    def _transfer(self, now: Measured, xi: Array, velocity: Array, nominal_time: float) -> Array:
        """Return the zero-moment point of a double support: on the way from the last one to the next stance."""
        walk, omega = self.walk, self.robot.omega
        centre, heading = self._frame(1 - walk.swinging, now)
        rest = max(self._double_time() - (now.time - walk.since), 0.0)
        # the zero-moment point moves at a constant rate, as if it stepped to the next stance in the middle of the rest
        middle = walk.zmp + (xi - walk.zmp) * math.exp(omega * rest / 2.0)
        start = centre + (middle - centre) * math.exp(omega * rest / 2.0)
        choice = self.preview(now, start, velocity, swinging=walk.swinging, elapsed=0.0, nominal_time=nominal_time)
        self.choice, walk.error = choice, min(choice.error, walk.error) if rest else choice.error
        target = centre + turned(np.array([choice.shift_x, choice.shift_y]), heading)
        share = self._elapsed / max(rest, self._elapsed, 1e-6)
        return clipped_to(self.polygon(now), walk.zmp + share * (target - walk.zmp))

    def _land_on_patches(self, now: Measured, progress: float) -> bool:
        """Set the landing of each swinging foot; return whether the terrain moved the place of the group."""
        walk, group = self.walk, list(self.gait.groups[self.walk.swinging])
        middle, moved = self.robot.places[group].mean(axis=0), False
        for k in group:
            if walk.in_contact[k]:
                continue
            place = np.array([*(walk.place[:2] + turned(self.robot.places[k] - middle, walk.place[2])), walk.place[2]])
            walk.landings[k] = *place[:2], self.ground(now)
            if self.terrain is None:
                continue
            stance = max(float(now.feet[j, 2]) for j, on in enumerate(walk.in_contact) if on)
            found = self.terrain.landing(
                k, place, stance=stance, rise=self._rise, chosen=walk.patches[k], fixed=progress > CHOSEN
            )
            if found is not None:
                moved = moved or math.dist(found.place, place[:2]) > 1e-6
                walk.patches[k] = found.patch
                walk.landings[k] = *found.place, found.height
        if moved:
            walk.place[:2] = walk.landings[group, :2].mean(axis=0)
        return moved

    def _swing(self, now: Measured) -> None:
        walk, elapsed = self.walk, now.time - self.walk.since
        goal = np.zeros(4)
        for k in self.gait.groups[walk.swinging]:
            if walk.in_contact[k]:
                continue
            goal[:3] = walk.landings[k]
            if self.terrain is None:
                goal[2] = self.ground(now)
            goal[3] = walk.swings[k][0, 3] + _wrapped(walk.place[2] - walk.swings[k][0, 3])
            begin, remaining, lift = walk.lift_places[k], walk.touchdown - now.time, self.gait.lift
            apex, before, after, top = APEX, 0.0, 0.0, max(begin[2], goal[2])
            if self.terrain is not None:
                apex = min(max(APEX + LATER * (goal[2] - begin[2]), EARLY_APEX), LATE_APEX)
                yaw = float(walk.swings[k][0, 3])
                before, after, top = self.terrain.passing(k, begin, goal[:3].copy(), yaw=yaw, lift=lift, apex=apex)
            total = elapsed + remaining
            waits, landing = (before * total, after * total), self.gait.landing_speed
            advance(walk.swings[k], goal, remaining, elapsed, top + lift, apex, *waits, landing, self._elapsed)


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


def turned(vector: Array, angle: float) -> Array:
    """Return a vector in the plane, (2,), turned by an angle [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])
