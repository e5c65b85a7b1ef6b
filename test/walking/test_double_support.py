"""On unknown ground, the length of a double support is chosen at the touchdown and kept until its end."""

from __future__ import annotations

import numpy as np
import pytest

from walking.gait import Gait, UnknownGround, WalkingRobot
from walking.gait_state import DOUBLE, SWING, URGENT, Measured
from walking.stepper import SHORTEST_DOUBLE, Stepper
from walking.swing import resting

DT = 0.005
FORCES = np.array([200.0, 200.0])
FEET = np.array([[0.0, 0.085, 0.0], [0.0, -0.085, 0.0]])
ROBOT = WalkingRobot(FEET[:, :2], np.array([[0.09, 0.035]] * 2), 0.69, (0.5, 0.45), 0.14)
GAIT = Gait(((0,), (1,)), unknown_ground=UnknownGround(rise=0.3, descent=0.15, landing_speed=0.3, search_speed=0.5))


def length(error):
    """Return the length of a double support after a touchdown with an error [s]."""
    stepper = Stepper(ROBOT, GAIT, dt=DT, limits=np.array([0.8, 0.3, 1.0]))
    walk = stepper.walk
    walk.phase, walk.touchdown, walk.error, walk.in_contact = SWING, 0.4, error, [False, True]
    walk.landings, walk.lift_places = FEET.copy(), FEET.copy()
    walk.swings = np.array([resting(foot, 0.0) for foot in FEET])
    walk.place[:2] = FEET[0, :2]
    begun = None
    for k in range(30):
        time = 0.4 + DT * k
        com = np.array([0.0, -0.02, 0.69])
        now = Measured(time, com, np.array([0.0, 0.05, 0.0]), np.zeros(3), FEET, np.zeros(2), np.zeros((2, 4)), FORCES)
        stepper.update(now, np.array([0.2, 0.0, 0.0]))
        if walk.phase == DOUBLE and begun is None:
            begun = time
        if begun is not None and walk.phase == SWING:
            return time - begun
    raise AssertionError("the double support has not ended")


@pytest.mark.parametrize("error", [0.5 * URGENT, 1.5 * URGENT])
def test_a_double_support_lasts_as_long_as_was_chosen_at_its_touchdown(error):
    expected = SHORTEST_DOUBLE if error > URGENT else GAIT.double_support
    assert length(error) == pytest.approx(expected, abs=DT + 1e-9)
