"""Landings: at the speed of the gait, slow in reactions to a push and without measured forces, on unknown ground."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene.schema.walking import UnknownGroundSpec
from walking.gait import Gait, WalkingRobot
from walking.gait_state import SWING, URGENT, Measured, Walk
from walking.swing import resting, write_pose
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
            foot_rates=np.zeros((2, 4)),
            forces=None if forces is None else np.array(forces),
        )
        swing_feet.advance(walk, now, dt)
    assert np.abs(walk.swings[0][0, :2] - walk.landings[0][:2]).max() < 2e-3
    return -walk.swings[0][1, 2]


@pytest.mark.parametrize("speed", [0.05, 0.2])
def test_a_foot_lands_at_the_speed_of_the_gait(speed):
    assert landing_speed(Gait(groups=((0,), (1,)), landing_speed=speed)) == pytest.approx(speed, abs=1e-9)


@pytest.mark.parametrize("case", [{"error": 1.1 * URGENT}, {"recovering": True}, {"forces": None}])
def test_a_foot_lands_slowly_in_a_reaction_to_a_push_and_without_measured_forces(case):
    quick, slow = Gait(groups=((0,), (1,)), landing_speed=0.2), Gait(groups=((0,), (1,)), landing_speed=SLOW_LANDING)
    found = landing_speed(quick, **case)
    assert found == landing_speed(slow) < landing_speed(quick)


UNKNOWN = Gait(groups=((0,), (1,)), unknown_ground=UnknownGroundSpec())


def swing_on_unknown_ground(stance_height=0.0, until=0.6):
    """Return times and references of position, (n, 3), of a foot whose last foothold was at height 0."""
    feet = np.column_stack([PLACES, [0.0, stance_height]])
    walk = Walk(
        phase=SWING,
        touchdown=UNKNOWN.swing_time,
        place=np.array([0.3, 0.085, 0.0]),
        lift_places=feet.copy(),
        landings=feet + [[0.3, 0.0, 0.0], [0.0, 0.0, 0.0]],
        patches=[0, 0],
        in_contact=[False, True],
        swings=np.array([resting(foot, 0.0) for foot in feet]),
        error=2.0 * URGENT,
    )
    swing_feet, dt, found = SwingFeet(ROBOT, UNKNOWN, None, rise=0.2), 0.005, []
    times = np.arange(0.0, until, dt)
    for time in times:
        rest = (np.zeros(3), np.zeros(3), np.zeros(3), feet, np.zeros(2), np.zeros((2, 4)), np.array([0.0, 380.0]))
        swing_feet.advance(walk, Measured(float(time), *rest), dt)
        found.append(walk.swings[0][0, :3].copy())
    return times + dt, np.array(found)


def test_on_unknown_ground_a_foot_rises_before_and_descends_after_it_moves():
    times, places = swing_on_unknown_ground()
    swing = UNKNOWN.swing_time
    assert np.abs(places[times < 0.3 * swing - 0.01, 0]).max() < 1e-9
    assert places[times > 0.3 * swing, 2][0] > 0.03
    assert np.abs(places[times > 0.85 * swing + 0.01, 0] - 0.3).max() < 2e-3


def test_on_unknown_ground_a_foot_lands_fast_and_searches_below_the_mean_of_the_last_footholds():
    for height in (0.0, 0.04):
        times, places = swing_on_unknown_ground(height)
        speeds = -np.gradient(places[:, 2], times)
        landing = np.abs(times - UNKNOWN.swing_time).argmin()
        assert places[landing, 2] == pytest.approx(0.5 * height, abs=2e-3)
        assert speeds[landing - 1] == pytest.approx(0.3, abs=0.02)
        assert speeds.max() == pytest.approx(0.5, abs=0.02)


def test_the_reference_of_a_swing_foot_is_its_pose_and_the_derivatives_of_it():
    rng, level, h = np.random.default_rng(0), pin.utils.rotate("x", 0.3) @ pin.utils.rotate("z", 0.2), 1e-4
    p, v, a = 0.5 * rng.standard_normal((3, 5))

    def pose(time: float) -> tuple[np.ndarray, np.ndarray]:
        x = p + time * v + 0.5 * time**2 * a
        return x[:3], pin.utils.rotate("z", x[3]) @ pin.utils.rotate("y", x[4]) @ level

    def angular(time: float) -> np.ndarray:
        return pin.log3(pose(time + h)[1] @ pose(time - h)[1].T) / (2.0 * h)

    out = np.empty(24)
    write_pose(np.stack([p, v, a]), level, out)
    assert np.allclose(out[:3], pose(0.0)[0]) and np.allclose(out[3:12].reshape(3, 3), pose(0.0)[1], atol=1e-12)
    assert np.allclose(out[12:15], v[:3]) and np.allclose(out[15:18], angular(0.0), atol=1e-7)
    assert np.allclose(out[18:21], a[:3]) and np.allclose(out[21:], (angular(h) - angular(-h)) / (2 * h), atol=1e-5)
