"""Closed-form responses of modes, [Jain2011] (4) to (9).

Each mode obeys p̈ + 2 ξ ω ṗ + ω² p = b + f(t) with ξ < 1; modes are normalised to mass 1.
"""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array


def free_response(p0: Array, v0: Array, b: Array, squares: Array, time: float, damping: float = 0.0) -> Array:
    """Return position and velocity of modes without force, (2, k): (4) and (6).

    The paper determines amplitude and phase from p₀ = S sin ψ, without the offset b / ω² of its (4). Here they are
    determined from p₀ − b / ω².

    Args:
        p0: positions at time 0, (k,).
        v0: velocities, (k,).
        b: constant loads, (k,).
        squares: ω², 0 for rigid modes, which are not damped, (k,) [1/s²].
        time: [s].
        damping: ξ of the modes that are not rigid.
    """
    rigid = squares == 0.0
    omega = np.sqrt(np.where(rigid, 1.0, squares))
    rest = np.where(rigid, 0.0, b / omega**2)
    decay, damped = damping * omega, omega * np.sqrt(1.0 - damping**2)
    fade, s, c = np.exp(-decay * time), np.sin(damped * time), np.cos(damped * time)
    x = p0 - rest
    y = (v0 + decay * x) / damped
    p = rest + fade * (x * c + y * s)
    v = fade * ((y * damped - decay * x) * c - (x * damped + decay * y) * s)
    return np.stack(
        [np.where(rigid, p0 + v0 * time + 0.5 * b * time**2, p), np.where(rigid, v0 + b * time, v)],
    )


def impulse_response(squares: Array, times: Array, damping: float = 0.0) -> tuple[Array, Array]:
    """Return the diagonals of A and Ȧ in (8) and (9) at times since a unit impulse, (times, k): (5) and (7)."""
    rigid = squares == 0.0
    omega = np.sqrt(np.where(rigid, 1.0, squares))
    decay, damped = damping * omega, omega * np.sqrt(1.0 - damping**2)
    t = np.asarray(times, dtype=float)[:, None]
    fade, s, c = np.exp(-decay * t), np.sin(damped * t), np.cos(damped * t)
    A = np.where(rigid, t, fade * s / damped)
    return A, np.where(rigid, 1.0, fade * (c - decay / damped * s))
