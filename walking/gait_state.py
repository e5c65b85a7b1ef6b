"""State of a gait, and what the walking algorithm measures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from multi_qp_scene.arrays import Array

STAND, SHIFT, SWING, DOUBLE = "stand", "shift", "swing", "double"
#: Deviation of the divergent component from which a step reacts to a push [m].
URGENT = 0.04


@dataclass
class Measured:
    """What the walking algorithm measures.

    Attributes:
        time: [s].
        com: centre of mass, (3,) [m].
        velocity: of the centre of mass, (3,) [m/s].
        base: x, y [m] and heading [rad] of the base, (3,).
        feet: positions of the soles, (n, 3) [m].
        yaws: headings of the soles, (n,) [rad].
        foot_rates: velocities of x, y, z and heading of the soles, (n, 4) [m/s, rad/s].
        forces: measured normal force of each foot, (n,) [N]; None where it is not measured.
        patches: patch of the terrain that each foot presses on, where forces are measured on a terrain.
        ground: height of the modelled ground below each foot, (n,) [m], on level ground where no forces are measured.
    """

    time: float
    com: Array
    velocity: Array
    base: Array
    feet: Array
    yaws: Array
    foot_rates: Array
    forces: Array | None
    patches: list[int] | None = None
    ground: Array | None = None


@dataclass
class Walk:
    """State of the gait; all that is carried from tick to tick.

    Attributes:
        phase: of the gait.
        since: time at which the phase began, or begins: the transfer of the weight after an early touchdown [s].
        lifted: time of the last lift-off [s].
        swinging: group that swings, or swings next.
        touchdown: planned touchdown [s].
        turning: rate at which the body turns in this step, fixed at its lift-off [rad/s].
        place: planned centre of the swinging group's landing, (3,): x, y [m], heading [rad].
        zmp: zero-moment point of the last tick, (2,) [m].
        lift_places: place of each foot at lift-off, (n, 3) [m].
        landings: planned place of each foot that swings, (n, 3) [m].
        patches: patch of the terrain of each foot, of its landing while it swings; -1 before it is chosen.
        ground: filtered height of the ground below the centre of mass, its rate and second derivative, (3,) [m]; NaN
            before the first tick.
        lowered: by which the centre of mass is lowered, its rate and second derivative, (3,) [m].
        dip: by which the present step lowers it, its rate and second derivative, (3,) [m].
        leaned: by which the body leans ahead, its rate and second derivative, (3,) [rad].
        error: last deviation of the divergent component [m].
        in_contact: whether each foot is in contact, (n,).
        swings: references of the feet, see `swing.resting`, (n, 3, 5).
        is_shortened: whether the double support is short: the step reacted to a push, or was late, at its touchdown.
        recovering: whether the step reacts to a push.
        is_level: whether the swinging feet stay level: ticks were missed in this step, or a foot is off its reference.
        steps: number of steps so far.
        time: time of the last tick [s]; NaN before the first one.
        offset: correction of the velocity, in the heading, (2,) [m/s].
        factors: relative corrections of vx, vy, wz, (3,).
        commanded: velocity command of the last tick, (3,).
        constant_since: time of its last change, or of the last reaction to a push [s].
        base: x, y [m] and heading [rad] of the base at the last tick, (3,).
    """

    phase: str = STAND
    since: float = 0.0
    lifted: float = 0.0
    swinging: int = 0
    touchdown: float = 0.0
    turning: float = 0.0
    place: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))
    zmp: Annotated[Array, 2] = field(default_factory=lambda: np.zeros(2))
    lift_places: Annotated[Array, None, 3] = field(default_factory=lambda: np.zeros((0, 3)))
    landings: Annotated[Array, None, 3] = field(default_factory=lambda: np.zeros((0, 3)))
    patches: list[int] = field(default_factory=list)
    ground: Annotated[Array, 3] = field(default_factory=lambda: np.full(3, math.nan))
    lowered: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))
    dip: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))
    leaned: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))
    error: float = 0.0
    in_contact: list[bool] = field(default_factory=list)
    swings: Annotated[Array, None, 3, 5] = field(default_factory=lambda: np.zeros((0, 3, 5)))
    is_shortened: bool = False
    recovering: bool = False
    is_level: bool = False
    steps: int = 0
    time: float = math.nan
    offset: Annotated[Array, 2] = field(default_factory=lambda: np.zeros(2))
    factors: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))
    commanded: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))
    constant_since: float = 0.0
    base: Annotated[Array, 3] = field(default_factory=lambda: np.zeros(3))


def wrapped(angle: float) -> float:
    """Return an angle in [−π, π) [rad]."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


def turned(vector: Array, angle: float) -> Array:
    """Return a vector in the plane, (2,), turned by an angle [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])
