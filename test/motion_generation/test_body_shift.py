"""Displacement of the body with footholds beside those of a motion."""

from __future__ import annotations

import numpy as np
import pytest

from motion_generation.body_shift import BodyShift, pressed

OMEGA, DT, STEP = 3.8, 0.005, 0.01


def test_shares_pass_from_one_foot_to_the_other_while_both_are_planted():
    left, right, both = [True, False], [False, True], [True, True]
    shares = pressed(np.array([both] * 4 + [left] * 3 + [both] * 10 + [right] * 2 + [both] * 4))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[4:7], [[1.0, 0.0]] * 3)
    np.testing.assert_allclose(shares[7:17, 1], (np.arange(10) + 0.5) / 10)
    assert shares[0, 0] < 0.6 < shares[3, 0]


@pytest.mark.parametrize("apart", [0.0, 0.02])
def test_the_body_follows_the_pendulum_and_ends_over_the_footholds(apart):
    """Footholds are moved by -15 cm every half second, four times; ξ begins beside its place or not."""
    body = BodyShift(OMEGA)
    times = np.arange(0.0, 6.0, DT)
    steps = lambda time: -0.15 * np.clip(np.floor((np.asarray(time) - 0.5) / 0.5 + 1.0), 0, 4)  # noqa: E731
    coming = lambda time: np.stack([steps(time + STEP * np.arange(200)), np.zeros(200)], axis=1)  # noqa: E731
    places, rates, ahead = [], [], []
    body.divergent = body.divergent + [apart, 0.0]
    for time in times:
        places.append(body.place[0])
        rates.append(body.rate[0])
        body.update(coming(time), STEP, DT, 20)
        ahead.append(body.ahead[0])
    places, rates, point = np.array(places), np.array(rates), steps(times)
    np.testing.assert_allclose(np.gradient(places, DT)[1:-1], rates[1:-1], atol=0.01)
    zmp = places - np.gradient(rates, DT) / OMEGA**2
    settled = times > 1.0
    # within 2 cm of the footholds under it, but for the samples at which these change
    changing = np.abs(times[:, None] - 0.5 * np.arange(1, 5)).min(axis=1) < 0.05
    assert np.abs(zmp - point)[settled & ~changing].max() < 0.02
    np.testing.assert_allclose(places[-1], -0.6, atol=1e-3)
    # 20 steps of 0.01 s ahead are 40 periods
    np.testing.assert_allclose(np.array(ahead)[:-40], places[40:], atol=0.012)


def test_a_diagonal_shares_evenly_until_all_feet_stand():
    diagonal, other, all_four = [True, False, False, True], [False, True, True, False], [True] * 4
    shares = pressed(np.array([diagonal] * 4 + [all_four] * 2 + [other] * 4))
    np.testing.assert_allclose(shares[:4], [[0.5, 0.0, 0.0, 0.5]] * 4)
    np.testing.assert_allclose(shares[4:6], [[0.375, 0.125, 0.125, 0.375], [0.125, 0.375, 0.375, 0.125]])
    np.testing.assert_allclose(shares[6:], [[0.0, 0.5, 0.5, 0.0]] * 4)
