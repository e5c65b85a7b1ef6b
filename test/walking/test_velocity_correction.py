"""The mean velocity of the base becomes the commanded one, for a robot whose velocity is off in proportion."""

from __future__ import annotations

import numpy as np
import pytest

from walking.gait_state import SWING, URGENT, Measured, Walk, turned
from walking.velocity_correction import LARGEST_FACTOR, LARGEST_OFFSET, corrected

DT = 0.005
LIMITS = np.array([0.8, 0.3, 1.0])


def walked(walk, command, seconds, *, factors, error=0.0, ahead=0.0):
    """Return the mean velocity of a base, over the last second, whose centre of mass moves by `factors` × the plan.

    The centre of mass is at the distance `ahead` of the base.
    """
    place, time = walk.base.copy(), 0.0 if np.isnan(walk.time) else walk.time
    moved = np.zeros(3)
    walk.phase, walk.error = SWING, error
    for k in range(round(seconds / DT)):
        com = np.array([*(place[:2] + turned(np.array([ahead, 0.0]), place[2])), 0.7])
        now = Measured(time, com, np.zeros(3), place.copy(), np.zeros((2, 3)), np.zeros(2), np.zeros((2, 4)), None)
        wanted = factors * corrected(walk, now, command, limits=LIMITS, elapsed=DT)
        # velocity of the base, from that of the centre of mass
        wanted[1] -= wanted[2] * ahead
        place[:2] += DT * turned(wanted[:2], place[2])
        place[2] += DT * wanted[2]
        time += DT
        moved += wanted if k >= round((seconds - 1.0) / DT) else 0.0
    walk.time = time
    return moved * DT


@pytest.mark.parametrize("command", [(0.8, 0.0, 0.0), (-0.4, 0.0, 0.0), (0.0, 0.3, 0.0), (0.3, -0.2, 0.8)])
def test_the_mean_velocity_becomes_the_commanded_one(command):
    command, factors = np.array(command), np.array([0.92, 0.87, 1.2])
    velocity = walked(Walk(), command, 12.0, factors=factors)
    assert velocity == pytest.approx(command, rel=0.03, abs=0.005)


def test_the_base_follows_the_command_while_the_centre_of_mass_is_ahead_of_it():
    velocity = walked(Walk(), np.array([0.3, 0.0, 1.0]), 0.5, factors=np.ones(3), ahead=0.04)
    assert velocity[1] == pytest.approx(0.0, abs=1e-3)


def test_factors_are_kept_when_the_robot_has_stood():
    walk, factors = Walk(), np.array([1.0, 0.87, 1.0])
    walked(walk, np.array([0.0, 0.3, 0.0]), 15.0, factors=factors)
    walked(walk, np.zeros(3), 1.0, factors=factors)
    assert not walk.offset.any()
    # before the integrals act on the new command
    assert walked(walk, np.array([0.0, -0.2, 0.0]), 0.7, factors=factors)[1] / 0.7 < -0.2 * 0.91


def test_corrections_are_bounded_and_not_adapted_during_a_push():
    walk, command = Walk(), np.array([0.8, 0.3, 1.0])
    walked(walk, command, 30.0, factors=np.zeros(3))
    assert np.abs(walk.offset).max() <= LARGEST_OFFSET and np.abs(walk.factors).max() <= LARGEST_FACTOR
    pushed = Walk()
    walked(pushed, command, 5.0, factors=np.zeros(3), error=1.1 * URGENT)
    assert not pushed.offset.any() and not pushed.factors.any()
