"""Gait and robot of the walking generator as data, and the nominal periodic gait of a velocity."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRAVITY = 9.81


@dataclass(frozen=True)
class Gait:
    """Two groups of feet that swing alternately; lengths in m, times in s.

    Attributes:
        groups: indices of the feet of each group.
        swing_time: nominal duration of a swing.
        double_support: nominal duration of the support by all feet between two swings.
        least_swing: shortest swing.
        longest_swing: longest swing.
        recovery_swing: nominal duration of the swing that a push triggers.
        lift: height of a swing.
    """

    groups: tuple[tuple[int, ...], tuple[int, ...]]
    swing_time: float = 0.40
    double_support: float = 0.08
    least_swing: float = 0.15
    longest_swing: float = 0.55
    recovery_swing: float = 0.30
    lift: float = 0.05

    @property
    def step_time(self) -> float:
        """Duration of a step: of a swing and a double support."""
        return self.swing_time + self.double_support


@dataclass(frozen=True)
class WalkingRobot:
    """Figures of a robot that the preview uses; lengths in m.

    Attributes:
        places: nominal places of the feet relative to their centre, in the heading, (n, 2).
        half_soles: half length and half width in which the zero-moment point is kept, (n, 2); 0 for point feet.
        com_height: height of the centre of mass above the feet.
        reach: largest step ahead or back, and largest distance between the feet aside.
        least_width: least distance between the feet aside, so that legs do not cross.
    """

    places: Array
    half_soles: Array
    com_height: float
    reach: tuple[float, float]
    least_width: float

    @property
    def omega(self) -> float:
        """Natural frequency of the linear inverted pendulum [1/s]."""
        return math.sqrt(GRAVITY / self.com_height)


@dataclass(frozen=True)
class NominalStep:
    """A step of the periodic gait, in the heading of its stance, relative to the stance centre.

    Attributes:
        place: centre of the next stance, (2,) [m].
        turn: heading of the next stance [rad].
        offset: divergent component at the transfer of the weight, relative to the next place, (2,) [m].
    """

    place: Array
    turn: float
    offset: Array


def group_place(robot: WalkingRobot, gait: Gait, group: int) -> Array:
    """Return the nominal centre of a group of feet relative to the body, (2,) [m]."""
    return robot.places[list(gait.groups[group])].mean(axis=0)


def nominal_step(robot: WalkingRobot, gait: Gait, velocity: Array, *, stance: int) -> NominalStep:
    """Return the step of the periodic gait of a body velocity (vx, vy, wz) from this stance group.

    Two steps repeat: r b⁺ = E b − d, with b the offset of the divergent component from the stance at the beginning of
    a step, r the turn of a step as a complex number, d the displacement to the next stance, E the growth.
    """
    time = gait.step_time
    vx, vy, wz = (float(value) for value in velocity)
    turn = wz * time
    body = [complex(*group_place(robot, gait, k)) for k in (0, 1)]
    middle = (body[0] + body[1]) / 2.0
    spread = abs((body[0] - body[1]).imag)
    if spread > 0.0:
        # room for the trailing foot of a step aside, and for the inner foot of a turn
        wanted = max(spread, robot.least_width + abs(vy) * time + 0.08 * abs(turn))
        body = [middle + (place - middle) * wanted / spread for place in body]
    r = cmath.exp(1j * turn)
    # mean of the heading over the step
    mean = cmath.exp(0.5j * turn)
    moved = mean * complex(vx, vy) * time

    def displacement(k: int) -> complex:
        return moved + r * body[1 - k] - body[k]

    growth = math.exp(robot.omega * time)
    first, second = displacement(stance), displacement(1 - stance)
    # offset at the beginning of this stance, then at the beginning of the next
    begun = (first * growth / r**2 + second / r) / (growth**2 / r**2 - 1.0)
    offset = growth * begun - first
    return NominalStep(np.array([first.real, first.imag]), turn, np.array([offset.real, offset.imag]))
