"""Feet land at the speed of the gait, slowly in reactions to a push and without measured forces."""

from __future__ import annotations

import numpy as np
import pytest

from walking.gait import Gait, WalkingRobot
from walking.gait_state import SWING, URGENT, Measured, Walk
from walking.swing import resting
from walking.swing_feet import SLOW_LANDING, SwingFeet

PLACES = np.array([[0.0, 0.085], [0.0, -0.085]])
ROBOT = WalkingRobot(PLACES, np.array([[0.09, 0.035]] * 2), 0.69, (0.5, 0.45), 0.14)


def landing_speed(gait, *, error=0.0, recovering=False, forces=(0.0, 380.0)):
    """Return the downward speed of the reference of the first foot 15 ms before its touchdown [m/s]."""
    feet = np.column_stack([PLACES, np.zeros(2)])
    walk = Walk(
        phase=SWING,
        touchdown=gait.swing_time,
        place=np.array([0.3, 0.085, 0.0]),
        lift_places=feet.copy(),
        landings=feet + [[0.3, 0.0, 0.0], [0.0, 0.0, 0.0]],
        patches=[0, 0],
        in_contact=[False, True],
        swings=np.array([resting(foot, 0.0) for foot in feet]),
        error=error,
        recovering=recovering,
    )
    swing_feet, dt = SwingFeet(ROBOT, gait, None, rise=0.2), 0.005
    for time in np.arange(0.0, gait.swing_time - 0.012, dt):
        now = Measured(
            time=float(time),
            com=np.zeros(3),
            velocity=np.zeros(3),
            base=np.zeros(3),
            feet=feet,
            yaws=np.zeros(2),
            forces=None if forces is None else np.array(forces),
        )
        swing_feet.advance(walk, now, dt)
    assert np.abs(walk.swings[0][0, :2] - walk.landings[0][:2]).max() < 2e-3
    return -walk.swings[0][1, 2]


@pytest.mark.parametrize("speed", [0.05, 0.2])
def test_a_foot_lands_at_the_speed_of_the_gait(speed):
    assert landing_speed(Gait(((0,), (1,)), landing_speed=speed)) == pytest.approx(speed, abs=1e-9)


@pytest.mark.parametrize("case", [{"error": 1.1 * URGENT}, {"recovering": True}, {"forces": None}])
def test_a_foot_lands_slowly_in_a_reaction_to_a_push_and_without_measured_forces(case):
    quick, slow = Gait(((0,), (1,)), landing_speed=0.2), Gait(((0,), (1,)), landing_speed=SLOW_LANDING)
    found = landing_speed(quick, **case)
    assert found == landing_speed(slow) < landing_speed(quick)
