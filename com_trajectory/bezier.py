"""Bézier curves: values, derivatives, subdivision, and the gravito-inertial wrench along a centre-of-mass curve.

Source: [Tonneau2018] (7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from com_trajectory.bezier_kernel import fill_parts, fill_state
from com_trajectory.wrench_cone import GRAVITY
from multi_qp_scene.arrays import Array


@dataclass(frozen=True, eq=False)
class Bezier:
    """c(t) = Σ B_k^n((t − start) / duration) P_k.

    Attributes:
        points: control points, (n + 1, d).
        start: start time [s].
        duration: [s].
    """

    points: Array
    start: float = 0.0
    duration: float = 1.0

    @property
    def degree(self) -> int:
        """Degree n of the polynomial."""
        return len(self.points) - 1

    @property
    def end(self) -> float:
        """End time [s]."""
        return self.start + self.duration

    def __call__(self, time: ArrayLike) -> Array:
        """Return the values at times, (...) [s]: (..., d)."""
        u = (np.asarray(time, dtype=float) - self.start) / self.duration
        return np.asarray(bernstein(self.degree, u) @ self.points)

    def derivative(self, order: int = 1) -> Bezier:
        """Return the derivative with respect to time."""
        points = self.points
        for _ in range(order):
            n = len(points) - 1
            points = (points[1:] - points[:-1]) * (n / self.duration) if n else np.zeros_like(points)
        return Bezier(points, self.start, self.duration)

    def state(self, share: float) -> Array:
        """Return position, velocity and acceleration at a fraction of the duration, (3, d); needs degree ≥ 2."""
        state = np.empty((3, self.points.shape[1]))
        fill_state(self.points, share, self.duration, np.empty_like(self.points), state)
        return state

    def part(self, first: float, last: float) -> Bezier:
        """Return the part between two fractions of the duration, 0 ≤ first < last ≤ 1, with the times unchanged."""
        points = parts_between(self.points, first, last, 1)[0]
        return Bezier(points, self.start + first * self.duration, (last - first) * self.duration)

    def parts(self, count: int) -> Array:
        """Return the control points of `count` equal parts, (count, n + 1, d)."""
        return parts_between(self.points, 0.0, 1.0, count)

    def moved_to(self, start: float, *, slower: float = 1.0) -> Bezier:
        """Return the same path with another start time and a duration `slower` times as long."""
        return Bezier(self.points, start, self.duration * slower)

    @classmethod
    def between(
        cls, start: tuple[Array, Array, Array], through: Array, end: tuple[Array, Array, Array], duration: float
    ) -> Bezier:
        """Return the curve with given boundary states and attractors.

        Args:
            start: position, velocity, acceleration at the start, (3,) each [m, m/s, m/s²].
            through: attractors, (k, 3): control points 3 to 2 + k.
            end: the same at the end.
            duration: [s].

        Source: [Tonneau2018] section 6.1, (8) for one attractor, (9) for two.
        """
        n = 5 + len(through)
        points = np.empty((n + 1, 3))
        points[3 : n - 2] = through
        points[0], points[1], points[2] = end_points(*start, n, duration)
        points[n], points[n - 1], points[n - 2] = end_points(end[0], -end[1], end[2], n, duration)
        return cls(points, 0.0, duration)


def end_points(
    position: Array, velocity: Array, acceleration: Array, n: int, duration: float
) -> tuple[Array, Array, Array]:
    """Return the first three control points, (3,) each [m], of a curve of degree n that begins with this state."""
    first = position + velocity * (duration / n)
    return position, first, acceleration * (duration**2 / (n * (n - 1))) + 2.0 * first - position


def bernstein(degree: int, u: ArrayLike) -> Array:
    """Return the Bernstein polynomials at u, (...): (..., degree + 1)."""
    u = np.asarray(u, dtype=float)[..., None]
    k, binomials = _binomials(degree)
    return np.asarray(binomials * u**k * (1.0 - u) ** (degree - k))


@lru_cache(maxsize=128)
def _binomials(degree: int) -> tuple[NDArray[np.int64], Array]:
    """Return k from 0 to the degree, and degree over k."""
    k = np.arange(degree + 1)
    return k, np.array([comb(degree, int(j)) for j in k], dtype=float)


def parts_between(points: Array, first: float, last: float, count: int) -> Array:
    """Return the control points of `count` equal parts between two fractions of a curve, (count, n + 1, d)."""
    parts = np.empty((count, *points.shape))
    fill_parts(points, first, last, parts)
    return parts


@lru_cache(maxsize=128)
def product_weights(first: int, second: int) -> Array:
    """Return Z with (Σ P_i B_i)(Σ Q_j B_j) = Σ_k B_k Σ_{i + j = k} Z_ij P_i Q_j.

    Args:
        first: degree of the first factor.
        second: degree of the second.

    Returns:
        (first + 1, second + 1).
    """
    return np.array(
        [
            [comb(first, i) * comb(second, j) / comb(first + second, i + j) for j in range(second + 1)]
            for i in range(first + 1)
        ]
    )


def wrench_rate(degree: int, duration: float) -> float:
    """Return n (n − 1) / (g T²), the factor from second differences of control points to accelerations / g [1/m]."""
    return degree * (degree - 1) / (GRAVITY * duration**2)
