"""Actuation of modes: low ones over the window, (19) to (21), high ones within one step, (22) of [Jain2011]."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.arrays import Array


def low_actuation(
    responses: Array, rates: Array, error: Array, rate_error: Array, *, weights: tuple[float, float], effort: float
) -> Array:
    """Return the impulses of each mode over the window, (n, k): the minimum of (21), independently for each mode.

    With G the responses of position and velocity at the end of the window to the impulses, I = Gᵀ S with
    (G Gᵀ + w₆ W⁻¹) S = error: two equations a mode.

    Args:
        responses: position at the end of the window after a unit impulse at each step, (n, k).
        rates: velocity, the same, (n, k).
        error: p̄ₙ − cₙ, target minus position without actuation, (k,).
        rate_error: the same of the velocity, (k,).
        weights: w₄ of the position, w₅ of the velocity.
        effort: w₆, the weight W₆ of each impulse.
    """
    pp = np.sum(responses * responses, axis=0) + effort / weights[0]
    pv = np.sum(responses * rates, axis=0)
    vv = np.sum(rates * rates, axis=0) + effort / weights[1]
    determinant = pp * vv - pv * pv
    by_position = (vv * error - pv * rate_error) / determinant
    by_rate = (pp * rate_error - pv * error) / determinant
    return responses * by_position + rates * by_rate


def high_actuation(response: Array, error: Array) -> Array:
    """Return the impulse of each mode that makes its position after one step that of the reference, (22), (k,).

    Args:
        response: position after a step by a unit impulse at its start, (k,).
        error: p̄₁ − c₁, (k,).
    """
    return np.asarray(error / response)
