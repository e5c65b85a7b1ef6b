"""On unknown ground: length of a double support; feet that are early wait, or bounce; late ones follow the body."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene.schema.walking import UnknownGroundSpec
from walking.gait import Gait, WalkingRobot
from walking.gait_state import DOUBLE, SWING, URGENT, Measured
from walking.stepper import SHORTEST_DOUBLE, Stepper
from walking.swing import FOLLOW_ACCELERATION, resting
from walking.swing_feet import FOLLOW_SPEED

DT = 0.005
FEET = np.array([[0.0, 0.085, 0.0], [0.0, -0.085, 0.0]])
ROBOT = WalkingRobot(FEET[:, :2], np.array([[0.09, 0.035]] * 2), 0.69, (0.5, 0.45), 0.14)
GAIT = Gait(groups=((0,), (1,)), unknown_ground=UnknownGroundSpec())


def landing(error, touchdown=0.4):
    """Return the stepper at the tick before a touchdown at 0.4 s with an error, planned for a time [s]."""
    stepper = Stepper(ROBOT, GAIT, dt=DT, limits=np.array([0.8, 0.3, 1.0]))
    walk = stepper.walk
    walk.phase, walk.touchdown, walk.error, walk.in_contact = SWING, touchdown, error, [False, True]
    walk.landings, walk.lift_places = FEET.copy(), FEET.copy()
    walk.swings = np.array([resting(foot, 0.0) for foot in FEET])
    walk.place[:2] = FEET[0, :2]
    walk.zmp = FEET[1, :2].copy()
    return stepper


def step(stepper, time, forces=(200.0, 200.0)):
    """Advance by a tick; the body moves to the left."""
    com, velocity = np.array([0.0, -0.02, 0.69]), np.array([0.0, 0.05, 0.0])
    now = Measured(time, com, velocity, np.zeros(3), FEET, np.zeros(2), np.zeros((2, 4)), np.array(forces))
    stepper.update(now, np.array([0.2, 0.0, 0.0]))


def length(error, touchdown=0.4):
    """Return the length of a double support after a touchdown at 0.4 s [s]."""
    stepper, begun = landing(error, touchdown), None
    walk = stepper.walk
    for k in range(60):
        time = 0.4 + DT * k
        step(stepper, time)
        if walk.phase == DOUBLE and begun is None:
            begun = time
        if begun is not None and walk.phase == SWING:
            return time - begun
    raise AssertionError("the double support has not ended")


@pytest.mark.parametrize("error", [0.5 * URGENT, 1.5 * URGENT])
def test_a_double_support_lasts_as_long_as_was_chosen_at_its_touchdown(error):
    expected = SHORTEST_DOUBLE if error > URGENT else GAIT.double_support
    assert length(error) == pytest.approx(expected, abs=DT + 1e-9)


def test_a_foot_that_is_early_waits_with_little_load_until_its_planned_touchdown():
    stepper = landing(0.5 * URGENT, touchdown=0.5)
    for time in (0.4, 0.45, 0.495):
        step(stepper, time)
        assert stepper.walk.phase == DOUBLE and np.allclose(stepper.walk.zmp, FEET[1, :2])
    step(stepper, 0.52)
    assert stepper.walk.zmp[1] > FEET[1, 1] + 0.01
    assert length(0.5 * URGENT, touchdown=0.5) == pytest.approx(0.1 + GAIT.double_support, abs=DT + 1e-9)
    assert length(1.5 * URGENT, touchdown=0.5) == pytest.approx(SHORTEST_DOUBLE, abs=DT + 1e-9)


def test_a_foot_that_is_late_follows_the_body_while_it_descends():
    stepper = landing(0.0)
    places = []
    for k in range(1, 31):
        step(stepper, 0.4 + DT * k, forces=(0.0, 380.0))
        places.append(stepper.walk.swings[0][0, :3].copy())
    places = np.array(places)
    rates = np.diff(places, axis=0) / DT
    assert abs(places[-1, 1] - FEET[0, 1]) > 0.02 and places[-1, 2] < -0.03
    assert np.abs(stepper.walk.place[:2] - places[-1, :2]).max() < 0.03
    assert np.abs(rates[:, :2]).max() <= FOLLOW_SPEED + 1e-9
    assert np.abs(np.diff(rates[:, :2], axis=0)).max() / DT <= FOLLOW_ACCELERATION + 1e-6


def test_a_foot_that_hits_an_edge_and_loses_contact_swings_on():
    stepper = landing(0.5 * URGENT, touchdown=0.5)
    walk = stepper.walk
    step(stepper, 0.4)
    assert walk.phase == DOUBLE and walk.steps == 1 and all(walk.in_contact)
    step(stepper, 0.405, forces=(5.0, 380.0))
    assert walk.phase == DOUBLE, "it still touches"
    step(stepper, 0.41, forces=(0.0, 380.0))
    assert walk.phase == SWING and walk.swinging == 0 and walk.in_contact == [False, True]
    assert (walk.steps, walk.since) == (0, walk.lifted) and walk.touchdown > 0.41
    step(stepper, 0.48)
    step(stepper, 0.52, forces=(0.0, 380.0))
    assert walk.phase == DOUBLE, "after the planned touchdown, the weight is transferred"
