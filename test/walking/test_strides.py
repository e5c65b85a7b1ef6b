"""Long steps: the centre of mass is lower, and swing feet pitch, heels first."""

from __future__ import annotations

import math

import numpy as np
import pytest

from walking.gait import Gait, PeriodicGait, WalkingRobot
from walking.gait_state import SWING, Measured
from walking.stepper import Stepper
from walking.swing import resting

DT, SWING_TIME, HALF_SOLE = 0.005, 0.4, 0.09
FEET = np.array([[0.0, 0.085, 0.0], [0.0, -0.085, 0.0]])
ROBOT = WalkingRobot(FEET[:, :2], np.array([[HALF_SOLE, 0.035]] * 2), 0.73, (0.5, 0.45), 0.14)


def swing(ahead, *, foot_pitch=0.0, recovering=False):
    """Return the planned step [m], heights of the centre of mass, (n, 3), and references of the foot, (n, 3, 5)."""
    gait = Gait(groups=((0,), (1,)), duty=1.0 - SWING_TIME / 0.96, foot_pitch=foot_pitch)
    stepper = Stepper(ROBOT, gait, dt=DT, limits=np.array([0.8, 0.3, 1.0]))
    walk = stepper.walk
    walk.phase, walk.touchdown, walk.in_contact, walk.recovering = SWING, SWING_TIME, [False, True], recovering
    walk.landings, walk.lift_places, walk.place[:2] = FEET.copy(), FEET.copy(), FEET[0, :2]
    walk.swings = np.array([resting(foot, 0.0) for foot in FEET])
    heights, references = [], []
    command = np.array([ahead, 0.0, 0.0])
    # a point mass on the periodic gait, from the lift-off
    offset = PeriodicGait(ROBOT, gait).step(command, stance=0).offset
    xi = FEET[1, :2] + offset * math.exp(0.5 * ROBOT.omega * gait.double_support)
    com, velocity = np.array([*(xi - command[:2] / ROBOT.omega), 0.73]), command.copy()
    for k in range(1, round(SWING_TIME / DT)):
        feet = np.array([walk.swings[0][0, :3], FEET[1]])
        now = (com.copy(), velocity.copy(), np.zeros(3), feet, np.zeros(2), np.zeros((2, 4)), np.array([0.0, 380.0]))
        stepper.update(Measured(k * DT, *now), command)
        com[:2] += DT * velocity[:2] + 0.5 * DT**2 * stepper.acceleration
        velocity[:2] += DT * stepper.acceleration
        com[2], velocity[2], _ = stepper.com_height()
        heights.append(stepper.com_height())
        references.append(walk.swings[0].copy())
    return math.dist(walk.place[:2], FEET[0, :2]), np.array(heights), np.array(references)


@pytest.mark.parametrize("ahead", [0.0, 0.4, 0.8, -0.4])
def test_legs_that_stay_as_long_lower_the_centre_of_mass_in_a_step(ahead):
    step, heights, _ = swing(ahead)
    assert step == pytest.approx(0.0, abs=0.06) if ahead == 0.0 else step > 0.1
    half = 0.5 * step * (1.0 + 0.08 / 0.48)  # until the end of the double support
    assert heights[-1, 0] == pytest.approx(math.sqrt(0.73**2 - half**2), abs=1e-3)


def test_rates_of_the_height_are_its_derivatives():
    _, heights, _ = swing(0.8)
    position, rate, second = heights.T
    assert np.abs(np.diff(position) / DT - 0.5 * (rate[1:] + rate[:-1])).max() < 2e-3
    assert np.abs(np.diff(rate) / DT - 0.5 * (second[1:] + second[:-1])).max() < 0.15
    assert np.abs(second).max() < 5.0, "feet keep most of the weight"


@pytest.mark.parametrize(("ahead", "sign"), [(0.8, 1.0), (-0.4, -1.0), (0.0, 0.0)])
def test_heels_lift_first_ahead_and_toes_backwards(ahead, sign):
    _, _, references = swing(ahead, foot_pitch=0.6)
    height, pitch = references[:, 0, 2], references[:, 0, 4]
    largest = pitch[np.abs(pitch).argmax()]
    assert sign * largest > 0.05 if sign else abs(largest) < 0.04
    # the lower end of the whole sole, with the margin of 15 mm of the zero-moment point, stays above the ground
    assert (height - (HALF_SOLE + 0.015) * np.abs(np.sin(pitch))).min() > -1e-3
    assert abs(pitch[-1]) < 0.01
    assert np.abs(np.diff(pitch) / DT - references[1:, 1, 4]).max() < 0.4


def test_a_foot_stays_level_in_a_reaction_to_a_push():
    _, _, references = swing(0.8, foot_pitch=0.6, recovering=True)
    assert np.abs(references[:, :, 4]).max() == 0.0
