"""Compiled kernel for a pose on a piecewise polynomial path."""

from __future__ import annotations

import math

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part


@compiled
def pose_on_path(time: float, breaks: Array, pieces: Array, centre: Array, out: Array) -> None:
    """Write pose, velocity and acceleration of a piecewise polynomial path around a pose.

    With r the rotation vector, R = R₀ exp(r); ω = R₀ exp(r) J(r) ṙ with the right Jacobian J of SO(3),
    J(r) ṙ = ṙ − b r × ṙ + c r × (r × ṙ), b = (1 − cos θ) / θ², c = (θ − sin θ) / θ³, θ = |r|.

    Args:
        time: [s]; the path is constant before its start and after its end.
        breaks: breakpoints of the pieces, (n + 1,) [s].
        pieces: coefficients of position and rotation vector from the highest power down, (n, order + 1, 6) [m, rad].
        centre: centre pose, position and rotation row by row, (12,).
        out: to fill: position, rotation row by row, velocity and acceleration, (24,); see `PoseSample`.
    """
    time = min(max(time, breaks[0]), breaks[-1])
    piece = 0
    while piece < len(pieces) - 1 and time >= breaks[piece + 1]:
        piece += 1
    t = time - breaks[piece]
    x, dx, ddx = np.zeros(6), np.zeros(6), np.zeros(6)
    for power in range(pieces.shape[1]):
        for i in range(6):
            ddx[i] = ddx[i] * t + 2.0 * dx[i]
            dx[i] = dx[i] * t + x[i]
            x[i] = x[i] * t + pieces[piece, power, i]
    r, dr, ddr = x[3:], dx[3:], ddx[3:]
    turned, rate, bend = np.empty((3, 3)), np.empty(3), np.empty(3)
    _turn(r, dr, ddr, turned, rate, bend)
    for i in range(3):
        out[i] = centre[i] + x[i]
        out[12 + i], out[18 + i] = dx[i], ddx[i]
        for j in range(3):
            out[3 + 3 * i + j] = 0.0
            for k in range(3):
                out[3 + 3 * i + j] += centre[3 + 3 * i + k] * turned[k, j]
    for i in range(3):
        out[15 + i] = out[21 + i] = 0.0
        for j in range(3):
            out[15 + i] += out[3 + 3 * i + j] * rate[j]
            out[21 + i] += out[3 + 3 * i + j] * bend[j]


@compiled_part
def _turn(r: Array, dr: Array, ddr: Array, turned: Array, rate: Array, bend: Array) -> None:
    """Write exp(r), and its angular velocity and acceleration in body axes."""
    square = r[0] ** 2 + r[1] ** 2 + r[2] ** 2
    a, b, c, db, dc = _coefficients(square)
    along = r[0] * dr[0] + r[1] * dr[1] + r[2] * dr[2]
    db, dc = db * along, dc * along
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for other in range(3):
            turned[i, other] = b * r[i] * r[other]
        turned[i, i] += 1.0 - b * square
        # r × ṙ, r × r̈, r × (r × ṙ) = r (r · ṙ) − ṙ θ² and its derivative
        one = r[j] * dr[k] - r[k] * dr[j]
        two = r[j] * ddr[k] - r[k] * ddr[j]
        twice = r[i] * along - dr[i] * square
        change = 0.0
        for n in range(3):
            change += r[i] * (dr[n] * dr[n] + r[n] * ddr[n])
        change -= ddr[i] * square + dr[i] * along
        rate[i] = dr[i] - b * one + c * twice
        bend[i] = ddr[i] - db * one - b * two + dc * twice + c * change
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turned[j, i] += a * r[k]
        turned[i, j] -= a * r[k]


@compiled_part
def _coefficients(square: float) -> tuple[float, float, float, float, float]:
    """Return sin θ / θ, b, c, and the factors of r · ṙ in the derivatives of b and c, from θ²."""
    if square < 1e-3:  # series with a remainder below 1e-14
        s = square
        return (
            1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0))),
            0.5 - s / 24.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))),
            1.0 / 6.0 - s / 120.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0))),
            -1.0 / 12.0 + s / 180.0 * (1.0 - s / (112.0 / 3.0) * (1.0 - s / (135.0 / 2.0))),
            -1.0 / 60.0 + s / 1260.0 * (1.0 - s / 48.0 * (1.0 - s / (165.0 / 2.0))),
        )
    angle = math.sqrt(square)
    a = math.sin(angle) / angle
    b = (1.0 - math.cos(angle)) / square
    c = (1.0 - a) / square
    return a, b, c, (a - 2.0 * b) / square, (b - 3.0 * c) / square
