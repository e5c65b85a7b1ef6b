"""Synthesised motion: features as splines, contacts by phase, forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicHermiteSpline

from multi_qp_scene.arrays import Array

#: A contact is made in a phase where its variable is above this fraction of the largest.
CONTACT_FRACTION = 0.5


@dataclass(frozen=True)
class Motion:
    """Motion and contacts of a character.

    Attributes:
        effectors: names, limbs first.
        knots: time of the phases' ends, from 0, (K + 1,) [s].
        x: features of (12) at the knots of the splines, with the same number in each phase, (K P + 1, features).
        rates: their time derivatives, (K P + 1, features).
        c: contact variable of each effector in each phase, 0..1, (K, N).
        times: of the forces and the joint angles [s], (m,).
        forces: force [body weights] and moment [body weights · m] of each patch, in its frame, (m, N, 6).
        angles: joint angles of the limbs, (m, joints) [rad].
    """

    effectors: tuple[str, ...]
    knots: Array
    x: Array
    rates: Array
    c: Array
    times: Array
    forces: Array
    angles: Array

    @property
    def pieces(self) -> int:
        """Number P of cubic pieces in a phase."""
        return (len(self.x) - 1) // (len(self.knots) - 1)

    @property
    def spline_knots(self) -> Array:
        """Times of x and rates, (K P + 1,) [s]."""
        phases = np.arange(len(self.x)) / self.pieces
        return np.interp(phases, np.arange(len(self.knots)), self.knots)

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return float(self.knots[-1])

    @property
    def contacts(self) -> np.ndarray:
        """Whether each effector makes contact in each phase, (K, N)."""
        return np.asarray(self.c > CONTACT_FRACTION * self.c.max())

    def phase(self, time: float) -> int:
        """Return the index of the phase at a time [s]."""
        return int(np.clip(np.searchsorted(self.knots, time, side="right") - 1, 0, len(self.c) - 1))

    def features(self, times: Array) -> tuple[Array, Array, Array]:
        """Return features and their two derivatives at times, (m,) [s]; (m, features) each."""
        spline = CubicHermiteSpline(self.spline_knots, self.x, self.rates)
        return spline(times), spline(times, 1), spline(times, 2)


def rotations(r: Array) -> Array:
    """Return the rotation matrix of each rotation vector, (m, 3) to (m, 3, 3)."""
    return np.array([pin.exp3(one) for one in r]).reshape(-1, 3, 3)


def angular_motion(r: Array, rate: Array, second: Array) -> tuple[Array, Array]:
    """Return angular velocity and acceleration in the world from rotation vectors and their derivatives, (m, 3)."""
    step = 1e-4
    omega = np.array([_omega(a, b) for a, b in zip(r, rate, strict=True)])
    ahead = np.array([_omega(a + step * b, b + step * c) for a, b, c in zip(r, rate, second, strict=True)])
    behind = np.array([_omega(a - step * b, b - step * c) for a, b, c in zip(r, rate, second, strict=True)])
    return omega.reshape(-1, 3), ((ahead - behind) / (2.0 * step)).reshape(-1, 3)


def _omega(r: Array, rate: Array) -> Array:
    return np.asarray(pin.exp3(r) @ pin.Jexp3(r) @ rate)
