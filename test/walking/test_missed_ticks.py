"""Steps after missed ticks, as when the controller had no CPU time: references restart at the measured motion."""

from __future__ import annotations

import numpy as np
import pytest

from walking.gait import Gait, WalkingRobot
from walking.gait_state import DOUBLE, SWING, URGENT, Measured
from walking.stepper import SHORTEST_DOUBLE, Stepper
from walking.swing import advance, resting

DT = 0.005
FEET = np.array([[0.0, 0.085, 0.0], [0.0, -0.085, 0.0]])
ROBOT = WalkingRobot(FEET[:, :2], np.array([[0.09, 0.035]] * 2), 0.69, (0.5, 0.45), 0.14)
GAIT = Gait(groups=((0,), (1,)))
VELOCITY = np.array([0.4, 0.0, 0.0])


def measured(time, foot=FEET[0], rate=(0.0, 0.0, 0.0, 0.0), forces=(0.0, 380.0)):
    """Return a state whose first foot is at a place, with a velocity."""
    feet, rates = np.array([foot, FEET[1]]), np.array([rate, np.zeros(4)])
    com, velocity = np.array([0.02, -0.04, 0.69]), np.array([0.4, 0.1, 0.0])
    return Measured(time, com, velocity, np.zeros(3), feet, np.zeros(2), rates, np.array(forces))


def swinging(touchdown):
    """Return a stepper whose first foot has swung since 0 s, and was advanced last at 0.2 s."""
    stepper = Stepper(ROBOT, GAIT, dt=DT, limits=np.array([0.8, 0.3, 1.0]))
    walk = stepper.walk
    walk.phase, walk.touchdown, walk.in_contact = SWING, touchdown, [False, True]
    walk.landings, walk.lift_places = FEET + [[0.2, 0.0, 0.0], [0.0, 0.0, 0.0]], FEET.copy()
    walk.swings = np.array([resting(foot, 0.0) for foot in FEET])
    walk.place[:2] = walk.landings[0, :2]
    walk.time = 0.2
    return stepper


def test_a_reference_is_not_advanced_beyond_the_end_of_its_polynomial():
    reference, goal = resting(np.array([0.0, 0.0, 0.01]), 0.0), np.array([0.2, 0.0, 0.0, 0.1])
    reference[1, :4] = [1.0, 0.0, 0.5, 0.0]
    # 25 ms before the apex, by 50 ms
    advance(reference, goal, 0.2, 0.14, 0.05, 0.0, 0.485, 0.0, 0.0, 0.1, 0.25, 0.0, 0.05)
    assert reference[0, 2] == pytest.approx(0.05, abs=1e-9) and abs(reference[1, 2]) < 1e-9
    assert 0.0 < reference[0, 0] < 0.2


def test_the_reference_of_a_foot_restarts_at_its_measured_motion():
    foot, rate = np.array([0.11, 0.08, 0.03]), np.array([0.9, -0.2, 0.1, 0.3])
    for missed, restarted in ((0.05, True), (0.01, False)):
        stepper = swinging(touchdown=0.4)
        stepper.update(measured(0.2 + missed, foot, rate), VELOCITY)
        reference = stepper.walk.swings[0]
        near = np.abs(reference[0, :3] - foot).max() < 1.5 * DT and np.abs(reference[1, :4] - rate).max() < 0.3
        assert near == restarted


def test_a_foot_that_landed_and_bounced_in_missed_ticks_is_down():
    stepper = swinging(touchdown=0.22)
    stepper.update(measured(0.25, np.array([0.2, 0.085, 0.0005])), VELOCITY)
    assert stepper.walk.phase == DOUBLE
    stepper = swinging(touchdown=0.22)
    stepper.update(measured(0.25, np.array([0.2, 0.085, 0.004]), (0.0, 0.0, 0.1, 0.0)), VELOCITY)
    assert stepper.walk.phase == SWING and stepper.walk.swings[0][1, 2] < -0.2, "it moves on towards the ground"


def test_a_foot_that_is_down_without_a_force_is_on_the_tread_of_its_landing():
    stepper, now = swinging(touchdown=0.22), measured(0.25, np.array([0.2, 0.085, 0.0005]))
    stepper.walk.patches, now.patches = [2, 1], [0, 1]  # no force on the first foot: its patch means nothing
    stepper.update(now, VELOCITY)
    assert stepper.walk.phase == DOUBLE and stepper.walk.patches == [2, 1]


@pytest.mark.parametrize("late", [0.0, 0.04])
def test_a_late_touchdown_with_an_error_has_a_short_double_support(late):
    stepper = swinging(touchdown=0.2)
    stepper.walk.error, lands = 1.5 * URGENT, 0.2 + late
    stepper.walk.time = lands - DT
    landed = (200.0, 200.0)
    length = None
    for k in range(40):
        now = measured(lands + k * DT, FEET[0], forces=landed)
        now.com, now.velocity = np.array([0.0, -0.02, 0.69]), np.array([0.0, 0.05, 0.0])
        stepper.update(now, VELOCITY)
        if k > 0 and stepper.walk.phase == SWING:
            length = k * DT
            break
    assert length == pytest.approx(SHORTEST_DOUBLE if late else GAIT.double_support, abs=DT + 1e-9)


def test_a_foot_is_level_once_it_is_off_its_reference_or_ticks_were_missed():
    for missed, off, level in ((DT, 0.0, False), (DT, 0.05, True), (0.05, 0.0, True)):
        stepper = swinging(touchdown=0.4)
        stepper.update(measured(0.2 + missed, FEET[0] + [0.0, off, 0.0]), VELOCITY)
        assert stepper.walk.is_level == level


def test_a_pitch_that_is_given_up_ends_at_the_touchdown():
    reference = resting(np.zeros(3), 0.0)
    reference[0, 4] = 0.2
    # 10 ms before the apex, 0.2 s before the touchdown
    for k in range(39):
        advance(reference, np.zeros(4), 0.2 - k * DT, 0.15 + k * DT, 0.05, 0.0, 0.45, 0.0, 0.0, 0.1, 0.25, 0.0, DT)
        assert abs(reference[1, 4]) < 2.0
    assert abs(reference[0, 4]) < 0.01
