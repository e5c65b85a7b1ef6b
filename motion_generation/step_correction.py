"""Displacement of the next foothold by the error of the divergent component of motion."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array

#: Distance by which the zero-moment point may move from that of the motion, along and across a foot [m].
ROOM = np.array([0.06, 0.03])
#: Largest displacement of a foothold along and across [m], and least distance of two feet across [m].
FARTHEST, NARROWEST = np.array([0.35, 0.25]), 0.15


#: Part of a displacement that the next foothold keeps, and by how much it may be smaller [m].
KEPT, RETURN = 0.5, 0.04
#: The foothold is fixed this long before the landing [s].
FIXED = 0.06
#: Largest speed at which a coming foothold is displaced [m/s].
DISPLACING = 3.0


def step_correction(error: Array, remaining: float, omega: float, room: Array = ROOM) -> Array:
    """Return the error of the divergent component at the landing that the stance foot cannot remove, (2,) [m].

    With the zero-moment point displaced by s, ξ̇ = ω (ξ − p) turns an error e into s + (e − s) exp(ω T).

    Args:
        error: of ξ = c + ċ / ω against the motion, along and across the foot, (2,) [m].
        remaining: time T until the landing [s].
        omega: natural frequency of the pendulum [1/s].
        room: distance by which the zero-moment point may move along and across, (2,) [m].
    """
    growth = math.exp(omega * max(remaining, 0.0))
    wanted = error * growth / max(growth - 1.0, 1e-6)
    left = error * growth - (growth - 1.0) * np.clip(wanted, -room, room)
    return np.clip(left, -FARTHEST, FARTHEST)


def kept_apart(way: Array, recorded: float) -> Array:
    """Return a displacement that does not bring a foot across another one, along and across it, (2,) [m].

    Args:
        way: displacement against the other foot's, along and across, (2,) [m].
        recorded: distance across of the foot from the other one in the motion, signed [m].
    """
    side = 1.0 if recorded >= 0.0 else -1.0
    least = min(abs(recorded), NARROWEST)
    across = side * max(side * (recorded + way[1]), least) - recorded
    return np.array([way[0], across])


def returning(offset: Array) -> Array:
    """Return a smaller displacement, so that the robot returns to the places of the motion step by step, (2,) [m]."""
    return np.asarray(offset - np.clip((1.0 - KEPT) * offset, -RETURN, RETURN))
