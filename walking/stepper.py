"""Phases of a gait: when feet lift off and land, and the zero-moment point of every tick."""

from __future__ import annotations

import copy
import math
from functools import partial

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.stateful import Stateful
from walking.foot_frames import FootFrames
from walking.gait import GRAVITY, Gait, PeriodicGait, WalkingRobot
from walking.gait_state import DOUBLE, SHIFT, STAND, SWING, URGENT, Measured, Walk, turned, wrapped
from walking.ground_height import GroundHeight
from walking.preview_kernel import StepChoice
from walking.step_preview import FREEZE, StepPreview
from walking.support import clipped_to
from walking.swing import approach, resting
from walking.swing_feet import SwingFeet
from walking.terrain import Terrain
from walking.velocity_correction import corrected

#: Height above its landing up to which a foot at the end of its swing is down, where no force tells [m].
LANDED = 1e-3
#: Horizontal speed up to which a foot below the ground has landed before the end of its swing, where no force tells
#: [m/s].
FASTEST_LANDING = 1.0
#: Fraction of the swing after which a contact force is a touchdown.
EARLIEST = 0.55
#: Time constant with which the centre of mass is lowered, and the body leans, on demand [s].
LOWERING = 0.15
#: Shortest time in which the centre of mass is lowered for a step [s].
LEAST_DIP = 0.1
#: Time after the planned one from which on a touchdown on known ground is late [s].
LATE = 0.03
#: Duration of the double support in a reaction to a push [s].
SHORTEST_DOUBLE = 0.02
#: Time between two ticks from which on references of feet restart at the measured motion [control periods].
GAP = 3.5
#: Time until touchdown for which a late step on unknown ground is previewed [s].
LATE_PREVIEW = 0.03
#: Longest time between two ticks by which references advance [s].
LONGEST_TICK = 0.1
#: Duration of the weight shift before the first step [s].
SHIFT_TIME = 0.2
#: Factor by which the divergent component may be farther from the middle of the feet when the robot stops.
SETTLED = 1.4


