"""Gait and robot of the walking generator as data, and the nominal periodic gait of a velocity."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled
from multi_qp_scene.schema.walking import GaitSpec

GRAVITY = 9.81
#: Room between the feet that a turn of the next one needs [m/rad].
TURNING_ROOM = 0.14


class Gait(GaitSpec):
    """A gait with its two groups of feet, which swing alternately.

    Attributes:
        groups: indices of the feet of each group.
    """

    groups: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def swing_time(self) -> float:
        """Nominal duration of a swing [s]."""
        return (1.0 - self.duty) * self.period

    @property
    def double_support(self) -> float:
        """Nominal duration of the support by all feet between two swings [s]."""
        return self.period / 2.0 - self.swing_time

    @property
    def step_time(self) -> float:
        """Duration of a step, of a swing and a double support [s]."""
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


class PeriodicGait:
    """Periodic gait of a robot on level ground, without disturbances.

    Attributes:
        centres: nominal centre of each group of feet relative to the body, (2, 2) [m].
    """

    def __init__(self, robot: WalkingRobot, gait: Gait) -> None:
        self.centres = np.array([robot.places[list(feet)].mean(axis=0) for feet in gait.groups])
        self._omega, self._step_time, self._least_width = robot.omega, gait.step_time, robot.least_width
        self._places = [complex(*centre) for centre in self.centres]

    def step(self, velocity: Array, *, stance: int) -> NominalStep:
        """Return the step of a body velocity (vx, vy, wz) from this stance group.

        Two steps repeat: r b⁺ = E b − d, with b the offset of the divergent component from the stance at the beginning
        of a step, r the turn of a step as a complex number, d the displacement to the next stance, E the growth.
        """
        vx, vy, wz = velocity
        standing, swinging = self._places[stance], self._places[1 - stance]
        numbers = _periodic(standing, swinging, self._omega, self._step_time, vx, vy, wz, self._least_width)
        return NominalStep(np.array(numbers[:2]), numbers[2], np.array(numbers[3:]))


def largest_velocity(robot: WalkingRobot, gait: Gait, *, stride: float, step_turn: float) -> Array:
    """Return the largest |vx|, |vy| [m/s] and |wz| [rad/s] that steps within reach permit, (3,).

    Args:
        robot: figures of the robot.
        gait: the gait.
        stride: share of the largest step ahead that the gait may use; the rest is for corrections.
        step_turn: largest turn of a step [rad].
    """
    ahead, aside = robot.reach
    left, right = PeriodicGait(robot, gait).centres[:, 1]
    if left != right:  # feet beside each other: one of two steps aside closes up to the least width
        aside = max(aside - robot.least_width, 0.0) / 2.0
    return np.array([stride * ahead, aside, step_turn]) / gait.step_time


@compiled
def _periodic(
    stance: complex, swinging: complex, omega: float, time: float, vx: float, vy: float, wz: float, least_width: float
) -> tuple[float, float, float, float, float]:
    """Return place (x, y), turn and offset (x, y) of a `NominalStep`, for both groups' nominal places x + iy."""
    turn = wz * time
    middle, spread = 0.5 * (stance + swinging), abs((stance - swinging).imag)
    if spread > 0.0:
        # room for the trailing foot of a step aside, and for the inner foot of a turn
        wanted = max(spread, least_width + abs(vy) * time + TURNING_ROOM * abs(turn))
        stance = middle + (stance - middle) * wanted / spread
        swinging = middle + (swinging - middle) * wanted / spread
    r = cmath.exp(1j * turn)
    # at the mean heading of the step
    moved = cmath.exp(0.5j * turn) * complex(vx, vy) * time
    first, second = moved + r * swinging - stance, moved + r * stance - swinging
    growth = math.exp(omega * time)
    # offset at the beginning of this stance
    begun = (first * growth / r**2 + second / r) / (growth**2 / r**2 - 1.0)
    offset = growth * begun - first
    return first.real, first.imag, turn, offset.real, offset.imag
