"""Actuation of low modes against least squares, and of high modes by their response."""

from __future__ import annotations

import numpy as np

from modal_control.actuation import high_actuation, low_actuation
from modal_control.responses import free_response, impulse_response


def test_low_actuation_is_the_least_squares_solution(random):
    squares, n, dt = np.array([2.0, 30.0, 90.0]), 16, 1.0 / 120.0
    A, rate = impulse_response(squares, dt * (n - np.arange(n)))
    error, rate_error, weights, effort = random.normal(size=3), random.normal(size=3), (0.5, 2.0), 5e-3
    found = low_actuation(A, rate, error, rate_error, weights=weights, effort=effort)
    for m in range(3):
        rows = np.vstack([np.sqrt(weights[0]) * A[:, m], np.sqrt(weights[1]) * rate[:, m], np.sqrt(effort) * np.eye(n)])
        target = np.concatenate([[np.sqrt(0.5) * error[m], np.sqrt(2.0) * rate_error[m]], np.zeros(n)])
        np.testing.assert_allclose(found[:, m], np.linalg.lstsq(rows, target, rcond=None)[0], atol=1e-9)


def test_high_actuation_reaches_the_position_in_one_step(random):
    squares, dt, target = np.array([200.0, 900.0]), 1.0 / 120.0, np.array([0.01, -0.02])
    p0, v0, b = random.normal(size=2), random.normal(size=2), random.normal(size=2)
    response = impulse_response(squares, np.array([dt]))[0][0]
    impulse = high_actuation(response, target - free_response(p0, v0, b, squares, dt)[0])
    np.testing.assert_allclose(free_response(p0, v0 + impulse, b, squares, dt)[0], target, atol=1e-12)