class Stepper(Stateful):
    """Steps of a gait.

    Attributes:
        robot: figures of the robot.
        gait: the gait.
        terrain: the terrain, or None on level ground.
        preview: preview of the next step.
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
        limits: Array,
        touch_force: float = 25.0,
        swing_speed: float = 2.2,
        height_stiffness: float = 80.0,
        terrain: Terrain | None = None,
        rise: float = 0.2,
    ) -> None:
        """Create it standing; the other figures as in the specification: `weights.height` is `height_stiffness`.

        Without a terrain, the ground is level at the height of the feet in contact. `limits`: largest commands, (3,)
        [m/s, m/s, rad/s].
        """
        self.robot, self.gait, self.terrain = robot, gait, terrain
        self._height_stiffness, self._touch_force = height_stiffness, touch_force
        self._limits = limits
        self._frames = FootFrames(robot, gait)
        self._ground = GroundHeight(gait, self._frames, level=terrain is None)
        self._swing_feet = SwingFeet(robot, gait, terrain, rise=rise)
        self.preview = StepPreview(robot, gait, self._frames, swing_speed=swing_speed)
        periodic = PeriodicGait(robot, gait)
        left, right = periodic.centres[:, 1].tolist()
        self._is_beside, self._left = left != right, 0 if left >= right else 1
        # of the periodic gait on the spot, by stance
        self._beside = [periodic.step(np.zeros(3), stance=group) for group in (0, 1)]
        self.acceleration = np.zeros(2)
        self.choice: StepChoice | None = None
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
            swings=np.zeros((n, 3, 5)),
        )

    def com_height(self) -> tuple[float, float, float]:
        """Return the reference height of the centre of mass, its rate and second derivative [m], [m/s], [m/s²]."""
        height, rate, second = (self.walk.ground - self.walk.lowered - self.walk.dip).tolist()
        return height + self.robot.com_height, rate, second

    def lower(self, depth: float, dt: float) -> None:
        """Lower the centre of mass towards a depth below its height [m], critically damped."""
        self.walk.lowered = _approached(self.walk.lowered, depth, dt)

    def lean(self, angle: float, dt: float) -> None:
        """Lean the body ahead towards an angle [rad], critically damped."""
        self.walk.leaned = _approached(self.walk.leaned, angle, dt)

    def foot_motion(self, foot: int, now: Measured) -> tuple[Array, Array]:
        """Return position and velocity of a foot in the plane, of its reference while it swings, (2,) each."""
        if self.walk.in_contact[foot]:
            return now.feet[foot, :2], np.zeros(2)
        reference = self.walk.swings[foot]
        return reference[0, :2], reference[1, :2]

    def heading(self, now: Measured) -> float:
        """Return the mean heading of the feet."""
        return self._frames.heading(now)

    def body_heading(self, now: Measured) -> tuple[float, float]:
        """Return heading of the body and its rate: the mean of both groups, of the reference while one swings."""
        yaws, rates = [], []
        for k, group in enumerate(self.gait.groups):
            if all(self.walk.in_contact[foot] for foot in group):
                yaws.append(self._frames.frame(k, now)[1])
                rates.append(0.0)
            else:
                swings = [self.walk.swings[foot] for foot in group if not self.walk.in_contact[foot]]
                yaws.append(float(swings[0][0, 3]))
                rates.append(float(swings[0][1, 3]))
        return yaws[0] + 0.5 * wrapped(yaws[1] - yaws[0]), 0.5 * (rates[0] + rates[1])

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

    def update(self, now: Measured, velocity: Array) -> None:
        """Advance by one tick with the body velocity (vx, vy, wz) [m/s, m/s, rad/s]."""
        walk, omega = self.walk, self.robot.omega
        self._elapsed = self._period if math.isnan(walk.time) else min(max(now.time - walk.time, 0.0), LONGEST_TICK)
        walk.time = now.time
        velocity = corrected(walk, now, velocity, limits=self._limits, elapsed=self._elapsed)
        xi = now.com[:2] + now.velocity[:2] / omega
        self._ground.follow(walk, now, velocity, period=self._period, elapsed=self._elapsed)
        missed = self._elapsed > GAP * self._period
        self._detect_bounce(now)
        if walk.phase == SWING:
            self._detect_touchdown(now, missed=missed)
        if walk.phase == SWING and missed:
            self._swing_feet.restart(walk, now)
            self._elapsed = self._period
        if walk.phase == DOUBLE and now.time - walk.since >= self._double_time() - 1e-9:
            self._after_double(now, xi, velocity)
        elif walk.phase == SHIFT and now.time - walk.since >= SHIFT_TIME - 1e-9:
            self._lift(now, self.gait.swing_time, velocity)
        if walk.phase == STAND:
            self._consider_walking(now, xi, velocity)
        if walk.phase == STAND:
            centre = 0.5 * (self._frames.frame(0, now)[0] + self._frames.frame(1, now)[0])
            zmp = clipped_to(self._frames.polygon(now, self.walk.in_contact), xi + (xi - centre) * 3.0 / omega)
        elif walk.phase == SHIFT:
            zmp = self._shift(now, xi, velocity)
        else:
            zmp = self._step(now, xi, velocity)
        walk.zmp = zmp
        if walk.phase != SWING:
            walk.dip = _approached(walk.dip, 0.0 if walk.phase == STAND else float(walk.dip[0]), self._elapsed)
        # of a point mass on the force from the zero-moment point, at the height and vertical acceleration of this tick
        height, rate, second = self.com_height()
        below, k = now.com[2] - height, self._height_stiffness
        vertical = GRAVITY + second - k * below - 2.0 * math.sqrt(k) * (now.velocity[2] - rate)
        height = max(now.com[2] - self._ground.below(walk, zmp, now, velocity), 0.5 * self.robot.com_height)
        self.acceleration = max(vertical, 0.0) / height * (now.com[:2] - zmp)

    def _double_time(self) -> float:
        # A late touchdown needs a short double support, although the error in its first tick, with which it is
        # previewed, is small. On known ground an error that falls lengthens it: more pushes are survived.
        is_shortened = self.walk.error > URGENT and self.gait.unknown_ground is None
        return SHORTEST_DOUBLE if is_shortened or self.walk.is_shortened else self.gait.double_support

    def _detect_touchdown(self, now: Measured, *, missed: bool) -> None:
        """Find feet that have landed; `missed`: whether ticks were missed, in which one may have landed and bounced."""
        walk = self.walk
        total = max(walk.touchdown - walk.since, 0.05)
        progress = (now.time - walk.since) / total
        for k in self.gait.groups[walk.swinging]:
            if walk.in_contact[k] or progress < EARLIEST:
                continue
            is_loaded = now.forces is not None and now.forces[k] > self._touch_force
            landed = is_loaded
            if now.forces is None or (missed and self.gait.unknown_ground is None):
                landed = is_loaded or (progress >= 1.0 - 1e-9 and now.feet[k, 2] <= walk.landings[k, 2] + LANDED)
            if now.forces is None and now.feet[k, 2] < walk.landings[k, 2] - LANDED:
                # a foot that is off its reference has passed the modelled ground; a fast one cannot stop in one period
                landed = landed or float(np.abs(now.foot_rates[k, :2]).max()) < FASTEST_LANDING
            if landed:
                walk.in_contact[k] = True
                if is_loaded and now.patches is not None:
                    walk.patches[k] = now.patches[k]
        if all(walk.in_contact):
            walk.phase, walk.since = DOUBLE, now.time
            late = self.gait.unknown_ground is not None or now.time - walk.touchdown > LATE
            walk.is_shortened = late and walk.error > URGENT
            if self.gait.unknown_ground is not None and not walk.is_shortened:
                # after an early touchdown, the transfer of the weight begins when it was planned to
                walk.since = max(now.time, walk.touchdown)
            walk.swinging = 1 - walk.swinging
            walk.steps += 1

    def _detect_bounce(self, now: Measured) -> None:
        """Let feet that landed early on unknown ground swing on when they lose contact before the weight is on them.

        They have hit an edge, or bounced; held as contacts, they would be pushed aside meanwhile.
        """
        walk = self.walk
        if walk.phase != DOUBLE or now.time >= walk.since or self.gait.unknown_ground is None or now.forces is None:
            return
        landed = self.gait.groups[1 - walk.swinging]
        if any(now.forces[k] > 0.0 for k in landed):
            return
        walk.phase, walk.since, walk.swinging, walk.steps = SWING, walk.lifted, 1 - walk.swinging, walk.steps - 1
        for k in landed:
            walk.in_contact[k] = False
        self._swing_feet.restart(walk, now)

    def _lift(self, now: Measured, swing_time: float, velocity: Array) -> None:
        walk = self.walk
        walk.turning, walk.is_level = float(velocity[2]), False
        walk.phase, walk.touchdown = SWING, now.time + swing_time
        walk.since = walk.lifted = now.time
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
        self._lift(now, self.gait.recovery_swing if self.walk.recovering else self.gait.swing_time, velocity)

    def _settled(self, now: Measured, xi: Array) -> bool:
        """Return whether the feet are side by side and the divergent component is well inside the support."""
        nominal = self._beside[0]
        centre, heading = self._frames.frame(0, now)
        other, yaw = self._frames.frame(1, now)
        apart = turned(other - centre, -heading) - nominal.place
        middle = 0.5 * (centre + other)
        enlarged = middle + SETTLED * (xi - middle)
        holds = math.dist(clipped_to(self._frames.polygon(now, self.walk.in_contact), enlarged), enlarged) < 1e-6
        return bool(np.abs(apart).max() < 0.03 and abs(wrapped(yaw - heading)) < 0.1 and holds)

    def _consider_walking(self, now: Measured, xi: Array, velocity: Array) -> None:
        walk = self.walk
        outside = math.dist(clipped_to(self._frames.polygon(now, self.walk.in_contact), xi), xi)
        if outside > 0.0:
            recovery = self.gait.recovery_swing
            costs = [
                self.preview.best(now, xi, velocity, swinging=k, elapsed=0.0, nominal_time=recovery).cost
                for k in (0, 1)
            ]
            best = costs.index(min(costs))
            walk.swinging, walk.recovering, walk.error = best, True, outside
            self._lift(now, self.gait.recovery_swing, velocity)
        elif np.abs(velocity).max() >= 1e-3:
            vx, vy, wz = velocity
            aside = vy if abs(vy) > 0.3 * abs(vx) else wz
            walk.swinging = self._left if aside > 0.0 else 1 - self._left
            walk.phase, walk.since, walk.error, walk.recovering = SHIFT, now.time, 0.0, False

    def _shift(self, now: Measured, xi: Array, velocity: Array) -> Array:
        """Return the zero-moment point that brings the divergent component to the beginning of the first step."""
        walk, omega = self.walk, self.robot.omega
        centre, heading = self._frames.frame(1 - walk.swinging, now)
        step = self._beside[walk.swinging]
        wanted = centre + turned(step.offset, heading) * math.exp(omega * 0.5 * self.gait.double_support)
        remaining = max(walk.since + SHIFT_TIME - now.time, 0.04)
        growth = math.exp(omega * remaining)
        return clipped_to(self._frames.polygon(now, self.walk.in_contact), (wanted - growth * xi) / (1.0 - growth))

    def _step(self, now: Measured, xi: Array, velocity: Array) -> Array:
        """Plan the landing and return the zero-moment point."""
        walk, gait = self.walk, self.gait
        swinging = walk.swinging
        centre, heading = self._frames.frame(1 - swinging, now)
        nominal_time = gait.recovery_swing if walk.recovering else gait.swing_time
        if walk.phase == DOUBLE:
            return self._transfer(now, xi, velocity, nominal_time)
        if self._is_beside:
            # a turn that grows in a swing needs room aside, for which there may be no time: thighs would meet
            velocity = np.array([velocity[0], velocity[1], walk.turning])
        elapsed, remaining = now.time - walk.since, walk.touchdown - now.time
        preview = partial(
            self.preview.best, now, xi, velocity, swinging=swinging, elapsed=elapsed, nominal_time=nominal_time
        )
        if remaining > FREEZE:
            choice = preview()
            turn = velocity[2] * (elapsed + choice.remaining + gait.double_support)
            walk.place[:2] = centre + turned(np.array([choice.x, choice.y]), heading)
            walk.place[2] = heading + turn
            if self._swing_feet.land(walk, now, elapsed / (elapsed + choice.remaining)):
                choice = preview(place=walk.place[:2])
            walk.touchdown = now.time + choice.remaining
        elif remaining < 0.0 and gait.unknown_ground is not None:
            # the divergent component grows: the foot follows it while it descends
            choice = preview(remaining=LATE_PREVIEW)
            walk.place[:2] = centre + turned(np.array([choice.x, choice.y]), heading)
            self._swing_feet.land(walk, now, 1.0)
        else:
            choice = preview(place=walk.place[:2], remaining=remaining)
        self._dip(turned(walk.place[:2] - centre, -heading), walk.touchdown - now.time)
        self.choice, walk.error = choice, choice.error
        self._swing_feet.advance(walk, now, self._elapsed)
        return centre + turned(np.array([choice.shift_x, choice.shift_y]), heading)

    def _dip(self, step: Array, remaining: float) -> None:
        """Lower the centre of mass by what legs that stay as long lose in height until a touchdown.

        Args:
            step: from the present stance to the next one, (2,) [m].
            remaining: time until touchdown [s].
        """
        neutral = self._beside[1 - self.walk.swinging].place
        # the body moves on in the double support, until the rear foot lifts off
        half = 0.5 * math.dist(step, neutral) * (1.0 + self.gait.double_support / self.gait.step_time)
        height = self.robot.com_height
        depth = height - math.sqrt(max(height**2 - half**2, 0.0))
        approach(self.walk.dip, depth, max(remaining, LEAST_DIP), self._elapsed)

    def _transfer(self, now: Measured, xi: Array, velocity: Array, nominal_time: float) -> Array:
        """Return the zero-moment point of a double support: on the way from the last one to the next stance."""
        walk, omega = self.walk, self.robot.omega
        centre, heading = self._frames.frame(1 - walk.swinging, now)
        early = walk.since - now.time  # until the planned touchdown
        rest = max(self._double_time() + min(early, 0.0), 0.0)
        if early > 0.0:
            xi = walk.zmp + (xi - walk.zmp) * math.exp(omega * early)
        # the zero-moment point moves at a constant rate, as if it stepped to the next stance in the middle of the rest
        middle = walk.zmp + (xi - walk.zmp) * math.exp(omega * rest / 2.0)
        start = centre + (middle - centre) * math.exp(omega * rest / 2.0)
        choice = self.preview.best(now, start, velocity, swinging=walk.swinging, elapsed=0.0, nominal_time=nominal_time)
        least = rest > 0.0 and self.gait.unknown_ground is None
        self.choice, walk.error = choice, min(choice.error, walk.error) if least else choice.error
        if early > 0.0:
            return walk.zmp
        target = centre + turned(np.array([choice.shift_x, choice.shift_y]), heading)
        share = self._elapsed / max(rest, self._elapsed, 1e-6)
        return clipped_to(self._frames.polygon(now, self.walk.in_contact), walk.zmp + share * (target - walk.zmp))


def _approached(present: Array, wanted: float, dt: float) -> Array:
    """Return value, rate and second derivative one period later, on a critically damped way to a wanted value, (3,)."""
    now, rate, _ = present
    # implicit Euler, stable for any period
    second = ((wanted - now - dt * rate) / LOWERING**2 - 2.0 * rate / LOWERING) / (1.0 + dt / LOWERING) ** 2
    rate += dt * second
    return np.array([now + dt * rate, rate, second])
