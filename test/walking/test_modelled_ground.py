"""Landings without measured forces: feet that have passed the modelled ground."""

from __future__ import annotations

import numpy as np
import pytest

from walking.gait import Gait, WalkingRobot
from walking.gait_state import DOUBLE, SWING, Measured
from walking.stepper import Stepper

FEET = np.array([[0.0, 0.085, 0.0], [0.0, -0.085, 0.0]])
ROBOT = WalkingRobot(FEET[:, :2], np.array([[0.09, 0.035]] * 2), 0.69, (0.5, 0.45), 0.14)


def phase_after(*, height, speed, time=0.32, forces=None):
    """Return the phase with the first foot at a height, in a swing from 0 to 0.4 s to a place at the height 0."""
    stepper = Stepper(ROBOT, Gait(groups=((0,), (1,))), dt=0.005, limits=np.array([0.8, 0.3, 1.0]))
    walk = stepper.walk
    walk.phase, walk.touchdown, walk.in_contact, walk.time = SWING, 0.4, [False, True], time - 0.005
    walk.landings, walk.lift_places = FEET + [[0.2, 0.0, 0.0], [0.0, 0.0, 0.0]], FEET.copy()
    walk.place[:2] = walk.landings[0, :2]
    feet, rates = np.array([[0.18, 0.085, height], FEET[1]]), np.array([[speed, 0.0, -0.1, 0.0], np.zeros(4)])
    com, velocity = np.array([0.02, -0.04, 0.69]), np.array([0.4, 0.1, 0.0])
    stepper.update(Measured(time, com, velocity, np.zeros(3), feet, np.zeros(2), rates, forces), np.zeros(3))
    return walk.phase


@pytest.mark.parametrize(
    "height, speed, phase", [(-0.004, 0.5, DOUBLE), (-0.004, 2.0, SWING), (-5e-4, 0.5, SWING), (0.02, 0.5, SWING)]
)
def test_a_slow_foot_below_the_ground_has_landed_before_the_end_of_its_swing(height, speed, phase):
    assert phase_after(height=height, speed=speed) == phase


def test_it_has_not_at_the_begin_of_its_swing_nor_where_forces_are_measured():
    assert phase_after(height=-0.004, speed=0.5, time=0.2) == SWING
    assert phase_after(height=-0.004, speed=0.5, forces=np.array([0.0, 380.0])) == SWING
