"""Paths of the surfaces of a motion, and the contacts and places at which they are met."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from modal_control.footholds import EARLY, Footholds
from modal_control.pace import Pace
from modal_control.surface_paths import SurfacePaths
from multi_qp_scene.schema.modal import SlowDownSpec, TimedSpeedSpec

DT = 0.01
OMEGA = 3.8  # [1/s]
TIMES = np.arange(0.0, 2.0 + 1e-9, DT)


def stepping() -> SurfacePaths:
    """Return the paths of two feet 0.2 m apart; the first one steps ahead by 0.4 m from 0.5 s to 1 s."""
    share = np.clip((TIMES - 0.5) / 0.5, 0.0, 1.0)
    smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    turn = [pin.utils.rotate("z", 0.2 * s) @ pin.utils.rotate("y", 0.3 * np.sin(np.pi * s)) for s in smooth]
    first = [pin.SE3(R, np.array([0.4 * s, 0.1, 0.4 * s * (1 - s)])) for R, s in zip(turn, smooth, strict=True)]
    second = [pin.SE3(np.eye(3), np.array([0.2, -0.1, 0.0])) for _ in TIMES]
    contacts = np.ones((len(TIMES), 2), dtype=bool)
    contacts[(TIMES > 0.5 - 1e-9) & (TIMES < 1.0 - 1e-9), 0] = False
    return SurfacePaths(TIMES, [first, second], contacts)


def test_velocities_are_those_of_finite_differences():
    paths, h = stepping(), 1e-5
    for time in (0.6, 0.73, 0.9):
        before, now, after = (paths.at(0, time + step) for step in (-h, 0.0, h))
        np.testing.assert_allclose(now.twist[:3], (after.position - before.position) / (2 * h), atol=1e-6)
        turned = pin.log3(after.rotation @ before.rotation.T) / (2 * h)
        np.testing.assert_allclose(now.twist[3:], turned, atol=1e-5)
        np.testing.assert_allclose(now.acceleration, (after.twist - before.twist) / (2 * h), atol=1e-3)


def test_contacts_and_their_next_change():
    paths = stepping()
    assert paths.planted(0.2).tolist() == [True, True] and paths.planted(0.7).tolist() == [False, True]
    assert paths.next_change(0, 0.2) == pytest.approx(0.5) and paths.next_change(0, 0.7) == pytest.approx(1.0)
    assert np.isinf(paths.next_change(0, 1.2)) and np.isinf(paths.next_change(1, 0.0))


def meet(footholds, paths, touched, *, stride=0.0, beside=(0.0, 0.0), until=1.5):
    """Follow the motion; the first foot is touched from a time on. Return the times of its contact."""
    on = []
    for time in np.arange(0.0, until, DT):
        places = [paths.at(i, time).position.copy() for i in range(2)]
        places[0][:2] += beside
        forces = [100.0 if time < 0.5 or time >= touched - 1e-9 else 0.0, 100.0]
        footholds.update(time, DT, places, forces, stride=stride, ahead=0.1)
        on.append(bool(footholds.on[0]))
    return np.array(on)


@pytest.mark.parametrize("touched", [1.0 - 0.8 * EARLY, 1.0, 1.07])
def test_a_foot_is_in_contact_from_when_it_touches(touched):
    paths = stepping()
    on = meet(Footholds(paths, by_force=True, touch_force=25.0, omega=OMEGA), paths, touched)
    times = np.arange(0.0, 1.5, DT)
    np.testing.assert_array_equal(on, (times < 0.5 - 1e-9) | (times >= touched - 1e-9))


@pytest.mark.parametrize(("by_force", "closes"), [(True, 1.3), (False, 1.0)])
def test_a_hand_closes_when_it_is_at_its_handle(by_force, closes):
    """The first surface is a hand that reaches its handle 0.3 s after the motion plants it."""
    paths = stepping()
    footholds = Footholds(paths, by_force=by_force, touch_force=25.0, omega=OMEGA, grasps=[0])
    on = []
    times = np.arange(0.0, 1.5, DT)
    for time in times:
        places = [paths.at(i, time).position + [0.01 * (i == 0), 0.0, 0.0] for i in range(2)]
        reached = [bool(time >= 1.3 - 1e-9), None]
        footholds.update(time, DT, places, [0.0, 100.0], stride=0.0, ahead=0.1, reached=reached)
        on.append(bool(footholds.on[0]))
        assert footholds.late[0] == 0.0  # hands do not descend to look for the ground
    np.testing.assert_array_equal(on, (times < 0.5 - 1e-9) | (times >= closes - 1e-9))
    np.testing.assert_array_equal(footholds.offsets[0], np.zeros(2))  # and do not displace the body


def test_by_the_motion_contacts_do_not_wait():
    paths = stepping()
    on = meet(Footholds(paths, by_force=False, touch_force=25.0, omega=OMEGA), paths, 1.2)
    assert on[102] and not on[98]


@pytest.mark.parametrize("by_force", [True, False])
def test_without_forces_a_foot_lands_by_its_height_and_descends_until_then(by_force):
    paths = stepping()
    footholds = Footholds(paths, by_force=by_force, touch_force=25.0, omega=OMEGA)
    for time in np.arange(0.0, 1.1, DT):
        places = [paths.at(i, time).position.copy() for i in range(2)]
        above = [max(0.0, places[0][2] + 0.25 * (1.05 - max(time, 1.0))), 0.0]
        footholds.update(time, DT, places, None, stride=0.0, ahead=0.1, above=above)
        assert bool(footholds.on[0]) == (time < 0.5 - 1e-9 or time >= 1.046 - 1e-9)
        if 1.0 < time < 1.04:
            assert footholds.swing(0, time, 1.0)[1][2] < 0.0


def test_a_foot_that_lands_beside_its_place_moves_the_body_there():
    paths = stepping()
    footholds = Footholds(paths, by_force=True, touch_force=25.0, omega=OMEGA)
    meet(footholds, paths, 1.0, beside=(0.03, -0.02), until=3.0)
    np.testing.assert_allclose(footholds.offsets[0], [0.03, -0.02], atol=1e-12)
    np.testing.assert_allclose(footholds.body.place, [0.015, -0.01], atol=1e-3)  # the other foot is in its place


@pytest.mark.parametrize("stride", [0.1, -0.15])
def test_steps_become_longer_by_the_stride(stride):
    paths = stepping()
    footholds = Footholds(paths, by_force=True, touch_force=25.0, omega=OMEGA)
    meet(footholds, paths, 1.0, stride=stride, until=0.8)
    np.testing.assert_allclose(footholds.offsets[0], [stride, 0.0], atol=1e-9)
    offset, _ = footholds.swing(0, 0.99, 1.0)
    np.testing.assert_allclose(offset, [stride, 0.0, 0.0], atol=1e-9)


def test_the_pace_follows_schedule_user_and_disturbances():
    pace = Pace(
        [TimedSpeedSpec(factor=1.0), TimedSpeedSpec(at=1.0, factor=1.2)], SlowDownSpec(factor=0.5, duration=0.5)
    )
    speeds = [pace.update(k * DT, DT, 0.3 if k == 200 else 0.0, None) for k in range(400)]
    assert speeds[50] == 1.0 and speeds[150] == pytest.approx(1.2)
    assert min(speeds[200:260]) == pytest.approx(0.6) and speeds[-1] == pytest.approx(1.2)
    assert np.abs(np.diff(speeds)).max() <= 2.0 * DT + 1e-12
    assert [pace.update(4.0 + k * DT, DT, 0.0, 0.8) for k in range(50)][-1] == pytest.approx(0.8)


@pytest.mark.parametrize(("pushed", "moved"), [(False, False), (True, True)])
def test_a_foot_in_the_air_lands_where_the_body_will_be_after_a_push(pushed, moved):
    """ξ is 10 cm beside the motion in the middle of the step; without a push, this is how it is followed."""
    paths = stepping()
    footholds = Footholds(paths, by_force=True, touch_force=25.0, omega=OMEGA)
    meet(footholds, paths, 1.0, until=0.7)
    for k in range(20):
        error = np.array([0.1, 0.0])
        footholds.correct(0.7 + k * DT, DT, error, omega=OMEGA, speed=1.0, pushed=pushed)
        assert not footholds.offsets[1].any()  # planted
    assert bool(footholds.offsets[0][0] > 0.05) is moved
    np.testing.assert_allclose(footholds.corrected[0], footholds.offsets[0], atol=1e-9)


@pytest.mark.parametrize(("aside", "hurried"), [(-0.3, True), (0.1, False)])
def test_a_step_across_the_other_foot_hurries_until_the_next_one(aside, hurried):
    """The left foot swings: it can land farther to the left, but not beyond the right one."""
    paths = stepping()
    footholds = Footholds(paths, by_force=True, touch_force=25.0, omega=OMEGA)
    meet(footholds, paths, 1.0, until=0.7)
    for k in range(20):
        footholds.correct(0.7 + k * DT, DT, np.array([0.0, aside]), omega=OMEGA, speed=1.0, pushed=k < 5)
    assert footholds.hurried is hurried
    apart = paths.at(0, 1.0).position[1] + footholds.offsets[0][1] - paths.at(1, 1.0).position[1]
    assert apart > 0.1
    for _ in range(200):  # the push is over
        footholds.correct(0.9, DT, np.array([0.0, aside]), omega=OMEGA, speed=1.0, pushed=False)
    assert not footholds.hurried


def test_a_hurried_step_is_faster_by_half_at_any_speed():
    pace = Pace([TimedSpeedSpec(factor=0.8)], None)
    speeds = [pace.update(k * DT, DT, 0.0, None, hurried=20 <= k < 60) for k in range(100)]
    assert speeds[19] == pytest.approx(0.8) and speeds[59] == pytest.approx(1.2) and speeds[-1] == pytest.approx(0.8)
    assert np.abs(np.diff(speeds)).max() < 0.1  # continuous
