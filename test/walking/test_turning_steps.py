"""Turns of steps: fixed at lift-off where feet are beside each other, as commanded where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from walking.gait import Gait, WalkingRobot
from walking.gait_state import SWING, Measured
from walking.stepper import Stepper

DT = 0.005
TWO = np.array([[0.0, 0.085, 0.0], [0.0, -0.085, 0.0]])
FOUR = np.array([[0.2, 0.15, 0.0], [0.2, -0.15, 0.0], [-0.2, 0.15, 0.0], [-0.2, -0.15, 0.0]])
BIPED = (TWO, Gait(groups=((0,), (1,))), np.array([[0.09, 0.035]] * 2))
QUADRUPED = (FOUR, Gait(groups=((0, 3), (1, 2))), np.zeros((4, 2)))


def landings(robot, turns):
    """Return the headings of the landing relative to the stance [rad], by the turn rates of the ticks of a swing."""
    feet, gait, half_soles = robot
    figures = WalkingRobot(feet[:, :2], half_soles, 0.69, (0.5, 0.45), 0.1)
    stepper, found = Stepper(figures, gait, dt=DT, limits=np.array([0.8, 0.3, 1.0])), []
    n, time = len(feet), 0.0
    rest = (np.zeros(3), feet, np.zeros(n), np.zeros((n, 4)), np.full(n, 200.0))
    while len(found) < len(turns):
        turn = turns[len(found)]
        stepper.update(Measured(time, np.array([0.0, 0.0, 0.69]), np.zeros(3), *rest), np.array([0.0, 0.0, turn]))
        time += DT
        if stepper.walk.phase == SWING:
            found.append(float(stepper.walk.place[2]))
    return found


@pytest.mark.parametrize(("robot", "follows"), [(BIPED, False), (QUADRUPED, True)])
def test_a_command_that_changes_in_a_swing_turns_the_next_step_of_a_biped(robot, follows):
    early, late = landings(robot, [0.2] * 10), landings(robot, [0.2] * 5 + [-0.8] * 5)
    assert early[9] > 0.05
    assert (late[9] < -0.1) if follows else (late[9] == pytest.approx(early[9], abs=0.02))
